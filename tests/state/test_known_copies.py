"""Copies: which of two addresses of one text is the page does not change from crawl to crawl."""

from __future__ import annotations

from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.revisits.copies import MIN_TEXT_CHARS, KnownCopies
from contentspider.page.input.page import Page
from contentspider.site.models.identity import page_id
from contentspider.state.book.book import Book
from contentspider.state.book.copies import COPIES_KEPT
from tests.recrawled import SITE, Crawls, address
from tests.sites import article, prose
from tests.visited import Seen, clean, crawl, crawling, see
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Site

BOTH = "<a href=/3>One</a> <a href=/print/3>Two</a>"


def test_copy_read_first_is_not_reported_as_new_page(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.articles["/3"] = again.articles["/print/3"] = article(3, BOTH)
    again.unlinked = {"/print/3"}
    first = again.crawl()
    assert "/3" in first and "/print/3" not in first
    again.records()
    fetches, answer = count(1_000), site.answer
    assert answer is not None

    def with_adverts(path: str) -> tuple[int, str, bytes]:
        status, kind, body = answer(path)
        return status, kind, body.replace(b"2024", f"2025 {next(fetches)} visitors".encode())

    site.answer = with_adverts
    again.unlinked = {"/3"}
    for _ in range(2):
        second = again.crawl()
        assert second.keys() == first.keys()
        assert again.changes() == {}
    site.requests.clear()
    again.crawl("--due")
    assert again.changes() == {}
    assert "/print/3" not in site.requests, "nothing is known of when it changes"
    again.articles["/print/3"] = article(3, BOTH).replace(prose(3, 1), prose("edited"))
    again.crawl()
    assert again.changes() == {"/print/3": "new"}
    del again.articles["/3"]
    again.crawl()
    assert again.changes() == {"/3": "gone"}


def test_changed_page_read_first_at_new_url_is_reported_as_moved(
    site: Site, tmp_path: Path
) -> None:
    again = Recrawls(site, tmp_path)
    again.crawl()
    again.records()
    edited = article(3).replace(prose(3, 1), prose("edited"))
    again.articles = {"/alias/3": edited, **again.articles, "/3": edited}
    items = again.crawl("-s", "CONCURRENT_REQUESTS=1")
    assert "/alias/3" in items and "/3" not in items
    (moved,) = [record for record in again.records() if record["change"] != "unchanged"]
    assert (moved["change"], moved["reason"]) == ("moved", "duplicate")
    assert (moved["previous_url"], moved["url"]) == ("/3", "/alias/3")
    assert again.crawl() and again.changes() == {}


def test_copy_replaces_page_that_is_gone(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.articles["/3"] = again.articles["/print/3"] = article(3, BOTH)
    again.unlinked = {"/print/3"}
    again.crawl()
    again.records()
    again.unlinked = {"/3"}
    del again.articles["/3"]
    again.crawl()
    assert again.changes() == {"/print/3": "new", "/3": "gone"}


def test_copies_not_seen_for_several_crawls_are_forgotten() -> None:
    book = Book(None)
    for number in range(COPIES_KEPT + 2):
        with crawling(book, is_complete=number != 1):
            see(book, Seen("1", "unchanged" if number else "new", number, text="Tea."))
            if not number:
                book.copies.add("2", "1", "https://e.org/2", book.runs.current, book.runs.crawl)
        clean(book)
        assert book.known.original_of("2") == ("1" if number <= COPIES_KEPT else "")
        rows = book.database.count("SELECT count(*) FROM copies")
        assert rows == (1 if number <= COPIES_KEPT else 0)
    book.close()


def test_copies_that_crawls_see_again_stay(path: Path) -> None:
    book = Book(path)
    crawl(book, Seen("1", text="One."))

    def copies(*names: str, is_complete: bool = True) -> None:
        with crawling(book, is_complete):
            for name in names:
                url = f"https://e.org/{name}"
                book.copies.add(name, "1", url, book.runs.current, book.runs.crawl)

    copies("x", "y")
    for is_complete in (True, False, False, True):
        copies(is_complete=is_complete)
        assert book.known.original_of("x") == "1"
    copies("y")
    assert (book.known.original_of("x"), book.known.original_of("y")) == ("", "1")
    assert book.known.copies_of("1") == ["https://e.org/y"]
    book.close()


@pytest.fixture
def crawls(tmp_path: Path) -> Iterator[Crawls]:
    """Yield the crawls of a site of which /print/1 is known to be a copy of /1."""
    made = Crawls(tmp_path / "history.sqlite")
    with closing(made.known()) as book:
        book.runs.begin()
        for copy, original in (("/print/1", "/1"), ("/2", "/3")):
            ids = page_id(address(copy)), page_id(address(original))
            book.copies.add(*ids, address(copy), book.runs.current, book.runs.crawl)
        book.publish(is_complete=False)
        book.end_run("finished")
    yield made
    made.close()


def page(path: str, html: str) -> Page:
    return Page.from_html(html, address(path))


def test_copy_waits_for_known_page_with_same_text(crawls: Crawls) -> None:
    crawl = crawls.begin()
    copies = KnownCopies(crawl.book, crawl.revisits._refilter)
    copy = page("/copy", article(1))
    assert copies.unread_original(copy, address("/copy"), SITE) == page_id(address("/1"))
    assert copies.unread_original(copy, address("/copy"), "other.org") == ""
    assert copies.unread_original(copy, address("/2"), SITE) == "", "it is known itself"
    other = page("/print/1", article(9))
    assert copies.unread_original(other, address("/print/1"), SITE) == page_id(address("/1"))
    assert copies.unread_original(page("/9", article(9)), address("/9"), SITE) == ""
    crawl.see("/1", article(1))
    assert copies.unread_original(copy, address("/copy"), SITE) == "", "it has come"


def test_copy_stays_copy_while_only_counters_change(crawls: Crawls) -> None:
    counted = article(1).replace("</h1>", "</h1><p>Read {} times</p>")
    crawl = crawls.begin()
    copies = crawl.revisits.known_copies
    copy = page("/print/1", article(1))
    assert copies.read_original(copy, address("/print/1"), SITE) == "", "no item has come"
    crawl.see("/3", article(3))
    assert copies.read_original(copy, address("/print/1"), SITE) == "", "the original has not come"
    copy = page("/print/1", counted.format(7))
    assert copies.read_original(copy, address("/print/1"), SITE) == "", "the original has not come"
    crawl.see("/1", counted.format(5))
    own = page_id(address("/1"))
    assert copies.read_original(copy, address("/print/1"), SITE) == own
    same = page("/print/1", counted.format(5))
    assert copies.read_original(same, address("/print/1"), SITE) == own
    other = page("/print/1", article(9))
    assert copies.read_original(other, address("/print/1"), SITE) == ""
    assert copies.read_original(copy, address("/unknown"), SITE) == ""
    assert copies.read_original(page("/2", article(3)), address("/2"), SITE) == "", (
        "it is known itself"
    )
    assert copies.read_original(copy, address("/print/1"), "other.org") == "", (
        "its site has no item"
    )


def test_copy_of_unchanged_page_is_found(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.see("/1", article(1))
    copy = page("/print/1", article(1))
    found = crawl.revisits.known_copies.read_original(copy, address("/print/1"), SITE)
    assert found == page_id(address("/1"))


def test_short_text_is_never_copy(crawls: Crawls) -> None:
    crawl = crawls.begin()
    short = "<p>" + "x" * (MIN_TEXT_CHARS - 1)
    crawl.see("/1", short)
    read_original = crawl.revisits.known_copies.read_original
    assert read_original(page("/print/1", short), address("/print/1"), SITE) == ""
    crawl.see("/1", short + "x")
    assert read_original(page("/print/1", short + "x"), address("/print/1"), SITE)


def test_copies_found_in_crawl_are_stored_in_book(crawls: Crawls) -> None:
    crawl = crawls.begin()
    crawl.see("/1", article(1))
    row = crawl.address("/other", "skipped", "duplicate")
    claim = [b"the page"]
    first = crawl.book.frontier.find(address("/1"))
    assert first is not None
    assert crawl.book.claims.claim(claim, first.row)
    assert not crawl.book.claims.claim(claim, row)
    crawl.end()
    known = crawls.known()
    assert known.known.original_of(page_id(address("/other"))) == page_id(address("/1"))
    known.close()
