"""What a crawl has made of a page, in the book; and books of the schema without it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from contentspider.state.book.book import Book
from contentspider.state.book.reading import Reading, dump_claims
from tests.visited import Seen, crawl, known

if TYPE_CHECKING:
    from pathlib import Path

KEY, CLAIM, OTHER = b"k" * 8, b"c" * 12, b"d" * 12


def test_reading_is_loaded_as_it_was_dumped() -> None:
    plain = Reading(KEY, 120, 0, (), b"abcd", b"")
    assert Reading.load(plain.dump()) == plain
    full = Reading(
        KEY, 1, 2**31, ("by_prior", "guessed"), b"abcd", CLAIM, (CLAIM, OTHER), True, "listing"
    )
    assert Reading.load(full.dump()) == full
    assert plain.with_claims(b"") is None, "the spider has not claimed the page"
    claimed = plain.with_claims(dump_claims([OTHER, CLAIM], is_repeated=True))
    assert claimed is not None
    assert (claimed.claims, claimed.is_repeated, claimed.kept) == ((OTHER, CLAIM), True, 120)
    assert Reading.load(b"") is None
    assert Reading.load(full.dump()[:20]) is None


def test_book_without_readings_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    with closing(Book(path)) as book:
        crawl(book, Seen("1", text="Tea."), Seen("2"))
        before = known(book, "1")
    with closing(sqlite3.connect(path)) as old:
        old.executescript(
            "ALTER TABLE pages DROP COLUMN reading; ALTER TABLE answers DROP COLUMN reading;"
            " DROP INDEX duplicates; PRAGMA user_version = 20"
        )
    with closing(Book(path, read_only=True)) as book:
        assert known(book, "1") == before
        assert before.reading == b""
    with closing(Book(path)) as book:
        book.check()
        crawl(book, Seen("1", text="Tea."), Seen("2"))
        assert known(book, "1").run > before.run


def test_lines_of_slots_with_other_keys_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "book.sqlite"
    with closing(Book(path)) as book:
        crawl(book, Seen("1", text="Tea."))
        histories = {"slot": {"1": {book.runs.crawl: (b"123456",)}}}
        book.alternating.replace("e.org", ["slot"], histories, book.runs.crawl)
        book.commit()
    with closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA user_version = 22")
    with closing(Book(path)) as book:
        assert not book.alternating.histories("e.org")
        assert book.alternating.slots() == {"e.org": {"slot"}}
        assert book.alternating.watched("e.org") == {"slot"}
