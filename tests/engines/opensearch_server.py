"""What speaks as OpenSearch does, of the package osmem-server."""

from __future__ import annotations

import socket
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.servers import Server, free_port, running

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def opensearch_server() -> Iterator[Server]:
    """It keeps all in memory."""
    osmem = pytest.importorskip("osmem_server")
    folder = Path(tempfile.mkdtemp(prefix="contentspider-opensearch-"))
    port = free_port()
    command = [osmem.resolve_binary(), "-no-stdin-watch", "-no-ja", "-addr", f"127.0.0.1:{port}"]

    def is_ready() -> bool:
        with closing(socket.socket()) as made:
            return made.connect_ex(("127.0.0.1", port)) == 0

    url = f"opensearch://127.0.0.1:{port}"
    with running(Server(url, {}, command, {"cwd": folder}, is_ready)) as server:
        yield server
