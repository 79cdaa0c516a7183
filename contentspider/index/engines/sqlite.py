"""An index in an SQLite file, ``sqlite:pages.db``: full text by FTS5, which Python brings along."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.index.engine import Hit, Results, Stored
from contentspider.index.engines.pairs import terms, words
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import FACETS, LISTING, LISTING_WEIGHT, TEXTS, Manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from contentspider.index.document import Document
    from contentspider.index.engine import Query, Refused

# What is searched are words as `contentspider.index.engines.pairs` makes them.
TABLES = f"""
CREATE TABLE manifest (manifest TEXT NOT NULL);
CREATE TABLE documents (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, crawl TEXT NOT NULL,
    version INTEGER NOT NULL, hash TEXT NOT NULL, {" TEXT, ".join(FACETS)} TEXT,
    record BLOB NOT NULL);
CREATE INDEX documents_by_crawl ON documents (crawl);
CREATE VIRTUAL TABLE words USING fts5({", ".join(field.name for field in TEXTS)},
    tokenize = "unicode61 remove_diacritics 2");
"""
WEIGHTS = ", ".join(str(field.weight) for field in TEXTS)
TYPE_WEIGHT = f"CASE page_type WHEN '{LISTING}' THEN {LISTING_WEIGHT} ELSE 1 END"
BUSY_SECS = 10.0
# Another writer, or a disk that is full for the moment.
PASSING = re.compile(r"locked|busy|full|disk I/O", re.IGNORECASE)


class SQLiteEngine:
    """The index in the SQLite file of the URL ``sqlite:FILE``.

    One writer at a time, many readers; what was written is seen by readers after `flush`.
    """

    max_documents = 500
    max_bytes = 8_000_000

    def __init__(self, url: str) -> None:
        self._path = Path(url.partition(":")[2].removeprefix("//"))
        self._connection: sqlite3.Connection | None = None

    def open(self, is_writer: bool) -> str:
        """Open the file, and return the identity of the index in it."""
        self.close()
        if not is_writer and not self._path.is_file():
            raise EngineError(
                f"sqlite:{self._path}: there is no index; 'contentspider crawl --index' makes one"
            )
        address = self._path.absolute().as_uri() + ("" if is_writer else "?mode=ro")
        with self._telling():
            if is_writer:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                address, BUSY_SECS, uri=True, isolation_level=None, check_same_thread=False
            )
            tables = {
                str(name) for (name,) in self._do("SELECT name FROM sqlite_master").fetchall()
            }
            if is_writer:
                self._do("PRAGMA journal_mode = WAL")
                if not tables:
                    self._make()
            if tables and "manifest" not in tables:
                raise EngineError(
                    f"sqlite:{self._path} is there, but contentspider has not made it: name another"
                    " file"
                )
            (text,) = self._do("SELECT manifest FROM manifest").fetchone()
        manifest = Manifest.load(str(text), f"sqlite:{self._path}")
        if is_writer:
            self._do("BEGIN IMMEDIATE")
        return manifest.identity

    def _make(self) -> None:
        self._do("BEGIN IMMEDIATE")
        for statement in TABLES.strip().split(";")[:-1]:
            self._do(statement)
        self._do("INSERT INTO manifest VALUES (?)", (Manifest.new().dump(),))
        self._do("COMMIT")

    def _do(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        if self._connection is None:
            raise EngineError(f"sqlite:{self._path} is not open")
        with self._telling():
            return self._connection.execute(statement, values)

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """Say what SQLite cannot do as an error of an engine's."""
        try:
            yield
        except sqlite3.OperationalError as error:
            kind = EngineDownError if PASSING.search(str(error)) else EngineError
            raise kind(f"sqlite:{self._path}: {error}") from error
        except sqlite3.DataError as error:
            raise EngineError(f"sqlite:{self._path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise EngineError(
                f"sqlite:{self._path} is damaged, or no index ({error}): delete it, and"
                " 'contentspider index sync' fills a new one"
            ) from error
        except OSError as error:
            raise EngineError(f"sqlite:{self._path}: {error.strerror or error}") from error

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Put documents in; one that is too large (1 GB) fails its batch, half of which is in."""
        for document in documents:
            self._put(document)
        return []

    def _put(self, document: Document) -> None:
        record = document.record()
        there = self._do(
            "SELECT number, version FROM documents WHERE id = ?", (document.id,)
        ).fetchone()
        if there is not None and there[1] > document.version:
            return
        number = there[0] if there is not None else None
        added = self._do(
            f"INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, {'?, ' * len(FACETS)} ?)",  # noqa: S608
            (
                number,
                document.id,
                document.crawl,
                document.version,
                document.hash,
                *(record.get(name) for name in FACETS),
                zlib.compress(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace")),
            ),
        )
        if number is not None:
            self._do("DELETE FROM words WHERE rowid = ?", (number,))
        names = ", ".join(field.name for field in TEXTS)
        self._do(
            f"INSERT INTO words (rowid, {names}) VALUES (?{', ?' * len(TEXTS)})",  # noqa: S608
            (added.lastrowid, *(_words(record.get(field.name)) for field in TEXTS)),
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Take documents out."""
        for document_id in ids:
            self._do(
                "DELETE FROM words WHERE rowid = (SELECT number FROM documents WHERE id = ?)",
                (document_id,),
            )
            self._do("DELETE FROM documents WHERE id = ?", (document_id,))

    def flush(self) -> None:
        """Keep what was written."""
        self._do("COMMIT")
        self._do("BEGIN IMMEDIATE")

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """Return the state of documents."""
        found = {}
        for document_id in ids:
            row = self._do(f"{STATES} WHERE id = ?", (document_id,)).fetchone()
            if row is not None:
                found[document_id] = Stored(*row)
        return found

    def documents(self, crawl: str = "") -> Iterator[Stored]:
        """Yield the state of all documents, or of those of a crawl."""
        if crawl:
            rows = self._do(f"{STATES} WHERE crawl = ?", (crawl,))
        else:
            rows = self._do(STATES)
        for row in rows:
            yield Stored(*row)

    def get(self, document_id: str) -> Mapping[str, Any] | None:
        """Return the fields of a document."""
        row = self._do("SELECT record FROM documents WHERE id = ?", (document_id,)).fetchone()
        return _record(row[0]) if row is not None else None

    def search(self, query: Query) -> Results:
        """Return the documents that hold all of the words; if none does, those that hold some."""
        wanted = [f'"{" ".join(term)}"' for term in terms(query.words)]
        if not wanted:
            if query.words.strip():
                return Results([], 0, {name: {} for name in FACETS})
            return self._found("", query)
        results = self._found(" AND ".join(wanted), query)
        if not results.total and len(wanted) > 1:
            results = self._found(" OR ".join(wanted), query)
        return results

    def _found(self, match: str, query: Query) -> Results:
        conditions = [f"{name} = ?" for name in query.filters if name in FACETS]
        values: list[object] = [query.filters[name] for name in query.filters if name in FACETS]
        if match:
            source = "words JOIN documents ON documents.number = words.rowid"
            conditions.insert(0, "words MATCH ?")
            values.insert(0, match)
            score = f"-bm25(words, {WEIGHTS}) * {TYPE_WEIGHT}"
        else:
            source, score = "documents", "0.0"
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = self._do(
            f"SELECT record, {score} AS score FROM {source}{where}"  # noqa: S608 - our own names
            " ORDER BY score DESC, documents.id LIMIT ? OFFSET ?",
            (*values, query.limit, query.offset),
        ).fetchall()
        total = self._do(f"SELECT count(*) FROM {source}{where}", values).fetchone()[0]  # noqa: S608
        facets = {
            name: {
                str(value): int(count)
                for value, count in self._do(
                    f"SELECT {name}, count(*) FROM {source}{where}"  # noqa: S608 - our own names
                    f" GROUP BY {name} ORDER BY count(*) DESC, {name}",
                    values,
                )
                if value
            }
            for name in FACETS
        }
        return Results([Hit(_record(record), score) for record, score in rows], total, facets)

    @contextmanager
    def rebuild(self) -> Iterator[tuple[SQLiteEngine, str]]:
        """Give a new index to fill, in a file beside, which takes the place of this one."""
        beside = self._path.with_name(f".{self._path.name}.{os.getpid()}.rebuilding")
        fresh = SQLiteEngine(f"sqlite:{beside}")
        try:
            yield fresh, fresh.open(is_writer=True)
            fresh.flush()
            fresh._do("COMMIT")
            # All in one file: only that can take another one's place at once.
            fresh._do("PRAGMA journal_mode = DELETE")
            fresh.close()
            self.close()
            with self._telling():
                for suffix in ("-wal", "-shm"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                beside.replace(self._path)
        finally:
            fresh.close()
            for suffix in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    beside.with_name(beside.name + suffix).unlink()

    def close(self) -> None:
        """Close the file; what was not flushed is forgotten."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


STATES = "SELECT id, crawl, version, hash FROM documents"


def _words(value: object) -> str:
    text = "\n".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return " ".join(words(text))


def _record(packed: bytes) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(zlib.decompress(packed))
    return record
