"""The door of the site spider: what a site names is fetched only if it is on the web, outside of
the user's own networks, and on the site.
"""

from __future__ import annotations

import socket
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy import signals
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached
from w3lib.http import basic_auth_header
from w3lib.url import safe_url_string

from contentspider.ground.addresses import clean_address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# Before robots.txt is asked for, and after redirects and retries have been made of an answer.
GUARD_ORDER, CREDENTIALS_ORDER = 50, 690
CLOSED_SCHEMES = ("file", "ftp", "s3")


# How the reason begins for which a redirect out of the crawl is not followed.
OFFSITE = "it redirects to"


class RefusedError(IgnoreRequest):
    """A request that a site caused and that is not sent; *kind* is the word for the stats."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class GuardMiddleware:
    """Refuses requests, whatever names their address (links, sitemaps, feeds, redirects): those of
    another scheme than http and https; those to addresses of a private network, unless a start
    address is in one of its kind; and pages' redirects out of the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._hosts: set[str] = set()
        self._network_of = lru_cache(maxsize=10_000)(network_of)
        self._networks = {""}
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._downloaded, signal=signals.response_downloaded)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> GuardMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def _opened(self) -> None:
        for address in getattr(self.crawler.spider, "start_urls", ()):
            host = urlsplit(safe_url_string(address)).hostname or ""
            self._hosts.add(host)
            self._networks.add(self._network_of(host))

    def _downloaded(self, response: Response, request: Request) -> None:
        """Learn in which network a start is whose name does not say so."""
        if (
            response.ip_address is not None
            and not request.meta.get("proxy")
            and urlparse_cached(request).hostname in self._hosts
        ):
            self._networks.add(self._network_of(str(response.ip_address)))

    def process_request(self, request: Request) -> Request | None:
        """Refuse the request, or clear its address of a password that a site put there."""
        parts = urlparse_cached(request)
        if parts.scheme not in ("http", "https"):
            raise RefusedError("scheme", f"{parts.scheme}: is no address on the web")
        host = parts.hostname or ""
        if host not in self._hosts and (network := self._network_of(host)) not in self._networks:
            raise RefusedError(
                "private_address",
                f"{host} is a {network} address, which a site on the web must not lead to; crawl it"
                " by itself if it is yours",
            )
        if request.meta.get("redirect_urls"):
            refuse = getattr(self.crawler.spider, "is_strayed", None)
            if refuse is not None and refuse(request):
                raise RefusedError("offsite_redirect", f"{OFFSITE} {request.url}")
        if "@" in parts.netloc:
            return request.replace(url=clean_address(request.url))
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        """Refuse the answer if the address' name led into a private network."""
        if (
            response.ip_address is not None
            and not request.meta.get("proxy")
            and urlparse_cached(request).hostname not in self._hosts
            and (network := self._network_of(str(response.ip_address))) not in self._networks
        ):
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


class Credentials:
    """User names and passwords, by the scheme, host and port that they were given for."""

    def __init__(self) -> None:
        self._headers: dict[tuple[str, str], bytes] = {}

    def take(self, addresses: Iterable[str]) -> list[str]:
        """Return the addresses without their users and passwords, which are remembered.

        >>> given = Credentials()
        >>> given.take(["https://me:secret@example.org/a"])
        ['https://example.org/a']
        >>> given.header("https://example.org/b"), given.header("http://example.org/b")
        (b'Basic bWU6c2VjcmV0', None)
        """
        cleaned = []
        for address in addresses:
            clean = clean_address(address)
            user, at, _ = urlsplit(address).netloc.rpartition("@")
            if at:
                name, _, password = user.partition(":")
                self._headers[_origin(clean)] = basic_auth_header(
                    unquote(name), unquote(password), "utf-8"
                )
            cleaned.append(clean)
        return cleaned

    def header(self, address: str) -> bytes | None:
        """Return the Authorization header for an address, if there is one for its origin."""
        return self._headers.get(_origin(clean_address(address))) if self._headers else None


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc.lower()


class CredentialsMiddleware:
    """Sends the spider's *credentials* to the origins that they are for, and takes them out of the
    request again: what is made of it (a retry, a redirect) is written to the ledger.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> CredentialsMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Add the header of the request's origin."""
        credentials: Credentials | None = getattr(self.crawler.spider, "credentials", None)
        header = credentials.header(request.url) if credentials else None
        if header:
            request.headers["Authorization"] = header

    def process_response(self, request: Request, response: Response) -> Response:
        """Take the header out again."""
        self._remove(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> Any:
        """Take the header out again."""
        self._remove(request)

    def _remove(self, request: Request) -> None:
        credentials: Credentials | None = getattr(self.crawler.spider, "credentials", None)
        if credentials and credentials.header(request.url):
            request.headers.pop("Authorization", None)
