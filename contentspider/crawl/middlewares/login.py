"""Middlewares that log in to hosts, and log in again when a session has ended."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http.cookies import CookieJar

from contentspider.crawl.base.engine import Component, extension
from contentspider.crawl.base.meta import (
    LOGIN_META_KEY,
    ROW_META_KEY,
    SENT_META_KEY,
    WITNESS_META_KEY,
)
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.base.outcomes import NOT_MODIFIED_STATUS, Retry
from contentspider.crawl.middlewares.guard import RefusedError
from contentspider.crawl.middlewares.login_form import is_login_page
from contentspider.crawl.middlewares.sessions import FormLogins, Session, redirect_target
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.ground.addresses import origin_of, split_address

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# Between redirects (600) and cookies (700): answers are seen before their redirects are followed.
LOGIN_ORDER = 640
# After bodies are decompressed (590), before a page is compared with its last version (587).
LOGIN_PAGES_ORDER = 588
DENIED = (401, 403)
# Everybody may read these: they do not tell whether a session is alive.
PUBLIC_PATHS = ("/robots.txt", "/sitemap.xml", "/llms.txt", "/llms-full.txt")
LOGOUT = "logout"  # why an address that ends the session is skipped
# A session with few pages may end several times while one address waits for its turn. If an address
# was sent again MIN_SENT_AGAIN times, each time in a new session, and its answer is still the form,
# the session is not renewed for it any more. It is sent again at most MAX_SENT_AGAIN times.
MIN_SENT_AGAIN, MAX_SENT_AGAIN = 3, 5
# If the answers of this many addresses in a row delete a cookie, the cookie does not belong to the
# session.
MAX_DELETING = 3
REDIRECT_META_KEYS = (
    *("redirect_times", "redirect_ttl", "redirect_urls", "redirect_reasons"),
    SENT_META_KEY,
)


class LoginMiddleware(Component):
    """Makes requests to hosts with a login wait until the crawl has logged in there.

    An answer that leads to the form (or 401, 403) means that the session has ended: it is renewed,
    once for all requests that were sent in it, and they are sent again. Addresses that end the
    session are left out.
    """

    def __init__(self, crawler: Crawler) -> None:
        options = CrawlOptions.from_settings(crawler.settings)
        if not options.login:
            raise NotConfigured
        super().__init__(crawler)
        self.keeper = extension(crawler, BookKeeper)
        self._forms = FormLogins(crawler)
        self._sessions = {origin: Session(login) for origin, login in options.logins.items()}
        # For each request that was sent, the generation of its session.
        self._sent: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        self._has_requests = False
        self._has_used_login = False
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

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
        self._has_requests = True
        if session is None:
            return
        self._has_used_login = True
        if session.login.ends_session(request.url):
            raise RefusedError(LOGOUT, "it ends the session of the login")
        async with session.lock:
            if not (session.is_alive or session.failure):
                await self._forms.log_in(session)
        if session.failure:
            raise self._failed(request, session)
        self._sent[request] = session.generation

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        """Return the response, or a request to send again because the session had ended."""
        session = self.session_of(request)
        if session is None:
            return response
        target = redirect_target(response)
        if target and session.login.is_form(target):
            return await self._after_form(request, session) or response
        if response.status in DENIED:
            return await self.again(request, session) or response
        if deleted := session.cookies & _deleted_cookies(request, response):
            return await self._after_deletion(request, session, deleted) or response
        if target:
            self.note_page(request, session)
        return response

    async def _after_form(self, request: Request, session: Session) -> Request | None:
        """Return a request to send again, since its answer redirects to the form. If the answer is
        the form also in a new session, postpone the address; at the end of the run, return None.
        """
        request_again = await self.again(request, session)
        if request_again is None and self.may_postpone:
            raise self.refuse_form(request, session)
        return request_again

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
        """Return the request to send again in a newer session, after a login if needed. Return None
        if its answer does not mean that the session has ended.
        """
        async with session.lock:
            is_current = self._sent.get(request, 0) == session.generation
            if session.is_alive and is_current:
                if not self._may_renew(request, session):
                    return None
                session.is_alive = False
            if not (session.is_alive or session.failure):
                await self._forms.log_in(session)
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
        """Tell whether an answer with the form means that the session has ended. It can also mean
        that this user may not read the page, or that the page itself ends the session.
        """
        sent_again = session.sent_again[_first_address(request)]
        if sent_again >= MIN_SENT_AGAIN or (sent_again and not session.pages):
            session.note_useless()
            return False
        if session.may_renew:
            return True
        session.refused += 1
        return False

    def note_page(self, request: Request, session: Session) -> None:
        """Record an answer that is not the form: the session is alive."""
        session.pages += 1
        session.refused = session.deleting = 0
        if session.sent_again.pop(_first_address(request), 0):
            session.useless, session.is_proven = 0, True

    def closed(self) -> None:
        """Warn if the crawl sent requests, but none of them needed a login."""
        if self._has_requests and not self._has_used_login:
            logger.warning(
                "no login was used: the crawl requested no address that begins with %s. A login is"
                " for pages with the scheme, the host and the port of its form",
                ", ".join("://".join(origin) for origin in self._sessions),
            )

    @property
    def may_postpone(self) -> bool:
        """Whether an address can be tried once more at the end of the run."""
        return self.keeper.is_durable and not self.keeper.addresses.is_at_end

    def refuse_form(self, request: Request, session: Session) -> RefusedError:
        """Return the error of an address whose answer is the form, also after a login. The address
        is tried once more at the end of the run.
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


class LoginPagesMiddleware(Component):
    """Detects pages that show the login form: they are not content. See `LoginMiddleware`."""

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
        is_read = 200 <= response.status < 300 or response.status == NOT_MODIFIED_STATUS
        if is_read and split_address(request.url).path not in PUBLIC_PATHS:
            logins.note_page(request, session)
        return response


def _first_address(request: Request) -> str:
    """Return the address of a request before any redirect."""
    return str(request.meta.get("redirect_urls", [request.url])[0])


def _deleted_cookies(request: Request, response: Response) -> set[str]:
    """Return the names of the cookies that a response deletes."""
    values = response.headers.getlist("Set-Cookie")
    names = {value.partition(b"=")[0].strip().decode("latin-1") for value in values}
    stored_cookies = CookieJar().make_cookies(response, request) if names else ()
    return names - {cookie.name for cookie in stored_cookies}
