"""Runs a web application at a socket, and limits its connections: how many there are, and how long
a request may take to arrive.

uvicorn lacks such limits: it waits for ever for the rest of a request, and without a free file
descriptor it accepts nobody. Its ``limit_concurrency`` would refuse all requests then.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable
    from socket import socket

    from starlette.applications import Starlette

GRACE_SECS = 2
# asyncio accepts so many connections at once, before it ends others.
MAX_BACKLOG = 100
# The seconds until the headers of a request must be complete, and then its body: 10 MB need 80
# seconds at 1 Mbit/s.
HEAD_SECS, BODY_SECS = 10.0, 120.0
MAX_CONNECTIONS = 500
# The share of the process's file descriptors for connections: indexes and crawls need some, too.
DESCRIPTOR_SHARE = 0.5


def run(app: Starlette, listener: socket, on_ready: Callable[[], None]) -> None:
    """Serve an application at a listening socket until the process is told to end. *on_ready* is
    called when requests are answered.
    """
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        backlog=min(MAX_BACKLOG, most_connections() // 4),
        log_level="warning",
        server_header=False,
        access_log=False,
        # After this time the server ends unfinished responses, too.
        timeout_graceful_shutdown=GRACE_SECS,
    )
    _Server(config, on_ready).run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def most_connections() -> int:
    """Return how many connections a server of this process may have."""
    with suppress(ImportError):  # Windows has no such limit
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit != resource.RLIM_INFINITY:
            return min(MAX_CONNECTIONS, int(limit * DESCRIPTOR_SHARE))
    return MAX_CONNECTIONS


class LimitedProtocol(H11Protocol):
    """A connection that ends if a request takes too long to arrive, or if others need its place.

    A new connection is always accepted. If there are too many, the one ends that has waited longest
    for its client, of the address with most of these: so an address takes the places of its own
    connections first. Behind a reverse proxy all have the address of the proxy; a connection that
    waits loses nothing but the part of a request, or a connection that was kept open.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._deadline: asyncio.TimerHandle | None = None
        # The awaited state of the client in h11, and since when the server waits for it.
        self._awaited: object = None
        self.since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request. With too many connections, one of the others ends."""
        super().connection_made(transport)
        self._watch()
        others = [each for each in self.connections if each is not self]
        if len(others) >= most_connections():
            end_longest_waiting(each for each in others if isinstance(each, LimitedProtocol))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._stop_watch()

    def handle_events(self) -> None:
        """Handle the events that have arrived."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    @property
    def is_waiting(self) -> bool:
        """Tell whether the server waits for the client: for a request, or to take an answer."""
        return self._awaited is not None or self.flow.write_paused

    def _watch(self) -> None:
        """Begin to measure the time if another part of a request is awaited than before."""
        state = self.conn.their_state
        awaited = state if state in (h11.IDLE, h11.SEND_BODY) else None
        if awaited is self._awaited:
            return
        self._stop_watch()
        self._awaited, self.since = awaited, self.loop.time()
        if awaited is not None:
            seconds = HEAD_SECS if awaited is h11.IDLE else BODY_SECS
            self._deadline = self.loop.call_later(seconds, self.end)

    def _stop_watch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def end(self) -> None:
        """End the connection at once."""
        self._stop_watch()
        self.transport.abort()


def end_longest_waiting(connections: Iterable[LimitedProtocol]) -> None:
    """End the connection that has waited longest, of the address that has most that wait."""
    waiting = [each for each in connections if each.is_waiting and not each.transport.is_closing()]
    counts = Counter(each.client and each.client[0] for each in waiting)
    if waiting:
        longest = min(
            waiting, key=lambda each: (-counts[each.client and each.client[0]], each.since)
        )
        longest.end()
