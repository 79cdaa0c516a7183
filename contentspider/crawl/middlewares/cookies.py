"""Cookies of sites that answer only with one: by default those that redirects set."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.exceptions import NotConfigured
from scrapy.utils.httpobj import urlparse_cached

from contentspider.crawl.base.meta import SENT_META_KEY
from contentspider.crawl.base.options import CrawlOptions
from contentspider.ground.sites import is_public_suffix

if TYPE_CHECKING:
    from collections.abc import Iterable
    from http.cookiejar import Cookie

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.cookies import CookieJar
    from typing_extensions import Self


class SiteCookies(CookiesMiddleware):
    """Keeps the cookies that redirects set (with ``COOKIES_ENABLED`` those of all answers), and
    sends them to the hosts that they are for.
    """

    def __init__(self, takes_all: bool) -> None:
        super().__init__()
        self._takes_all = takes_all
        # Headers of requests that had cookies of their own.
        self._given: WeakKeyDictionary[Request, bytes] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the cookies of a crawl."""
        takes_all = crawler.settings.getbool("COOKIES_ENABLED")
        if not (takes_all or CrawlOptions.from_settings(crawler.settings).redirect_cookies):
            raise NotConfigured
        cookies = cls(takes_all)
        cookies.crawler = crawler
        return cookies

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Put the cookies on, after those that the request has."""
        given = request.headers.get("Cookie")
        super().process_request(request)
        own = request.headers.get("Cookie")
        if own:
            sent = request.meta.get(SENT_META_KEY, {})
            request.meta[SENT_META_KEY] = {**sent, request.url: _mark(own)}
        if given:
            self._given[request] = given
            request.headers["Cookie"] = given + b"; " + own if own else given

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response:
        """Take the cookies off, and keep new ones."""
        self._take_off(request)
        if self._takes_all or (300 <= response.status < 400 and "Location" in response.headers):
            self.keep(request, response)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Take the cookies off: they would go into the ledger with a request that is sent again."""
        self._take_off(request)

    def _process_cookies(
        self, cookies: Iterable[Cookie], *, jar: CookieJar, request: Request
    ) -> None:
        """Keep those that are for the host, by our own list of suffixes: Scrapy fetches one."""
        host = urlparse_cached(request).hostname or ""
        for cookie in cookies:
            domain = cookie.domain.removeprefix(".")
            if is_public_suffix(domain):
                if domain != host:
                    continue
                cookie.domain = host
            jar.set_cookie_if_ok(cookie, request)

    def _take_off(self, request: Request) -> None:
        request.headers.pop("Cookie", None)
        if given := self._given.pop(request, None):
            request.headers["Cookie"] = given

    def keep(self, request: Request, response: Response) -> None:
        """Keep the cookies that an answer sets."""
        super().process_response(request, response)

    def is_other(self, request: Request) -> bool:
        """Tell whether a request would go with other cookies than when redirects last asked for its
        address: the answer will be another.
        """
        probe = Request(request.url)
        super().process_request(probe)
        sent = request.meta.get(SENT_META_KEY, {}).get(request.url, "")
        return bool(sent != _mark(probe.headers.get("Cookie")))


def _mark(cookies: bytes | None) -> str:
    return blake2b(cookies, digest_size=8).hexdigest() if cookies else ""
