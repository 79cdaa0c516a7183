"""The answers of a crawl's addresses, with the links of pages, and what sitemaps say of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.state.book.answers import Answer
from contentspider.state.book.book import Book
from tests.visited import Seen, address, clean, see

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER = Answer("e", "m", 7, (("http://e.org/old", "HTTP 301"),), True, False, True)


@pytest.fixture
def book() -> Iterator[Book]:
    book = Book(None)
    book.begin_run()
    yield book
    book.close()


def test_stored_answers_are_read_back_unchanged(book: Book) -> None:
    book.answers.put(1, ANSWER)
    book.answers.put(2, Answer())
    assert book.answers.of(1) == ANSWER
    assert book.answers.of(2) == book.answers.of(3) == book.answers.of(None) == Answer()
    book.answers.put(1, Answer("f", "n"))
    assert book.answers.of(1) == Answer("f", "n")
    book.answers.forget_validators(1)
    assert book.answers.of(1) == Answer() == Answer("", "", None, (), False, False, False)


def test_links_of_a_page_are_stored_once_while_they_are_the_same(book: Book) -> None:
    links = {"a": ("One", "é\ud83d"), "b": ()}
    first = book.answers.put_links(links, None)
    assert book.answers.put_links(links, first) == first
    other = book.answers.put_links({"a": ()}, first)
    assert other not in (first, None)
    assert book.answers.put_links({}, first) is None
    book.database.do("UPDATE contents SET data = x'00'")
    book.contents.forget()
    assert book.answers.put_links(links, first) not in (first, other)
    assert book.answers.put_links(links, 99) != 99


def test_orphans_are_the_visited_pages_without_links(book: Book) -> None:
    for name in "012":
        version = see(book, Seen(name, text=name, answer=Answer(is_orphan=name != "1")))
        assert version.address is not None
        book.answers.put(version.address, Answer(is_orphan=name != "1"))
    book.answers.put(99, Answer(is_orphan=True))
    assert sorted(book.answers.orphans(book.runs.crawl)) == ["0", "2"]
    assert list(book.answers.orphans(book.runs.crawl + 1)) == []


def test_duplicate_urls_are_listed_with_their_originals(book: Book) -> None:
    frontier = book.frontier
    rows = [frontier.enqueue(name.encode(), address(name), 0, "{}") for name in "1234"]
    while frontier.queue.take():
        pass
    for row, reason in zip(rows[1:], ("duplicate", "noindex", "duplicate"), strict=True):
        assert book.claims.claim([b"own %d" % row], row)
        frontier.finish(row, "skipped", reason, target=address("1"))
    frontier.finish(rows[0], "released")
    version = see(book, Seen("1", text="One."))
    assert version.address == rows[0]
    copies = list(book.answers.copies(book.runs.crawl))
    assert copies == [(address("2"), "1"), (address("4"), "1")]
    assert not list(book.answers.copies(book.runs.crawl + 1))


def test_page_changed_in_any_sitemap_counts_as_changed(book: Book) -> None:
    for page_id, has_changed in (("1", False), ("2", False), ("2", True), ("2", False)):
        book.sitemap_dates.note(page_id, has_changed)
    found = [book.sitemap_dates.has_changed(page_id) for page_id in "123"]
    assert found == [False, True, None]
    assert list(book.sitemap_dates.changed()) == ["2"]


def test_end_of_a_crawl_deletes_its_answers_whatever_their_numbers(book: Book) -> None:
    for number in (1, 2**40, 2**60):  # the numbers of workers are far apart
        book.answers.put(number, Answer("tag"))
    book.sitemap_dates.note("1", True)
    clean(book, is_over=False)
    assert book.answers.of(2**60) == Answer("tag")
    clean(book, is_over=True)
    assert book.answers.of(2**60) == Answer()
    assert book.sitemap_dates.has_changed("1") is None
