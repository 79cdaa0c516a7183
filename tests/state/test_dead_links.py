"""Links to what is not there are asked less and less."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime, timedelta, timezone
from sqlite3 import connect
from typing import TYPE_CHECKING

import pytest

from contentspider.site.models.identity import page_id
from contentspider.state.book import broken
from contentspider.state.book.book import Book
from tests.sites import article
from tests.visited import Seen, address, crawl, crawling, known, see
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

ADDRESS = "http://e.org/dead"


@pytest.mark.parametrize(
    ("found", "asked", "is_due", "is_waiting"),
    [
        ([1], 1, False, False),
        ([1], 1, True, True),
        ([1], 2, True, False),
        ([1, 3], 4, False, True),
        ([1, 3], 5, False, False),
        ([1, 2, 5], 8, False, True),
        ([1, 2, 5], 9, False, False),
        ([1, 201], 230, False, True),
        ([1, 201], 231, False, False),
        ([9], 1, True, False),
    ],
)
def test_dead_link_is_retried_after_as_long_as_it_was_dead(
    found: list[int],
    asked: int,
    is_due: bool,
    is_waiting: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    links = Book(None).dead_links
    links.add("http://e.org/c8de77fa7c01642b0e0f74fc0100d28f")
    assert not links.waiting(is_due=True), "what one asks to see an error page"

    def on(day: int) -> None:
        time = datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(days=day)
        monkeypatch.setattr(broken, "now", time.isoformat)

    for day in found:
        on(day)
        links.add(ADDRESS)
    on(asked)
    assert (page_id(ADDRESS) in links.waiting(is_due)) == is_waiting


def test_dead_link_without_referring_page_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    links = Book(None).dead_links
    for month in (1, 2, 3, 5, 7):
        monkeypatch.setattr(broken, "now", lambda month=month: f"2026-0{month}-01T12:00:00+00:00")
        links.add(ADDRESS if month < 3 else "http://e.org/other")
        links.forget()
        known = links._database.count("SELECT count(*) FROM dead WHERE id = ?", (page_id(ADDRESS),))
        assert known == (month < 7)


def test_dead_link_that_has_become_a_page_is_forgotten() -> None:
    book = Book(None)
    url = address("now-a-page")
    for name in (url, address("was-a-page")):
        book.dead_links.add(name)
    crawl(book, Seen(page_id(address("was-a-page"))))
    with crawling(book) as losses:
        see(book, Seen(page_id(url)))
        losses.mark_gone(known(book, page_id(address("was-a-page"))), "HTTP 404")
        book.dead_links.forget()
    left = [name for (name,) in book.database.rows("SELECT id FROM dead")]
    assert left == [page_id(address("was-a-page"))], "it is gone again"


@pytest.mark.thorough
def test_recrawls_request_dead_links_less_often(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.articles["/1"] = article(1, "<a href=/dead>x</a>")
    again.crawl()
    assert "/dead" in site.requests
    for options in (("--due",), ()):
        (path,) = (again.folder / ".scrapy/contentspider").glob("*.sqlite")
        with closing(connect(path)) as database, database:
            database.execute("UPDATE dead SET first = '2026-01-01T12:00:00+00:00'")
        site.requests.clear()
        again.crawl(*options)
        assert "/dead" not in site.requests
    again.articles["/dead"] = article(13)
    with closing(connect(path)) as database, database:
        database.execute("UPDATE dead SET first = last")
    assert "/dead" in again.crawl()
    del again.articles["/dead"]
    again.crawl()
    assert again.changes()["/dead"] == "gone", "it was a page, and is asked as these are"
