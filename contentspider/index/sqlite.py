"""An index in an SQLite file, ``sqlite:pages.db``: full text by FTS5, which Python brings along.

The table ``documents`` has a column for each field, ``pages`` our words of its texts, by number.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.index.engine import Engine, Hit, Results
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import (
    BY_NAME,
    FACETS,
    FIELDS,
    LISTING,
    LISTING_WEIGHT,
    OWN,
    TEXTS,
    Document,
    Kind,
    Manifest,
    Stored,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.engine import Query, Refused
    from contentspider.index.words import Term

COLUMNS = ", ".join(BY_NAME)
TEXT_COLUMNS = ", ".join(field.name for field in TEXTS)
TABLES = f"""
CREATE TABLE manifest (manifest TEXT NOT NULL);
CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, crawl TEXT NOT NULL,
    version INTEGER NOT NULL, {", ".join(name for name in BY_NAME if name not in OWN[:3])});
CREATE INDEX documents_by_crawl ON documents (crawl);
CREATE INDEX documents_by_language ON documents (language);
CREATE VIRTUAL TABLE pages USING fts5({TEXT_COLUMNS}, tokenize = "unicode61 remove_diacritics 2");
"""
INSERT = f"INSERT INTO documents ({COLUMNS}) VALUES (?{', ?' * (len(FIELDS) - 1)})"  # noqa: S608
INSERT_WORDS = f"INSERT INTO pages (rowid, {TEXT_COLUMNS}) VALUES (?{', ?' * len(TEXTS)})"  # noqa: S608
STATES = "SELECT id, crawl, version, hash FROM documents"
JSON = [field.name for field in FIELDS if field.is_list or field.kind is Kind.STORED]
WEIGHTS = ", ".join(str(field.weight) for field in TEXTS)
TYPE_WEIGHT = f"CASE page_type WHEN '{LISTING}' THEN {LISTING_WEIGHT} ELSE 1 END"
BUSY_SECS = 10.0
# What may pass; tables exist already if two processes make an index at a time.
PASSING = re.compile(r"locked|busy|full|disk I/O|already exists", re.IGNORECASE)


class SQLiteEngine(Engine):
    """The index in ``sqlite:FILE``: one writer, many readers, who see what was flushed."""

    def __init__(self, url: str) -> None:
        self._path = Path(url.partition(":")[2].removeprefix("//"))
        self._shown = f"sqlite:{self._path}"
        self._connection: sqlite3.Connection | None = None

    def open(self, is_writer: bool) -> str:
        self.close()
        if not is_writer and not self._path.is_file():
            raise self._absent()
        address = self._path.absolute().as_uri() + ("" if is_writer else "?mode=ro")
        with self._asked():
            if is_writer:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                address, BUSY_SECS, uri=True, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            tables = {row["name"] for row in self._do("SELECT name FROM sqlite_master")}
            if is_writer:
                self._do("PRAGMA journal_mode = WAL")
                if not tables:
                    manifest = f"INSERT INTO manifest VALUES ('{Manifest.new().dump()}');"  # noqa: S608
                    self._connection.executescript(f"BEGIN IMMEDIATE; {TABLES} {manifest} COMMIT;")
            manifest = ""
            if not tables or "manifest" in tables:
                (manifest,) = self._do("SELECT manifest FROM manifest").fetchone()
        identity = self._identity_of(manifest)
        if is_writer:
            self._do("BEGIN IMMEDIATE")
        return identity

    def _do(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        if self._connection is None:
            raise EngineError(f"{self._shown} is not open")
        with self._asked():
            return self._connection.execute(statement, values)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Raise what SQLite cannot do as an engine's error."""
        try:
            yield
        except sqlite3.OperationalError as error:
            kind = EngineDownError if PASSING.search(str(error)) else EngineError
            raise kind(f"{self._shown}: {error}") from error
        except (sqlite3.DataError, OverflowError) as error:
            raise EngineError(f"{self._shown}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise EngineError(
                f"{self._shown} is damaged, or no index ({error}): delete it, and"
                " 'contentspider index sync' fills a new one"
            ) from error
        except OSError as error:
            raise EngineError(f"{self._shown}: {error.strerror or error}") from error

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        written, refused = self._newest(documents, _row)
        self.delete(list(written))
        for values, texts in written.values():
            number = self._do(INSERT, values).lastrowid
            self._do(INSERT_WORDS, [number, *texts])
        return refused

    def delete(self, ids: Sequence[str]) -> None:
        for name in ids:
            self._do(
                "DELETE FROM pages WHERE rowid = (SELECT number FROM documents WHERE id = ?)",
                [name],
            )
            self._do("DELETE FROM documents WHERE id = ?", [name])

    def flush(self) -> None:
        self._do("COMMIT")
        self._do("BEGIN IMMEDIATE")

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        rows = (self._do(f"{STATES} WHERE id = ?", [name]).fetchone() for name in ids)
        return {row["id"]: Stored(*row) for row in rows if row}

    def documents(self, crawl: str = "") -> Iterator[Stored]:
        condition, values = (" WHERE crawl = ?", [crawl]) if crawl else ("", [])
        for row in self._do(STATES + condition, values):
            yield Stored(*row)

    def get(self, document_id: str) -> Mapping[str, Any] | None:
        row = self._do("SELECT * FROM documents WHERE id = ?", [document_id]).fetchone()
        return _record(row) if row else None

    def manifest(self) -> str:
        return str(self._do("SELECT manifest FROM manifest").fetchone()["manifest"])

    def keep_manifest(self, text: str) -> None:
        self._do("UPDATE manifest SET manifest = ?", [text])
        self.flush()

    def _present_languages(self) -> Iterable[str]:
        rows = self._do("SELECT DISTINCT language FROM documents WHERE language != ''")
        return [row["language"] for row in rows]

    def _found(self, query: Query, wanted: Sequence[Term], is_all: bool) -> Results:
        forms = [" OR ".join(f'"{" ".join(row)}"' for row in term) for term in wanted]
        match = (" AND " if is_all else " OR ").join(f"({form})" for form in forms)
        # Without words the table of words is left out: its score would be none.
        conditions = [f"{name} = ?" for name in query.filters] + ["pages MATCH ?"] * bool(match)
        values = [*query.filters.values(), *[match] * bool(match)]
        source = "documents" + " JOIN pages ON number = pages.rowid" * bool(match)
        source += f" WHERE {' AND '.join(conditions)}" if conditions else ""
        score = f"-bm25(pages, {WEIGHTS}) * {TYPE_WEIGHT}" if match else "0.0"
        columns = ", ".join(f"documents.{name}" for name in BY_NAME)
        rows = self._do(
            f"SELECT {columns}, {score} AS score FROM {source}"  # noqa: S608 - our own names
            " ORDER BY score DESC, documents.id LIMIT ? OFFSET ?",
            [*values, query.limit, query.offset],
        )
        hits = [Hit(_record(row), row["score"]) for row in rows]
        (total,) = self._do(f"SELECT count(*) FROM {source}", values).fetchone()  # noqa: S608
        facets = {
            name: dict(
                self._do(
                    f"SELECT * FROM (SELECT {name} AS value, count(*) AS pages FROM {source}"  # noqa: S608
                    " GROUP BY value) WHERE value != '' ORDER BY pages DESC, value",
                    values,
                ).fetchall()
            )
            for name in FACETS
        }
        return Results(hits, total, facets)

    @contextmanager
    def rebuild(self) -> Iterator[tuple[SQLiteEngine, str]]:
        """See `Engine.rebuild`: it is a file beside this one until then."""
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}.rebuilding")
        fresh = SQLiteEngine(f"sqlite:{beside}")
        try:
            yield fresh, fresh.open(is_writer=True)
            fresh._do("COMMIT")
            # All in one file: only that can take another one's place at once.
            fresh._do("PRAGMA journal_mode = DELETE")
            fresh.close()
            self.close()
            with self._asked():
                for suffix in ("-wal", "-shm"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                beside.replace(self._path)
        finally:
            fresh.close()
            for suffix in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    beside.with_name(beside.name + suffix).unlink()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _row(document: Document) -> tuple[list[object], list[str]]:
    """Return the columns of a document, and the words of its texts."""
    record = document.record()
    # A half emoji in ``more`` is escaped as JSON has it.
    record |= {name: json.dumps(record[name]) for name in JSON if name in record}
    return [record.get(name) for name in BY_NAME], list(document.words().values())


def _record(row: sqlite3.Row) -> dict[str, Any]:
    return {
        name: json.loads(row[name]) if name in JSON else row[name]
        for name in BY_NAME
        if row[name] is not None
    }
