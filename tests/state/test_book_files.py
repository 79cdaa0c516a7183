"""Where ledgers are, and which of those of older crawls stay."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from contentspider.state.crawls import ledgers
from contentspider.state.crawls.books import (
    archive,
    crawl_book,
    open_history,
    open_ledger,
    open_temporary,
)
from contentspider.state.history.history import History
from contentspider.state.database import SchemaError
from contentspider.state.book.book import Book
from contentspider.state.schema import LEDGER
from tests.messages import wording


def end_a_crawl(path: Path, day: int, reason: str) -> None:
    book = Book(path)
    book.begin_run()
    book.end_run(reason)
    assert book.detach()
    archive(path, f"2024-01-0{day}T00:00:00+00:00")


def days(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.glob("*.sqlite"))


def test_old_ledgers_are_pruned(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "KEPT_CRAWLS", 2)
    for day in range(1, 6):
        end_a_crawl(path, day, "finished")
    assert days(path) == ["crawl.20240104T000000.sqlite", "crawl.20240105T000000.sqlite"]


def test_crawls_of_same_second_are_archived_separately(path: Path) -> None:
    for _ in range(3):
        end_a_crawl(path, 1, "finished")
    assert days(path) == [f"crawl.20240101T000000{number}.sqlite" for number in ("-2", "-3", "")]
    end_a_crawl(path, 1, "finished")
    assert days(path) == [f"crawl.20240101T000000-{number}.sqlite" for number in (2, 3, 4)]


def test_temporary_ledger_deletes_only_leftovers_of_killed_processes(path: Path) -> None:
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


def test_temporary_ledger_is_named_by_process_and_not_synced(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers.time, "time_ns", lambda: 7)
    made = open_temporary(path)
    assert made.path == path.parent / f"temporary/crawl-{os.getpid()}-7.sqlite"
    assert made.database.value("PRAGMA synchronous") == 0
    made.close()


def test_pruning_keeps_newest_ledgers_of_same_second(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "KEPT_CRAWLS", 2)
    for number in ("", "-2", "-9", "-10"):
        path.with_name(f"crawl.20240101T000000{number}.sqlite").touch()
    others = ["crawl.20240101T000000-x.sqlite", "crawl-a.20240101T000000.sqlite"]
    for name in others:
        path.with_name(name).touch()
    end_a_crawl(path, 1, "shutdown")
    assert days(path) == sorted(
        [*others, *(f"crawl.20240101T000000-{number}.sqlite" for number in (9, 10))]
    )


def test_all_files_of_damaged_ledger_are_set_aside(path: Path) -> None:
    path.write_bytes(b"no database at all, but some text that is long enough")
    path.with_name(path.name + "-wal").write_bytes(b"wal")
    assert open_ledger(path) is None
    broken = {f"crawl.sqlite.broken{suffix}" for suffix in ("", "-wal", "-shm")}
    assert {entry.name for entry in path.parent.iterdir()} == {f"{path.name}.lock", *broken}


@pytest.mark.parametrize(
    ("name", "file"),
    [("..", "crawl"), (".a+b-c d/e", "a+b-c_d_e"), ("\u00e4.org", "\u00e4.org")],
)
def test_crawl_name_is_converted_to_file_name(name: str, file: str) -> None:
    assert crawl_book(name, "state") == Path(f"state/{file}.sqlite")


def test_ledger_folder_follows_setting_or_project(
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


@pytest.mark.parametrize("version", [LEDGER.version - 1, LEDGER.version + 1])
def test_ledger_with_other_schema_version_is_set_aside(
    path: Path, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    Book(path).close()
    set_version(path, version)
    with pytest.raises(
        SchemaError, match=rf"schema {version}; this version reads {LEDGER.version}\)"
    ):
        Book(path, read_only=True)
    before = path.read_bytes()
    assert open_ledger(path) is None
    assert path.with_name(path.name + ".broken").read_bytes() == before
    (warning,) = caplog.messages
    assert "another version of contentspider" in warning
    assert wording("state.crawl-starts-over", f"{path.name}.broken") in warning


def test_history_with_other_schema_version_is_rejected_and_left_unchanged(path: Path) -> None:
    History(path).close()
    set_version(path, 99)
    before = path.read_bytes()
    with pytest.raises(SchemaError, match="schema 99"):
        open_history(path, 1_000)
    assert path.read_bytes() == before
    assert {entry.name for entry in path.parent.iterdir()} <= {path.name, path.name + ".lock"}
