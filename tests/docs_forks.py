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
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("contentspider", "scrapy")
# The checkout comes last: its package must not be found before that of the environment.
SERVE = "import sys; sys.path.append({!r}); from tests.processes import serve; serve({})"

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
    address = str(folder / "forks" / "socket")
    path = os.pathsep.join([str(folder / "bin"), environment["PATH"]])
    variables = {**environment, SERVER: address, "PATH": path}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        number = listener.fileno()
        server = subprocess.Popen(
            [python, "-c", SERVE.format(str(ROOT), number)],
            cwd=folder,
            env=variables,
            stdin=subprocess.PIPE,
            pass_fds=[number],
        )
    with server:
        assert server.stdin is not None
        yield variables
        server.stdin.close()
