"""Runs a web application at a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvicorn

from contentspider.web.connections import LimitedProtocol, most_connections

if TYPE_CHECKING:
    from socket import socket

    from starlette.applications import Starlette

GRACE_SECS = 2
# asyncio accepts so many connections at once, before it ends others.
MAX_BACKLOG = 100


def run(app: Starlette, listener: socket) -> None:
    """Serve an application at a listening socket until the process is told to end."""
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
    uvicorn.Server(config).run(sockets=[listener])
