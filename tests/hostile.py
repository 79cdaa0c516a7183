"""A website on loopback that misbehaves: a handler gets the raw socket and sends, stalls or resets
as it likes.
"""

from __future__ import annotations

import gzip
import socket
import struct
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Handler = Callable[["Exchange"], None]


class Exchange:
    """One request and the socket to answer it on; the connection is closed when its handler
    returns.
    """

    def __init__(self, server: HostileSite, peer: socket.socket, path: str) -> None:
        self.server, self.peer, self.path = server, peer, path

    def send(
        self,
        body: bytes | str,
        *headers: str,
        status: str = "200 OK",
        kind: str = "text/html; charset=utf-8",
        length: int | None = None,
    ) -> None:
        """Answer; *length* lies about the body's length."""
        data = body.encode() if isinstance(body, str) else body
        lines = [
            f"HTTP/1.1 {status}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(data) if length is None else length}",
            "Connection: close",
            *headers,
        ]
        self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + data)

    def raw(self, data: bytes) -> None:
        with suppress(OSError):  # the crawler may have gone
            self.peer.sendall(data)

    def redirect(self, location: str) -> None:
        self.send("", f"Location: {location}", status="302 Found")

    def stall(self) -> None:
        """Keep the connection open and say nothing until the server is closed."""
        self.server.closed.wait()

    def drip(self) -> None:
        """Send a byte now and then for ever, so that the connection is never silent."""
        while not self.server.closed.wait(0.1):
            self.raw(b" ")

    def reset(self) -> None:
        """Close with RST in place of FIN."""
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class HostileSite:
    """Answers each path with its own handler; what has none is answered by `otherwise`, at first a
    404.
    """

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        self.otherwise: Handler = lambda exchange: exchange.send(
            "<p>none</p>", status="404 Not Found"
        )
        self.requests: list[str] = []
        self.closed = Event()
        self._lock = Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def add(self, path: str, html: str) -> None:
        self.handlers[path] = lambda exchange: exchange.send(html)

    def close(self) -> None:
        self.closed.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while not self.closed.is_set():
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            thread = Thread(target=self._serve, args=(peer,), daemon=True)
            self._threads = [one for one in self._threads if one.is_alive()]
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            data = b""
            while b"\r\n\r\n" not in data:
                part = peer.recv(65536)
                if not part:
                    return
                data += part
            path = data.split(b" ", 2)[1].decode("latin-1")
            with self._lock:
                self.requests.append(path)
            self.handlers.get(path, self.otherwise)(Exchange(self, peer, path))


def bomb(megabytes: int) -> bytes:
    """Return HTML that unpacks to *megabytes* of white space."""
    return gzip.compress(b"<html><body><p>" + b" " * (megabytes << 20) + b"</p></body></html>", 9)


@contextmanager
def serve_hostile() -> Iterator[HostileSite]:
    made = HostileSite()
    try:
        yield made
    finally:
        made.close()
