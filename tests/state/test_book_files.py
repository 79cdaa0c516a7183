"""Where books are, and which of them are used."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from contentspider.state.book.book import Book
from contentspider.state.book.database import SchemaError
from contentspider.state.book.imports import LEDGER_VERSIONS
from contentspider.state.book.schema import BOOK
from contentspider.state.crawls import books
from contentspider.state.crawls.books import crawl_book, open_crawl, open_temporary, read_book
from tests.messages import raises


def test_temporary_book_deletes_only_leftovers_of_killed_processes(path: Path) -> None:
    others = [path.with_name(name) for name in ("crawl-2024-11.sqlite", "crawl-1-2.sqlite")]
    for other in others:
        Book(other).close()
    killed_one = open_temporary(path)
    killed_one.database._connection.close()
    killed_one.database._unlock()
    running = open_temporary(path)
    open_temporary(path).close(delete=True)
    assert all(other.exists() for other in others)
    assert not killed_one.path or not killed_one.path.exists()
    assert running.path
    assert running.path.exists()
    running.close(delete=True)


def test_temporary_book_is_named_by_process_and_not_synced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(books.time, "time_ns", lambda: 7)
    made = open_temporary(path)
    assert made.path == path.parent / f"temporary/crawl-{os.getpid()}-7.sqlite"
    assert made.database.value("PRAGMA synchronous") == 0
    made.close()


def test_all_files_of_damaged_book_are_set_aside(path: Path) -> None:
    Book(path).close()
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    path.with_name(path.name + "-wal").write_bytes(b"wal")
    open_crawl(path, True, 10**9)[0].close()
    broken = {f"crawl.sqlite.broken{suffix}" for suffix in ("", "-wal", "-shm")}
    assert {entry.name for entry in path.parent.iterdir()} >= {path.name, *broken}


@pytest.mark.parametrize(
    ("name", "file"),
    [("..", "crawl"), (".a+b-c d/e", "a+b-c_d_e"), ("\u00e4.org", "\u00e4.org")],
)
def test_crawl_name_is_converted_to_file_name(name: str, file: str) -> None:
    assert crawl_book(name, "state") == Path(f"state/{file}.sqlite")


def test_book_folder_follows_setting_or_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert crawl_book("a/b", "state") == Path("state/a_b.sqlite")
    assert crawl_book("x").resolve() == tmp_path / ".scrapy/contentspider/x.sqlite"
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "json")  # a project, and no scrapy.cfg in sight
    assert crawl_book("x") == tmp_path / ".scrapy/contentspider/x.sqlite"
    assert list(tmp_path.iterdir()) == []


def set_version(path: Path, version: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("version", [1, LEDGER_VERSIONS[0] - 1, BOOK.version + 1])
def test_book_of_another_version_is_refused_and_left_unchanged(path: Path, version: int) -> None:
    Book(path).close()
    set_version(path, version)
    before = path.read_bytes()
    for attempt in (read_book, lambda path: open_crawl(path, True, 10**9)):
        with raises(SchemaError, "book-schema", path, version, BOOK.version):
            attempt(path)
    assert path.read_bytes() == before
    assert {entry.name for entry in path.parent.iterdir()} <= {path.name, path.name + ".lock"}
