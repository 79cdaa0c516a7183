"""Which known pages are due: by their visits, and by the dates of sitemaps."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from contentspider.state.history.history import History

from contentspider.crawl.revisits.due_pages import CHECKED_EACH, Lastmods, due_pages
from contentspider.recrawl.judge import NEW_PAGE, Change, judge
from contentspider.recrawl.lastmod import MIN_CHANGES, MIN_CHECKED, LastmodCounts
from contentspider.site.models.record import page_id
from contentspider.state.book.book import Book
from contentspider.state.book.visits import Answer, StoredVisit, Visit
from tests.recrawled import SITE, address, options

if TYPE_CHECKING:
    from collections.abc import Iterator

TRUSTED = LastmodCounts(MIN_CHECKED, 0, MIN_CHANGES, 0)
DAYS = (9, 1, 99, 0.01, 8, -1)


def days_ago(days: float) -> str:
    # Of the test, not of the import: a whole run takes an hour.
    return (datetime.now(timezone.utc) - timedelta(days=days)).isoformat(timespec="seconds")


def visit(days: float) -> Visit:
    url = address(f"/{days}")
    return Visit(page_id(url), url, SITE, days_ago(days), NEW_PAGE, "", "", "", "")


@pytest.fixture
def history() -> Iterator[History]:
    """Yield the history of pages that were visited so many days ago as their path says."""
    made = History(None)
    takeover = made.begin_writing("1", is_complete=True)
    for days in DAYS:
        stored = StoredVisit(1, visit(days), Answer(), "Tea.", None)
        takeover.add_visit(stored, judge(NEW_PAGE))
    takeover.commit()
    yield made
    made.close()


@pytest.fixture
def book() -> Iterator[Book]:
    made = Book(None)
    yield made
    made.close()


def numbers(urls: list[str]) -> list[float]:
    return [float(url.removeprefix(address("/"))) for url in urls]


def test_most_overdue_pages_come_first(history: History) -> None:
    found = numbers(due_pages(history, options(mean_interval=7, max_interval=30)))
    assert found[:2] == [-1, 99]
    assert set(found) <= {-1, 99, 9, 8}
    found = numbers(due_pages(history, options(mean_interval=0.001, max_interval=1)))
    assert found == [-1, 99, 9, 8, 1], "no page is due within an hour"
    found = numbers(due_pages(history, options(mean_interval=500, max_interval=500)))
    assert found == [-1]


def test_empty_history_has_no_due_pages() -> None:
    empty = History(None)
    assert due_pages(empty, options()) == []
    empty.close()


def test_sitemap_dates_tell_which_known_pages_changed(history: History, book: Book) -> None:
    lastmods = Lastmods(history, book.visits)
    for days, lastmod in ((9, days_ago(5)), (8, days_ago(20)), (1, "yesterday"), (7, days_ago(5))):
        lastmods.note(address(f"/{days}"), lastmod)
    found = {days: book.visits.has_changed(page_id(address(f"/{days}"))) for days in (9, 8, 1, 7)}
    assert found == {9: True, 8: False, 1: None, 7: None}


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        (TRUSTED, [99, 9, 8]),
        (LastmodCounts(MIN_CHECKED, 0, MIN_CHANGES, 9), [9, 8]),
        (LastmodCounts(), [9, 8]),
        (None, [9, 8]),
    ],
)
def test_pages_changed_according_to_sitemap_come_first(
    truth: LastmodCounts | None, expected: list[float], history: History, book: Ledger
) -> None:
    history.lastmods = {SITE: truth} if truth is not None else {}
    lastmods = Lastmods(history, book.visits)
    lastmods.note(address("/99"), days_ago(5))
    assert numbers(list(lastmods.choose([address("/9"), address("/8")]))) == expected


@pytest.mark.parametrize(("truth", "asked"), [(TRUSTED, 3), (LastmodCounts(), 101)])
def test_sample_of_unchanged_pages_is_checked_despite_sitemap(
    truth: LastmodCounts, asked: int, book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    history = History(None)
    takeover = history.begin_writing("1", is_complete=True)
    for number in range(2 * CHECKED_EACH + 1):
        stored = StoredVisit(1, visit(number + 10), Answer(), "Tea.", None)
        takeover.add_visit(stored, judge(NEW_PAGE))
        book.visits.note_lastmod(page_id(address(f"/{number + 10}")), has_changed=False)
    takeover.commit()
    history.lastmods = {SITE: truth}
    due = [address(f"/{number + 10}") for number in range(2 * CHECKED_EACH + 1)]
    lastmods = Lastmods(history, book.visits)
    found = numbers(list(lastmods.choose(due)))
    assert len(found) == asked
    assert found[0] == 10
    messages = [message for message in caplog.messages if "sitemaps" in message]
    assert len(messages) == (1 if asked == 3 else 0)
    assert all("101" in message and str(CHECKED_EACH) in message for message in messages)
    assert numbers(list(lastmods.choose([address("/5")]))) == [5], "it is not known"
    history.close()


@pytest.mark.parametrize(
    ("was_said", "change", "cause", "truth"),
    [
        (True, "changed", "page", LastmodCounts(true_changed=1)),
        (False, "changed", "page", LastmodCounts(false_unchanged=1)),
        (True, "unchanged", "", LastmodCounts(false_changed=1)),
        (False, "unchanged", "", LastmodCounts(true_unchanged=1)),
        (False, "changed", "fields", LastmodCounts(false_unchanged=1)),
        (True, "refiltered", "model", None),
        (True, "new", "page", None),
        (None, "changed", "page", None),
    ],
)
def test_sitemap_dates_are_judged_by_observed_changes(
    was_said: bool | None, change: str, cause: str, truth: LastmodCounts | None, book: Ledger
) -> None:
    history = History(None)
    found = visit(9)
    if was_said is not None:
        book.visits.note_lastmod(found.id, was_said)
    lastmods = Lastmods(history, book.visits)
    lastmods.judge(found, Change(change, cause, 1.0))
    judged: dict[str, LastmodCounts] = {}
    history.set_lastmods = judged.__setitem__  # type: ignore[attr-defined]
    lastmods.write(history)  # type: ignore[arg-type]
    assert judged == ({} if truth is None else {SITE: truth})
    history.close()
