"""Opens, locks, migrates, commits and closes a SQLite file with the state of a crawl: its book."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from functools import cache, partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from threading import get_ident
from typing import Any

from filelock import FileLock, Timeout

from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.state.book.schema import BOOK, Schema
from contentspider.state.outcome import OUT_OF_MEMORY

# The suffixes of the files that SQLite keeps. A journal is left by a process that was killed while
# it made the file.
PARTS = ("", "-wal", "-shm", "-journal")
CHECKPOINT_BYTES = 4_000_000  # a thread moves a larger write-ahead log into the file
PAGE_BYTES = 1_024  # a larger database page stays half empty where a record ends
CACHE_KB = 16_000  # the default, 2 MB, makes the end of large crawls slow
CHECKPOINT_PAGES = 32_768  # a commit moves a log of this size itself
# The errors that reading raises: damaged pages, text that is not UTF-8, integers over 64 bits.
READING = (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError)
# List a file's tables with their columns, and the views, triggers and virtual tables in it.
TABLES = (
    "SELECT tables.name, columns.name, columns.type, hidden FROM sqlite_master AS tables,"
    " pragma_table_xinfo(tables.name) AS columns WHERE tables.type = 'table'"
    " AND tables.name NOT LIKE 'sqlite_stat%' ORDER BY tables.name, cid"
)
FOREIGN = (
    "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')"
    " OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1"
)


class BookFullError(ContentSpiderError):
    """The book cannot be written (no disk space, memory or file); earlier commits are intact.

    *ending* is the reason that the crawl's end gets.
    """

    code = "book-full"
    ending = "book_full"


class MemoryShortError(BookFullError):
    """The process is out of memory; earlier commits are intact."""

    code = "memory-short"
    ending = OUT_OF_MEMORY


class BookThreadError(ContentSpiderError):
    """Another thread than the one that has opened the book uses it: an error of the program."""

    code = "book-thread"


class BookClosedError(ContentSpiderError):
    """The book is closed: an error of the program."""

    code = "book-closed"


class BookBusyError(ContentSpiderError):
    """Another process has the book open: its crawl is running."""

    code = "book-busy"


class SchemaError(ContentSpiderError):
    """The file was written by another version of contentspider; it is left as it is."""

    code = "book-schema"


@cache
def _tables(tables: str) -> list[tuple[str, str, str, int]]:
    """Return the rows of `TABLES` for the SQL of some tables."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(tables)
        return connection.execute(TABLES).fetchall()


def lock_of(path: Path) -> FileLock:
    """Return the lock of the book at *path*, which a crawl holds while it runs."""
    return FileLock(path.with_name(path.name + ".lock"), thread_local=False, blocking=False)


def is_in_use(path: Path) -> bool:
    """Tell whether a crawl with this book is running."""
    lock = lock_of(path)
    if not Path(lock.lock_file).exists():
        return False
    try:
        with lock:
            return False
    except Timeout:
        return True
    except OSError:  # the folder is missing or read-only, so no crawl can write there
        return False


def remove(path: Path) -> None:
    """Delete a book and the files beside it; no process may have it open."""
    for suffix in (*PARTS, ".lock"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


class Database:
    """The SQLite database in the file *path* (None: in memory), created if missing.

    With *durable*, changes are kept by `commit` and survive a power loss after `sync`; without it,
    each change is kept at once. Raises `StateError` for a damaged file, `SchemaError` for another
    version, and other `ContentSpiderError`s if the file cannot be opened.
    """

    def __init__(
        self,
        path: Path | None,
        durable: bool = True,
        read_only: bool = False,
        schema: Schema = BOOK,
    ) -> None:
        self.path = path
        self._schema = schema
        self._thread = get_ident()
        self._is_closed = False
        self.is_durable = durable and not read_only and path is not None
        self._lock = lock_of(path) if path and not read_only else None
        try:
            with ExitStack() as on_failure:
                on_failure.callback(self._unlock)
                if path and self._lock:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    self._lock.acquire()
                self._connection = self._open(read_only)
                on_failure.pop_all()
        except Timeout as error:
            raise BookBusyError(
                f"{path} is in use by another process, because that crawl is running; wait for it,"
                " or give this crawl another name (--name)"
            ) from error
        except (sqlite3.OperationalError, OSError) as error:
            reason = getattr(error, "strerror", None) or error
            raise BookFullError(
                f"{path} cannot be opened: {reason}; CONTENTSPIDER_STATE_DIR names another folder"
                " for the state of crawls"
            ) from error
        except READING as error:
            raise StateError(
                f"{path} is not a {schema.name}, or is damaged ({error}); delete it to start over",
                code="damaged",
            ) from error

    def _unlock(self) -> None:
        if self._lock:
            self._lock.release()

    def _open(self, read_only: bool) -> sqlite3.Connection:
        schema = self._schema
        if self.path is None:
            # The prompt of `scrapy shell` is in another thread than the crawl.
            connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            connection.executescript(schema.tables)
            return connection
        address = self.path.absolute().as_uri() + ("?mode=ro" if read_only else "")
        connection = sqlite3.connect(address, uri=True, isolation_level=None, cached_statements=256)
        # One text that is not UTF-8 must not make all other records unreadable.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version in schema.migrations:
            connection.close()
            self._migrate(read_only)
            return self._open(read_only)
        if version not in (0, schema.version):
            connection.close()
            raise SchemaError(
                f"{self.path} was written by another version of contentspider (schema {version};"
                f" this version reads {schema.version}): use that version, or give this crawl"
                " another name (--name)"
            )
        is_ours = connection.execute(TABLES).fetchall() == (
            _tables(schema.tables) if version else []
        )
        if not is_ours or connection.execute(FOREIGN).fetchone():
            connection.close()
            raise StateError(
                f"{self.path} has unexpected tables; delete it to start over", code="other-tables"
            )
        if not read_only:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {'NORMAL' if self.is_durable else 'OFF'}")
            # `sync` moves the log into the file, in a thread.
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            if not version:
                connection.executescript(
                    f"BEGIN; {schema.tables} PRAGMA user_version = {schema.version}; COMMIT"
                )
            if self.is_durable:
                connection.execute("BEGIN")
        return connection

    def _migrate(self, read_only: bool) -> None:
        """Bring an older file to the version of the schema, in one transaction."""
        assert self.path
        lock = lock_of(self.path) if read_only else nullcontext()
        with lock, closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            while version in self._schema.migrations:
                connection.executescript(
                    f"BEGIN; {self._schema.migrations[version]}"
                    f" PRAGMA user_version = {version + 1}; COMMIT"
                )
                version += 1

    @contextmanager
    def report_damage(self) -> Iterator[None]:
        """Turn errors of the block into `StateError` and close the file, since it is damaged."""
        try:
            yield
        except BookFullError as error:
            self.close()
            if isinstance(error.__cause__, sqlite3.OperationalError):
                raise
            raise StateError(
                f"{error}: it is damaged; delete it to start over", code="damaged"
            ) from error

    @property
    def name(self) -> str:
        """Return the name of the database for messages."""
        return str(self.path or f"the {self._schema.name} in memory")

    def do(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        """Run a statement; raises `BookFullError` if the file cannot be read or written,
        `BookThreadError` in another thread than the one that has opened it, and `BookClosedError`
        after `close`.
        """
        try:
            return self._connection.execute(statement, values)
        except READING as error:
            raise self._failure(error) from error
        except (MemoryError, sqlite3.InterfaceError) as error:
            # SQLite has rolled back. If memory is short, Python 3.10 may raise InterfaceError.
            raise MemoryShortError(f"{self.name}: the process is out of memory") from error

    def _failure(self, error: Exception) -> ContentSpiderError:
        """Return the error to raise for an error of SQLite."""
        if isinstance(error, sqlite3.ProgrammingError) and get_ident() != self._thread:
            return BookThreadError(f"{self.name}: only the thread that has opened it can use it")
        if self._is_closed:
            return BookClosedError(f"{self.name} is closed")
        return BookFullError(f"{self.name}: {error}")

    def rows(self, statement: str, values: Sequence[object] = ()) -> Iterator[Any]:
        """Yield the rows of a statement as tuples; raises the errors of `do`."""
        cursor = self.do(statement, values)
        try:
            # `yield from` would close the cursor of a generator that is dropped, which fails if the
            # database is closed by then.
            for row in cursor:  # noqa: UP028
                yield row
        except READING as error:
            raise self._failure(error) from error
        except MemoryError as error:
            raise MemoryShortError(f"{self.name}: the process is out of memory") from error

    def row(self, statement: str, values: Sequence[object] = ()) -> Any:
        """Return the first row of a query as a tuple, or None without rows."""
        return next(self.rows(statement, values), None)

    def value(self, statement: str, values: Sequence[object] = ()) -> Any:
        """Return the first column of the first row of a query, or None without rows."""
        row = self.row(statement, values)
        return row[0] if row else None

    def following(self, statement: str, last: int = 0, *values: object) -> Iterator[Any]:
        """Yield rows one at a time by running a query for the next number after *last*.

        Other statements may add and delete rows meanwhile. The number is the first column. Raises
        the errors of `do`, and `StateError` if the numbers do not increase.
        """
        while row := self.row(statement, (*values, last)):
            if not isinstance(row[0], int) or row[0] <= last:
                raise StateError(f"{self.name} is damaged: {row[0]} comes after {last}")
            last = row[0]
            yield row

    def count(self, statement: str, values: Sequence[object] = ()) -> int:
        """Return the number that a query gives, 0 for NULL or no row."""
        number = self.value(statement, values) or 0
        if not isinstance(number, int):
            raise StateError(f"{self.name} is damaged: {number!r} is not a number")
        return number

    def commit(self) -> None:
        """Keep all changes; they survive a kill, and a power loss after `sync`."""
        if not self.is_durable:
            return
        if not self._connection.in_transaction:
            raise BookFullError(f"{self.name}: SQLite dropped the changes since the last commit")
        self.do("COMMIT")
        self.do("BEGIN")

    def sync(self) -> None:
        """Write the committed changes to the disk; can run in a thread. Raises OSError."""
        if self.path is None or not self.is_durable:
            return
        try:
            with self.path.with_name(self.path.name + "-wal").open("rb") as file:
                os.fsync(file.fileno())
                size = file.seek(0, os.SEEK_END)
        except FileNotFoundError:
            return
        if size > CHECKPOINT_BYTES:
            busy = suppress(sqlite3.OperationalError)  # another connection moves the log already
            with closing(sqlite3.connect(self.path)) as connection, busy:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def give_back(self, pages: int) -> bool:
        """Commit, and return some free database pages to the system; tell whether there are more
        that can be returned. Raises `BookFullError`.
        """
        before = self.count("PRAGMA freelist_count")
        try:
            # `execute` would stop after the first page.
            self._connection.executescript(f"PRAGMA incremental_vacuum({pages})")
        except READING as error:
            raise BookFullError(f"{self.name}: {error}") from error
        if self.is_durable:
            self.do("BEGIN")
        return 0 < self.count("PRAGMA freelist_count") < before

    def rollback(self) -> None:
        """Drop all changes since the last commit; a resumed crawl makes them again."""
        if self.is_durable:
            if self._connection.in_transaction:  # the failure may have rolled back already
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN")  # changes after a failure are not committed either

    def check(self) -> None:
        """Read the whole file; if it is damaged, close it and raise `StateError`."""
        try:
            result = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            for table, columns in groupby(_tables(self._schema.tables), itemgetter(0)):
                wrong_types = " OR ".join(
                    f"typeof({column}) NOT IN ('null', '{kind.lower()}')"
                    for _, column, kind, _ in columns
                    if kind
                )
                query = f"SELECT 1 FROM {table} WHERE {wrong_types or 'FALSE'}"  # noqa: S608 - our own names
                if self._connection.execute(query).fetchone():
                    result = f"{table} has values of other types"
        except READING as error:
            result = str(error)
        if result != "ok":
            self.close()
            raise StateError(
                f"{self.path} is damaged ({result}); delete it to start over", code="damaged"
            )

    def close(self, delete: bool = False) -> None:
        """Close the file without a commit; with *delete*, also remove it."""
        self._connection.close()
        self._is_closed = True
        self._unlock()
        if delete and self.path:
            remove(self.path)
