"""Logs in to hosts with forms, and logs in again when a session has ended."""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, TextResponse
from scrapy.http.cookies import CookieJar

from contentspider.crawl.base.engine import Component, extension, header
from contentspider.crawl.base.meta import (
    LOGIN_META_KEY,
    ROW_META_KEY,
    SENT_META_KEY,
    WITNESS_META_KEY,
)
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.base.outcomes import NOT_MODIFIED_STATUS, Retry
from contentspider.crawl.middlewares.cookies import SiteCookies
from contentspider.crawl.middlewares.failures import why
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.crawl.middlewares.login_form import (
    LoginRefusedError,
    field_names,
    filled,
    find_form,
    has_selector,
    is_login_page,
)
from contentspider.crawl.queue.keeper import LedgerKeeper
from contentspider.crawl.queue.outage import TOO_MANY_REQUESTS
from contentspider.ground.addresses import absolute, origin_of
from contentspider.state.outcome import LOGINS_STAT, RETRIED, TRANSIENT

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from contentspider.crawl.base.logins import Login

logger = logging.getLogger(__name__)

# Between redirects (600) and cookies (700): answers are seen before their redirects are followed.
LOGIN_ORDER = 640
# After bodies are decompressed (590), before a page is compared with its last version (587).
LOGIN_PAGES_ORDER = 588
MAX_ATTEMPTS = 3  # of a request that gets no answer; a login that is refused is tried once
MAX_REDIRECTS = 10
MAX_RENEWALS = 1_000  # of a host in a run
# So many logins are sent as long as nothing proves that they work. More might lock the account.
MAX_UNPROVEN = 3
# A short session may end several times while one address waits for its turn. An address that leads
# to the form so often, each time in a new session, is not renewed for; it is sent at most so often.
MIN_SENT_AGAIN, MAX_SENT_AGAIN = 3, 5
# After so many renewals in a row that did not help, an answer with the form is taken for a page
# that this user may not read.
MAX_USELESS = 3
# But after so many such answers in a row, the session has ended after all.
MIN_REFUSED = 5
DENIED = (401, 403)
LOGOUT = "logout"  # why an address that ends the session is skipped
# Names of cookies that keep a session, and of others that a site may delete at any time.
SESSION_COOKIE = re.compile(r"sess|sid|auth|login", re.IGNORECASE)
OTHER_COOKIE = re.compile(r"csrf|xsrf|message|flash", re.IGNORECASE)
# After so many addresses in a row that delete a cookie, it is not taken for the session's any more.
MAX_DELETING = 3
REDIRECT_META_KEYS = (
    *("redirect_times", "redirect_ttl", "redirect_urls", "redirect_reasons"),
    SENT_META_KEY,
)
LOGIN_META = {
    LOGIN_META_KEY: True,
    "handle_httpstatus_all": True,
    # robots.txt is for what a crawler finds by itself; the user has named this form.
    **dict.fromkeys(("dont_obey_robotstxt", "dont_redirect", "dont_retry", "dont_cache"), True),
}


class Session:
    """The session of a host with a *login*. Each login begins another *generation*."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self.lock = asyncio.Lock()
        self.generation = 0
        self.is_alive = False
        self.is_proven = False  # a page was read that only users get who are logged in
        self.failure = ""  # why the login failed for good
        self.cookies: set[str] = set()  # names of the cookies that keep the session
        self.pages = 0  # answers since the last login that were not the form
        self.refused = 0  # answers in a row with the form, for which the session was not renewed
        self.deleting = 0  # addresses in a row that deleted a cookie of the session
        # How often addresses were sent again, until they get another answer than the form. Their
        # requests do not know it, since the ledger keeps these for later runs.
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


class LoginMiddleware(Component):
    """Lets requests to hosts with a login wait until the crawl has logged in there.

    An answer that leads to the form (or 401, 403) means that the session has ended: it is renewed,
    once for all requests that were sent in it, and they are sent again. Addresses that end the
    session are left out.
    """

    def __init__(self, crawler: Crawler) -> None:
        options = CrawlOptions.from_settings(crawler.settings)
        if not options.login:
            raise NotConfigured
        super().__init__(crawler)
        self.keeper = extension(crawler, LedgerKeeper)
        self._sessions = {origin: Session(login) for origin, login in options.logins.items()}
        # The generations of the sessions in which requests were sent.
        self._sent: WeakKeyDictionary[Request, int] = WeakKeyDictionary()

    def session_of(self, request: Request) -> Session | None:
        """Return the session that a request needs; None if it needs none."""
        if LOGIN_META_KEY in request.meta or WITNESS_META_KEY in request.meta:
            return None
        return self._sessions.get(origin_of(request.url))

    async def process_request(self, request: Request) -> None:
        """Wait for the session of a request's host. Refuse addresses that end the session, and all
        requests if the login has failed.
        """
        session = self.session_of(request)
        if session is None:
            return
        if session.login.ends_session(request.url):
            raise RefusedError(LOGOUT, "it ends the session of the login")
        async with session.lock:
            if not (session.is_alive or session.failure):
                await self._log_in(session)
        if session.failure:
            raise self._failed(request, session)
        self._sent[request] = session.generation

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return the response, or a request to send again because the session had ended."""
        session = self.session_of(request)
        if session is None:
            return response
        target = _redirect_target(response)
        if target and session.login.is_form(target):
            request_again = await self.again(request, session)
            if request_again is None and self.may_postpone:
                raise self.refuse_form(request, session)
            return request_again or response
        if response.status in DENIED:
            return await self.again(request, session) or response
        if deleted := session.cookies & _deleted_cookies(request, response):
            return await self._after_deletion(request, session, deleted) or response
        if target:
            self.note_page(request, session)
        return response

    async def _after_deletion(
        self, request: Request, session: Session, deleted: set[str]
    ) -> Request | None:
        """Return a request to send again, since its answer has *deleted* cookies of the session:
        the session had ended, or the address ends it. Refuse the address if that happens again.
        """
        if not session.may_log_in:
            return None
        if self._sent.get(request) == session.generation:
            session.is_alive = False
        if not session.sent_again[_first_address(request)]:
            return await self.again(request, session)
        session.deleting += 1
        if session.deleting >= MAX_DELETING:
            session.cookies -= deleted
            return None
        logger.info("%s ends the session at %s; it is left out", request.url, session.host)
        raise RefusedError(LOGOUT, "it ends the session of the login")

    async def again(self, request: Request, session: Session) -> Request | None:
        """Return a request to send again, in a session that is newer than the one that it was sent
        in; None if its answer does not mean that the session has ended.
        """
        async with session.lock:
            is_current = self._sent.get(request, 0) == session.generation
            if session.is_alive and is_current:
                if not self._may_renew(request, session):
                    return None
                session.is_alive = False
            if not (session.is_alive or session.failure):
                await self._log_in(session)
        if session.failure:
            raise self._failed(request, session)
        url = _first_address(request)
        if session.sent_again[url] >= MAX_SENT_AGAIN:
            return None
        session.sent_again[url] += 1
        meta = {key: value for key, value in request.meta.items() if key not in REDIRECT_META_KEYS}
        priority = request.priority + 1
        return request.replace(url=url, dont_filter=True, priority=priority, meta=meta)

    def _may_renew(self, request: Request, session: Session) -> bool:
        """Tell whether an answer with the form tells that the session has ended, rather than that
        this user may not read the page, or that the page ends the session.
        """
        sent_again = session.sent_again[_first_address(request)]
        if sent_again >= MIN_SENT_AGAIN or (sent_again and not session.pages):
            session.useless += 1
            # The address may have ended the session. The next request logs in again.
            session.is_alive = session.useless > MAX_USELESS or not session.may_log_in
            return False
        if session.may_renew:
            return True
        session.refused += 1
        return False

    def note_page(self, request: Request, session: Session) -> None:
        """Record that a session gave another answer than the form."""
        session.pages += 1
        session.refused = session.deleting = 0
        if session.sent_again.pop(_first_address(request), 0):
            session.useless, session.is_proven = 0, True

    @property
    def may_postpone(self) -> bool:
        """Whether an address can be tried once more at the end of the run."""
        return self.keeper.is_durable and not self.keeper.addresses.is_at_end

    def refuse_form(self, request: Request, session: Session) -> RefusedError:
        """Return the error of an address whose answer is the form. It is never a page; before the
        end of the run, it is only postponed.
        """
        session.sent_again.pop(_first_address(request), None)
        reason = "its answer is the form to log in, also after a login"
        if self.may_postpone:
            row = request.meta.get(ROW_META_KEY)
            self.keeper.addresses.note(row, "failed", reason, retry=Retry.AT_END)
        return RefusedError("logged_out", reason)

    def _failed(self, request: Request, session: Session) -> RefusedError:
        """Return the error of a request to a host whose login failed. The next run sends it."""
        row = request.meta.get(ROW_META_KEY)
        reason = f"the login at {session.host} failed: {session.failure}"
        self.keeper.addresses.note(row, "failed", reason, retry=Retry.NEXT_RUN)
        return RefusedError("login", reason)

    @property
    def _cookies(self) -> SiteCookies:
        cookies = self.crawler.get_downloader_middleware(SiteCookies)
        assert cookies is not None  # the add-on has put it there
        return cookies

    async def _log_in(self, session: Session) -> None:
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
        if target := _redirect_target(response):
            return not login.is_form(target)
        return response.status < 400 and not is_login_page(response, login)

    async def _answer(self, request: Request, login: Login) -> Response:
        """Return the answer to a request of a login, after redirects within its host."""
        for _ in range(MAX_REDIRECTS):
            response = await self._download(request)
            target = _redirect_target(response)
            if not target:
                return response
            if origin_of(target) != login.origin:
                raise LoginRefusedError(
                    f"it leads to {'://'.join(origin_of(target))}; only a login at one host is"
                    " supported: give the form's address as that host has it"
                )
            request = Request(target, meta=dict(LOGIN_META))
        raise LoginRefusedError("it redirects without end")

    async def _download(self, request: Request) -> Response:
        """Return the answer to a request, which is sent again if the server gives none: it may have
        closed the connection behind the form.
        """
        assert self.crawler.engine is not None
        reason = ""
        for _ in range(MAX_ATTEMPTS):
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
                f"the page after it has no element {login.success!r} (success): name and password"
                " may be wrong"
            )
        if login.cookie and login.cookie not in names:
            raise LoginRefusedError(
                f"there is no cookie {login.cookie!r} after it: name and password may be wrong"
            )
        if not (login.success or login.cookie) and is_login_page(answer, login):
            raise LoginRefusedError(
                "the site shows its form again: name and password may be wrong (if it always shows"
                " the form, say with 'success' or 'cookie' how success is told)"
            )
        if not names:
            raise LoginRefusedError("the site sets no cookie for a session")

    def _count(self, name: str) -> None:
        self.stats.inc_value(LOGINS_STAT + name)


class LoginPagesMiddleware(Component):
    """Keeps forms to log in from being taken for pages: see `LoginMiddleware`."""

    def __init__(self, crawler: Crawler) -> None:
        if not CrawlOptions.from_settings(crawler.settings).login:
            raise NotConfigured
        super().__init__(crawler)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return the response, or a request to send again because the session had ended."""
        logins = self.crawler.get_downloader_middleware(LoginMiddleware)
        session = logins.session_of(request) if logins else None
        if logins is None or session is None:
            return response
        if is_login_page(response, session.login):
            if "redirect_urls" not in request.meta and session.login.is_form(request.url):
                raise RefusedError("login_form", "it is the form to log in")
            request_again = await logins.again(request, session)
            if request_again is None:
                raise logins.refuse_form(request, session)
            return request_again
        # robots.txt and sitemaps are texts that everybody may read.
        is_text = isinstance(response, TextResponse) and not isinstance(response, HtmlResponse)
        is_read = 200 <= response.status < 300 or response.status == NOT_MODIFIED_STATUS
        if is_read and not is_text:
            logins.note_page(request, session)
        return response


def _redirect_target(response: Response) -> str:
    """Return the address that a response redirects to, "" if it does not."""
    location = header(response, "Location") if 300 <= response.status < 400 else ""
    return absolute(response.url, location) if location else ""


def _first_address(request: Request) -> str:
    """Return the address of a request before any redirect."""
    return str(request.meta.get("redirect_urls", [request.url])[0])


def _keeps_session(name: str, login: Login) -> bool:
    """Tell whether a cookie seems to keep the session."""
    is_other = OTHER_COOKIE.search(name) is not None
    return name == login.cookie or (bool(SESSION_COOKIE.search(name)) and not is_other)


def _deleted_cookies(request: Request, response: Response) -> set[str]:
    """Return the names of the cookies that a response deletes."""
    values = response.headers.getlist("Set-Cookie")
    names = {value.partition(b"=")[0].strip().decode("latin-1") for value in values}
    kept = CookieJar().make_cookies(response, request) if names else ()
    return names - {cookie.name for cookie in kept}
