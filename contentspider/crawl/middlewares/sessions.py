"""The sessions of hosts with a login, and how a crawl logs in to them."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import HtmlResponse

from contentspider.crawl.base.engine import Component, header
from contentspider.crawl.base.meta import LOGIN_META_KEY
from contentspider.crawl.middlewares.cookies import SiteCookies
from contentspider.crawl.middlewares.failures import why
from contentspider.crawl.middlewares.login_form import (
    LoginRefusedError,
    field_names,
    filled,
    find_form,
    has_selector,
    is_login_page,
)
from contentspider.crawl.queue.outage import TOO_MANY_REQUESTS
from contentspider.ground.addresses import absolute, origin_of
from contentspider.state.outcome import LOGINS_STAT, RETRIED, TRANSIENT

if TYPE_CHECKING:
    from scrapy.http import Response

    from contentspider.crawl.base.logins import Login

logger = logging.getLogger(__name__)

MAX_ATTEMPTS = 3  # of a request that gets no answer; a login that is refused is tried once
PAUSE_SECS = 5.0  # before the second attempt, and twice as long before the third
MAX_REDIRECTS = 10
MAX_RENEWALS = 1_000  # of a host in a run
# While nothing proves that logins work, at most this many are sent. More might lock the account.
MAX_UNPROVEN = 3
# If this many renewals in a row did not help, an answer with the form means that this user may not
# read the page, and the session is not renewed for it.
MAX_USELESS = 3
# If this many answers in a row have the form, the session has ended in spite of `MAX_USELESS`.
MIN_REFUSED = 5
# Names of cookies that keep a session, and of others that a site may delete at any time.
SESSION_COOKIE = re.compile(r"sess|sid|auth|login", re.IGNORECASE)
OTHER_COOKIE = re.compile(r"csrf|xsrf|message|flash", re.IGNORECASE)
LOGIN_META = {
    LOGIN_META_KEY: True,
    "handle_httpstatus_all": True,
    # robots.txt restricts pages that a crawler finds by itself. The user named this form.
    **dict.fromkeys(("dont_obey_robotstxt", "dont_redirect", "dont_retry", "dont_cache"), True),
}


class Session:
    """The session of a host with a *login*. Each login begins another *generation*."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self.lock = asyncio.Lock()
        self.generation = 0
        self.is_alive = False
        self.is_proven = False  # something has shown that the logins work
        self.failure = ""  # why the login failed for good
        self.cookies: set[str] = set()  # names of the cookies that keep the session
        self.pages = 0  # answers since the last login that were not the form
        self.refused = 0  # answers in a row with the form, for which the session was not renewed
        self.deleting = 0  # addresses in a row that deleted a cookie of the session
        # How often each address was sent again since its last answer that was not the form. The
        # count is not in Request.meta, because the book stores `meta` for later runs.
        self.sent_again: Counter[str] = Counter()
        self.useless = 0  # renewals in a row after which an address led to the form again

    @property
    def host(self) -> str:
        """The host, with its port."""
        return self.login.origin[1]

    @property
    def may_log_in(self) -> bool:
        """Whether another login may be sent, which may be one with a wrong password."""
        return self.is_proven or self.generation < MAX_UNPROVEN

    @property
    def may_renew(self) -> bool:
        """Whether an answer with the form tells that the session has ended."""
        is_likely = self.pages > 0 and self.useless < MAX_USELESS
        return self.may_log_in and (is_likely or self.refused >= MIN_REFUSED)

    def note_useless(self) -> None:
        """Record that an address leads to the form after a renewal, too. It may have ended the
        session: the next request logs in again.
        """
        self.useless += 1
        self.is_alive = self.useless > MAX_USELESS or not self.may_log_in


class FormLogins(Component):
    """Logs in with the forms of hosts."""

    async def log_in(self, session: Session) -> None:
        """Log in, or set the session's `failure`."""
        if session.generation > MAX_RENEWALS:
            self._give_up(session, f"the session has ended more than {MAX_RENEWALS:,} times")
            return
        try:
            await self._log_in_once(session)
        except LoginRefusedError as error:
            self._give_up(session, str(error))
            return
        self._count("renewals" if session.generation else "hosts")
        session.generation += 1
        session.is_alive, session.pages, session.refused = True, 0, 0
        logger.info("logged in at %s", session.host)

    def _give_up(self, session: Session, reason: str) -> None:
        session.failure = reason
        self._count("failed")
        logger.error(
            f"the login at {session.login.form} failed: {reason}. No page of {session.host} is read"
            " from now on: mend the cause, then continue with --resume (CONTENTSPIDER_RESUME)"
        )

    async def _log_in_once(self, session: Session) -> None:
        """Log in; raises `LoginRefusedError`."""
        login = session.login
        self._cookies.forget(login.origin)
        page = await self._answer(Request(login.form, meta=dict(LOGIN_META)), login)
        form = find_form(page, login)
        if form is None or not isinstance(page, HtmlResponse):
            fields = ", ".join(map(repr, field_names(page)[:10])) or "no fields"
            raise LoginRefusedError(
                f"the page (HTTP {page.status}) has no form with the fields"
                f" {', '.join(map(repr, login.fields))}; its forms have {fields}"
            )
        answer = await self._answer(filled(form, page, login, meta=dict(LOGIN_META)), login)
        self._check(answer, login)
        if not session.generation:
            session.is_proven = bool(login.success or login.cookie) or await self._hides_form(login)
        session.cookies = {
            name for name in self._cookies.names(login.origin) if _keeps_session(name, login)
        }

    async def _hides_form(self, login: Login) -> bool:
        """Tell whether the page with the form does not have it any more, which proves a login."""
        response = await self._download(Request(login.form, meta=dict(LOGIN_META)))
        if target := redirect_target(response):
            return not login.is_form(target)
        return response.status < 400 and not is_login_page(response, login)

    async def _answer(self, request: Request, login: Login) -> Response:
        """Return the answer to a request of a login, after redirects within its host."""
        for _ in range(MAX_REDIRECTS):
            response = await self._download(request)
            target = redirect_target(response)
            if not target:
                return response
            if origin_of(target) != login.origin:
                place = "://".join(origin_of(target))
                raise LoginRefusedError(
                    f"it redirects to {place}, but only a login within one host is supported: if"
                    " that host has the form, name its address"
                )
            request = Request(target, meta=dict(LOGIN_META))
        raise LoginRefusedError("it redirects without end")

    async def _download(self, request: Request) -> Response:
        """Return the answer to a request, which is sent again if the server gives none: it may have
        closed the connection behind the form, or it may be starting again.
        """
        assert self.crawler.engine is not None
        reason = ""
        for number in range(MAX_ATTEMPTS):
            await asyncio.sleep(number * PAUSE_SECS)
            self._count("requests")
            try:
                response = await self.crawler.engine.download_async(request)
            except Exception as error:
                kind, reason = why(error)
                if kind not in TRANSIENT:
                    raise LoginRefusedError(reason) from error
            else:
                # 429 asks for no further attempts: they might lock the account.
                if response.status not in RETRIED or response.status == TOO_MANY_REQUESTS:
                    return response
                reason = f"the server answered {response.status}"
        raise LoginRefusedError(f"{reason} ({MAX_ATTEMPTS} attempts)")

    def _check(self, answer: Response, login: Login) -> None:
        """Raise `LoginRefusedError` if the answer to a form does not tell of success."""
        names = self._cookies.names(login.origin)
        if answer.status >= 400:
            raise LoginRefusedError(f"the server answered {answer.status} to the form")
        if login.success and not has_selector(answer, login):
            raise LoginRefusedError(
                f"the page after the login has no element {login.success!r} (success): name and"
                " password may be wrong"
            )
        if login.cookie and login.cookie not in names:
            raise LoginRefusedError(
                f"the site has set no cookie {login.cookie!r}: name and password may be wrong"
            )
        if not (login.success or login.cookie) and is_login_page(answer, login):
            raise LoginRefusedError(
                "the site shows its form again: name and password may be wrong (if it shows the"
                " form to logged-in users, too, set 'success' or 'cookie' in the file of logins)"
            )
        if not names:
            raise LoginRefusedError("the site sets no cookie for a session")

    def _count(self, name: str) -> None:
        self.stats.inc_value(LOGINS_STAT + name)

    @property
    def _cookies(self) -> SiteCookies:
        cookies = self.crawler.get_downloader_middleware(SiteCookies)
        assert cookies is not None  # the add-on has put it there
        return cookies


def redirect_target(response: Response) -> str:
    """Return the address that a response redirects to, "" if it does not."""
    location = header(response, "Location") if 300 <= response.status < 400 else ""
    return absolute(response.url, location) if location else ""


def _keeps_session(name: str, login: Login) -> bool:
    """Tell whether a cookie seems to keep the session."""
    is_other = OTHER_COOKIE.search(name) is not None
    return name == login.cookie or (bool(SESSION_COOKIE.search(name)) and not is_other)
