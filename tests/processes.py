"""Command lines in processes of their own that start in milliseconds: forks of one process, of each
worker of pytest-xdist, that has loaded what they load (`tests.loaded`). So are the processes that
contentspider runs itself, as when a site is learned.

They differ from ``python -m`` in that alone. Tests of what is loaded when, of limits of memory, and
of how learning is run and ended, start Python itself.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import re
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Where the process listens that forks: commands know it, too.
SERVER = "CONTENTSPIDER_TESTS_FORKS"
# What contentspider runs in processes of its own.
OWN = {
    "contentspider.crawl_process",
    "contentspider.ground.child_process",
}
NUMBER_BYTES = 8
# The checkout comes last: another environment's package must not be found there.
SERVE = "import sys; sys.path.append({!r}); from tests.processes import serve; serve({})"


class Popen(subprocess.Popen[Any]):
    """As ``subprocess.Popen`` of Python with ``-m`` or a script, but that is a fork."""

    _connection: socket.socket | None = None

    @staticmethod
    def is_forked(command: Sequence[str]) -> bool:
        """Tell whether a command is none that has to be started."""
        return command[0] == sys.executable

    def _execute_child(self, *options: Any) -> None:
        # Their order is the same since Python 3.7.
        command, cwd, environment, pipes = options[0], options[5], options[6], options[10:16]
        if not self.is_forked(command):
            super()._execute_child(*options)
            return
        sys.audit("os.fork")  # for --quick: another process forks
        address = os.environ.get(SERVER) or start_server()
        variables = {**(os.environ if environment is None else environment), SERVER: address}
        request = json.dumps([command[1:], os.path.realpath(cwd or "."), variables]).encode()
        given = enumerate((pipes[0], pipes[3], pipes[5]))
        files = [number if file == -1 else file for number, file in given]
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(address)
        socket.send_fds(self._connection, [_packed(len(request))], files)
        self._connection.sendall(request)
        number = _number(self._connection)
        assert number, "the process that forks could not load what it should"
        self.pid = number
        self._child_created = True
        self._close_pipe_fds(*pipes)

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if self._connection is None:
            return super()._try_wait(flags)
        self._connection.setblocking(not flags & os.WNOHANG)
        try:
            status = _number(self._connection)
        except BlockingIOError:
            return 0, 0
        self._connection.close()
        return self.pid, signal.SIGKILL if status is None else status

    def _internal_poll(self, *options: Any, **more: Any) -> int | None:
        if self._connection is None:
            return super()._internal_poll(*options, **more)
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


class OwnPopen(Popen):
    """What commands have for ``subprocess.Popen``: what they run of contentspider is forked."""

    @staticmethod
    def is_forked(command: Sequence[str]) -> bool:
        return list(command[:2]) == [sys.executable, "-m"] and command[2] in OWN


def fork_own_processes() -> None:
    """Have this process fork what it runs of contentspider, as commands do."""
    subprocess.Popen = OwnPopen  # type: ignore[misc]


def run_forked(
    *command: str, cwd: Path, seconds: float, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a module, or a script (its name ends with ``.py``), and its arguments, behind options
    ``-W`` of Python if there are any; raises TimeoutExpired after so many *seconds*.
    """
    module = [] if command[0].endswith(".py") or command[0] == "-W" else ["-m"]
    # Not pipes, which are open as long as anything runs that the command has started.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with Popen(
            [sys.executable, *module, *command],
            cwd=cwd,
            env=os.environ | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        ) as process:
            try:
                code = process.wait(seconds)
            finally:
                process.kill()
        said = []
        for file in (output, errors):
            file.seek(0)
            said.append(file.read().decode())
        return subprocess.CompletedProcess(command, code, *said)


def start_server() -> str:
    """Start the process that forks, and ends with this one; return its address, which this process
    and all that it starts have in their environment.
    """
    folder = tempfile.mkdtemp(prefix="contentspider-forks-")
    os.environ[SERVER] = address = f"{folder}/socket"
    server = begin_server(sys.executable, os.environ, Path(__file__).parent.parent)
    server.returncode = 0  # nobody waits for its end
    assert server.stdin is not None
    atexit.register(server.stdin.close)
    return address


def begin_server(
    python: str, environment: Mapping[str, str], folder: Path
) -> subprocess.Popen[bytes]:
    """Start a *python* that forks for whoever connects to the address in the *environment*, until
    its standard input is closed. Clients may connect at once: they wait until it is ready.
    """
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(environment[SERVER])
        listener.listen()
        number = listener.fileno()
        return subprocess.Popen(
            [python, "-c", SERVE.format(str(Path(__file__).parent.parent), number)],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            pass_fds=[number],
        )


def serve(number: int) -> None:
    """Fork for whoever connects to the socket *number*, until standard input is closed."""
    import tests.loaded  # noqa: F401

    with socket.socket(fileno=number) as listener:
        gc.freeze()  # what forks share is not copied by the collector of garbage
        while 0 not in select.select([0, listener], [], [])[0]:
            connection, _ = listener.accept()
            if not os.fork():
                listener.detach()
                _attend(connection)
            connection.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    shutil.rmtree(Path(os.environ[SERVER]).parent)


def _attend(connection: socket.socket) -> None:
    """Run what is asked for in a fork; tell its number, and the status with which it ends."""
    try:
        head, files, _, _ = socket.recv_fds(connection, NUMBER_BYTES, 3)
        size = int.from_bytes(head, "big")
        command, folder, environment = json.loads(connection.recv(size, socket.MSG_WAITALL))
        child = os.fork()
        if not child:
            for number, file in enumerate(files):
                os.dup2(file, number)
            connection.detach()
            os.closerange(3, os.sysconf("SC_OPEN_MAX"))
            _become(command, folder, environment)
        os.closerange(0, 3)
        for file in files:
            os.close(file)
        with suppress(BrokenPipeError):  # who asked may be gone
            connection.sendall(_packed(child))
            connection.sendall(_packed(os.waitpid(child, 0)[1]))
    finally:
        os._exit(0)


def _become(command: list[str], folder: str, environment: Mapping[str, str]) -> None:
    """Run a command line of Python in this process, and end it."""
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # the server may have been started with another TMPDIR
    os.chdir(folder)
    fork_own_processes()
    # What the server's are set to hangs on the files that it was started with.
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
    streams = sys.stdout, sys.stderr  # a command may set others
    path = [*filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.path[:1] = ["", *path]
    try:
        if any(Path(entry, "sitecustomize.py").exists() for entry in path):
            sys.modules.pop("sitecustomize", None)  # Debian's Python has one
            import_module("sitecustomize")  # as Python does when it starts
        while command[0] == "-W":
            action, _, message = command[1].partition(":")
            warnings.filterwarnings(action, re.escape(message))  # type: ignore[arg-type]
            command = command[2:]
        if command[0] == "-m":
            sys.argv = command[1:]
            if command[1] in OWN:
                del sys.modules[command[1]]  # or runpy warns that it is loaded
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = command
            runpy.run_path(command[0], run_name="__main__")
    finally:
        error = sys.exc_info()[1]
        code = error.code if isinstance(error, SystemExit) else int(error is not None)
        if error is not None and not isinstance(error, SystemExit):
            sys.excepthook(type(error), error, error.__traceback__)
        threading._shutdown()
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr, *streams):
            with suppress(OSError, ValueError):  # closed, by us or by who reads it
                stream.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))


def _packed(number: int) -> bytes:
    return number.to_bytes(NUMBER_BYTES, "big")


def _number(connection: socket.socket) -> int | None:
    """Return the number that is received, None if the other side is gone."""
    received = connection.recv(NUMBER_BYTES, socket.MSG_WAITALL)
    return int.from_bytes(received, "big") if received else None
