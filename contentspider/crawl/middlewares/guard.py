"""Middlewares that keep the site spider on the web, out of private networks, and on its sites."""

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
from contentspider.ground.addresses import host_name, is_web_address, network_of, page_address

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# GuardMiddleware sees requests before robots.txt is fetched for them, and sees responses after the
# redirect and retry middlewares.
GUARD_ORDER = 50
CLOSED_SCHEMES = ("file", "ftp", "s3")


class RefusedError(IgnoreRequest):
    """A request that a site caused and that must not be sent; *kind* is its name in the stats."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class GuardMiddleware(Component):
    """Refuses requests that are not http or https, requests to private networks (except the
    networks of start addresses), and redirects that leave the crawl.

    The network of a host is checked when Twisted resolves its name (`GuardedResolver`) and again
    by the IP address that answered.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._start_hosts: set[str] = set()
        self._network_of = lru_cache(maxsize=10_000)(network_of)
        self._open_networks = {""}
        # By host: the private network of all its addresses, "" if one of them may be requested.
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
        """Open the network of a start address when its first response shows the network."""
        if response.ip_address is not None and not request.meta.get("proxy"):
            self.closed_network(urlparse_cached(request).hostname or "", str(response.ip_address))

    def closed_network(self, host: str, address: str) -> str:
        """Return the private network of an IP *address* of a *host*, "" if it is public
        or open. The addresses of start hosts open their networks.
        """
        network = self._network_of(address)
        if host in self._start_hosts:
            self._open_networks.add(network)
        return "" if network in self._open_networks else network

    def is_requesting(self, host: str) -> bool:
        """Tell whether the crawl is downloading from a *host* now."""
        return any(
            urlparse_cached(request).hostname == host for request in downloading(self.crawler)
        )

    def refusal(self, request: Request) -> RefusedError | None:
        """Return the error of a request whose host has only refused addresses, None for others."""
        host = urlparse_cached(request).hostname or ""
        network = self.refused.get(host) if not request.meta.get("proxy") else ""
        return _refused_name(f"at a {network} address") if network else None

    def process_request(self, request: Request) -> Request | None:
        """Refuse the request, or remove a password that a site put into its address."""
        install_guarded_resolver(self)
        parts = urlparse_cached(request)
        if parts.scheme not in ("http", "https"):
            raise RefusedError("scheme", f"{parts.scheme}: is not a web address")
        if not is_web_address(request.url):  # links are checked where they are read
            raise RefusedError("redirects", f"{request.url} names no host that can exist")
        host = parts.hostname or ""
        network = self._network_of(host)
        if host not in self._start_hosts and network not in self._open_networks:
            raise RefusedError(
                "private_address",
                f"{host} is a {network} address, which a site on the web must not lead to; crawl it"
                " by itself if it is yours",
            )
        if request.meta.get("redirect_urls"):
            is_out_of_scope = getattr(self.crawler.spider, "is_out_of_scope", None)
            if is_out_of_scope is not None and is_out_of_scope(request):
                raise RefusedError("offsite_redirect", f"{OFFSITE} {request.url}")
        if "@" in parts.netloc:
            return request.replace(url=page_address(request.url))
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Refuse a response from a private network."""
        address = response.ip_address
        if address is not None and not request.meta.get("proxy"):
            host = urlparse_cached(request).hostname or ""
            if network := self.closed_network(host, str(address)):
                raise _refused_name(f"at {address}, a {network} address")
        return response


def _refused_name(place: str) -> RefusedError:
    reason = f"its host is {place}, which a site on the web must not lead to"
    return RefusedError("private_address", reason)


class GuardedResolver:
    """Wraps the Twisted resolver of a process to drop the addresses that *guards* refuse."""

    def __init__(self, resolver: Any) -> None:
        self._resolver = resolver
        self.guards: WeakSet[GuardMiddleware] = WeakSet()

    def resolveHostName(self, receiver: Any, name: str, *args: Any, **options: Any) -> Any:
        """Resolve a host *name*. Twisted calls this method."""
        host = name.lower()
        for guard in [guard for guard in self.guards if guard.is_requesting(host)]:
            receiver = GuardedReceiver(receiver, host, guard)
        return self._resolver.resolveHostName(receiver, name, *args, **options)


class GuardedReceiver:
    """Receives the addresses of a *host* from Twisted's resolver and passes on the addresses that
    its *guard* does not refuse.
    """

    def __init__(self, receiver: Any, host: str, guard: GuardMiddleware) -> None:
        self._receiver = receiver
        self._host = host
        self._guard = guard
        self._networks: set[str] = set()
        self.resolutionBegan = receiver.resolutionBegan

    def addressResolved(self, address: Any) -> None:
        """Pass on an address unless the guard refuses it."""
        network = self._guard.closed_network(self._host, address.host)
        self._networks.add(network)
        if not network:
            self._receiver.addressResolved(address)

    def resolutionComplete(self) -> None:
        """Tell the guard whether all addresses of the host were refused."""
        self._guard.refused[self._host] = min(self._networks, default="")
        self._receiver.resolutionComplete()


def install_guarded_resolver(guard: GuardMiddleware) -> None:
    """Have Twisted check every host name of the *guard*'s crawl, if its reactor is installed."""
    if not is_reactor_installed():
        return
    from twisted.internet import reactor

    resolver = reactor.nameResolver
    if not isinstance(resolver, GuardedResolver):
        resolver = GuardedResolver(resolver)
        reactor.installNameResolver(resolver)
    resolver.guards.add(guard)


class SafeRedirectMiddleware(RedirectMiddleware):
    """Refuses a redirect to an invalid address (``http://[x``) with a clear message. Follows a
    redirect to the same address if the response has set a cookie.
    """

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the request that the response redirects to, or the response."""
        try:
            redirected = super().process_response(request, response)
        except ValueError as error:
            reason = f"it redirects to an invalid address ({error})"
            raise RefusedError("redirects", reason) from error
        if isinstance(redirected, Request) and _is_loop(redirected):
            # Otherwise the scheduler drops the request as a duplicate.
            redirected.dont_filter |= has_other_cookies(self.crawler, redirected)
        return redirected


class RefreshMiddleware(MetaRefreshMiddleware):
    """Follows an immediate ``<meta http-equiv=refresh>`` or ``Refresh`` header, parsed as browsers
    parse them. A page that refreshes itself, or leads to an invalid address, is read as a page.
    """

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return a request of the address that the page refreshes to, or else the response."""
        if (
            request.meta.get("dont_redirect")
            or request.method == "HEAD"
            or not isinstance(response, HtmlResponse)
        ):
            return response
        refresh = refresh_of(response)
        if refresh is None or refresh[0] >= self._maxdelay:
            return response
        target = self._redirect_request_using_get(request, response, refresh[1])
        redirected = self._redirect(target, request, "meta refresh")
        if _is_loop(redirected):
            cookies = self.crawler.get_downloader_middleware(SiteCookies)
            if cookies is not None:
                cookies.store(request, response)
            if not has_other_cookies(self.crawler, redirected):
                return response
            redirected.dont_filter = True
        return redirected


def _is_loop(redirected: Request) -> bool:
    return redirected.url in redirected.meta["redirect_urls"]


def has_other_cookies(crawler: Crawler, request: Request) -> bool:
    """Tell whether the cookies for a request's address have changed since it was last sent."""
    cookies = crawler.get_downloader_middleware(SiteCookies)
    return cookies is not None and cookies.have_changed(request)
