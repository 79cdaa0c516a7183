"""Fetches a single page for a user; private networks are refused unless the user allows them."""

from __future__ import annotations

import socket
import ssl
import zlib
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Timer
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, urlsplit
from urllib.request import HTTPRedirectHandler, getproxies, proxy_bypass

from w3lib.url import safe_url_string

from contentspider.ground.addresses import join, network_of, split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.useragent import user_agent

if TYPE_CHECKING:
    from collections.abc import Collection

MAX_BYTES = 10_000_000
SECS = 20.0
MAX_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
PORTS = {"http": 80, "https": 443}
CHUNK = 65_536
KINDS = ("text/html", "application/xhtml+xml", "text/plain", "")


class FetchError(ContentSpiderError):
    """A page cannot be fetched, or must not be; the message says why, and what to do."""

    code = "fetch"


class Fetched(NamedTuple):
    """A page: the address that answered, the bytes, and the header ``Content-Type``."""

    url: str
    body: bytes
    content_type: str


def fetch(
    address: str, is_private_allowed: bool = False, kinds: Collection[str] = KINDS
) -> Fetched:
    """Return the page at an address, after redirects. *kinds* are the media types of pages.

    Raises `FetchError` if the answer is not a page, is too large or too slow. It also raises it for
    a private network, whether the host's name, its IP address or a redirect leads there.

    The proxy of the environment (``https_proxy``, ``no_proxy``) is used. A proxy looks up names
    itself, so that only the names are checked then.
    """
    deadline = monotonic() + SECS
    for _ in range(MAX_REDIRECTS + 1):
        status, headers, body = _request(address, deadline, is_private_allowed)
        if status in REDIRECTS and headers.get("Location"):
            address = join(address, headers["Location"])
            continue
        if status != 200:
            raise FetchError(f"{address}: the server answered {status}")
        kind = headers.get("Content-Type", "")
        if kind.partition(";")[0].strip().lower() not in kinds:
            raise FetchError(f"{address} is not a page: it is {kind[:100]}", code="no-page")
        return Fetched(address, body, kind)
    raise FetchError(f"{address}: more than {MAX_REDIRECTS} redirects")


def check(address: str, is_private_allowed: bool = False) -> str:
    """Return the host of an address. Raises `FetchError` if it is not a web address, or if its host
    is in a private network, unless *is_private_allowed*.
    """
    parts = split_address(address)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in PORTS or not host:
        raise FetchError(
            "give the address of a page: http://... or https://...", code="web-address"
        )
    if not is_private_allowed and (network := network_of(host)):
        raise FetchError(f"{host} is a {network} address (--allow-private permits it)")
    return host


def _request(
    address: str, deadline: float, is_private_allowed: bool
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of one request."""
    host = check(address, is_private_allowed)
    try:
        connection, path = _connection(address, host, deadline, is_private_allowed)
        # Ends the request at the deadline, even if the server still sends.
        clock = Timer(deadline - monotonic(), _shut_down, [connection])
        headers = {"User-Agent": user_agent(""), "Accept-Encoding": "identity, gzip;q=0.5"}
        clock.start()
        try:
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, dict(response.headers), _read(response)
        finally:
            clock.cancel()
            connection.close()
    except (OSError, HTTPException, ValueError, zlib.error) as error:
        is_late = isinstance(error, TimeoutError) or monotonic() >= deadline
        reason = f"it did not arrive within {SECS:g} s" if is_late else str(error)
        raise FetchError(f"{address}: {reason or type(error).__name__}") from error


def _connection(
    address: str, host: str, deadline: float, is_private_allowed: bool
) -> tuple[HTTPConnection, str]:
    """Return a connection to the host or its proxy, and the path to request."""
    parts = urlsplit(safe_url_string(address))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if proxy := _proxy_of(parts.scheme, host):
        return _proxy_connection(proxy, parts, path, deadline - monotonic())
    port, is_secure = parts.port or PORTS[parts.scheme], parts.scheme == "https"
    places = _addresses_of(host, port, is_private_allowed)
    return _CheckedConnection(host, port, places, is_secure, deadline - monotonic()), path


def _addresses_of(host: str, port: int, is_private_allowed: bool) -> list[str]:
    """Return the IP addresses of a host, looked up once; raises `FetchError` for private ones."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    places = [str(info[4][0]) for info in infos]
    if not is_private_allowed:
        for place in places:
            if network := network_of(place):
                raise FetchError(
                    f"{host} is at {place}, a {network} address (--allow-private permits it)"
                )
    return places


def check_proxy(address: str) -> None:
    """Raise `FetchError` if the environment names an unusable proxy for an address."""
    parts = urlsplit(address)
    _proxy_of(parts.scheme, parts.hostname or "")


def _proxy_of(scheme: str, host: str) -> str:
    """Return the environment's proxy for a host, or nothing; raises `FetchError` for SOCKS."""
    proxies = {} if proxy_bypass(host) else getproxies()
    # Scrapy ignores all_proxy and would connect directly, so a SOCKS proxy there is an error, too.
    proxy = proxies.get(scheme) or proxies.get("all", "")
    kind = proxy.partition("://")[0]
    if kind.lower().startswith("socks"):
        raise FetchError(
            f"the environment names a {kind} proxy, which cannot be used: give an HTTP proxy in"
            f" {scheme}_proxy (before a SOCKS proxy one such as privoxy), or {host} in no_proxy",
            code="proxy",
        )
    return proxies.get(scheme, "")


def _proxy_connection(
    proxy: str, parts: SplitResult, path: str, secs: float
) -> tuple[HTTPConnection, str]:
    """Return a connection to a *proxy*, and the path to request from it."""
    place = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    name, port, secs = place.hostname or "", place.port or PORTS["http"], max(secs, 0.1)
    if parts.scheme == "http":
        return HTTPConnection(name, port, timeout=secs), f"http://{parts.netloc}{path}"
    tunnel = HTTPSConnection(name, port, timeout=secs, context=ssl.create_default_context())
    tunnel.set_tunnel(parts.hostname or "", parts.port or PORTS["https"])
    return tunnel, path


def _shut_down(connection: HTTPConnection) -> None:
    """End the transfer of a connection."""
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


class NoRedirects(HTTPRedirectHandler):
    """Reports a redirect as an `HTTPError`."""

    def redirect_request(self, *arguments: Any) -> None:
        """Follow no redirect."""


class _CheckedConnection(HTTPConnection):
    """A connection to a *host* at the first of some IP addresses (*places*) that answers."""

    def __init__(
        self, host: str, port: int, places: list[str], is_secure: bool, secs: float
    ) -> None:
        super().__init__(host, port, timeout=max(secs, 0.1))
        self._places, self._is_secure = places, is_secure
        self._until = monotonic() + secs
        self.default_port = PORTS["https" if is_secure else "http"]

    def connect(self) -> None:
        """Connect to one of the checked IP addresses; the name is not looked up again."""
        for place in self._places:
            remaining = max(self._until - monotonic(), 0.1)
            try:
                self.sock = socket.create_connection((place, self.port), remaining)
                break
            except OSError:
                if place == self._places[-1]:
                    raise
        if self._is_secure:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self.host)


def _read(response: HTTPResponse) -> bytes:
    """Return the unpacked body; raises `FetchError` if it is too large."""
    is_packed = response.headers.get("Content-Encoding", "").lower() in ("gzip", "x-gzip")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if is_packed else None
    parts: list[bytes] = []
    size = 0
    while part := response.read1(CHUNK):
        unread = b""
        if unpacker is not None:
            part, unread = unpacker.decompress(part, MAX_BYTES), unpacker.unconsumed_tail
        size += len(part)
        if size > MAX_BYTES or unread:
            raise FetchError(f"it has more than {MAX_BYTES // 1_000_000} MB")
        parts.append(part)
    return b"".join(parts)
