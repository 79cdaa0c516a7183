"""The learning process: its answers, its time, and what is left of it."""

from __future__ import annotations

import json
import math
import os
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from contentspider.crawl.learning import learn_process
from contentspider.crawl.learning.learn_process import (
    LearningError,
    LearningTimeoutError,
    learn_in_process,
)
from contentspider.ground import children
from contentspider.ground.children import ChildError, End
from contentspider.ground.errors import NotEnoughTextError
from contentspider.page.input.page import Page
from contentspider.recrawl.judge import NEW_PAGE, Facts, judge
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.state.book.answers import Answer
from contentspider.state.book.book import Book
from contentspider.state.book.contents import PAGE
from contentspider.state.book.items import ItemBinding
from contentspider.state.book.visits import Visit
from contentspider.state.stores.models import ModelStore
from tests.messages import raises
from tests.sites import article


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """Return the file of a book that holds five pages of one site."""
    path = tmp_path / "held.sqlite"
    kept = Book(path)
    for number in range(5):
        url = f"https://example.org/{number}"
        hand = ItemBinding(Page.from_html(article(number), url))
        kept.items.hold("example.org", {"url": url}, hand)
    kept.commit()
    kept.close()
    return path


OPTIONS = LearningOptions()


def test_learning_process_returns_model_of_held_pages(held: Path) -> None:
    model = learn_in_process(held, "example.org", OPTIONS, 60).model
    assert (model.site, model.pages) == ("example.org", 5)
    page = Page.from_html(article(7))
    assert "All rights reserved" not in model.extract(page).text


def visit(book: Book, number: int, site: str = "example.org") -> None:
    """Have a crawl visit an article of a site, which is new or as it was."""
    url = f"https://{site}/{number}"
    known = book.pages.known(url)
    content = known.page if known else None
    if content is None:
        content = book.contents.put(PAGE, Page.from_html(article(number), url).to_json())
    facts = NEW_PAGE if known is None else Facts("")
    hashes = dict.fromkeys(("content_hash", "text_hash", "layout_hash"), "")
    one = Visit(url, url, site, "2026-01-01", facts, **hashes, model="m", base=known, page=content)
    book.visits.write(one, judge(facts), Answer(), number)


@pytest.mark.parametrize(("labels", "pages"), [("votes", 5), ("paper", 8)])
def test_algorithm_1_sums_all_pages_that_crawl_has_read(
    held: Path, labels: str, pages: int
) -> None:
    with closing(Book(held)) as book:
        book.begin_run()
        for number in range(4, 8):
            visit(book, number)
        visit(book, 9, "other.org")
        book.commit()
    model = learn_in_process(held, "example.org", LearningOptions(labels=labels), 60).model
    assert model.pages == pages


def test_algorithm_1_sums_unchanged_pages(tmp_path: Path) -> None:
    """Only those that the crawl has visited, each once."""
    path = tmp_path / "known.sqlite"
    with closing(Book(path)) as book:
        for numbers in (range(9), range(8)):
            book.begin_crawl()
            book.begin_run()
            for number in numbers:
                visit(book, number)
            if len(numbers) == 9:
                book.publish(is_complete=True)
        book.commit()
    model = learn_in_process(path, "example.org", LearningOptions(labels="paper"), 60).model
    assert model.pages == 8


def test_site_without_pages_raises_not_enough_text_error(held: Path) -> None:
    with pytest.raises(NotEnoughTextError, match=r"other\.org"):
        learn_in_process(held, "other.org", OPTIONS, 60)


def test_learner_failure_is_reported_in_one_line(held: Path, tmp_path: Path) -> None:
    (tmp_path / "prior.npz").write_bytes(b"no prior")
    options = LearningOptions(prior_file=str(tmp_path / "prior.npz"))
    with pytest.raises(LearningError, match=r"prior\.npz.* cannot be used") as raised:
        learn_in_process(held, "example.org", options, 60)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("error", "most", "expected", "message"),
    [
        (
            ChildError(End.FAILED, "gone", kinds=["OSError"]),
            math.inf,
            LearningError,
            "OSError: gone",
        ),
        (ChildError(End.DIED, "ended with 5", status=5), math.inf, LearningError, "ended with 5"),
        (ChildError(End.DIED, "ended with -9", status=-9), math.inf, LearningError, "with -9"),
        (ChildError(End.DIED, "ended with -9", status=-9), 1e12, MemoryError, "memory"),
        (ChildError(End.FAILED, "", kinds=["MemoryError"]), math.inf, MemoryError, "memory"),
        (ChildError(End.OUT_OF_TIME, ""), math.inf, LearningTimeoutError, "60 seconds"),
        (ChildError(End.HUNG, "after 9 s"), math.inf, LearningTimeoutError, "after 9 s"),
    ],
)
def test_end_of_learner_decides_error(
    error: ChildError,
    most: float,
    expected: type[Exception],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: dict[str, Any] = {}

    def ended(*given: Any, **options: Any) -> Any:
        asked.update(options, given=given)
        raise error

    monkeypatch.setattr(learn_process, "run_child", ended)
    monkeypatch.setattr(learn_process, "memory_limit", lambda: most)
    with pytest.raises(expected, match=message):
        learn_in_process(Path("ledger"), "e.org", OPTIONS, 60, Path("previous"))
    _, task = asked["given"]
    assert json.loads(json.dumps(task.pop("options"))) == json.loads(json.dumps(asdict(OPTIONS)))
    assert task == {"book": "ledger", "site": "e.org", "previous": "previous"}
    assert asked["limits"].cpu_secs == 60


def test_learner_needs_minimum_memory_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn_process, "memory_limit", lambda: learn_process.LEARNER - 1)
    with pytest.raises(MemoryError):
        learn_in_process(Path("nowhere"), "e.org", OPTIONS, 60)


def test_learner_that_cannot_be_started_raises_learning_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(children, "can_fork", lambda: False)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with raises(LearningError, "learning-start", "/nowhere/python"):
        learn_in_process(Path("nowhere"), "e.org", OPTIONS, 60)


def test_learner_compares_model_with_previous_one(
    held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this process: with one that cannot be read, and with itself."""
    task = {"book": str(held), "site": "example.org", "previous": str(held)}
    task["options"] = asdict(OPTIONS)  # type: ignore[assignment]
    (manifest, *compared), weights = learn_process.learn(task, b"", lambda _: None)
    assert compared == [0.0, None]
    model = SiteModel.parse(manifest, weights)
    assert model.pages == 5
    store = ModelStore(tmp_path / "models")
    store.save(model)
    task["previous"] = str(store.place("example.org"))
    (_, new, before), _ = learn_process.learn(task, b"", lambda _: None)
    assert 0.5 < new == before <= 1, "it is the same model"
    monkeypatch.setattr(learn_process, "spare_memory", lambda: 0)
    with pytest.raises(MemoryError):
        learn_process.learn(task, b"", lambda _: None)


@pytest.mark.parametrize("asked", [[True], [False, False, True]])
def test_stop_ends_learner_that_thread_waits_for(asked: list[bool], tmp_path: Path) -> None:
    """The learner's book is a FIFO that nobody writes to."""
    os.mkfifo(tmp_path / "ledger.sqlite")
    stop = MagicMock(is_set=lambda: asked.pop(0))
    with pytest.raises(learn_process.LearningStoppedError):
        learn_in_process(tmp_path / "ledger.sqlite", "site", OPTIONS, 60, stop=stop)
    assert not asked
