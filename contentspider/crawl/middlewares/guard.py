"""The site spider fetches only what is on the web, outside of private networks, and on the site."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy import Request, Spider, signals
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.utils.datatypes import LocalCache
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.reactor import is_reactor_installed
from w3lib.url import safe_url_string

from contentspider.crawl.base.engine import Component, downloading
from contentspider.crawl.base.links import refresh_of
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.base.outcomes import OFFSITE
from contentspider.crawl.middlewares.cookies import SiteCookies
from contentspider.ground.addresses import clean_address, host_name, network_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# Before robots.txt is asked for, and after redirects and retries have been made of an answer.
GUARD_ORDER = 50
CLOSED_SCHEMES = ("file", "ftp", "s3")


class RefusedError(IgnoreRequest):
    """A request that a site caused and that is not sent; *kind* is the word for the stats."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class GuardMiddleware(Component):
    """Refuses requests of another scheme than http and https, to private networks (but those of
    starts), and redirects out of the crawl: by what Twisted connects to (`CheckedNames`), or who
    answered.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._start_hosts: set[str] = set()
        self._network_of = lru_cache(maxsize=10_000)(network_of)
        self._open_networks = {""}
        # The private networks of names that are only in one; empty of those that may be asked.
        self.refused: LocalCache[str, str] = LocalCache(10_000)
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._downloaded, signal=signals.response_downloaded)

    def _opened(self) -> None:
        is_open = CrawlOptions.from_settings(self.crawler.settings).private
        for address in getattr(self.crawler.spider, "start_urls", ()) if is_open else ():
            host = host_name(safe_url_string(address))
            self._start_hosts.add(host)
            self._open_networks.add(self._network_of(host))

    def _downloaded(self, response: Response, request: Request) -> None:
        """Learn in which network a start is whose name does not say so."""
        if response.ip_address is not None and not request.meta.get("proxy"):
            self.closed_network(urlparse_cached(request).hostname or "", str(response.ip_address))

    def closed_network(self, host: str, address: str) -> str:
        """Return which private network a *host* is in that may not be asked; a start opens its."""
        network = self._network_of(address)
        if host in self._start_hosts:
            self._open_networks.add(network)
        return "" if network in self._open_networks else network

    def is_asking(self, host: str) -> bool:
        """Tell whether a request of the crawl to a *host* is on its way."""
        return any(urlparse_cached(one).hostname == host for one in downloading(self.crawler))

    def refusal(self, request: Request) -> RefusedError | None:
        """Return why there was no address to connect to, if it was for the guard."""
        host = urlparse_cached(request).hostname or ""
        network = self.refused.get(host) if not request.meta.get("proxy") else ""
        return _refused_name(f"at a {network} address") if network else None

    def process_request(self, request: Request) -> Request | None:
        """Refuse the request, or clear its address of a password that a site put there."""
        check_names(self)
        parts = urlparse_cached(request)
        if parts.scheme not in ("http", "https"):
            raise RefusedError("scheme", f"{parts.scheme}: is no address on the web")
        host = parts.hostname or ""
        network = self._network_of(host)
        if host not in self._start_hosts and network not in self._open_networks:
            raise RefusedError(
                "private_address",
                f"{host} is a {network} address, which a site on the web must not lead to; crawl it"
                " by itself if it is yours",
            )
        if request.meta.get("redirect_urls"):
            is_strayed = getattr(self.crawler.spider, "is_strayed", None)
            if is_strayed is not None and is_strayed(request):
                raise RefusedError("offsite_redirect", f"{OFFSITE} {request.url}")
        if "@" in parts.netloc:
            return request.replace(url=clean_address(request.url))
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Refuse the answer if the address' name led into a private network."""
        found = response.ip_address
        if found is not None and not request.meta.get("proxy"):
            host = urlparse_cached(request).hostname or ""
            if network := self.closed_network(host, str(found)):
                raise _refused_name(f"at {found}, a {network} address")
        return response


def _refused_name(place: str) -> RefusedError:
    reason = f"its host is {place}, which a site on the web must not lead to"
    return RefusedError("private_address", reason)


class CheckedNames:
    """Twisted's look-up of names, for a whole process, without addresses that *guards* refuse."""

    def __init__(self, resolver: Any) -> None:
        self._resolver = resolver
        self.guards: WeakSet[GuardMiddleware] = WeakSet()

    def resolveHostName(self, receiver: Any, name: str, *args: Any, **options: Any) -> Any:
        """Look up a *name*."""
        host = name.lower()
        for guard in [guard for guard in self.guards if guard.is_asking(host)]:
            receiver = CheckedAddresses(receiver, host, guard)
        return self._resolver.resolveHostName(receiver, name, *args, **options)


class CheckedAddresses:
    """Passes those addresses of a *host* on that its *guard* does not refuse."""

    def __init__(self, receiver: Any, host: str, guard: GuardMiddleware) -> None:
        self._receiver = receiver
        self._host = host
        self._guard = guard
        self._networks: set[str] = set()
        self.resolutionBegan = receiver.resolutionBegan

    def addressResolved(self, address: Any) -> None:
        """Pass an address on, unless it is refused."""
        network = self._guard.closed_network(self._host, address.host)
        self._networks.add(network)
        if not network:
            self._receiver.addressResolved(address)

    def resolutionComplete(self) -> None:
        """Tell the guard what has become of the name."""
        self._guard.refused[self._host] = min(self._networks, default="")
        self._receiver.resolutionComplete()


def check_names(guard: GuardMiddleware) -> None:
    """Have Twisted, if it runs, look up names for a *guard* by `CheckedNames`, from now on."""
    if not is_reactor_installed():
        return
    from twisted.internet import reactor

    resolver = reactor.nameResolver
    if not isinstance(resolver, CheckedNames):
        resolver = CheckedNames(resolver)
        reactor.installNameResolver(resolver)
    resolver.guards.add(guard)


class SafeRedirectMiddleware(RedirectMiddleware):
    """Refuses a redirect to an invalid address (``http://[x``) with a message that says so. Follows
    a redirect to the same address if the answer has set a cookie.
    """

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the request that the response redirects to, or the response."""
        try:
            redirected = super().process_response(request, response)
        except ValueError as error:
            reason = f"it redirects to what is no address ({error})"
            raise RefusedError("redirects", reason) from error
        if isinstance(redirected, Request) and _leads_back(redirected):
            # Else it is dropped as one that has been sent.
            redirected.dont_filter |= has_other_cookies(self.crawler, redirected)
        return redirected


class RefreshMiddleware(MetaRefreshMiddleware):
    """Follows what leads on at once, by ``<meta http-equiv=refresh>`` or the header ``Refresh``, as
    browsers read these. A page that names itself, or no address at all, is read.
    """

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the request for the page's refresh, or the page."""
        if (
            request.meta.get("dont_redirect")
            or request.method == "HEAD"
            or not isinstance(response, HtmlResponse)
        ):
            return response
        refresh = refresh_of(response)
        if refresh is None or refresh[0] >= self._maxdelay:
            return response
        asked = self._redirect_request_using_get(request, response, refresh[1])
        redirected = self._redirect(asked, request, "meta refresh")
        if _leads_back(redirected):
            cookies = self.crawler.get_downloader_middleware(SiteCookies)
            if cookies is not None:
                cookies.keep(request, response)
            if not has_other_cookies(self.crawler, redirected):
                return response
            redirected.dont_filter = True
        return redirected


def _leads_back(redirected: Request) -> bool:
    return redirected.url in redirected.meta["redirect_urls"]


def has_other_cookies(crawler: Crawler, request: Request) -> bool:
    """Tell whether the address of a request was asked for with other cookies before."""
    cookies = crawler.get_downloader_middleware(SiteCookies)
    return cookies is not None and cookies.is_other(request)
