"""The site spider fetches only what is on the web, outside of private networks, and on the site."""

from __future__ import annotations

import socket
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached
from w3lib.url import safe_url_string

from contentspider.crawl.engine import Component
from contentspider.ground.addresses import clean_address

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# Before robots.txt is asked for, and after redirects and retries have been made of an answer.
GUARD_ORDER = 50
CLOSED_SCHEMES = ("file", "ftp", "s3")
# How the reason begins for which a redirect out of the crawl is not followed.
OFFSITE = "it redirects to"


class RefusedError(IgnoreRequest):
    """A request that a site caused and that is not sent; *kind* is the word for the stats."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class GuardMiddleware(Component):
    """Refuses requests, whatever names their address (links, sitemaps, feeds, redirects): those of
    another scheme than http and https; those to addresses of a private network, unless a start
    address is in one of its kind; and pages' redirects out of the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._start_hosts: set[str] = set()
        self._network_of = lru_cache(maxsize=10_000)(network_of)
        self._open_networks = {""}
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._downloaded, signal=signals.response_downloaded)

    def _opened(self) -> None:
        for address in getattr(self.crawler.spider, "start_urls", ()):
            host = urlsplit(safe_url_string(address)).hostname or ""
            self._start_hosts.add(host)
            self._open_networks.add(self._network_of(host))

    def _downloaded(self, response: Response, request: Request) -> None:
        """Learn in which network a start is whose name does not say so."""
        if urlparse_cached(request).hostname in self._start_hosts:
            self._open_networks.add(self._answering_network(request, response))

    def _answering_network(self, request: Request, response: Response) -> str:
        if response.ip_address is None or request.meta.get("proxy"):
            return ""
        return self._network_of(str(response.ip_address))

    def process_request(self, request: Request) -> Request | None:
        """Refuse the request, or clear its address of a password that a site put there."""
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
        network = self._answering_network(request, response)
        is_start = urlparse_cached(request).hostname in self._start_hosts
        if not is_start and network not in self._open_networks:
            raise RefusedError(
                "private_address",
                f"its host is at {response.ip_address}, a {network} address, which a site on the"
                " web must not lead to",
            )
        return response


def network_of(host: str) -> str:
    """Return what kind of network a host is in by its name alone: ``loopback``, ``link-local``,
    ``private`` (any that is not public), or nothing where it is public or has to be looked up.

    >>> [network_of(host) for host in ("localhost", "127.1", "::ffff:10.0.0.1", "169.254.169.254")]
    ['loopback', 'loopback', 'private', 'link-local']
    >>> [network_of(host) for host in ("example.org", "8.8.8.8", "2130706433")]
    ['', '', 'loopback']
    """
    name = host.rstrip(".").partition("%")[0]
    if name == "localhost" or name.endswith(".localhost"):
        return "loopback"
    address: IPv4Address | IPv6Address
    try:
        address = ip_address(name)
    except ValueError:
        try:  # the old forms that the system's look-up knows, too: 127.1, 2130706433, 0x7f.1
            address = IPv4Address(socket.inet_aton(name))
        except (OSError, ValueError):
            return ""
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address.sixtofour or address
    if address.is_loopback or address.is_unspecified:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    return "" if address.is_global else "private"


class SafeRedirectMiddleware(RedirectMiddleware):
    """Says of a redirect to what is no address (``http://[x``) that it is one."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the request that the response redirects to, or the response."""
        try:
            return super().process_response(request, response)
        except ValueError as error:
            reason = f"it redirects to what is no address ({error})"
            raise RefusedError("redirects", reason) from error


class RefreshMiddleware(MetaRefreshMiddleware):
    """Reads a page whose ``<meta http-equiv=refresh>`` names itself, or no address at all."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Request | Response:
        """Return the request for the page's refresh, or the page."""
        try:
            refreshed = super().process_response(request, response)
        except ValueError:
            return response
        before = (request.url, *request.meta.get("redirect_urls", ()))
        is_loop = isinstance(refreshed, Request) and refreshed.url in before
        return response if is_loop else refreshed
