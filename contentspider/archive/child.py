"""A process that does tasks, and can be lost: the page that kills it twice is left out.

``python -m contentspider.archive.child FILE`` does the tasks that come as lines of JSON, and notes
the number of the page that it is at in FILE.
"""

from __future__ import annotations

import json
import mmap
import os
import selectors
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from contentspider.archive.tasks import NOWHERE
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from contentspider.archive.tasks import Task

PAGE_SECS = 300.0  # a page that takes longer is as one that kills
POLL_SECS = 5.0
ENOUGH = 2  # deaths at one page; one may be for another reason
MAX_DEATHS = 50  # in one task
BYTES = 8


class LostError(ContentSpiderError):
    """A process is lost again and again."""


class Child:
    """A child process that does one task at a time; a lost one is replaced."""

    def __init__(self) -> None:
        self._note = NamedTemporaryFile(prefix="contentspider-archive-")  # noqa: SIM115
        self._note.write(NOWHERE.to_bytes(BYTES, "big"))
        self._note.flush()
        self._at = mmap.mmap(self._note.fileno(), BYTES)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self, task: Task) -> dict[str, Any]:
        """Return what a task's result is; raises `ContentSpiderError`."""
        deaths: Counter[int] = Counter()
        skipped: list[int] = []
        while True:
            answer = self._answer({**task, "skip": skipped})
            if answer is not None:
                if "error" in answer:
                    raise ContentSpiderError(str(answer["error"]))
                return dict(answer["done"])
            if self._is_over:
                raise LostError(f"{task['kind']} {task['id']}: it was stopped")
            self._end_process()
            number = int.from_bytes(self._at[:], "big")
            deaths[number] += 1
            if deaths[number] >= ENOUGH and number != NOWHERE:
                skipped.append(number)
            if deaths[NOWHERE] > ENOUGH or deaths.total() > MAX_DEATHS:
                raise LostError(
                    f"{task['kind']} {task['id']}: its process was lost {deaths.total()} times"
                )

    def _answer(self, task: Task) -> dict[str, Any] | None:
        """Return what the process answers; None if it is lost, or hangs."""
        self._at[:] = NOWHERE.to_bytes(BYTES, "big")
        if self._process is None:
            command = [sys.executable, "-m", "contentspider.archive.child", self._note.name]
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        given, answers = self._process.stdin, self._process.stdout
        if given is None or answers is None:
            return None
        with suppress(BrokenPipeError):
            given.write(json.dumps(task).encode() + b"\n")
            given.flush()
        last, since = NOWHERE, time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(answers, selectors.EVENT_READ)
            while not selector.select(POLL_SECS):
                here = int.from_bytes(self._at[:], "big")
                if here != last or here == NOWHERE:
                    last, since = here, time.monotonic()
                elif time.monotonic() - since > PAGE_SECS:
                    return None
        line = answers.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def end(self) -> None:
        """End the process, and what it does."""
        self._is_over = True
        self._end_process()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def main() -> None:
    """Do the tasks of the standard input."""
    from contentspider.archive.steps import run

    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    with Path(sys.argv[1]).open("r+b") as note, mmap.mmap(note.fileno(), BYTES) as at:

        def say(number: int) -> None:
            at[:] = number.to_bytes(BYTES, "big")

        for line in sys.stdin.buffer:
            try:
                answer: dict[str, Any] = {"done": run(json.loads(line), say)}
            except ContentSpiderError as error:
                answer = {"error": str(error)}
            except OSError as error:  # of the disk, or the net: no page is to blame
                answer = {"error": f"{type(error).__name__}: {error}"}
            answers.write(json.dumps(answer).encode() + b"\n")
            answers.flush()


if __name__ == "__main__":
    main()
