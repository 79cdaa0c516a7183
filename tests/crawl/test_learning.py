"""The learning process: its answers, its time, and what is left of it."""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest

from contentspider.crawl.learning import learn_process
from contentspider.crawl.learning.learn_process import LearningError, learn_in_process
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
from contentspider.state.outcome import Outcome
from contentspider.state.stores.models import ModelStore
from tests.conftest import ROOT
from tests.messages import raises
from tests.sites import article


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """Return the file of a ledger that holds five pages of one site."""
    path = tmp_path / "held.sqlite"
    ledger = Book(path)
    for number in range(5):
        url = f"https://example.org/{number}"
        hand = ItemBinding(Page.from_html(article(number), url))
        ledger.items.hold("example.org", {"url": url}, hand)
    ledger.commit()
    ledger.close()
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


def test_slow_learner_is_terminated(held: Path) -> None:
    with pytest.raises(LearningError, match=r"longer than 0\.01 seconds"):
        learn_in_process(held, "example.org", OPTIONS, 0.01)


@pytest.mark.parametrize(
    ("code", "said", "most", "error", "message"),
    [
        (1, "Traceback:\n  line 1\nOSError: gone", math.inf, LearningError, "^OSError: gone$"),
        (5, "", math.inf, LearningError, "^the learning process ended with 5$"),
        (-9, "", math.inf, LearningError, "^the learning process ended with -9$"),
        (-9, "", 1e12, MemoryError, "memory"),
        (Outcome.OUT_OF_MEMORY, "", math.inf, MemoryError, "memory"),
        (3, " e.org has no text\n", math.inf, NotEnoughTextError, "^e.org has no text$"),
        (1, "x" * 3_000, math.inf, LearningError, "^x{2000}$"),
    ],
)
def test_learner_exit_code_decides_error(
    code: int,
    said: str,
    most: float,
    error: type[Exception],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: dict[str, Any] = {}

    def ended(command: list[str], **options: Any) -> Any:
        asked.update(options, task=json.loads(command[-1]))
        process = MagicMock(returncode=code)
        process.communicate = lambda timeout: (asked.update(timeout=timeout), said.encode())
        return process

    monkeypatch.setattr(subprocess, "Popen", ended)
    monkeypatch.setattr(learn_process, "memory_limit", lambda: most)
    with pytest.raises(error, match=message):
        learn_in_process(Path("ledger"), "e.org", OPTIONS, 60, Path("previous"))
    assert asked["task"].pop("options") == json.loads(json.dumps(asdict(OPTIONS)))
    assert asked["task"] == {"book": "ledger", "site": "e.org", "previous": "previous"}
    assert (asked["timeout"], asked["start_new_session"]) == (60, True)
    assert asked["env"]["OPENBLAS_NUM_THREADS"] == "1"
    assert asked["env"]["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)


def test_learner_needs_minimum_memory_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn_process, "memory_limit", lambda: learn_process.LEARNER - 1)
    with pytest.raises(MemoryError):
        learn_in_process(Path("nowhere"), "e.org", OPTIONS, 60)


def test_learner_without_executable_raises_learning_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with raises(LearningError, "learning-start", "/nowhere/python"):
        learn_in_process(Path("nowhere"), "e.org", OPTIONS, 60)


@pytest.mark.parametrize("spared", [0, math.inf])
def test_learner_prints_quality_scores_and_exit_code(
    spared: float,
    held: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: Any,
) -> None:
    """In this process: it compares the model with one that cannot be read, and with itself."""
    task = {"book": str(held), "site": "example.org", "previous": str(held)}
    task["options"] = asdict(OPTIONS)  # type: ignore[assignment]
    monkeypatch.setattr(sys, "argv", ["", json.dumps(task)])
    monkeypatch.setattr(learn_process, "spare_memory", lambda: spared)
    monkeypatch.setattr(learn_process.ctypes, "CDLL", MagicMock())
    output = sys.stdout
    monkeypatch.setattr(sys, "stdout", output)  # it takes another
    if not spared:
        assert learn_process.main() == Outcome.OUT_OF_MEMORY
        return
    assert learn_process.main() == 0
    head, _, weights = capsysbinary.readouterr().out.partition(b"\n")
    manifest, *compared = json.loads(head)
    assert compared == [0.0, None]
    model = SiteModel.parse(manifest, weights)
    assert model.pages == 5
    store = ModelStore(tmp_path / "models")
    store.save(model)
    task["previous"] = str(store.place("example.org"))
    monkeypatch.setattr(sys, "argv", ["", json.dumps(task)])
    monkeypatch.setattr(sys, "stdout", output)
    assert learn_process.main() == 0
    _, new, before = json.loads(capsysbinary.readouterr().out.partition(b"\n")[0])
    assert 0.5 < new == before <= 1, "it is the same model"
    task["site"] = "other.org"
    monkeypatch.setattr(sys, "argv", ["", json.dumps(task)])
    assert learn_process.main() == learn_process.NOT_ENOUGH_TEXT
    assert b"other.org" in capsysbinary.readouterr().err


def test_killed_crawl_terminates_its_learner_and_leaves_no_files(tmp_path: Path) -> None:
    """The learner's ledger is a FIFO that it waits at: whoever writes to it learns that it is
    gone.
    """
    os.mkfifo(tmp_path / "ledger.sqlite")
    (tmp_path / "tmp").mkdir()
    code = (
        "import sys; from contentspider.crawl.learning.learn_process import *\n"
        "learn_in_process(Path(sys.argv[1]), 'site', LearningOptions(), 60)"
    )
    crawl = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "ledger.sqlite")],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path / "tmp")},
    )
    end = os.open(tmp_path / "ledger.sqlite", os.O_WRONLY)  # waits for the learner to open it
    try:
        crawl.send_signal(signal.SIGKILL)
        crawl.wait()
        watch = select.poll()
        watch.register(end, select.POLLERR)
        assert watch.poll(20_000), "the learner outlives its crawl"
    finally:
        os.close(end)
    assert not list((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("is_early", [True, False])
def test_stop_ends_learner_that_thread_waits_for(is_early: bool, tmp_path: Path) -> None:
    """The learner's ledger is a FIFO that nobody writes to."""
    os.mkfifo(tmp_path / "ledger.sqlite")
    stop = learn_process.LearningStop()
    if is_early:
        stop.set()
    else:
        opened = threading.Thread(
            target=lambda: (os.open(tmp_path / "ledger.sqlite", os.O_WRONLY), stop.set())
        )
        opened.start()
    with pytest.raises(learn_process.LearningStoppedError):
        learn_in_process(tmp_path / "ledger.sqlite", "site", OPTIONS, 60, stop=stop)
    if not is_early:
        opened.join()
