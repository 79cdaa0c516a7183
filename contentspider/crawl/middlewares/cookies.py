"""A cookie middleware that by default keeps only the cookies that redirects set."""

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
    """Sends cookies back to the hosts that set them. Some sites answer only with such a cookie.

    By default it keeps only the cookies of redirects; with ``COOKIES_ENABLED`` it keeps all.
    """

    def __init__(self, takes_all: bool) -> None:
        super().__init__()
        self._takes_all = takes_all
        # The Cookie header that a request had before the middleware added its own cookies.
        self._original_headers: WeakKeyDictionary[Request, bytes] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawl; raises `NotConfigured` if it would keep no cookie."""
        takes_all = crawler.settings.getbool("COOKIES_ENABLED")
        if not (takes_all or CrawlOptions.from_settings(crawler.settings).redirect_cookies):
            raise NotConfigured
        cookies = cls(takes_all)
        cookies.crawler = crawler
        return cookies

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Add the host's cookies after the cookies that the request already has."""
        original = request.headers.get("Cookie")
        super().process_request(request)
        stored = request.headers.get("Cookie")
        if stored:
            digests = request.meta.get(SENT_META_KEY, {})
            request.meta[SENT_META_KEY] = {**digests, request.url: _digest(stored)}
        if original:
            self._original_headers[request] = original
            request.headers["Cookie"] = original + b"; " + stored if stored else original

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response:
        """Remove our cookies from the request, and store the cookies that the response sets."""
        self._restore_header(request)
        if self._takes_all or (300 <= response.status < 400 and "Location" in response.headers):
            self.store(request, response)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Remove our cookies: a retry of the request would otherwise put them into the ledger."""
        self._restore_header(request)

    def _process_cookies(
        self, cookies: Iterable[Cookie], *, jar: CookieJar, request: Request
    ) -> None:
        """Store the cookies that are valid for the host, checked against our own list of public
        suffixes. Scrapy's check would download a list.
        """
        host = urlparse_cached(request).hostname or ""
        for cookie in cookies:
            domain = cookie.domain.removeprefix(".")
            if is_public_suffix(domain):
                if domain != host:
                    continue
                cookie.domain = host
            jar.set_cookie_if_ok(cookie, request)

    def _restore_header(self, request: Request) -> None:
        request.headers.pop("Cookie", None)
        if original := self._original_headers.pop(request, None):
            request.headers["Cookie"] = original

    def store(self, request: Request, response: Response) -> None:
        """Store the cookies that a response sets."""
        super().process_response(request, response)

    def have_changed(self, request: Request) -> bool:
        """Tell whether the cookies for a request's address have changed since a redirect last led
        there. With other cookies the site may give another answer.
        """
        probe = Request(request.url)
        super().process_request(probe)
        digests = request.meta.get(SENT_META_KEY, {})
        return bool(digests.get(request.url, "") != _digest(probe.headers.get("Cookie")))


def _digest(cookies: bytes | None) -> str:
    return blake2b(cookies, digest_size=8).hexdigest() if cookies else ""
