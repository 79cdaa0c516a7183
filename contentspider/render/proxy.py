"""A proxy on this machine through which all requests of the browser go, and which checks them.

The browser looks up no names itself, so what was checked is what is connected to: the address that
a name led to (also by a server that gives another one each time), whatever a script asks for.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import urlsplit

HEAD_BYTES = 65_536
HEAD_SECS = 10.0
CONNECT_SECS = 20.0
CHUNK_BYTES = 65_536
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
FAILED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"

# Tells whether a host (by its name), and an address that its name leads to, may be asked.
Check = Callable[[str, int], bool]
CheckAddress = Callable[[str, str], bool]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class CheckingProxy:
    """Passes requests on to hosts that *may_ask* allows, at addresses that *may_connect* allows,
    and no more than *max_bytes* of one answer.
    """

    def __init__(self, may_ask: Check, may_connect: CheckAddress, max_bytes: int) -> None:
        self._may_ask = may_ask
        self._may_connect = may_connect
        self._max_bytes = max_bytes
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.refused: set[str] = set()  # hosts

    async def start(self) -> str:
        """Listen on a free port, and return the proxy's URL."""
        if self._server is None:
            self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0, limit=HEAD_BYTES)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        """End all connections."""
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
        """Connect to where a request goes, and pass on what both sides say."""
        line, _, headers = head.partition(b"\r\n")
        method, target, version = line.decode("latin-1").split(" ")
        is_tunnel = method == "CONNECT"
        parts = urlsplit(f"//{target}" if is_tunnel else target)
        host, port = parts.hostname or "", parts.port or 80
        if not host or (not is_tunnel and parts.scheme != "http"):
            raise ValueError(target)
        server = await self._connect(host, port, client[1])
        if server is None:
            return
        if is_tunnel:
            client[1].write(CONNECTED)
        else:
            # One request a connection: the next may go elsewhere.
            kept = [
                header
                for header in headers.split(b"\r\n")
                if not header.lower().startswith((b"proxy-", b"connection:"))
            ]
            place = target[target.index("/", 7) :] if "/" in target[7:] else "/"
            first = f"{method} {place} {version}\r\nConnection: close\r\n".encode("latin-1")
            server[1].write(first + b"\r\n".join(kept))
        try:
            up = asyncio.ensure_future(_pump(client[0], server[1], self._max_bytes))
            await _pump(server[0], client[1], self._max_bytes)
            up.cancel()
            await asyncio.gather(up, return_exceptions=True)
        finally:
            server[1].close()

    async def _connect(self, host: str, port: int, answer: asyncio.StreamWriter) -> Streams | None:
        """Connect to the first address of a host that may be asked; else say why not."""
        is_open = self._may_ask(host, port)
        if is_open:
            loop = asyncio.get_running_loop()
            with suppress(OSError, UnicodeError, asyncio.TimeoutError):
                found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
                addresses = [str(one[4][0]) for one in found]
                allowed = [one for one in addresses if self._may_connect(host, one)]
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
    """Pass on what comes, until it ends, or is more than *most* bytes."""
    while most > 0 and (data := await source.read(CHUNK_BYTES)):
        target.write(data)
        await target.drain()
        most -= len(data)
    with suppress(OSError):
        target.write_eof()
