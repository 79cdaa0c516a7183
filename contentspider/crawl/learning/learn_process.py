"""Learning in a process of its own, which reads the ledger and writes the model to its output."""

from __future__ import annotations

import ctypes
import json
import logging
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.crawl.base.process_memory import MB, limit, spare
from contentspider.ground.errors import ContentSpiderError, NotEnoughTextError
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.state.crawls.outcome import Outcome
from contentspider.state.ledger.ledger import Ledger

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.site.learn.learner import LearnedSite

NOT_ENOUGH_TEXT = 3
ERROR_CHARS = 2_000
PR_SET_PDEATHSIG = 1  # Linux: "signal me when the thread that started me ends" (prctl(2))
# One core for a learner; where a memory limit leaves no more threads, OpenBLAS would spin for ever.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# Of virtual memory: what a process takes that learns a small site, and what it takes beside Python
# and its libraries.
LEARNER, LEAST = 560 * MB, 100 * MB


class LearningError(ContentSpiderError):
    """The learning process failed; it is tried again, and then the site's items pass unfiltered."""


class LearningTimeoutError(LearningError):
    """The learning process took too long; the site's items pass unfiltered."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A learned model, its *score* on its pages from 0 to 1, and that of the one *before* it."""

    model: SiteModel
    score: float = 0.0
    before: float | None = None


def learn_apart(
    ledger: Path, site: str, options: LearningOptions, seconds: float, before: Path | None = None
) -> Learned:
    """Return what another process learned in *seconds*; raises `LearningError` and others."""
    if limit() < LEARNER:
        raise MemoryError("there is none to learn the site")
    task = {"ledger": str(ledger), "site": site, "options": asdict(options)}
    task["before"] = str(before or "")
    package = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    try:
        done = subprocess.run(  # noqa: S603 - our own module
            [sys.executable, "-m", "contentspider.crawl.learning.learn_process", json.dumps(task)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={**ONE_THREAD, **os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C in the terminal is for the crawl, which ends in order
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise LearningTimeoutError(f"it took longer than {seconds:g} seconds") from None
    except OSError as error:
        raise LearningError(f"its process could not be run: {error}") from error
    said = done.stderr.decode(errors="replace").strip()[-ERROR_CHARS:]
    if done.returncode == Outcome.OUT_OF_MEMORY or (done.returncode < 0 and limit() < math.inf):
        raise MemoryError("there is none to learn the site")
    if done.returncode == NOT_ENOUGH_TEXT:
        raise NotEnoughTextError(said)
    if done.returncode:
        # Of a traceback, the last line says what happened.
        ended = f"the learning process ended with {done.returncode}"
        raise LearningError(said.splitlines()[-1] if said else ended)
    head, _, weights = done.stdout.partition(b"\n")
    manifest, *compared = json.loads(head)
    return Learned(SiteModel.parse(manifest, weights), *compared)


def _pages(ledger: Ledger, site: str) -> Iterator[Page]:
    """Yield the held pages of a site, and the sample of those that were let go, each once."""
    seen: set[str] = set()
    for page in chain(ledger.items.held_pages(site), ledger.pages.sample(site)):
        if page.url not in seen:
            seen.add(page.url)
            yield page


def _compare(learned: LearnedSite, before: Path) -> list[Any]:
    """Return how well a new model does on its pages, and the one *before* it (`_score`)."""
    try:
        other = SiteModel.load(before)
        other.judge = learned.model.judge
    except (ContentSpiderError, OSError):
        return [0.0, None]
    return [_score(model, learned) for model in (learned.model, other)]


def _score(model: SiteModel, learned: LearnedSite) -> float:
    """Return how sure a model is of pages, times the share of text on which the votes agree."""
    total = 0.0
    for page, voted in zip(learned.sample, learned.labels, strict=True):
        found = model.extract(page)
        sizes = np.sqrt([len(block.text) for block in page.content.blocks])
        agreed = sizes[(found.probabilities > 0.5) == (voted > 0.5)].sum() / sizes.sum()
        total += float(agreed) * found.confidence
    return total / len(learned.sample)


def main() -> int:
    """Learn the task that is the argument, and write the model's manifest and weights."""
    output = sys.stdout.buffer
    sys.stdout = sys.stderr  # what a library prints is no model
    if sys.platform == "linux":  # end with the crawl: nobody waits for the model then
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    logging.basicConfig(level=logging.WARNING)
    from contentspider.site.learn.learner import SiteLearner

    task = json.loads(sys.argv[1])
    try:
        if spare() < LEAST:
            raise MemoryError
        options = LearningOptions(**task["options"])
        ledger = Ledger(Path(task["ledger"]), read_only=True)
        own_texts = ledger.own_texts.of_site(task["site"])
        learned = SiteLearner(task["site"], options).learn(_pages(ledger, task["site"]), own_texts)
        ledger.close()
        compared = _compare(learned, Path(task["before"])) if task["before"] else []
        head = json.dumps([learned.model.manifest(), *compared]).encode()
        answer = head + b"\n" + learned.model.dump_weights()
    except NotEnoughTextError as error:
        sys.stderr.write(str(error))
        return NOT_ENOUGH_TEXT
    except ContentSpiderError as error:
        sys.stderr.write(str(error))
        return 1
    except MemoryError:
        return Outcome.OUT_OF_MEMORY
    output.write(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
