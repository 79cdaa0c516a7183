"""The program of the processes that `contentspider.ground.children` starts.

A child (``python -m contentspider.ground.child_process``, or a fork of the server) reads its
request from standard input: a line of JSON, then the body. It writes its answer to standard output:
a line for each step, then one with the result or the error, then the bytes of the result. With the
argument ``serve`` the process is the server, which forks such children.
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import math
import os
import select
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NoReturn

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.ground.process_memory import no_collection, virtual_memory

if sys.platform != "win32":
    import fcntl
    import resource

    ENDS = (signal.SIGTERM, signal.SIGIO)

Report = Callable[[int | None], object]

PACKAGE = "contentspider."
# Modules list the libraries that their functions import under this name.
LIBRARIES = "PRELOADED"
FILES = 3  # standard input, output and error of a child
MODULES_BYTES = 10_000  # a request to the server names some modules
PR_SET_PDEATHSIG = 1  # Linux: "signal me when the thread that started me ends" (prctl(2))


@dataclass(frozen=True, slots=True)
class _Fork:
    """A child, the connection to the process that waits for it, a pipe that closes with it, and the
    folder of its temporary files: it cannot delete them when it is killed.
    """

    process: int
    connection: socket.socket
    life: int
    folder: Path

    def end(self) -> None:
        """Kill and reap the child, and tell who waits how it ended."""
        os.kill(self.process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.life)
        with suppress(OSError):  # who waited has gone
            self.connection.send(str(code).encode())
        self.connection.close()


class Server:
    """Forks a child for each connection to a *listener*.

    The server ends when the first connection closes, or after *idle_secs* without a child (0:
    never). It then kills its children, and removes the *folder* of the listener's address and of
    the children's temporary files.
    """

    def __init__(self, listener: socket.socket, folder: Path, idle_secs: float) -> None:
        self._listener, self._folder, self._idle_secs = listener, folder, idle_secs
        self._owner, _ = listener.accept()
        # The end of the owner interrupts the import of a library, too.
        fcntl.fcntl(self._owner, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(self._owner, fcntl.F_SETFL, os.O_ASYNC)
        self._forks: list[_Fork] = []
        self._loaded: set[str] = set()
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._owner, selectors.EVENT_READ)

    def serve(self) -> None:
        """Serve until the end."""
        # An exception would come up anywhere, such as in the cleanup of an object, which prints it.
        for end in ENDS:
            signal.signal(end, lambda *_: self._end_at_once())
        try:
            while not self._is_over():
                pass
        finally:
            self._clean_up()

    def _end_at_once(self) -> NoReturn:
        self._clean_up()
        os._exit(0)

    def _clean_up(self) -> None:
        for end in ENDS:
            signal.signal(end, signal.SIG_IGN)  # a second one must not interrupt this
        for fork in self._forks:
            fork.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _is_over(self) -> bool:
        """Wait until there is something to do, and do it; tell whether it is the end."""
        events = self._selector.select(self._idle_secs or None)
        for key, _ in events:
            if key.fileobj is self._owner:
                return True
            if self._selector.get_map().get(key.fd) is not key:
                continue  # the other file of the fork came first
            if key.fileobj is self._listener:
                connection, _ = self._listener.accept()
                connection.setblocking(False)
                self._selector.register(connection, selectors.EVENT_READ)
            elif key.data is None:
                self._selector.unregister(key.fileobj)
                self._begin(key.fileobj)
            else:
                self._end(key.data)
        return not events and not self._forks

    def _begin(self, connection: Any) -> None:
        """Fork a child for a connection; close the connection if its request is invalid."""
        files: list[int] = []
        try:
            message, files, _, _ = socket.recv_fds(connection, MODULES_BYTES, FILES)
            if len(files) != FILES:
                raise ValueError("a child needs three files")
            for name in json.loads(message):
                self._load(name)
            fork = self._fork(connection, files)
        except (OSError, *DAMAGE):
            connection.close()
            return
        finally:
            for file in files:
                os.close(file)
        self._forks.append(fork)
        for end in (fork.connection, fork.life):
            self._selector.register(end, selectors.EVENT_READ, fork)

    def _load(self, name: str) -> None:
        """Import a module of contentspider, and the libraries that it lists."""
        if name in self._loaded:
            return
        _check(name)
        self._loaded.add(name)
        # A child that needs what cannot be imported reports the error.
        with no_collection(), suppress(Exception):
            for library in getattr(import_module(name), LIBRARIES, ()):
                with suppress(ImportError):  # of an extra that is not installed
                    import_module(library)
        gc.collect()
        gc.freeze()  # children share the memory that the collector does not touch

    def _fork(self, connection: socket.socket, files: list[int]) -> _Fork:
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        life, life_of_child = os.pipe()
        try:
            process = os.fork()
            if process == 0:
                self._become_child([connection.fileno(), life], files, folder)
        except OSError:
            os.close(life)
            folder.rmdir()
            raise
        finally:
            os.close(life_of_child)
        return _Fork(process, connection, life, folder)

    def _become_child(self, others: list[int], files: list[int], folder: Path) -> NoReturn:
        """Close the files of the server, do the request, and end."""
        code = 1
        try:
            for end in ENDS:
                signal.signal(end, signal.SIG_DFL)
            for file in [*(key.fd for key in self._selector.get_map().values()), *others]:
                os.close(file)
            self._selector.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            work(folder)
            code = 0
        finally:
            os._exit(code)

    def _end(self, fork: _Fork) -> None:
        self._selector.unregister(fork.connection)
        self._selector.unregister(fork.life)
        self._forks.remove(fork)
        fork.end()


def _check(name: str) -> None:
    """Raise ValueError for a module of another package."""
    if not name.startswith(PACKAGE):
        raise ValueError(f"{name} is no module of contentspider")


def work(temporary: Path | None = None) -> None:
    """Do the request of standard input, and write the answer to standard output. A fork has the
    folder of its *temporary* files.
    """
    requests = os.fdopen(0, "rb", closefd=False)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of libraries must not mix with the answer
    end_with_parent(answers)
    data = b""
    try:
        request = json.loads(requests.readline())
        if temporary:  # a new process has all this already
            os.chdir(request["folder"])
            os.environ.clear()
            os.environ.update(request["environment"], TMPDIR=str(temporary))
            tempfile.tempdir = None  # it depends on the environment
        module, _, name = request["function"].partition(":")
        _check(module)
        function = getattr(import_module(module), name)
        body = requests.read()
        limit(**request["limits"])

        def report(step: int | None) -> None:
            _write(answers, {"step": step})

        result, data = function(request["arguments"], body, report)
        _write(answers, {"result": result, "bytes": len(data)}, data)
    except BaseException as error:  # noqa: BLE001 - the parent handles it
        if not isinstance(error, ContentSpiderError | MemoryError):
            traceback.print_exc()
        _write(answers, _described(error))


def _described(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON: the names of its class and its bases, and its message."""
    return {"kinds": [kind.__name__ for kind in type(error).__mro__], "message": str(error)}


def _write(answers: IO[bytes], head: dict[str, Any], data: bytes = b"") -> None:
    answers.write(json.dumps(head).encode() + b"\n" + data)
    answers.flush()


def end_with_parent(answers: IO[bytes]) -> None:
    """Have this process killed when its parent ends (Linux); end it if nobody reads its *answers*
    any more.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        readers = select.poll()
        readers.register(answers, 0)
        if readers.poll(0):  # the parent ended before
            sys.exit(1)


def limit(cpu_secs: float | None = None, memory: int | None = None, **_: float) -> None:
    """Limit the processor time and the memory of this process (see `children.Limits`)."""
    if sys.platform == "win32":
        return
    limits = {resource.RLIMIT_CORE: (0, 0)}
    if cpu_secs is not None:
        # The first limit of a kind ends the process by SIGXCPU, which tells who waits why.
        limits[resource.RLIMIT_CPU] = (math.ceil(cpu_secs), math.ceil(cpu_secs) + 1)
    if memory is not None:
        limits[resource.RLIMIT_AS] = (virtual_memory() + int(memory),) * 2
    for kind, most in limits.items():
        with suppress(ValueError):  # a limit of the user's is lower, and cannot be raised
            resource.setrlimit(kind, most)


def main() -> None:
    """Serve the listening socket that is standard input, or do one request."""
    logging.basicConfig(level=logging.WARNING)
    if sys.argv[1:2] != ["serve"]:
        work()
        return
    address, idle_secs = sys.argv[2:]
    Server(socket.socket(fileno=0), Path(address).parent, float(idle_secs)).serve()


if __name__ == "__main__":
    main()
