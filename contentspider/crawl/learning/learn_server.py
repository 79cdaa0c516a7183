"""Starts the process that learns the sites of many crawls, and names it to them."""

from __future__ import annotations

import logging
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

logger = logging.getLogger(__name__)

SERVER_MODULE = "contentspider.crawl.learning.learn_server_process"
# The environment variable with the path of the server's socket. Names with the prefix
# CONTENTSPIDER_ are settings.
SERVER_VARIABLE = "LEARN_SERVER_OF_CONTENTSPIDER"
# A learner uses one core. OpenBLAS would spin for ever if a memory limit forbids more threads.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
BACKLOG = 128  # crawls that may wait for the server to start


def python_path() -> str:
    """Return the PYTHONPATH of a child process: the folder of our package, then the old path."""
    package = str(Path(__file__).resolve().parents[3])
    path = os.environ.get("PYTHONPATH")
    return f"{package}{os.pathsep}{path}" if path else package


class LearnServer:
    """Starts the server when the first crawl connects, and ends it on exit.

    *environment* has the variable that tells crawls the address of the server. It is empty on
    systems that cannot fork, or if the temporary folder takes no socket; crawls then start a
    learning process for each site.
    """

    def __init__(self) -> None:
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if not hasattr(os, "fork") or not hasattr(socket, "AF_UNIX"):
            return self
        self._folder = tempfile.TemporaryDirectory(prefix="contentspider-")  # only we may read it
        path = str(Path(self._folder.name) / "learner")
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._listener.bind(path)
        except OSError:  # for example, the path has more than 107 characters
            self._listener.close()
            self._folder.cleanup()
            return self
        self._listener.listen(BACKLOG)
        self._ending, self._end = socket.socketpair()
        self.environment = {SERVER_VARIABLE: path}
        self._thread = threading.Thread(target=self._start_when_needed, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.environment:
            return
        self._end.close()
        self._thread.join()
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._listener.close()
        self._ending.close()
        self._folder.cleanup()

    def _start_when_needed(self) -> None:
        """Start the server when the first connection waits, unless the run ends before."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._ending, selectors.EVENT_READ)
            ready = {key.fileobj for key, _ in selector.select()}
        if self._ending in ready:
            return
        descriptor = self._listener.fileno()
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", SERVER_MODULE, str(descriptor)],
                stdin=subprocess.PIPE,  # the server ends when this pipe closes because we have died
                stdout=subprocess.DEVNULL,
                env={**ONE_THREAD, **os.environ, "PYTHONPATH": python_path()},
                pass_fds=[descriptor],
                start_new_session=True,
            )
        except OSError as error:
            logger.warning("each crawl learns in a process of its own: %s", error)
        finally:
            # Without a server, crawls that wait for it must see at once that none comes.
            self._listener.close()
