"""Command lines in processes of their own that start in milliseconds: forks of one process, a
worker of pytest-xdist each, that has loaded what they load.

They differ from ``python -m`` in that alone; tests of what is loaded when start Python itself.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.loaded"])


def run_forked(
    *command: str, cwd: Path, seconds: float, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a module, or a script (its name ends with ``.py``), and its arguments; raises
    TimeoutExpired after so many *seconds*.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("stdout", "stderr")]
        variables = os.environ | environment
        process = CONTEXT.Process(target=_main, args=(command, cwd, variables, files))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(command, seconds)
        said = [file.read_text("utf-8") for file in files]
        return subprocess.CompletedProcess(command, process.exitcode, *said)


def _main(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], files: Sequence[Path]
) -> None:
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.argv = list(command)
    sys.path[:1] = ["", *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    import_module("tests.loaded")  # if it could not be loaded before
    try:
        if command[0].endswith(".py"):
            runpy.run_path(command[0], run_name="__main__")
        else:
            runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
