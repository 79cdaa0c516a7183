"""A cookie middleware that by default keeps only the cookies that redirects and logins set."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.downloadermiddlewares.cookies import CookiesMiddleware
from scrapy.utils.httpobj import urlparse_cached

from contentspider.crawl.base.meta import SENT_META_KEY
from contentspider.crawl.base.options import CrawlOptions
from contentspider.ground.addresses import origin_of
from contentspider.ground.sites import is_public_suffix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from http.cookiejar import Cookie

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.cookies import CookieJar
    from typing_extensions import Self

    from contentspider.crawl.base.logins import Logins

# Browsers keep as many cookies of a domain, and of this size (name, value and path). Otherwise a
# site could fill the memory with cookies.
MAX_COOKIES, MAX_COOKIE_CHARS = 180, 4_096
MAX_ALL_COOKIES = 3_000  # of all domains together: a site may have any number of host names

Origin = tuple[str, str]
Jar = tuple[Origin, int]


class SiteCookies(CookiesMiddleware):
    """Sends cookies back to the hosts that set them. Some sites answer only with such a cookie.

    By default it keeps only the cookies of redirects; with ``COOKIES_ENABLED`` it keeps all. An
    origin with a login has cookies of its own: all are kept, and they are sent nowhere else.
    """

    def __init__(self, takes_all: bool, logins: Logins) -> None:
        super().__init__()
        self._takes_all = takes_all
        self._logins = logins
        # The number of the cookie jar that each origin with a login uses now; see `forget`.
        self._generations: defaultdict[Origin, int] = defaultdict(int)
        # The cookie jar of each request that was sent to an origin with a login.
        self._sent_jars: WeakKeyDictionary[Request, Jar] = WeakKeyDictionary()
        # The Cookie header that a request had before the middleware added its own cookies.
        self._original_headers: WeakKeyDictionary[Request, bytes] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawl."""
        options = CrawlOptions.from_settings(crawler.settings)
        cookies = cls(crawler.settings.getbool("COOKIES_ENABLED"), options.logins)
        cookies.crawler = crawler
        return cookies

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Add the host's cookies after the cookies that the request already has."""
        original = request.headers.get("Cookie")
        self._sent_jars.pop(request, None)
        with self._own_jar(request):
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
        is_redirect = 300 <= response.status < 400 and "Location" in response.headers
        if self._takes_all or is_redirect or self._origin_of(request) is not None:
            self.store(request, response)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Remove our cookies: a retry of the request would otherwise put them into the book."""
        self._restore_header(request)

    def _process_cookies(
        self, cookies: Iterable[Cookie], *, jar: CookieJar, request: Request
    ) -> None:
        """Store the cookies that are valid for the host, checked against our own list of public
        suffixes. Scrapy's check would download a list.
        """
        host = urlparse_cached(request).hostname or ""
        is_session = self._origin_of(request) is not None
        for cookie in cookies:
            if is_session and cookie.domain_specified:
                # No other host of the domain gets a cookie of the session.
                cookie.domain, cookie.domain_specified = host, False
                cookie.domain_initial_dot = False
            domain = cookie.domain.removeprefix(".")
            if is_public_suffix(domain):
                if domain != host:
                    continue
                cookie.domain = host
            if len(cookie.name) + len(cookie.value or "") + len(cookie.path) <= MAX_COOKIE_CHARS:
                jar.set_cookie_if_ok(cookie, request)
        _drop_oldest(jar)

    def _restore_header(self, request: Request) -> None:
        request.headers.pop("Cookie", None)
        if original := self._original_headers.pop(request, None):
            request.headers["Cookie"] = original

    def store(self, request: Request, response: Response) -> None:
        """Store the cookies of a response."""
        with self._own_jar(request):
            super().process_response(request, response)

    def names(self, origin: Origin) -> set[str]:
        """Return the names of the cookies of an origin with a login."""
        return {cookie.name for cookie in self.jars[origin, self._generations[origin]]}

    def forget(self, origin: Origin) -> None:
        """Forget the cookies of an origin with a login. Answers to requests that were sent before
        no longer set cookies.
        """
        self.jars.pop((origin, self._generations[origin]), None)
        self._generations[origin] += 1

    def _origin_of(self, request: Request) -> Origin | None:
        """Return the origin of a request if it has a login, otherwise None."""
        origin = origin_of(request.url) if self._logins else None
        return origin if origin in self._logins else None

    @contextmanager
    def _own_jar(self, request: Request) -> Iterator[None]:
        """Have Scrapy's code use the cookies of a request's origin, if it has a login."""
        origin = self._origin_of(request)
        if origin is None:
            yield
            return
        before = request.meta.get("cookiejar")
        jar = self._sent_jars.setdefault(request, (origin, self._generations[origin]))
        request.meta["cookiejar"] = jar
        try:
            yield
        finally:
            request.meta["cookiejar"] = before
            if before is None:
                del request.meta["cookiejar"]

    def have_changed(self, request: Request) -> bool:
        """Tell whether the cookies for a request's address have changed since a redirect last led
        there. With other cookies the site may give another answer.
        """
        probe = Request(request.url)
        with self._own_jar(probe):
            super().process_request(probe)
        digests = request.meta.get(SENT_META_KEY, {})
        return bool(digests.get(request.url, "") != _digest(probe.headers.get("Cookie")))


def _drop_oldest(jar: CookieJar) -> None:
    """Drop the first cookies of each domain that has too many, and the first domains of a jar that
    has too many cookies.
    """
    total = 0
    for domain, paths in list(jar._cookies.items()):
        count = sum(map(len, paths.values()))
        for path, names in list(paths.items()):
            for name in list(names)[: max(count - MAX_COOKIES, 0)]:
                jar.clear(domain, path, name)
                count -= 1
            if not names:
                jar.clear(domain, path)
        total += count
    while total > MAX_ALL_COOKIES:
        domain, paths = next(iter(jar._cookies.items()))
        total -= sum(map(len, paths.values()))
        jar.clear(domain)


def _digest(cookies: bytes | None) -> str:
    return blake2b(cookies, digest_size=8).hexdigest() if cookies else ""
