"""Files of the versions before the book, a ledger and a history, are imported once.

The files in ``old/`` are those of the last version before the book. It crawled a small site:
``finished`` four times, ``second`` once and then in part, ``stopped`` until a signal came, before
the site was learned. ``told.json`` has what that version told of them.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.crawl.base.items import ContentItem
from contentspider.recrawl.changes import CHANGED, UNCHANGED
from contentspider.site.models.identity import page_id
from contentspider.state.book.book import Book
from contentspider.state.book.changes import BookPosition
from contentspider.state.book.database import BookBusyError, SchemaError, lock_of
from contentspider.state.book.imports import LEDGER_VERSIONS
from contentspider.state.crawls.books import crawl_status, import_old, open_crawl, read_book
from contentspider.state.crawls.entries import Entries
from contentspider.state.crawls.export import export_items
from contentspider.state.files.formats import Output
from tests.messages import raises

if TYPE_CHECKING:
    from collections.abc import Mapping

OLD = Path(__file__).with_name("old")
SITE = "http://docs.test"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of ledgers and histories of the earlier version."""
    shutil.copytree(OLD, tmp_path / "state")
    return tmp_path / "state"


@pytest.fixture(scope="module")
def told() -> Mapping[str, Any]:
    return json.loads((OLD / "told.json").read_text(encoding="utf-8"))


def digest(value: str | bytes) -> int:
    return zlib.crc32(value.encode() if isinstance(value, str) else value)


def page_of(book: Book, url: str) -> dict[str, Any]:
    """Return what a book has of a page, as in ``told.json``."""
    known, name = book.known, page_id(url)
    version, stored = known.page(name), known.stored(name)
    assert version is not None
    blocks = [block.text for block in stored.content.blocks] if stored else []
    return {
        "state": version.state,
        "text": digest(known.content(name) or ""),
        "before": digest(known.content(name, before=True) or ""),
        "item": digest(json.dumps(known.item(name), sort_keys=True)),
        "page": digest(repr(blocks)) if stored else 0,
        "links": {address: list(texts) for address, texts in known.links(name).items()},
        "copies": known.copies_of(name),
    }


@pytest.mark.parametrize("name", ["finished", "second"])
def test_imported_book_has_the_pages_and_the_change_log_of_its_history(
    folder: Path, told: Mapping[str, Any], name: str
) -> None:
    path, before = folder / f"{name}.sqlite", told[name]
    with closing(read_book(path)) as book:
        assert {url: page_of(book, url) for url in before["pages"]} == before["pages"]
        assert list(book.changes.records()) == before["changes"]
        assert [broken.url for broken in book.broken.known()] == before["broken"]
        anchors = {page.url: page.anchors for page in book.known.live() if page.anchors}
        live = {url for url, page in before["pages"].items() if page["state"] == "live"}
        assert anchors == {url: text for url, text in before["anchors"].items() if url in live}
        assert not list(book.pages.select("run <= 0"))
        assert book.own_answers.at(f"{SITE}/feed.xml") is not None
    with closing(Book(path)) as book:
        book.check()


@pytest.mark.parametrize("name", ["finished", "second"])
def test_index_of_the_earlier_version_goes_on_with_the_book(
    folder: Path, told: Mapping[str, Any], name: str
) -> None:
    read_book(folder / f"{name}.sqlite").close()
    with closing(Entries(folder / f"{name}.sqlite")) as entries:
        mark = BookPosition.of(told[name]["position"])
        assert entries.position() == mark
        assert entries.follows(mark)
        assert entries.count(mark.seq) == 0, "the index need not read anything anew"
        assert {one.id: [one.seq, one.hash] for one in entries.after(0)} == told[name]["entries"]
        assert entries.last_crawl() == told[name]["last_crawl"]


@pytest.mark.parametrize("name", ["finished", "second", "stopped"])
def test_imported_book_has_the_items_addresses_and_runs_of_its_ledger(
    folder: Path, told: Mapping[str, Any], name: str
) -> None:
    path, before = folder / f"{name}.sqlite", told[name]
    with closing(read_book(path)) as book:
        assert [digest(line) for line in book.items.lines()] == before["items"]
        assert book.items.held_counts() == before["held"]
        assert book.frontier.states() == before["states"]
        assert [run.reason for run in book.runs.all()] == before["runs"]
        for site, count in before["held"].items():
            assert len(list(book.items.held_pages(site))) == count
            assert len(list(book.items.release(site))) == count
            assert list(book.own_texts.answers())
    assert f"{len(before['items'])} out" in crawl_status(path)
    output = path.with_suffix(".jsonl")
    assert export_items(path, [Output(output, "jsonl")]) == len(before["items"])
    written = output.read_bytes().splitlines() if output.exists() else []
    assert [digest(line) for line in written] == before["items"]


def test_old_files_are_kept_and_imported_once(folder: Path) -> None:
    path, history = folder / "second.sqlite", folder / "history/second.sqlite"
    (folder / "history/second.webhooks.json").write_text("{}")
    before = path.read_bytes(), history.read_bytes()
    read_book(path).close()
    kept = [file.with_name(f"{file.name}.imported") for file in (path, history)]
    assert tuple(file.read_bytes() for file in kept) == before
    assert not history.exists()
    assert path.with_suffix(".webhooks.json").read_text() == "{}"
    assert not list(folder.glob(".*import*"))
    with closing(Book(path)) as book:
        book.runs.set_fact("mine", 1)
        book.commit()
    with closing(read_book(path)) as book:
        assert book.runs.fact("mine") == 1, "it is not imported again"


def test_unfinished_crawl_of_the_earlier_version_is_resumed(folder: Path) -> None:
    path = folder / "second.sqlite"
    book, is_resumed = open_crawl(path, True, 10**9)
    with closing(book):
        assert is_resumed
        crawl = book.runs.crawl
        assert book.begin_run() == []
        assert book.frontier.queue.length == 4, "two wait, and two are tried again"
        found = {
            version.url.removeprefix(SITE): book.changes.kind(version.record)[0]
            for version in book.pages.all_found()
        }
        assert found == {"/": UNCHANGED, "/1": UNCHANGED, "/2": CHANGED}
        assert book.runs.crawl == crawl
        assert book.pages.is_visited(page_id(f"{SITE}/2"), crawl)
        assert not book.pages.is_visited(page_id(f"{SITE}/moving"), crawl)
        edited = book.pages.found(page_id(f"{SITE}/2"))
        known = book.known.page(page_id(f"{SITE}/2"))
        assert edited is not None
        assert known is not None
        assert book.pages.text(edited.content) != book.pages.text(known.content)
        assert edited.previous == known.content
        before = len(list(book.changes.records()))
        book.publish(is_complete=False)
        assert len(list(book.changes.records())) == before + 3
        assert book.changes.last() > before


def test_held_items_of_the_earlier_version_are_released_by_a_resumed_crawl(folder: Path) -> None:
    book, is_resumed = open_crawl(folder / "stopped.sqlite", True, 10**9)
    with closing(book):
        assert is_resumed
        book.begin_run()
        for item, hand in list(book.items.release("docs.test")):
            assert isinstance(item, ContentItem)
            assert book.items.record(hand, json.dumps({"url": item.url}).encode())[0]
        assert not book.items.held_counts()
        assert len(list(book.items.lines())) == 5
        assert book.frontier.queue.length == 1


@pytest.mark.parametrize("name", ["finished", "second"])
def test_new_crawl_follows_the_imported_ones(
    folder: Path, told: Mapping[str, Any], name: str
) -> None:
    before = told[name]["changes"]
    book, is_resumed = open_crawl(folder / f"{name}.sqlite", False, 10**9)
    with closing(book):
        assert not is_resumed
        book.begin_run()
        assert not list(book.pages.all_found())
        crawls = [number for (number,) in book.database.rows("SELECT number FROM crawls")]
        assert book.runs.crawl == max(crawls)
        assert list(book.changes.records()) == before
        assert not book.frontier.states()
        version = book.pages.renew(page_id(f"{SITE}/1"), book.runs.current, doubt="x")
        assert version is not None
        assert book.changes.add(version, book.runs.current, book.runs.crawl, change="gone") > max(
            record["seq"] for record in before
        )


def test_history_without_ledger_is_imported_and_no_crawl_is_resumed(
    folder: Path, told: Mapping[str, Any]
) -> None:
    (folder / "finished.sqlite").unlink()
    path = folder / "finished.sqlite"
    book, is_resumed = open_crawl(path, True, 10**9)
    with closing(book):
        assert not is_resumed
        assert list(book.changes.records()) == told["finished"]["changes"]


def test_downloaded_history_in_the_place_of_a_ledger_is_imported(
    folder: Path, told: Mapping[str, Any]
) -> None:
    path = folder / "download.sqlite"
    (folder / "history/finished.sqlite").rename(path)
    with closing(read_book(path)) as book:
        assert list(book.changes.records()) == told["finished"]["changes"]
        assert not book.runs.all()


def damaged(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:512] + b"\xff" * (len(data) - 512))


def wrong(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "statement", ["", "UPDATE pages SET seq = 'x', changes = x'00'", "DROP TABLE crawls"]
)
def test_damaged_history_is_set_aside_and_its_ledger_is_imported(
    folder: Path, statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, history = folder / "second.sqlite", folder / "history/second.sqlite"
    wrong(history, statement) if statement else damaged(history)
    with closing(read_book(path)) as book:
        assert book.known.live_count() == 0
        assert book.frontier.queue.length == 2
    (error,) = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"][:1]
    assert str(history) in error
    assert history.with_name("second.sqlite.broken").exists()
    assert not history.exists()


@pytest.mark.parametrize("statement", ["", "UPDATE visits SET visit = '{'", "DROP TABLE claims"])
def test_damaged_ledger_is_set_aside_and_its_history_is_imported(
    folder: Path, told: Mapping[str, Any], statement: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder / "second.sqlite"
    wrong(path, statement) if statement else damaged(path)
    book, is_resumed = open_crawl(path, True, 10**9)
    with closing(book):
        assert not is_resumed
        assert list(book.changes.records()) == told["second"]["changes"]
    assert [one for one in caplog.records if one.levelname == "ERROR"]
    assert path.with_name("second.sqlite.broken").exists()


def test_damaged_content_of_an_old_page_is_left_out(folder: Path) -> None:
    wrong(folder / "history/finished.sqlite", "UPDATE pages SET page = x'00', previous = x'00'")
    with closing(read_book(folder / "finished.sqlite")) as book:
        name = page_id(f"{SITE}/1")
        assert book.known.content(name)
        assert not book.known.has_page(name)


@pytest.mark.parametrize("which", ["second.sqlite", "history/second.sqlite"])
def test_files_of_too_old_versions_are_refused_and_left_unchanged(folder: Path, which: str) -> None:
    path = folder / "second.sqlite"
    wrong(folder / which, f"PRAGMA user_version = {min(LEDGER_VERSIONS) - 1}")
    before = {file: file.read_bytes() for file in folder.rglob("*.sqlite")}
    for _ in range(2):
        with raises(SchemaError, "book-schema", folder / which):
            read_book(path)
        with raises(SchemaError, "book-schema", folder / which):
            open_crawl(path, True, 10**9)
    assert {file: file.read_bytes() for file in folder.rglob("*.sqlite")} == before


def test_crawl_of_the_earlier_version_that_runs_is_not_imported(folder: Path) -> None:
    path = folder / "second.sqlite"
    with lock_of(path), raises(BookBusyError, "book-busy", path):
        import_old(path)
    read_book(path).close()
