"""Learns a site in a child process, which reads the book and returns the model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.ground.children import ChildError, End, Limits, never, run_child
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.ground.process_memory import MB, memory_limit, spare_memory
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.site.vote.labels import PAPER
from contentspider.state.book.book import Book

if TYPE_CHECKING:
    from threading import Event

    from contentspider.ground.child_process import Report
    from contentspider.page.input.page import Page
    from contentspider.site.learn.learner import LearnedSite

LEARNER_MODULE = "contentspider.site.learn.learner"  # loaded before the process forks
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


def learn_in_process(
    book: Path,
    site: str,
    options: LearningOptions,
    seconds: float,
    previous: Path | None = None,
    stop: Event | None = None,
) -> Learned:
    """Return the model of a *site* that a child process learned from the pages in a *book*.

    The model is compared with the *previous* one, if a path of its folder is passed. Raises
    `LearningTimeoutError` after *seconds* of processor time, `LearningStoppedError` when *stop* is
    set, `NotEnoughTextError`, `LearningError` and MemoryError.
    """
    if memory_limit() < LEARNER:
        raise MemoryError("too little memory to learn the site")
    task = {"book": str(book), "site": site, "options": asdict(options)}
    task["previous"] = str(previous or "")
    try:
        (manifest, *scores), weights = run_child(
            f"{__name__}:learn",
            task,
            limits=Limits.of_work(seconds),
            preload=[LEARNER_MODULE],
            is_over=stop.is_set if stop else never,
        )
    except ChildError as error:
        raise _error_of(error, seconds) from error
    return Learned(SiteModel.parse(manifest, weights), *scores)


def _error_of(error: ChildError, seconds: float) -> Exception:
    """Return the error of learning that the *error* of a child stands for."""
    message = str(error)
    was_killed_for_memory = error.status < 0 and memory_limit() < math.inf
    if "MemoryError" in error.kinds or was_killed_for_memory:
        return MemoryError("too little memory to learn the site")
    if NotEnoughTextError.__name__ in error.kinds:
        return NotEnoughTextError(message)
    if error.end is End.STOPPED:
        return LearningStoppedError("the crawl was told to end")
    if error.end is End.NOT_STARTED:
        return LearningError(message, code="learning-start")
    if error.end is End.OUT_OF_TIME:
        return LearningTimeoutError(f"it took more than {seconds:g} seconds of processor time")
    if error.end is End.HUNG:
        return LearningTimeoutError(f"{message}: this machine is too busy, or the process hangs")
    is_ours = ContentSpiderError.__name__ in error.kinds
    return LearningError(message if is_ours or not error.kinds else f"{error.kinds[0]}: {message}")


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


def learn(task: dict[str, Any], _: bytes, __: Report) -> tuple[list[Any], bytes]:
    """Learn the site of a *task*. Return the manifest of the model and the scores, and the weights.

    Raises `ContentSpiderError` and MemoryError.
    """
    from contentspider.site.learn.learner import SiteLearner

    if spare_memory() < LEAST:
        raise MemoryError
    options = LearningOptions(**task["options"])
    with closing(Book(Path(task["book"]), read_only=True)) as book:
        own_texts = book.own_texts.of_site(task["site"])
        pages = _pages(book, task["site"], options.labels)
        learned = SiteLearner(task["site"], options).learn(pages, own_texts)
    scores = _compare(learned, Path(task["previous"])) if task["previous"] else []
    return [learned.model.manifest(), *scores], learned.model.dump_weights()
