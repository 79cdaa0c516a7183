"""The commands ``contentspider`` and ``scrapy`` of an environment, which start in milliseconds.

They are forks of a process of the environment's Python that has loaded what they load: see
`tests.processes`. Python itself, and what else a program starts, is started.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = ("contentspider", "scrapy")

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def forked_commands(
    python: str, folder: Path, environment: Mapping[str, str]
) -> Iterator[dict[str, str]]:
    """Write the commands to a folder ``bin``; yield the environment in which they work."""
    from tests.processes import SERVER, begin_server

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
    with begin_server(python, variables, folder) as server:
        assert server.stdin is not None
        yield variables
        server.stdin.close()
