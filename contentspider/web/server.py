"""The server of the search page (uvicorn)."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import uvicorn

if TYPE_CHECKING:
    from starlette.applications import Starlette


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at *host* and *port* (0: any); raises OSError."""
    return socket.create_server(
        (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
    )


def run(app: Starlette, listener: socket.socket) -> None:
    """Answer what comes to a socket until the process is asked to end."""
    config = uvicorn.Config(app, log_level="warning", server_header=False, access_log=False)
    uvicorn.Server(config).run(sockets=[listener])
