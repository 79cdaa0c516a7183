"""Which known pages are due: by their visits, and by the dates of sitemaps."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.revisits.due_pages import CHECKED_EACH, Lastmods, due_pages
from contentspider.crawl.revisits.ending import no_pause
from contentspider.recrawl.judge import Facts
from contentspider.recrawl.lastmod import MIN_CHANGES, MIN_CHECKED, LastmodCounts
from contentspider.site.models.identity import page_id
from contentspider.state.book.book import Book
from tests.recrawled import SITE, address, options
from tests.visited import Seen, crawl, see

if TYPE_CHECKING:
    from collections.abc import Iterator

TRUSTED = LastmodCounts(MIN_CHECKED, 0, MIN_CHANGES, 0)
DAYS = (9, 1, 99, 0.01, 8, -1)


def days_ago(days: float) -> str:
    # Of the test, not of the import: a whole run takes an hour.
    return (datetime.now(timezone.utc) - timedelta(days=days)).isoformat(timespec="seconds")


def visit(days: float, change: str = "new", cause: str = "page") -> Seen:
    url = address(f"/{days}")
    values = {"url": url, "at": days_ago(days)}
    return Seen(page_id(url), change, text="Tea.", cause=cause, values=values)


@pytest.fixture
def book() -> Iterator[Book]:
    """Yield a book of pages that were visited so many days ago as their path says."""
    made = Book(None)
    crawl(made, *map(visit, DAYS))
    made.begin_crawl()
    made.begin_run()
    yield made
    made.close()


def numbers(urls: list[str]) -> list[float]:
    return [float(url.removeprefix(address("/"))) for url in urls]


def test_most_overdue_pages_come_first(book: Book) -> None:
    found = numbers(due_pages(book.known, options(mean_interval=7, max_interval=30)))
    assert found[:2] == [-1, 99]
    assert set(found) <= {-1, 99, 9, 8}
    found = numbers(due_pages(book.known, options(mean_interval=0.001, max_interval=1)))
    assert found == [-1, 99, 9, 8, 1], "no page is due within an hour"
    found = numbers(due_pages(book.known, options(mean_interval=500, max_interval=500)))
    assert found == [-1]


def test_empty_book_has_no_due_pages() -> None:
    empty = Book(None)
    assert due_pages(empty.known, options()) == []
    empty.close()


def test_sitemap_dates_tell_which_known_pages_changed(book: Book) -> None:
    lastmods = Lastmods(book)
    for days, lastmod in ((9, days_ago(5)), (8, days_ago(20)), (1, "yesterday"), (7, days_ago(5))):
        lastmods.note(address(f"/{days}"), lastmod)
    has_changed = book.sitemap_dates.has_changed
    found = {days: has_changed(page_id(address(f"/{days}"))) for days in (9, 8, 1, 7)}
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
    truth: LastmodCounts | None, expected: list[float], book: Book
) -> None:
    book.sites.lastmods = {SITE: truth} if truth is not None else {}
    lastmods = Lastmods(book)
    lastmods.note(address("/99"), days_ago(5))
    assert numbers(list(lastmods.choose([address("/9"), address("/8")]))) == expected


@pytest.mark.parametrize(("truth", "asked"), [(TRUSTED, 3), (LastmodCounts(), 101)])
def test_sample_of_unchanged_pages_is_checked_despite_sitemap(
    truth: LastmodCounts, asked: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    book = Book(None)
    days = [number + 10 for number in range(2 * CHECKED_EACH + 1)]
    crawl(book, *map(visit, days))
    for number in days:
        book.sitemap_dates.note(page_id(address(f"/{number}")), has_changed=False)
    book.sites.lastmods = {SITE: truth}
    lastmods = Lastmods(book)
    found = numbers(list(lastmods.choose([address(f"/{number}") for number in days])))
    assert len(found) == asked
    assert found[0] == 10
    messages = [message for message in caplog.messages if "sitemaps" in message]
    assert len(messages) == (1 if asked == 3 else 0)
    assert all("101" in message and str(CHECKED_EACH) in message for message in messages)
    assert numbers(list(lastmods.choose([address("/5")]))) == [5], "it is not known"
    book.close()


@pytest.mark.parametrize(
    ("was_said", "change", "cause", "truth"),
    [
        (True, "changed", "page", LastmodCounts(true_changed=1)),
        (False, "changed", "page", LastmodCounts(false_unchanged=1)),
        (True, "unchanged", "", LastmodCounts(false_changed=1)),
        (False, "unchanged", "", LastmodCounts(true_unchanged=1)),
        (False, "changed", "fields", LastmodCounts(false_unchanged=1)),
        (True, "changed", "model", None),
        (True, "new", "page", None),
        (None, "changed", "page", None),
    ],
)
def test_sitemap_dates_are_judged_by_observed_changes(
    was_said: bool | None, change: str, cause: str, truth: LastmodCounts | None, book: Book
) -> None:
    found = visit(9, change, cause)
    if cause == "fields":
        found.values["facts"] = Facts("", fields=(("price", 1, 2),))  # type: ignore[index]
    if was_said is not None:
        book.sitemap_dates.note(found.name, was_said)
    see(book, found)
    counts = asyncio.run(Lastmods(book).count(lambda: no_pause("")))
    assert counts == ({} if truth is None else {SITE: truth})
    # What an interrupted end has counted is not counted twice.
    assert asyncio.run(Lastmods(book).count(lambda: no_pause(""))) == counts
