"""The summary at the end of a crawl."""

from __future__ import annotations

import subprocess
import sys

import pytest

from contentspider.run.summary import summary
from contentspider.state.outcome import Outcome, Remaining

SKIPPED = "contentspider/pages/skipped/"


def lines_of(outcome: Outcome, **stats: int) -> list[str]:
    named = {name.replace("__", "/"): value for name, value in stats.items()}
    skipped = {SKIPPED + "login": 2, SKIPPED + "soft_404": 1_000, SKIPPED + "duplicate": 5}
    return summary(skipped | named, outcome, [], Remaining(), [], ["pages.jsonl"], "models")


def test_summary_counts_skipped_pages_and_unread_known_pages() -> None:
    lines = lines_of(Outcome.COMPLETE, item_scraped_count=3, contentspider__changes__kept=1_002)
    (skipped,) = (line for line in lines if line.startswith("skipped:"))
    assert "1,000 soft 404, 2 login" in skipped
    assert "duplicate" not in skipped, "another line has them"
    assert any("1,002" in line for line in lines)
    lines = lines_of(Outcome.COMPLETE, item_scraped_count=3)
    assert not any("known pages" in line for line in lines)


def test_summary_says_that_outputs_of_an_earlier_crawl_stay() -> None:
    for unseen, is_unchanged in ((5, False), (6, True)):
        counts = {"contentspider__book__unseen": unseen, "contentspider__book__items": 3}
        (line,) = (
            line
            for line in lines_of(Outcome.INCOMPLETE, item_scraped_count=3, **counts)
            if line.startswith("items:")
        )
        assert ("unchanged" in line) == is_unchanged


def test_summary_of_a_crawl_without_items_says_why_pages_were_skipped() -> None:
    (line,) = lines_of(Outcome.NOTHING_READ)
    assert "1,000 soft 404, 2 login" in line
    assert "robots.txt" not in line


def test_summary_counts_pages_that_the_browser_failed_to_load() -> None:
    lines = lines_of(
        Outcome.COMPLETE, item_scraped_count=3, contentspider__render__failed__slow=1_007
    )
    assert any(line.startswith("render:") and "1,007 slow" in line for line in lines)
    assert not any(
        line.startswith("render:") for line in lines_of(Outcome.COMPLETE, item_scraped_count=3)
    )


def test_summary_counts_routes_of_scripts_apart_from_traps() -> None:
    left = "contentspider__links__routes_left_out"
    lines = lines_of(Outcome.COMPLETE, item_scraped_count=3, **{left: 1_004})
    (line,) = (line for line in lines if line.startswith("routes:"))
    assert "1,004" in line and "--render" in line
    assert not any("traps" in line for line in lines)
    lines = lines_of(Outcome.COMPLETE, item_scraped_count=3)
    assert not any(line.startswith("routes:") for line in lines)


@pytest.mark.parametrize(
    ("module", "left_out"),
    [
        ("contentspider.cli", {"numpy", "scrapy", "lxml", "twisted"}),
        ("contentspider.run.overview", {"numpy", "scrapy", "langcodes", "sklearn"}),
    ],
)
def test_help_and_status_load_no_library_that_takes_long(module: str, left_out: set[str]) -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not left_out & set(loaded.stdout.split())
