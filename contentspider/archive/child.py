"""Runs tasks in a child process, so that a page that crashes or hangs costs only that page.

A page that kills the process twice is left out. ``python -m contentspider.archive.child FILE``
is the child: it reads tasks as lines of JSON from standard input, and writes the number of the page
that it is reading to FILE.
"""

from __future__ import annotations

import json
import mmap
import os
import selectors
import shutil
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from contentspider.archive.tasks import NO_PAGE
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from contentspider.archive.tasks import Task

PAGE_SECS = 300.0  # the process is killed if it reads one page for longer
POLL_SECS = 5.0
DEATHS_PER_PAGE = 2  # a page is left out after this many; a single death can have another cause
MAX_DEATHS = 50  # in one task
NUMBER_BYTES = 8


class LostError(ContentSpiderError):
    """A task failed because its process died too often, or was stopped."""

    code = "task-lost"


class Child:
    """A child process that runs one task at a time. It is replaced when it dies or hangs."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="contentspider-archive-")
        self._number_path = Path(self._folder.name, "page")
        # The process has its temporary files here: it cannot delete them when it is killed.
        self._files = Path(self._folder.name, "files")
        with self._number_path.open("w+b") as file:
            file.truncate(NUMBER_BYTES)
            self._number = mmap.mmap(file.fileno(), NUMBER_BYTES)
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def run(self, task: Task) -> dict[str, Any]:
        """Run a task and return its result; raises `ContentSpiderError` if it fails."""
        deaths: Counter[int] = Counter()
        skipped: list[int] = []
        while True:
            response = self._request({**task, "skip": skipped})
            if response is not None:
                if "error" in response:
                    raise ContentSpiderError(str(response["error"]))
                return dict(response["done"])
            if self._is_stopped:
                raise LostError(f"{task['kind']} {task['id']}: the task was stopped")
            self._end_process()
            page_number = int.from_bytes(self._number[:], "big")
            deaths[page_number] += 1
            if deaths[page_number] >= DEATHS_PER_PAGE and page_number != NO_PAGE:
                skipped.append(page_number)
            if deaths[NO_PAGE] > DEATHS_PER_PAGE or deaths.total() > MAX_DEATHS:
                raise LostError(
                    f"{task['kind']} {task['id']}: its process was lost {deaths.total()} times"
                )

    def _request(self, task: Task) -> dict[str, Any] | None:
        """Send a task to the process, which is started if needed, and return its response; None if
        the process dies, or reads one page for more than `PAGE_SECS`.
        """
        self._number[:] = NO_PAGE.to_bytes(NUMBER_BYTES, "big")
        if self._process is None:
            command = [sys.executable, "-m", "contentspider.archive.child", str(self._number_path)]
            self._files.mkdir(exist_ok=True)
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "TMPDIR": str(self._files)},
            )
        requests, responses = self._process.stdin, self._process.stdout
        if requests is None or responses is None:
            return None
        with suppress(BrokenPipeError):
            requests.write(json.dumps(task).encode() + b"\n")
            requests.flush()
        previous_number, since = NO_PAGE, time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(responses, selectors.EVENT_READ)
            while not selector.select(POLL_SECS):
                page_number = int.from_bytes(self._number[:], "big")
                if page_number != previous_number or page_number == NO_PAGE:
                    previous_number, since = page_number, time.monotonic()
                elif time.monotonic() - since > PAGE_SECS:
                    return None
        line = responses.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def end(self) -> None:
        """Kill the process and stop its task."""
        self._is_stopped = True
        self._end_process()
        self._folder.cleanup()

    def _end_process(self) -> None:
        """Kill the process, if one is running."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            shutil.rmtree(self._files, ignore_errors=True)


def main() -> None:
    """Run the tasks from standard input, and write their results to standard output."""
    from contentspider.archive.steps import run

    responses = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of libraries must not mix with the responses
    with (
        Path(sys.argv[1]).open("r+b") as file,
        mmap.mmap(file.fileno(), NUMBER_BYTES) as shared_number,
    ):

        def report_page(number: int) -> None:
            shared_number[:] = number.to_bytes(NUMBER_BYTES, "big")

        for line in sys.stdin.buffer:
            try:
                response: dict[str, Any] = {"done": run(json.loads(line), report_page)}
            except ContentSpiderError as error:
                response = {"error": str(error)}
            except OSError as error:  # the disk or the network failed, not a page
                response = {"error": f"{type(error).__name__}: {error}"}
            responses.write(json.dumps(response).encode() + b"\n")
            responses.flush()


if __name__ == "__main__":
    main()
