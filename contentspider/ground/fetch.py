"""Fetches a single page for a user; private networks are refused unless the user allows them."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPMessage,
    HTTPResponse,
    HTTPSConnection,
)
from threading import Timer
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from w3lib.http import basic_auth_header
from w3lib.url import safe_url_string

from contentspider.ground.addresses import join, network_of, split_address
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.useragent import user_agent

if TYPE_CHECKING:
    from collections.abc import Collection

    from typing_extensions import Self

MAX_BYTES = 10_000_000
SECS = 20.0
MAX_REDIRECTS = 5
REDIRECTS = (301, 302, 303, 307, 308)
PORTS = {"http": 80, "https": 443}
CHUNK = 65_536
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
# Errors of a request: no connection, no answer in time, or an answer that is not HTTP.
FAILURES = (OSError, HTTPException, ValueError, zlib.error)
KINDS = ("text/html", "application/xhtml+xml", "text/plain", "")


class FetchError(ContentSpiderError):
    """A page cannot be fetched, or must not be; the message says why, and what to do."""

    code = "fetch"


class Answer(NamedTuple):
    """The answer to a request: its status, its headers, and its body, unpacked."""

    status: int
    headers: HTTPMessage
    body: bytes


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


class _Clock:
    """Ends a request after *secs* seconds, even if the server still sends.

    The timeout of a connection does not: it begins again with each part that arrives.
    """

    def __init__(self, secs: float) -> None:
        self.secs, self.is_over = secs, False
        self._until = monotonic() + secs
        self._socket: socket.socket | None = None
        self._timer = Timer(secs, self._end)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._socket is not None:
            self._socket.close()

    @property
    def left(self) -> float:
        """The seconds until the end; a connection needs some."""
        return max(self._until - monotonic(), 0.1)

    def watch(self, connected: socket.socket) -> None:
        """Note the connection to end."""
        # The connection closes, and TLS detaches, its own socket object.
        self._socket = connected.dup()
        if self.is_over:
            self._end()

    def _end(self) -> None:
        self.is_over = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _Connection(HTTPConnection):
    """A connection that a *clock* ends, to the first IP address among *places* that answers; the
    name is not looked up again. Without places it leads to a proxy.
    """

    clock: _Clock
    places: Sequence[str] = ()

    def connect(self) -> None:
        """Connect, and let the clock end the connection."""
        if not self.places:
            super().connect()
        for place in self.places:
            try:
                self.sock = socket.create_connection((place, self.port), self.clock.left)
                break
            except OSError:
                if place == self.places[-1]:
                    raise
        self.clock.watch(self.sock)


class _SecureConnection(HTTPSConnection, _Connection):
    """An encrypted connection. Its handshake begins after `_Connection.connect`."""


def exchange(
    address: str,
    secs: float,
    is_private_allowed: bool = True,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    max_bytes: int = 0,
) -> Answer:
    """Send one request, and return its answer, within *secs*; a redirect is not followed. Up to
    *max_bytes* of the answer's body are read (0: none, and the length does not matter).

    Raises one of `FAILURES` if the request fails, and `FetchError` if it must not be sent (`check`)
    or its answer is larger.
    """
    host = check(address, is_private_allowed)
    with _Clock(secs) as clock:
        try:
            connection, path, more = _connection(address, host, clock, is_private_allowed)
            with closing(connection):
                connection.request(method, path, body, {**headers, **more})
                response = connection.getresponse()
                content = _read(response, max_bytes) if max_bytes else b""
        except FAILURES:
            if clock.is_over:
                raise TimeoutError(f"it did not arrive within {secs:g} s") from None
            raise
        # An answer without a length just ends when the connection does.
        if clock.is_over:
            raise TimeoutError(f"it did not arrive within {secs:g} s")
    return Answer(response.status, response.headers, content)


def _request(address: str, deadline: float, is_private_allowed: bool) -> Answer:
    """Return the answer to the request of a page."""
    headers = {"User-Agent": user_agent(""), "Accept-Encoding": "identity, gzip;q=0.5"}
    secs = max(deadline - monotonic(), 0.1)
    try:
        return exchange(address, secs, is_private_allowed, headers=headers, max_bytes=MAX_BYTES)
    except FAILURES as error:
        is_late = isinstance(error, TimeoutError) or monotonic() >= deadline
        reason = f"it did not arrive within {SECS:g} s" if is_late else str(error)
        raise FetchError(f"{address}: {reason or type(error).__name__}") from error


def _connection(
    address: str, host: str, clock: _Clock, is_private_allowed: bool
) -> tuple[HTTPConnection, str, dict[str, str]]:
    """Return a connection to the host or its proxy, the path to request, and the headers that the
    proxy needs.
    """
    parts = urlsplit(safe_url_string(address))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    is_secure, port = parts.scheme == "https", parts.port or PORTS[parts.scheme]
    kind = _SecureConnection if is_secure else _Connection
    proxy = _proxy_of(parts.scheme, host)
    if not proxy:
        connection = kind(host, port, timeout=clock.left)
        connection.clock = clock
        connection.places = _addresses_of(host, port, is_private_allowed)
        return connection, path, {}
    place = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    connection = kind(place.hostname or "", place.port or PORTS["http"], timeout=clock.left)
    connection.clock = clock
    headers = {}
    if place.username:
        user, password = unquote(place.username), unquote(place.password or "")
        headers["Proxy-Authorization"] = basic_auth_header(user, password).decode("latin-1")
    if is_secure:
        connection.set_tunnel(parts.hostname or "", port, headers)
        return connection, path, {}
    return connection, f"http://{parts.netloc}{path}", headers


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


def check_proxy(address: str) -> bool:
    """Tell whether the environment names a proxy for an address; raises `FetchError` if the proxy
    is unusable.
    """
    parts = urlsplit(address)
    return bool(_proxy_of(parts.scheme, parts.hostname or ""))


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


def _read(response: HTTPResponse, max_bytes: int) -> bytes:
    """Return the unpacked body; raises `FetchError` if it is larger than *max_bytes*."""
    is_packed = response.headers.get("Content-Encoding", "").lower() in ("gzip", "x-gzip")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16) if is_packed else None
    parts: list[bytes] = []
    size = 0
    while part := response.read1(CHUNK):
        unread = b""
        if unpacker is not None:
            part, unread = unpacker.decompress(part, max_bytes), unpacker.unconsumed_tail
        size += len(part)
        if size > max_bytes or unread:
            raise FetchError(f"it has more than {max_bytes // 1_000_000} MB")
        parts.append(part)
    return b"".join(parts)
