"""Crawls that ask only the known pages that are due, and new ones."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from contentspider.state.book.book import Book
from tests.sites import article, prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

ASIDE = r"/robots\.txt|/llms\.txt|/[0-9a-f]{32}"


@pytest.fixture
def dues(site: Site, tmp_path: Path) -> Recrawls:
    """Return a site that has been crawled once, an hour ago."""
    recrawls = Recrawls(site, tmp_path)
    recrawls.crawl()
    recrawls.records()
    let_pass(recrawls, 1 / 24)
    return recrawls


def history(recrawls: Recrawls) -> Path:
    (path,) = (recrawls.folder / ".scrapy/contentspider").glob("*.sqlite")
    return path


def let_pass(recrawls: Recrawls, days: float, *paths: str) -> None:
    """Let the last visits of pages, or of all, be as many days ago."""
    at = (datetime.now(timezone.utc) - timedelta(days=days)).isoformat(timespec="seconds")
    with closing(sqlite3.connect(history(recrawls))) as database, database:
        for path in paths or ["", *recrawls.articles]:
            url = recrawls.site.url + path
            database.execute("UPDATE pages SET last_seen = ? WHERE url = ?", (at, url))


def asked(recrawls: Recrawls) -> list[str]:
    """Return the pages that have been asked for since the last call, without llms.txt and the
    random address by which a crawl learns how the site's error page looks.
    """
    found = [path for path in recrawls.site.requests if not re.fullmatch(ASIDE, path)]
    recrawls.site.requests.clear()
    return found


def test_due_crawl_requests_only_due_and_new_pages(dues: Recrawls) -> None:
    asked(dues)
    dues.articles["/new"] = article(99, "<a href=/newer>newer</a> <a href=/2>known</a>")
    dues.articles["/newer"] = article(98)
    dues.unlinked.add("/newer")
    dues.articles["/3"] = dues.articles["/3"].replace(prose(3, 1), prose("edited"))
    del dues.articles["/4"]
    dues.answers["/5"] = (301, "/6")
    let_pass(dues, 20, "/3", "/4", "/5")
    items = dues.crawl("--due")
    assert sorted(asked(dues)) == ["/", "/3", "/4", "/4", "/5", "/6", "/new", "/newer"]
    changes = {path: item["change"] for path, item in items.items()}
    expected = {"/3": "changed", "/new": "new", "/newer": "new"}
    assert changes == expected | {"": "unchanged", "/6": "unchanged"}
    assert dues.changes() == expected | {"/4": "gone", "/6": "moved"}
    assert "left as they were" not in dues.said, "of pages that were not asked nothing is said"

    dues.crawl("--due")
    assert asked(dues) == ["/"]
    assert dues.changes() == {}


def test_pages_not_due_are_neither_missing_nor_gone(dues: Recrawls) -> None:
    dues.unlinked.update(dues.articles)
    for _ in range(4):
        dues.crawl("--due")
    assert "gone" not in dues.changes().values()
    known = Book(history(dues), read_only=True)
    assert {page.missing for page in known.known.live()} == {0}
    known.close()


def test_most_overdue_pages_are_requested_first(dues: Recrawls) -> None:
    asked(dues)
    for days, path in ((20, "/7"), (40, "/2"), (30, "/9")):
        let_pass(dues, days, path)
    slow = ("-s", "CONCURRENT_REQUESTS=1")
    dues.crawl("--due", "--max-pages", "3", *slow)
    # What is on its way when the last page has come is asked again by the next crawl.
    # The start page and the first that is due may be asked for in one moment.
    assert set(asked(dues)[:3]) == {"/", "/2", "/9"}
    dues.crawl("--due", "--max-pages", "3", *slow)
    assert set(asked(dues)) == {"/", "/7"}


def test_visits_and_changes_are_stored_with_elapsed_time(dues: Recrawls) -> None:
    for days, path in ((8, "/1"), (9, "/2")):
        let_pass(dues, days, path)
    dues.articles["/1"] = dues.articles["/1"].replace(prose(1, 1), prose("edited"))
    dues.crawl()
    known = Book(history(dues), read_only=True)
    spells = {url.removeprefix(dues.site.url): spell for url, _, spell in known.known.visits()}
    known.close()
    assert spells["/1"].changes == 1
    assert spells["/1"].changed_days == pytest.approx(8, abs=0.01)
    assert (spells["/2"].changes, spells["/1"].still_days) == (0, 0)
    assert spells["/2"].still_days == pytest.approx(9, abs=0.01)


@pytest.mark.thorough
def test_revisit_intervals_are_bounded(dues: Recrawls) -> None:
    asked(dues)
    let_pass(dues, 2)
    dues.crawl("--due", "-s", "CONTENTSPIDER_MAX_INTERVAL=1")
    assert len(asked(dues)) == len(dues.articles) + 1
    let_pass(dues, -9, "/3")
    asked(dues)
    dues.crawl("--due")
    assert sorted(asked(dues)) == ["/", "/3"], "a visit in the future is of a wrong clock"


def test_first_due_crawl_requests_all_pages(site: Site, tmp_path: Path) -> None:
    recrawls = Recrawls(site, tmp_path)
    assert len(recrawls.crawl("--due")) == len(recrawls.articles) + 1
