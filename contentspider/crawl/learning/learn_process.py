"""Learns a site in a child process, which reads the book and writes the model to its stdout."""

from __future__ import annotations

import ctypes
import json
import logging
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.crawl.base.process_memory import MB, memory_limit, spare_memory
from contentspider.crawl.learning.learn_server import ONE_THREAD, SERVER_VARIABLE, python_path
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.site.vote.labels import PAPER
from contentspider.state.book.book import Book
from contentspider.state.outcome import Outcome

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.site.learn.learner import LearnedSite

NOT_ENOUGH_TEXT = 3  # the exit code of a child whose site has too little text to be learned
ERROR_CHARS = 2_000  # the end of the child's stderr that an error quotes
PR_SET_PDEATHSIG = 1  # Linux: "signal me when the thread that started me ends" (prctl(2))
# Virtual memory that a learner of a small site needs: in total, and beyond Python and libraries.
LEARNER, LEAST = 560 * MB, 100 * MB


class LearningError(ContentSpiderError):
    """The learning process failed. After a second failure the site's items pass unfiltered."""

    code = "learning"


class LearningTimeoutError(LearningError):
    """The learning process took too long; the site's items pass unfiltered."""

    code = "learning-timeout"


class LearningStoppedError(LearningError):
    """The crawl was told to end while the site was learned; its items stay held."""

    code = "learning-stopped"


@dataclass(frozen=True, slots=True)
class Learned:
    """A learned model, its *score* on its sample, and the *previous_score*: the score of the model
    that it replaces, on the same pages. Scores are from 0 to 1.
    """

    model: SiteModel
    score: float = 0.0
    previous_score: float | None = None


class LearningStop:
    """Ends the learning that threads of a crawl wait for, and lets no more begin, once it `is_set`.
    They raise `LearningStoppedError`.
    """

    def __init__(self) -> None:
        self.is_set = False
        self._ends: list[Callable[[], None]] = []

    def set(self) -> None:
        """End all learning."""
        self.is_set = True
        for end in list(self._ends):
            end()

    @contextmanager
    def ended_by(self, end: Callable[[], None]) -> Iterator[None]:
        """Have *end* called, from another thread, if the block must end early."""
        self._ends.append(end)
        try:
            self._check()  # it may have been set before
            yield
        finally:
            self._ends.remove(end)
        self._check()

    def _check(self) -> None:
        if self.is_set:
            raise LearningStoppedError("the crawl was told to end")


def learn_in_process(
    book: Path,
    site: str,
    options: LearningOptions,
    seconds: float,
    previous: Path | None = None,
    stop: LearningStop | None = None,
) -> Learned:
    """Return the model of a *site* that another process learned from the pages in a *book*: a
    server that `SERVER_VARIABLE` names, or else a child process.

    The model is compared with the *previous* one, if a path of its folder is passed. Raises
    `LearningTimeoutError` after *seconds*, `LearningStoppedError` after the *stop*,
    `NotEnoughTextError`, `LearningError` and MemoryError.
    """
    stop = stop or LearningStop()
    if memory_limit() < LEARNER:
        raise MemoryError("too little memory to learn the site")
    task = {"book": str(book), "site": site, "options": asdict(options)}
    task["previous"] = str(previous or "")
    answer = _ask_server(task, seconds, stop)
    if answer is None:
        answer = _ask_child(task, seconds, stop)
    head, _, weights = answer.partition(b"\n")
    manifest, *scores = json.loads(head)
    return Learned(SiteModel.parse(manifest, weights), *scores)


def _ask_server(task: dict[str, Any], seconds: float, stop: LearningStop) -> bytes | None:
    """Send a task to the learning server, and return its response; None if it does not respond."""
    path = os.environ.get(SERVER_VARIABLE)
    if not path:
        return None
    with socket.socket(socket.AF_UNIX) as connection, stop.ended_by(_hang_up(connection)):
        connection.settimeout(seconds)
        try:
            connection.connect(path)
            connection.sendall(json.dumps(task).encode() + b"\n")
        except OSError:
            return None  # the server has ended
        try:
            with connection.makefile("rb") as file:
                head, answer = file.readline(), file.read()
        except TimeoutError:
            raise LearningTimeoutError(f"it took longer than {seconds:g} seconds") from None
        except OSError:
            return None  # the server has ended, or could not be started
    if not head:
        return None  # the process that learned has died: a child of the crawl shows why
    code, message = json.loads(head)
    _check_exit(code, message)
    return answer


def _hang_up(connection: socket.socket) -> Callable[[], None]:
    """Return a function that ends the transfer of a connection in another thread."""

    def hang_up() -> None:
        with suppress(OSError):  # it is not connected yet, or not any more
            connection.shutdown(socket.SHUT_RDWR)

    return hang_up


def _ask_child(task: dict[str, Any], seconds: float, stop: LearningStop) -> bytes:
    """Return the answer of a process that learns one site."""
    try:
        process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", "contentspider.crawl.learning.learn_process", json.dumps(task)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**ONE_THREAD, **os.environ, "PYTHONPATH": python_path()},
            start_new_session=True,  # Ctrl-C in the terminal must reach only the crawl
        )
    except OSError as error:
        raise LearningError(
            f"its process could not be run: {error}", code="learning-start"
        ) from error
    with process:
        try:
            with stop.ended_by(process.kill):
                answer, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise LearningTimeoutError(f"it took longer than {seconds:g} seconds") from None
        finally:
            process.kill()  # it has ended already, unless an error was raised
    message = errors.decode(errors="replace").strip()[-ERROR_CHARS:]
    _check_exit(process.returncode, message)
    return answer


def _check_exit(code: int, message: str) -> None:
    """Raise the error that the exit code and the message of a learning process stand for."""
    was_killed_for_memory = code < 0 and memory_limit() < math.inf
    if code == Outcome.OUT_OF_MEMORY or was_killed_for_memory:
        raise MemoryError("too little memory to learn the site")
    if code == NOT_ENOUGH_TEXT:
        raise NotEnoughTextError(message)
    if code:
        # The last line of a traceback names the error.
        last_line = message.splitlines()[-1] if message else ""
        raise LearningError(last_line or f"the learning process ended with {code}")


def _pages(book: Book, site: str, labels: str) -> Iterator[Page]:
    """Yield the held pages of a site and its sample, each page once. Algorithm 1 sums all pages, so
    for `PAPER` labels all other pages that the crawl has read come, too.
    """
    urls: set[str] = set()
    visited = book.sample.visited(site) if labels == PAPER else ()
    for page in chain(book.items.held_pages(site), book.sample.sample(site), visited):
        if page.url not in urls:
            urls.add(page.url)
            yield page


def _compare(learned: LearnedSite, previous: Path) -> list[Any]:
    """Return the scores of a new model and of the *previous* one on the sample of the new one.

    The second score is None if the previous model cannot be read.
    """
    try:
        previous_model = SiteModel.load(previous)
        previous_model.judge = learned.model.judge
    except (ContentSpiderError, OSError):
        return [0.0, None]
    return [_score(model, learned) for model in (learned.model, previous_model)]


def _score(model: SiteModel, learned: LearnedSite) -> float:
    """Return the mean, over the sample, of a page's confidence times its agreement: the share of
    its text that the model labels as the votes do. A block counts by the square root of its length.
    """
    total = 0.0
    for page, labels in zip(learned.sample, learned.labels, strict=True):
        extraction = model.extract(page)
        sizes = np.sqrt([len(block.text) for block in page.content.blocks])
        is_equal = (extraction.probabilities > 0.5) == (labels > 0.5)
        agreement = sizes[is_equal].sum() / sizes.sum()
        total += float(agreement) * extraction.confidence
    return total / len(learned.sample)


def end_with_parent() -> None:
    """Have this process killed when its parent ends, which alone waits for its result (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def learn(task: dict[str, Any]) -> tuple[int, str, bytes]:
    """Learn the site of a *task*. Return the exit code, the message of an error, and the model: a
    line with the manifest and the scores, then the weights.
    """
    from contentspider.site.learn.learner import SiteLearner

    try:
        if spare_memory() < LEAST:
            raise MemoryError
        options = LearningOptions(**task["options"])
        book = Book(Path(task["book"]), read_only=True)
        own_texts = book.own_texts.of_site(task["site"])
        pages = _pages(book, task["site"], options.labels)
        learned = SiteLearner(task["site"], options).learn(pages, own_texts)
        book.close()
        scores = _compare(learned, Path(task["previous"])) if task["previous"] else []
        head = json.dumps([learned.model.manifest(), *scores]).encode()
        return 0, "", head + b"\n" + learned.model.dump_weights()
    except NotEnoughTextError as error:
        return NOT_ENOUGH_TEXT, str(error), b""
    except ContentSpiderError as error:
        return 1, str(error), b""
    except MemoryError:
        return Outcome.OUT_OF_MEMORY, "", b""


def main() -> int:
    """Learn the site that the argument (a JSON object) names. Write the model to stdout, and the
    message of an error to stderr. Return the exit code.
    """
    output = sys.stdout.buffer
    sys.stdout = sys.stderr  # the prints of libraries must not mix with the model
    end_with_parent()
    logging.basicConfig(level=logging.WARNING)
    code, message, answer = learn(json.loads(sys.argv[1]))
    sys.stderr.write(message)
    output.write(answer)
    return code


if __name__ == "__main__":
    sys.exit(main())
