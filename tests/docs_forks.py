"""The commands ``contentspider`` and ``scrapy`` of an environment, which start in milliseconds.

They are forks of a process of the environment's Python that has loaded what they load: see
`tests.processes`. Python itself, and what else a program starts, is started.
"""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("contentspider", "scrapy")
ADDRESS = "93.184.215.14"  # any that is in no private network
# The checkout comes last: its package must not be found before that of the environment.
SERVE = "import sys; sys.path.append(sys.argv[1]); from tests.docs_forks import serve; serve()"

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def forked_commands(
    python: str, folder: Path, environment: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Write the commands to a folder ``bin``; yield the environment in which they work."""
    from tests.processes import SERVER

    (folder / "bin").mkdir(parents=True)
    client = ROOT / "tests" / "docs_client.py"
    lines = {name: f'exec {python} -SE {client} {name} "$@"' for name in COMMANDS}
    lines["pip"] = "echo pip is not run, see tests/docs_reader.py >&2; exit 1"
    for name, line in lines.items():
        command = folder / "bin" / name
        command.write_text(f"#!/bin/sh\n{line}\n")
        command.chmod(0o755)
    (folder / "forks").mkdir()
    path = os.pathsep.join([str(folder / "bin"), environment["PATH"]])
    variables = {**environment, SERVER: str(folder / "forks" / "socket"), "PATH": path}
    with subprocess.Popen(
        [python, "-c", SERVE, str(ROOT)],
        cwd=folder,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stdout.read(1), "the process that forks cannot load what it should"
        yield variables
        server.stdin.close()


def serve() -> None:
    """Fork commands. What asks no proxy, as ``contentspider extract URL``, is led to it, too: the
    names of its hosts are at an address, and connections to that begin at the proxy.
    """
    from tests import processes

    look_up, connect = socket.getaddrinfo, socket.create_connection

    def getaddrinfo(host: Any, port: Any, *more: Any, **options: Any) -> Any:
        is_known = host in os.environ.get("DOCS_HOSTS", "").split()
        return look_up(ADDRESS if is_known else host, port, *more, **options)

    def create_connection(address: tuple[str, int], *more: Any, **options: Any) -> socket.socket:
        if address[0] != ADDRESS:
            return connect(address, *more, **options)
        proxy = urlsplit(os.environ["https_proxy"])
        made = connect((proxy.hostname, proxy.port), *more, **options)
        made.sendall(f"CONNECT example.org:{address[1]} HTTP/1.1\r\n\r\n".encode())
        while b"\r\n\r\n" not in made.recv(1000, socket.MSG_PEEK):
            pass
        made.recv(1000)
        return made

    socket.getaddrinfo, socket.create_connection = getaddrinfo, create_connection
    processes.serve()
