"""Runs functions of ours in child processes: pages and files of strangers may crash, hang or fill
the process that reads them.

A server (`contentspider.ground.child_process`) has loaded the functions' libraries, and forks for
each request, so that a child begins in milliseconds. It starts with the first request, and ends
with the process that started it. A child is killed when the process that waits for it ends. Its
temporary files are deleted when it has ended, also when it was killed. Where nothing can be forked,
a child is a new process.

The standard library's forkserver is not used: its children import the user's script again, they
answer with pickles, and no other process can use the server of a process.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE
from contentspider.ground.process_memory import memory_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

logger = logging.getLogger(__name__)

MODULE = "contentspider.ground.child_process"
# The variable with the address of the server. Names with the prefix CONTENTSPIDER_ are settings.
VARIABLE = "CHILDREN_OF_CONTENTSPIDER"
# A child uses one core. OpenBLAS would spin for ever if a memory limit forbids more threads.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
BACKLOG = 128  # requests that may wait while the server starts or loads a library
SERVER_SECS = 60.0  # for the server to tell how a child has ended
IDLE_SECS = 60  # an idle server of one process ends then, because it takes memory
POLL_SECS = 0.1
ADDRESS_BYTES = 103  # the longest path of a socket on all systems (107 on Linux)
OPEN_FILES = "/proc/self/fd"  # Linux: the open files of this process
# A busy machine gives a child little processor time. A child hangs if it takes this many times its
# limit of processor time on the clock.
WALL_FACTOR = 20
NO_SIGNAL = 0  # Windows lacks the signal


class End(Enum):
    """How a child without a result ended."""

    FAILED = "failed"  # its function raised an error
    DIED = "died"
    OUT_OF_TIME = "out of processor time"
    HUNG = "hung"  # it took too long, or no step for too long
    STOPPED = "stopped"
    NOT_STARTED = "not started"


class ChildError(Exception):
    """A child process ended without a result; *end* says how.

    *kinds* are the names of the class and the base classes of the error that its function raised.
    *status* is the exit code of a dead child (the negative number of the signal that killed it).
    *step* is the last step that the child reported.
    """

    def __init__(
        self,
        end: End,
        message: str,
        step: int | None = None,
        *,
        kinds: Sequence[str] = (),
        status: int = 0,
    ) -> None:
        super().__init__(message)
        self.end, self.step, self.kinds, self.status = end, step, kinds, status


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a child.

    *cpu_secs* limits its processor time, *wall_secs* its time on the clock, and *step_secs* the
    time of one step. *memory* limits its address space, in bytes, without the libraries that the
    server has loaded. The limit of a step applies after the child has reported a step. Windows has
    no limits of processor time and memory.
    """

    cpu_secs: float = math.inf
    memory: float = math.inf
    wall_secs: float = math.inf
    step_secs: float = math.inf

    @classmethod
    def of_work(cls, cpu_secs: float, memory: float = math.inf) -> Limits:
        """Return the limits of work that waits for nothing: it hangs if it takes `WALL_FACTOR`
        times its processor time.
        """
        return cls(cpu_secs, memory, WALL_FACTOR * cpu_secs)


NO_LIMITS = Limits()


def never() -> bool:
    """Return False: nothing ends a child early."""
    return False


def run_child(
    function: str,
    arguments: dict[str, Any],
    body: bytes = b"",
    *,
    limits: Limits = NO_LIMITS,
    preload: Sequence[str] = (),
    is_over: Callable[[], bool] = never,
    is_quiet: bool = False,
) -> tuple[Any, bytes]:
    """Return the result of a *function* in a child process: a JSON value, and bytes.

    The function (``module:name``, of contentspider) is called with the *arguments*, which are JSON
    values, the *body*, and a function that it tells the number of each step that it begins, and
    None when no step is under way. The server loads its module, and the modules *preload*, before
    it forks. The child is killed when *is_over* returns True. It shares the standard error of this
    process, unless it *is_quiet*. Raises `ChildError`.
    """
    module = function.partition(":")[0]
    request = {
        "function": function,
        "arguments": arguments,
        "limits": {name: most for name, most in asdict(limits).items() if most < math.inf},
        "folder": str(Path.cwd()),
        "environment": {**ONE_THREAD, **os.environ},
    }
    with tempfile.TemporaryFile() as file, ExitStack() as stack:
        file.write(json.dumps(request).encode() + b"\n" + body)
        errors = stack.enter_context(Path(os.devnull).open("wb")) if is_quiet else None
        # A server that ends, ends its children; it is started again once.
        for begin in (_Fork.begin, _Fork.begin, _Process.begin):
            if is_over():
                raise ChildError(End.STOPPED, "it was stopped")
            file.seek(0)
            child = begin(file, errors, [module, *preload])
            if child is None:
                continue
            with child:
                answer = _Watched(child, limits, is_over).answer()
            if answer is not None:
                return answer
    raise ChildError(End.DIED, "its process ended without a word")


class _Fork:
    """A child that is a fork of the server. *file* has its answer."""

    def __init__(self, connection: socket.socket, answers: socket.socket) -> None:
        self._connection, self._answers = connection, answers
        self.file: IO[bytes] = answers.makefile("rb")

    @classmethod
    def begin(
        cls, request: IO[bytes], errors: IO[bytes] | None, modules: list[str]
    ) -> _Fork | None:
        """Ask the server for a child; return None without a server."""
        connection = _server.connect()
        if connection is None:
            return None
        ours, theirs = socket.socketpair()
        files = [request.fileno(), theirs.fileno(), errors.fileno() if errors else 2]
        try:
            socket.send_fds(connection, [json.dumps(modules).encode()], files)
        except OSError:  # the server has ended
            connection.close()
            ours.close()
            return None
        finally:
            theirs.close()
        return cls(connection, ours)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        """Close its files; the server then kills the child, if it is still there."""
        self.file.close()
        self._answers.close()
        self._connection.close()

    def kill(self) -> None:
        """Kill the child. Who reads its answer reads the end."""
        for end in (self._connection, self._answers):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def status(self) -> int | None:
        """Wait for the end of the child. Return its exit code; None if the server has ended."""
        self._connection.settimeout(SERVER_SECS)
        with suppress(OSError, ValueError):
            return int(self._connection.recv(16))
        return None


class _Process(subprocess.Popen[bytes]):
    """A child that is a process of its own. *file* has its answer, *folder* its temporary files."""

    file: IO[bytes]
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def begin(cls, request: IO[bytes], errors: IO[bytes] | None, _: list[str]) -> _Process:
        """Start the process."""
        folder = tempfile.TemporaryDirectory(prefix="contentspider-", ignore_cleanup_errors=True)
        try:
            child = cls(
                [sys.executable, "-m", MODULE],
                stdin=request,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment_of_children() | {"TMPDIR": folder.name},
                start_new_session=True,  # Ctrl-C in the terminal must reach only its parent
            )
        except OSError as error:
            folder.cleanup()
            message = f"its process could not be started: {error}"
            raise ChildError(End.NOT_STARTED, message) from error
        assert child.stdout is not None
        child.file, child.folder = child.stdout, folder
        return child

    def __exit__(self, *given: Any) -> None:  # noqa: PYI036 - as its base
        self.kill()  # it has ended already, unless an error was raised
        super().__exit__(*given)
        self.folder.cleanup()

    def status(self) -> int:
        """Wait for the end of the child, and return its exit code."""
        return self.wait()


class _Watched:
    """Reads the answer of a child, and kills a child that hangs or must stop."""

    def __init__(
        self, child: _Fork | _Process, limits: Limits, is_over: Callable[[], bool]
    ) -> None:
        self._child, self._limits, self._is_over = child, limits, is_over
        self._step: int | None = None
        self._began = self._since = time.monotonic()
        self._has_answered = threading.Event()
        self._killed: ChildError | None = None

    def answer(self) -> tuple[Any, bytes] | None:
        """Return the result; None if the server ended, and its child with it."""
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        try:
            return self._read()
        finally:
            self._has_answered.set()
            watch.join()

    def _read(self) -> tuple[Any, bytes] | None:
        try:
            for line in self._child.file:
                said = json.loads(line)
                if "step" in said:
                    self._step, self._since = said["step"], time.monotonic()
                    continue
                if "kinds" in said:
                    raise ChildError(End.FAILED, said.pop("message"), self._step, **said)
                data = self._child.file.read(said["bytes"])
                if len(data) == said["bytes"]:
                    return said["result"], data
        except (OSError, *DAMAGE):  # a line that the end of the process has cut
            pass
        status = None if self._killed else self._child.status()
        if self._killed:
            self._killed.step = self._step  # which it may have told just before
            raise self._killed
        if status is None:
            return None
        is_out_of_time = status == -getattr(signal, "SIGXCPU", NO_SIGNAL) != NO_SIGNAL
        end = End.OUT_OF_TIME if is_out_of_time else End.DIED
        raise ChildError(end, f"its process ended with {status}", self._step, status=status)

    def _watch(self) -> None:
        """Kill the child when it must end."""
        while not self._has_answered.wait(max(0.0, min(POLL_SECS, self._rest()))):
            if self._is_over():
                self._killed = ChildError(End.STOPPED, "it was stopped", self._step)
            elif self._rest() <= 0:
                secs = time.monotonic() - self._began
                message = f"it did not end within {secs:.0f} s"
                self._killed = ChildError(End.HUNG, message, self._step)
            else:
                continue
            self._child.kill()
            return

    def _rest(self) -> float:
        """Return the seconds until the child counts as one that hangs."""
        now = time.monotonic()
        rest = self._began + self._limits.wall_secs - now
        if self._step is not None:
            rest = min(rest, self._since + self._limits.step_secs - now)
        return rest


class _Server:
    """The server of this process. It starts when it is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder = self._address = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._life: socket.socket | None = None  # the server ends when this is closed
        self._has_warned = False

    def connect(self) -> socket.socket | None:
        """Return a connection to a server: the shared one, or the one of this process. Return None
        if a server cannot run. A limit of the address space also counts the libraries that a server
        has loaded, so none runs under such a limit.
        """
        if not can_fork():
            return None
        address = os.environ.get(VARIABLE, "")
        return (address and _connected(address)) or _connected(self.address(IDLE_SECS))

    def address(self, idle_secs: int) -> str:
        """Return the address of the server, which is started unless it runs; "" if it cannot be.
        It ends after *idle_secs* without children (0: it does not).
        """
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._end()
                try:
                    self._start(idle_secs)
                except OSError as error:
                    self._warn(error)
                    self._end()
            return self._address

    def _warn(self, error: OSError) -> None:
        """Say once that no server can run."""
        level = logging.DEBUG if self._has_warned else logging.WARNING
        self._has_warned = True
        logger.log(
            level,
            "child processes start slowly, because no server of them can run in %s: %s; set TMPDIR"
            " to another folder (with a path of less than 70 characters, except on Linux)",
            self._folder or tempfile.gettempdir(),
            error,
        )

    def _start(self, idle_secs: int) -> None:
        self._folder = tempfile.mkdtemp(prefix="contentspider-")  # only we may read it
        address = str(Path(self._folder) / "children")
        self._life = socket.socket(socket.AF_UNIX)
        with socket.socket(socket.AF_UNIX) as listener, _short(address) as path:
            listener.bind(path)
            listener.listen(BACKLOG)
            self._life.connect(path)  # the first connection that the server accepts
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", MODULE, "serve", address, str(idle_secs)],
                stdin=listener.fileno(),
                stdout=subprocess.DEVNULL,
                env=environment_of_children(),
                start_new_session=True,
            )
        self._address = address

    def end(self) -> None:
        """End the server, and with it its children."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._life is not None:
            self._life.close()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(SERVER_SECS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = self._address = ""
        self._life = self._process = None

    def forget(self) -> None:
        """Leave the server to the process that this one is a fork of."""
        if self._life is not None:
            self._life.close()
        if self._process is not None:
            self._process.returncode = 0  # a fork cannot wait for it
        self._lock = threading.Lock()  # another thread of that process may have the old one
        self._folder = self._address = ""
        self._life = self._process = None


def _connected(address: str) -> socket.socket | None:
    """Return a connection to the server at an *address*; None if it does not run."""
    connection = socket.socket(socket.AF_UNIX)
    with suppress(OSError):
        if address:
            with _short(address) as path:
                connection.connect(path)
            return connection
    connection.close()
    return None


@contextmanager
def _short(address: str) -> Iterator[str]:
    """Yield a path of the socket at an *address* that a socket may have: a longer one is reached by
    its open folder, on Linux.
    """
    if len(os.fsencode(address)) <= ADDRESS_BYTES or not Path(OPEN_FILES).is_dir():
        yield address
        return
    folder, name = os.path.split(address)
    opened = os.open(folder, os.O_RDONLY)
    try:
        yield f"{OPEN_FILES}/{opened}/{name}"
    finally:
        os.close(opened)


def can_fork() -> bool:
    """Tell whether children can be forks of a server."""
    return hasattr(os, "fork") and hasattr(socket, "send_fds") and memory_limit() == math.inf


def environment_of_children() -> dict[str, str]:
    """Return the environment of a new process: it finds our package, and uses one core."""
    package = str(Path(__file__).resolve().parents[2])
    path = os.environ.get("PYTHONPATH")
    path = f"{package}{os.pathsep}{path}" if path else package
    return {**ONE_THREAD, **os.environ, "PYTHONPATH": path}


def shared_server() -> dict[str, str]:
    """Return the variable for the environment of processes that share the server of this process,
    which runs as long as this process; empty if nothing can be forked.
    """
    address = _server.address(0) if can_fork() else ""
    return {VARIABLE: address} if address else {}


_server = _Server()
atexit.register(_server.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_server.forget)
