"""The visits of a book: what came with pages, how they changed, and what sitemaps say of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.errors import StateError
from contentspider.recrawl.judge import NEW_PAGE, Facts
from contentspider.state.book.book import Book
from contentspider.state.book.visits import Answer, StoredVisit, Visit

if TYPE_CHECKING:
    from collections.abc import Iterator

ANSWER = Answer("e", "m", ("a", "b"), (("http://e.org/old", "HTTP 301"),), True, False, True)


@pytest.fixture
def book() -> Iterator[Book]:
    book = Book(None)
    yield book
    book.close()


def visit(name: str, numbered: tuple[str, ...] = ()) -> Visit:
    url = f"http://e.org/{name}"
    facts = Facts("page", 0.1, numbered=numbered) if numbered else NEW_PAGE
    return Visit(name, url, "e.org", "at", facts, "hash", "text", "model", "first")


def test_stored_answers_are_read_back_unchanged(book: Book) -> None:
    book.visits.answer(1, ANSWER)
    book.visits.answer(2, Answer())
    assert book.visits.answer_of(1) == ANSWER
    assert book.visits.answer_of(2) == book.visits.answer_of(3) == Answer()
    assert book.visits.answer_of(None) == Answer()
    book.visits.answer(1, Answer("f"))
    assert book.visits.answer_of(1) == Answer("f")


def test_visit_fields_have_empty_defaults() -> None:
    assert Answer() == Answer("", "", (), (), False, False, False)
    assert visit("1") == Visit(
        *("1", "http://e.org/1", "e.org", "at", NEW_PAGE, "hash", "text", "model"),
        *("first", "", "", ""),
    )
    assert StoredVisit(1, visit("1"), ANSWER, None, None) == StoredVisit(
        *(1, visit("1"), ANSWER, None, None, False, None)
    )


def test_visits_are_listed_in_order_with_their_answers(book: Book) -> None:
    book.visits.answer(1, ANSWER)
    book.visits.answer(2, Answer(is_check=True))
    book.visits.note(visit("1"), 1, "Old.", b"old")
    book.visits.note(visit("2", ("p\t0",)), 2, "Tea.", b"page")
    book.visits.note(visit("1"), 1, None, None)  # it replaces the earlier one
    assert book.visits.count() == 2
    assert list(book.visits.after(0)) == [
        StoredVisit(2, visit("2", ("p\t0",)), Answer(is_check=True), "Tea.", b"page"),
        StoredVisit(3, visit("1"), ANSWER, None, None),
    ]
    assert [seen.number for seen in book.visits.after(2)] == [3]
    assert (book.visits.has("1"), book.visits.has("3")) == (True, False)
    assert (book.visits.content("1"), book.visits.content("2")) == (None, "Tea.")
    assert book.visits.content("3") is None
    assert list(book.visits.orphans()) == ["1"]
    assert list(book.visits.differences()) == [
        ("e.org", Facts("page", 0.1, numbered=("p\t0",)), True),
        ("e.org", NEW_PAGE, False),
    ]
    assert list(book.visits.models(2)) == [(3, "e.org", "model")]


def test_visit_is_replaced_in_its_place(book: Book) -> None:
    book.visits.note(visit("1"), 7, "Tea.", b"page")
    book.visits.note(visit("2"), 8, "Two.", None)
    book.visits.replace(1, replace(visit("1"), model="later"), "Green tea.")
    first, second = book.visits.after(0)
    assert first == StoredVisit(
        1, replace(visit("1"), model="later"), Answer(), "Green tea.", b"page"
    )
    assert second.visit == visit("2")
    assert book.visits.at(7) == ("1", "http://e.org/1")
    book.visits.replace(1, visit("1"), None)
    assert book.visits.content("1") is None


@pytest.mark.parametrize(
    "facts",
    [
        NEW_PAGE,
        Facts(""),
        Facts("model", 0.3, is_moved=True),
        Facts("page", 0.3, lines=("+edit@",)),
        Facts("page", 0.1, numbered=("p\t0", "q\t0"), is_recut=True, is_caption=True),
    ],
)
def test_facts_of_visit_are_read_back_unchanged(book: Book, facts: Facts) -> None:
    book.visits.note(replace(visit("1"), facts=facts), 1, None, None)
    (stored,) = book.visits.after(0)
    assert stored.visit.facts == facts
    assert [each for _, each, _ in book.visits.differences()] == [facts]


def test_visits_are_found_by_address_row_or_page_id(book: Book) -> None:
    book.visits.note(visit("1"), 4, None, None)
    assert book.visits.at(4) == book.visits.of("1") == ("1", "http://e.org/1")
    assert book.visits.at(1) is None
    assert book.visits.of("2") is book.visits.of_new("2") is None
    assert book.visits.of_new("1") == ("1", "http://e.org/1")
    book.visits.note(visit("3", ("p\t0",)), 5, None, None)
    assert book.visits.of("3") == ("3", "http://e.org/3")
    assert book.visits.of_new("3") is None


def test_duplicate_urls_are_listed_with_their_originals(book: Book) -> None:
    frontier = book.frontier
    rows = [frontier.enqueue(name.encode(), f"http://e.org/{name}", 0, "{}") for name in "1234"]
    while frontier.queue.take():
        pass
    for row, reason in zip(rows[1:], ("duplicate", "noindex", "duplicate"), strict=True):
        assert book.claims.claim([b"own %d" % row], row)
        frontier.finish(row, "skipped", reason, target="http://e.org/1")
    frontier.finish(rows[0], "released")
    book.visits.note(visit("one"), rows[0], None, None)
    assert sorted(book.visits.copies()) == [("http://e.org/2", "one"), ("http://e.org/4", "one")]


def test_page_changed_in_any_sitemap_counts_as_changed(book: Book) -> None:
    for page_id, has_changed in (("1", False), ("2", False), ("2", True), ("2", False)):
        book.visits.note_lastmod(page_id, has_changed)
    found = [book.visits.has_changed(page_id) for page_id in "123"]
    assert found == [False, True, None]
    assert list(book.visits.changed_by_lastmod()) == ["2"]


@pytest.mark.parametrize("damage", ["visit = '{'", "visit = '{}'", "content = x'00'"])
def test_damaged_visit_raises_state_error(book: Book, damage: str) -> None:
    book.visits.note(visit("1"), 1, "Tea.", None)
    book.database.do(f"UPDATE visits SET {damage}")  # noqa: S608
    with pytest.raises(StateError, match="ledger in memory: visit 1 is damaged"):
        list(book.visits.after(0))


def test_run_begins_with_the_indexes_that_its_end_uses(book: Book) -> None:
    book.begin_run()
    names = {name for (name,) in book.database.rows("SELECT name FROM sqlite_master")}
    for number in range(3):
        book.visits.answer(number, Answer(is_orphan=number != 1))
        book.visits.note(visit(str(number)), number, None, None)
    assert list(book.visits.orphans()) == ["0", "2"]
    assert book.visits.at(2) == ("2", "http://e.org/2")
    assert list(book.visits.orphans()) == ["0", "2"]
    assert {name for (name,) in book.database.rows("SELECT name FROM sqlite_master")} == names
