"""Runs a web application at a socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from socket import socket

    from starlette.applications import Starlette

GRACE_SECS = 2


def run(app: Starlette, listener: socket) -> None:
    """Serve an application at a listening socket until the process is told to end."""
    config = uvicorn.Config(app, log_level="warning", server_header=False, access_log=False)
    # After this time the server ends unfinished responses, too.
    config.timeout_graceful_shutdown = GRACE_SECS
    uvicorn.Server(config).run(sockets=[listener])
