"""A process that learns the sites of many crawls: ``python -m ...learn_server_process FD``.

Each site is learned in a fork of the process. So sites do not share memory, a learner that dies
does not affect others, and the libraries are imported once for all sites. `LearnServer` is its
handle in the process that starts the crawls.
"""

from __future__ import annotations

import json
import logging
import os
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from contentspider.crawl.learning.learn_process import end_with_parent, learn

TASK_BYTES = 1_000_000  # a task has some paths and options
TASK_SECS = 10.0  # a crawl sends its task as soon as it has connected


@dataclass(frozen=True, slots=True)
class _Fork:
    """A child that learns a site: its process, and the connection to the crawl that waits."""

    process: int
    connection: socket.socket
    life: int  # a pipe that closes when the child ends

    def close(self) -> None:
        """Reap the child, and close its files; the crawl then reads the end of the answer."""
        os.waitpid(self.process, 0)
        os.close(self.life)
        with suppress(OSError):  # the crawl has closed the connection
            self.connection.shutdown(socket.SHUT_RDWR)  # other children have the socket open, too
        self.connection.close()


def serve(listener: socket.socket) -> None:
    """Learn the site of each connection in a child, until standard input ends. A child is killed
    when its crawl closes the connection.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(sys.stdin.fileno(), selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    fork = _begin(listener)
                    selector.register(fork.connection, selectors.EVENT_READ, fork)
                    selector.register(fork.life, selectors.EVENT_READ, fork)
                elif key.data is None:
                    return
                elif key.fileobj in selector.get_map():  # the other file of the fork came first
                    fork = key.data
                    selector.unregister(fork.connection)
                    selector.unregister(fork.life)
                    os.kill(fork.process, signal.SIGKILL)
                    fork.close()


def _begin(listener: socket.socket) -> _Fork:
    """Accept a connection, and fork a child that learns its site."""
    connection, _ = listener.accept()
    task = _read_task(connection)
    life, life_of_child = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            listener.close()
            end_with_parent()
            _answer(connection, task)
        finally:
            os._exit(0)
    os.close(life_of_child)
    return _Fork(process, connection, life)


def _read_task(connection: socket.socket) -> dict[str, Any] | None:
    """Return the task that a crawl has sent; None if it has ended already."""
    connection.settimeout(TASK_SECS)
    with suppress(OSError, ValueError), connection.makefile("rb") as file:
        return dict(json.loads(file.readline(TASK_BYTES)))
    return None


def _answer(connection: socket.socket, task: dict[str, Any] | None) -> None:
    """Learn the site of a task. Send the exit code and the message, then the model."""
    if task is None:
        return
    try:
        code, message, answer = learn(task)
    except Exception:  # noqa: BLE001 - the crawl reports any error
        code, message, answer = 1, traceback.format_exc(), b""
    connection.settimeout(None)
    connection.sendall(json.dumps([int(code), message]).encode() + b"\n" + answer)


def main() -> None:
    """Serve the listening socket that the argument names."""
    logging.basicConfig(level=logging.WARNING)
    # Imported before the forks, which then need not import them.
    from sklearn import cluster, svm  # noqa: F401

    from contentspider.site.learn import learner  # noqa: F401

    serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    main()
