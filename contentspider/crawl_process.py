"""Runs one crawl of ``contentspider run`` in a process of its own.

``python -m contentspider.crawl_process SITE`` reads its options as a line of JSON from standard
input, because other users of the machine can see a command line. With the option ``lease`` the
lines that follow say how long the crawl may go on: its parent holds the lease of the site, and
writes a line whenever the lease was renewed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.cli import build_parser, execute
from contentspider.ground.terminal import reword
from contentspider.run.flags import with_keys
from contentspider.run.progress import tell_progress
from contentspider.state.stores.lease import KILL_SHARE, STOP_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterator


class Lease:
    """Ends this process before the lease of its parent ends, and when its parent has died. *lines*
    are the times when the lease ends, on the clock of `time.monotonic`, which all processes of a
    machine share.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._changed = threading.Condition()
        self._read()

    def start(self) -> None:
        """Watch the lease in two threads from now on."""
        for work in (self._read_all, self._watch):
            threading.Thread(target=work, daemon=True).start()

    def _read(self) -> None:
        line = next(self._lines, None)
        if line is None:
            _kill()  # the parent has died, or has lost the lease
        with self._changed:
            self._began = time.monotonic()
            self._secs = float(line or 0) - self._began
            self._changed.notify()

    def _read_all(self) -> None:
        while True:
            self._read()

    def _watch(self) -> None:
        for share, end in ((STOP_SHARE, _stop), (KILL_SHARE, _kill)):
            with self._changed:
                while (left := self._began + self._secs * share - time.monotonic()) > 0:
                    self._changed.wait(left)
            end()


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _read_lines() -> Iterator[str]:
    """Yield the lines of standard input. Python's own buffer would be locked by a waiting thread
    when the process ends.
    """
    buffer = b""
    while data := os.read(0, 65_536):
        *lines, buffer = (buffer + data).split(b"\n")
        yield from map(bytes.decode, lines)


def main() -> int:
    """Run the crawl and return its exit code."""
    options = build_parser().parse_args(["crawl"])
    lines = _read_lines()
    given = json.loads(next(lines))
    if given.pop("lease", False):
        Lease(lines).start()
    tell_progress(Path(given.pop("progress")))
    reword(with_keys)
    vars(options).update(given)
    return execute(options)


if __name__ == "__main__":
    sys.exit(main())
