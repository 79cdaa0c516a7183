"""The SQLite file of a crawl's state: how it is opened, kept and closed, and what is said of it."""

from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.errors import StateError
from contentspider.state.book import database as module
from contentspider.state.book.database import (
    CHECKPOINT_PAGES,
    BookBusyError,
    BookClosedError,
    BookFullError,
    BookThreadError,
    Database,
    MemoryShortError,
    SchemaError,
    is_in_use,
    lock_of,
    remove,
)
from contentspider.state.book.schema import BOOK, Schema
from tests.messages import raises, wording

if TYPE_CHECKING:
    from pathlib import Path

OTHER = Schema("list", 2, "CREATE TABLE facts (name TEXT);")
FACT = "INSERT INTO facts VALUES (?, ?)"


def seen_by_others(path: Path) -> list[str]:
    with closing(Database(path, read_only=True)) as looked:
        return [name for (name,) in looked.rows("SELECT name FROM facts ORDER BY name")]


def test_database_settings_depend_on_durability_and_access_mode(path: Path) -> None:
    settings = ("journal_mode", "synchronous", "wal_autocheckpoint", "user_version")
    for durable, synchronous in ((True, 1), (False, 0)):
        with closing(Database(path, durable)) as database:
            found = [database.value(f"PRAGMA {name}") for name in settings]
            assert found == ["wal", synchronous, CHECKPOINT_PAGES, BOOK.version]
            assert database.is_durable == durable
            assert database.name == str(path)
    with closing(Database(path, read_only=True)) as database:
        assert not database.is_durable
        with pytest.raises(BookFullError, match=rf"^{path}: attempt to write a readonly"):
            database.do(FACT, ("a", "1"))
    memory = Database(None)
    assert (memory.name, memory.is_durable) == ("the book in memory", False)


def test_committed_rows_are_visible_to_others_and_rolled_back_rows_vanish(path: Path) -> None:
    database = Database(path)
    database.do(FACT, ("a", "1"))
    assert seen_by_others(path) == []
    database.commit()
    assert seen_by_others(path) == ["a"]
    database.do(FACT, ("b", "1"))
    database.rollback()
    database.do(FACT, ("c", "1"))
    database.commit()
    database.do(FACT, ("d", "1"))
    database.do("ROLLBACK")  # as SQLite does at some failures
    database.rollback()
    database.do(FACT, ("e", "1"))
    database.commit()
    database.do(FACT, ("f", "1"))
    database.close()
    assert seen_by_others(path) == ["a", "c", "e"]
    database = Database(path, durable=False)
    database.do(FACT, ("g", "1"))
    database.rollback()
    assert seen_by_others(path) == ["a", "c", "e", "g"], "each change is kept at once"
    database.commit()
    database.sync()
    database.close(delete=True)
    assert list(path.parent.iterdir()) == []


def test_queries_return_rows_values_and_counts_or_raise_errors(path: Path) -> None:
    database = Database(None)
    for values in (("a", "1"), ("b", "2")):
        database.do(FACT, values)
    query = "SELECT name, value FROM facts WHERE name >= ? ORDER BY name"
    assert list(database.rows(query, ("a",))) == [("a", "1"), ("b", "2")]
    assert (database.row(query, ("b",)), database.row(query, ("c",))) == (("b", "2"), None)
    assert (database.value(query, ("a",)), database.value(query, ("c",))) == ("a", None)
    assert database.count("SELECT count(*) FROM facts") == 2
    assert database.count("SELECT max(number) FROM items") == 0
    with pytest.raises(StateError, match=r"^the book in memory is damaged: 'a' is not a number$"):
        database.count(query, ("a",))
    with pytest.raises(BookFullError, match=r"^the book in memory: no such table: x$"):
        database.do("SELECT * FROM x")
    damaged = "SELECT json(name) FROM facts UNION ALL SELECT 1"
    with pytest.raises(BookFullError, match=r"^the book in memory: malformed JSON$"):
        list(database.rows(damaged))


class NoMemory:
    """A connection whose process has no memory left, at once or while rows are read."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def execute(self, *_: object) -> NoMemory:
        if self.error:
            raise self.error
        return self

    def __iter__(self) -> NoMemory:
        return self

    def __next__(self) -> None:
        raise MemoryError


def test_database_without_memory_raises_memory_short_error() -> None:
    database = Database(None)
    for error in (MemoryError(), sqlite3.InterfaceError(), None):
        database._connection = NoMemory(error)  # type: ignore[assignment]
        with raises(MemoryShortError, "memory-short", "the book in memory: "):
            list(database.rows("SELECT 1"))
    assert (MemoryShortError.ending, BookFullError.ending) == ("out_of_memory", "book_full")


def test_invalid_utf8_text_is_read_with_replacement_character(path: Path) -> None:
    with closing(Database(path)) as database:
        database.do("INSERT INTO facts VALUES (CAST(x'41ff' AS TEXT), '1')")
        assert database.value("SELECT name FROM facts") == "A\ufffd"


def test_database_file_is_locked_against_second_process(path: Path) -> None:
    assert not is_in_use(path)
    database = Database(path)
    assert is_in_use(path)
    with raises(BookBusyError, "book-busy", path, "--name"):
        Database(path)
    assert is_in_use(path), "it has not lost it by that"
    database.close()
    assert not is_in_use(path)
    assert lock_of(path).lock_file == f"{path}.lock"
    with closing(Database(path, read_only=True)):
        assert not is_in_use(path)
    lock = lock_of(path)
    lock.acquire()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lock.release).result()
    assert not is_in_use(path), "any thread may let it go"
    path.with_name("crawl.sqlite.other").touch()
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).touch()
    remove(path)
    remove(path)
    assert [entry.name for entry in path.parent.iterdir()] == ["crawl.sqlite.other"]


def test_database_file_that_fails_to_open_is_released(path: Path) -> None:
    (path.parent / "file").touch()
    below = path.parent / "file" / "crawl.sqlite"
    said = rf"^{below} cannot be opened: (File exists|Not a directory); CONTENTSPIDER_STATE_DIR"
    with pytest.raises(BookFullError, match=said):
        Database(below)
    with pytest.raises(BookFullError, match=rf"^{path} cannot be opened: unable to open"):
        Database(path, read_only=True)
    path.write_bytes(b"SQLite format 4" * 100)
    for schema, name in ((BOOK, "book"), (OTHER, "list")):
        said = rf"^{path} is not a {name}, or is damaged \(file is not a database\); delete it"
        with pytest.raises(StateError, match=said):
            Database(path, schema=schema)
        assert not is_in_use(path)
    path.write_bytes(b"")
    Database(path).close()
    with pytest.raises(StateError, match=rf"^{path} has unexpected tables; delete"):
        Database(path, schema=OTHER._replace(version=BOOK.version))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON facts BEGIN DELETE FROM facts; END")
    with raises(StateError, "other-tables", path):
        Database(path)
    assert not is_in_use(path)


def test_sync_flushes_log_and_checkpoints_large_log(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (synced.append(number), fsync(number)))
    log = path.with_name("crawl.sqlite-wal")
    database = Database(path)
    database.sync()
    database.do(FACT, ("a", "x" * 100_000))
    database.commit()
    before = len(synced)
    monkeypatch.setattr(module, "CHECKPOINT_BYTES", log.stat().st_size)
    size = path.stat().st_size
    database.sync()
    assert (len(synced), path.stat().st_size) == (before + 1, size)
    monkeypatch.setattr(module, "CHECKPOINT_BYTES", log.stat().st_size - 1)
    database.sync()
    assert path.stat().st_size > size
    database.close()
    assert not log.exists()
    with pytest.raises(BookClosedError):
        database.do("SELECT 1")
    assert not is_in_use(path)
    assert seen_by_others(path) == ["a"]


def test_damage_at_first_read_closes_database(path: Path) -> None:
    for cause, error in (
        (sqlite3.OperationalError("disk I/O error"), BookFullError),
        (sqlite3.DatabaseError("malformed"), StateError),
    ):
        database = Database(path)
        with (
            pytest.raises(error, match="^it$|^it" + wording("state.damaged")),
            database.report_damage(),
        ):
            raise BookFullError("it") from cause
        assert not is_in_use(path)
    database = Database(path)
    with database.report_damage():
        assert database.value("SELECT 1") == 1
    assert is_in_use(path)
    database.close()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("INSERT INTO copies VALUES ('a', 'x', 'b', 1, 'u')", "copies has values of other types"),
        ("INSERT INTO sitemap_dates VALUES (x'00', 1)", "sitemap_dates has values of other types"),
        ("INSERT INTO facts VALUES ('a', x'00')", "facts has values of other types"),
        ("DELETE FROM facts", ""),
        ("INSERT INTO contents VALUES (1, 'page', NULL, NULL, x'00')", ""),
    ],
)
def test_values_of_wrong_type_fail_database_check(path: Path, damage: str, said: str) -> None:
    with closing(Database(path)) as database:
        database.check()
        database.do(damage)
        if said:
            with pytest.raises(StateError, match=rf"^{path} is damaged \({said}"):
                database.check()
        else:
            database.check()


def test_database_check_finds_damaged_pages(path: Path) -> None:
    with closing(Database(path, durable=False)) as database:
        for number in range(2_000):
            database.do(FACT, (f"{number}", "x" * 100))
    data = bytearray(path.read_bytes())
    data[-40_960:-4_096] = b"\xff" * 36_864
    path.write_bytes(data)
    with (
        closing(Database(path)) as database,
        raises(StateError, "damaged", path),
    ):
        database.check()


def test_cyclic_rows_raise_state_error() -> None:
    with closing(Database(None)) as database:
        good = "SELECT value FROM json_each('[1, 2, 4]') WHERE value > ? ORDER BY value LIMIT 1"
        assert list(database.following(good)) == [(1,), (2,), (4,)]
        assert list(database.following(good, 2)) == [(4,)]
        for damaged in ("SELECT 3 WHERE ? < 4", "SELECT 'x' WHERE ? < 4"):
            rows = database.following(damaged)
            with pytest.raises(StateError, match=r"the book in memory is damaged: (3|x) comes"):
                list(rows)


OLD = Schema("list", 1, "CREATE TABLE facts (name TEXT);")
NEW = Schema(
    "list",
    3,
    "CREATE TABLE facts (name TEXT, value TEXT NOT NULL DEFAULT 'none');"
    "CREATE TABLE more (number INTEGER PRIMARY KEY);",
    {
        1: "ALTER TABLE facts ADD COLUMN value TEXT NOT NULL DEFAULT 'none';",
        2: "CREATE TABLE more (number INTEGER PRIMARY KEY);"
        " INSERT INTO more SELECT count(*) FROM facts;",
    },
)


def old_file(path: Path) -> None:
    with closing(Database(path, schema=OLD)) as database:
        database.do("INSERT INTO facts VALUES ('a')")
        database.commit()


@pytest.mark.parametrize("read_only", [False, True])
def test_file_of_an_older_version_is_migrated(path: Path, read_only: bool) -> None:
    old_file(path)
    with closing(Database(path, read_only=read_only, schema=NEW)) as database:
        assert list(database.rows("SELECT * FROM facts")) == [("a", "none")]
        assert database.count("SELECT number FROM more") == 1
        assert database.count("PRAGMA user_version") == 3
        database.check()
    with closing(Database(path, schema=NEW)) as database:
        assert database.count("SELECT count(*) FROM more") == 1, "it is migrated once"
    with raises(SchemaError, "book-schema", path, 3):
        Database(path, schema=OLD)
    assert not is_in_use(path)


def test_reader_does_not_migrate_a_file_that_is_written(path: Path) -> None:
    old_file(path)
    with closing(Database(path, schema=OLD)):
        with raises(BookBusyError, "book-busy", path):
            Database(path, read_only=True, schema=NEW)
        assert seen_by_older(path) == 1
    with closing(Database(path, read_only=True, schema=NEW)) as database:
        assert database.count("SELECT number FROM more") == 1


def seen_by_older(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_failed_migration_leaves_the_file_at_the_last_version_that_it_reached(path: Path) -> None:
    old_file(path)
    failing = NEW._replace(migrations={**NEW.migrations, 2: "CREATE TABLE more (a); SELECT x;"})
    for read_only in (False, True):
        with pytest.raises((BookFullError, StateError)):
            Database(path, read_only=read_only, schema=failing)
        assert not is_in_use(path)
        assert seen_by_older(path) == 2
    with closing(Database(path, schema=NEW)) as database:
        assert database.count("SELECT number FROM more") == 1


def test_version_without_a_migration_is_refused(path: Path) -> None:
    old_file(path)
    with raises(SchemaError, "book-schema", path, 1):
        Database(path, schema=NEW._replace(migrations={2: NEW.migrations[2]}))


def test_free_pages_are_given_back_in_portions(path: Path) -> None:
    with closing(Database(path)) as database:
        for number in range(200):
            database.do(FACT, (f"{number}", "x" * 1_000))
        database.commit()
        database.do("DELETE FROM facts")
        database.commit()
        size = database.count("PRAGMA page_count")
        assert database.give_back(10)
        assert database.count("PRAGMA page_count") == size - 10
        assert not database.give_back(10_000)


def test_book_of_another_thread_is_not_full(tmp_path: Path) -> None:
    with closing(Database(tmp_path / "x.sqlite")) as database, ThreadPoolExecutor(1) as pool:
        for wrong in (database.do, database.value):
            error = pool.submit(wrong, "SELECT 1").exception()
            assert isinstance(error, BookThreadError)
            assert not isinstance(error, BookFullError)
        assert database.value("SELECT 1") == 1


def test_rows_that_nobody_reads_to_their_end_survive_the_close(path: Path) -> None:
    database = Database(path, durable=False)
    rows = database.rows("SELECT 1 UNION SELECT 2")
    assert next(rows) == (1,)
    database.close()
    rows.close()
    with pytest.raises(BookClosedError):
        next(database.rows("SELECT 1"))


def test_book_in_memory_can_be_used_in_the_prompt_of_scrapy_shell() -> None:
    with closing(Database(None)) as database, ThreadPoolExecutor(1) as pool:
        assert pool.submit(database.value, "SELECT 1").result() == 1
