"""A local proxy for all requests of the browser, which checks hosts and addresses.

The browser resolves no names itself. The proxy connects to the address that it has checked, so that
a name server that answers differently each time cannot lead the browser into a private network.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

HEAD_BYTES = 65_536
HEAD_SECS = 10.0
CONNECT_SECS = 20.0
CHUNK_BYTES = 65_536
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
LOGIN = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=crawl\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
FAILED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
TLS_HANDSHAKE = b"\x16"  # the first byte of a TLS connection
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"

# Tell whether the browser may request a host (name and port), and connect to a host's address.
Check = Callable[[str, int], bool]
CheckAddress = Callable[[str, str], bool]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class CheckingProxy:
    """Forwards requests to hosts that *may_ask* allows, at addresses that *may_connect* allows. It
    forwards at most *max_bytes* in each direction of a connection. It listens on this machine, for
    all its users, or on another *address* of it, for users who know its *login*: a name and a
    password.
    """

    def __init__(
        self, may_ask: Check, may_connect: CheckAddress, max_bytes: int, address: str = ""
    ) -> None:
        self._may_ask = may_ask
        self._may_connect = may_connect
        self._max_bytes = max_bytes
        self._address = address or "127.0.0.1"
        self.login = ("crawl", secrets.token_urlsafe()) if address else None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.refused: set[str] = set()  # names of refused hosts

    async def start(self) -> str:
        """Listen on a free port, and return the proxy's URL."""
        if self._server is None:
            self._server = await asyncio.start_server(
                self._begin, self._address, 0, limit=HEAD_BYTES
            )
        host = f"[{self._address}]" if ":" in self._address else self._address
        return f"http://{host}:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            try:
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECS)
                await self._pass_on(head, (reader, writer))
            except asyncio.TimeoutError:
                pass
            finally:
                writer.close()

    async def _pass_on(self, head: bytes, client: Streams) -> None:
        """Connect to the host of a request, and forward the data of both sides."""
        line, _, headers = head.partition(b"\r\n")
        method, target, version = line.decode("latin-1").split(" ")
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = parts.hostname or "", parts.port or 80
        if not host or (not is_tunnel and parts.scheme != "http"):
            raise ValueError(target)
        if not self._may_use(headers):
            client[1].write(LOGIN)
            await client[1].drain()
            return
        server = await self._connect(host, port, client[1])
        if server is None:
            return
        if is_tunnel:
            client[1].write(CONNECTED)
            beginning = await client[0].read(CHUNK_BYTES)
            if not beginning.startswith(TLS_HANDSHAKE):  # a web socket: http needs no tunnel
                server[1].close()
                return
            server[1].write(beginning)
        else:
            # One request per connection, as the next one may be for another host.
            forwarded = [
                header
                for header in headers.split(b"\r\n")
                if not header.lower().startswith((b"proxy-", b"connection:"))
            ]
            path = target[target.index("/", 7) :] if "/" in target[7:] else "/"
            first = f"{method} {path} {version}\r\nConnection: close\r\n".encode("latin-1")
            server[1].write(first + b"\r\n".join(forwarded))
        try:
            up = asyncio.ensure_future(_pump(client[0], server[1], self._max_bytes))
            await _pump(server[0], client[1], self._max_bytes)
            up.cancel()
            await asyncio.gather(up, return_exceptions=True)
        finally:
            server[1].close()

    def _may_use(self, headers: bytes) -> bool:
        """Tell whether the headers of a request have the login."""
        if self.login is None:
            return True
        wanted = b"basic " + b64encode(":".join(self.login).encode())
        name = b"proxy-authorization:"
        values = [
            line[len(name) :].strip()
            for line in headers.split(b"\r\n")
            if line.lower().startswith(name)
        ]
        # The scheme may be in any case, unlike the login.
        return any(
            secrets.compare_digest(value[:6].lower() + value[6:], wanted) for value in values
        )

    async def _connect(self, host: str, port: int, answer: asyncio.StreamWriter) -> Streams | None:
        """Connect to the first allowed address of a host. If there is none, answer with an error
        and return None.
        """
        is_open = self._may_ask(host, port)
        if is_open:
            loop = asyncio.get_running_loop()
            with suppress(OSError, UnicodeError, asyncio.TimeoutError):
                infos = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                addresses = [str(info[4][0]) for info in infos]
                allowed = [address for address in addresses if self._may_connect(host, address)]
                is_open = bool(allowed)
                if allowed:
                    opening: Awaitable[Streams] = asyncio.open_connection(allowed[0], port)
                    return await asyncio.wait_for(opening, CONNECT_SECS)
        if not is_open:
            self.refused.add(host)
        answer.write(FAILED if is_open else REFUSED)
        await answer.drain()
        return None


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, most: int) -> None:
    """Forward data until it ends, or until *most* bytes have been forwarded."""
    while most > 0 and (data := await source.read(CHUNK_BYTES)):
        target.write(data)
        await target.drain()
        most -= len(data)
    with suppress(OSError):
        target.write_eof()
