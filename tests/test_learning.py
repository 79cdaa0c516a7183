"""The learning process: its answers, its time, and what is left of it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.hold.learning import LearningError, learn_apart
from contentspider.ground.errors import NotEnoughTextError
from contentspider.page.input.page import Page
from contentspider.site.learn.options import LearningOptions
from contentspider.state.ledger.items import PageInHand
from contentspider.state.ledger.ledger import Ledger
from tests.conftest import ROOT
from tests.sites import article

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """Return the file of a ledger that holds five pages of one site."""
    path = tmp_path / "held.sqlite"
    ledger = Ledger(path)
    for number in range(5):
        url = f"https://example.org/{number}"
        hand = PageInHand(Page.from_html(article(number), url))
        ledger.items.hold("example.org", {"url": url}, hand)
    ledger.commit()
    ledger.close()
    return path


OPTIONS = LearningOptions()


def test_a_process_learns_the_model_of_the_held_pages(held: Path) -> None:
    model = learn_apart(held, "example.org", OPTIONS, 60).model
    assert (model.site, model.pages) == ("example.org", 5)
    page = Page.from_html(article(7))
    assert "All rights reserved" not in model.extract(page).text


def test_a_site_without_pages_is_said(held: Path) -> None:
    with pytest.raises(NotEnoughTextError, match=r"other\.org"):
        learn_apart(held, "other.org", OPTIONS, 60)


def test_why_a_learner_failed_is_said_in_a_line(held: Path, tmp_path: Path) -> None:
    (tmp_path / "prior.npz").write_bytes(b"no prior")
    options = LearningOptions(prior_file=str(tmp_path / "prior.npz"))
    with pytest.raises(LearningError, match=r"prior\.npz.* cannot be used") as raised:
        learn_apart(held, "example.org", options, 60)
    assert "\n" not in str(raised.value)


def test_a_learner_that_takes_too_long_is_ended(held: Path) -> None:
    with pytest.raises(LearningError, match=r"longer than 0\.01 seconds"):
        learn_apart(held, "example.org", OPTIONS, 0.01)


def test_a_killed_crawl_takes_its_learner_with_it_and_leaves_nothing(tmp_path: Path) -> None:
    """The learner's ledger is a FIFO that it waits at: whoever writes to it learns that it is
    gone.
    """
    os.mkfifo(tmp_path / "ledger.sqlite")
    (tmp_path / "tmp").mkdir()
    code = (
        "import sys; from contentspider.crawl.hold.learning import *\n"
        "learn_apart(Path(sys.argv[1]), 'site', LearningOptions(), 60)"
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
