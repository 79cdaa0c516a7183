"""An index in an SQLite file, ``sqlite:pages.db``, with FTS5, the full-text search of SQLite.

The table ``documents`` has a column for each field. The table ``pages`` is the index of the
searchable words of each text: a row for the page, with the number of its document, and rows for its
sections. The rows of the sections of document N have numbers from -1000 N downwards
(`MAX_SECTIONS`). FTS5 stores no copy of the words there, but it needs them to delete a row. The
table ``words`` has them, compressed. A page is as relevant as the best of its rows. An index with
vectors (`contentspider.index.vectors`) also ranks pages by their meaning, and merges both rankings.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
import zlib
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.ground.counts import counted
from contentspider.index.engine import Hit, Query, Results, have_equal_fields
from contentspider.index.errors import (
    EmbedderError,
    EngineDownError,
    EngineError,
    IndexDamagedError,
)
from contentspider.index.marks import Manifest, SchemaMismatchError
from contentspider.index.own_fields import OWN, TEXT
from contentspider.index.schema import (
    DEMOTED_TYPES,
    DEMOTED_WEIGHT,
    FACETS,
    FIELDS,
    FIELDS_BY_NAME,
    MAX_SECTIONS,
    NAME_FIELDS,
    TEXT_FIELDS,
    Document,
    DocumentState,
    Kind,
)
from contentspider.index.sqlite_filters import (
    MAX_COUNTED,
    filter_conditions,
    order_terms,
    own_path,
)
from contentspider.index.term_engine import MAX_TITLES, TermEngine
from contentspider.index.titles import NAMED_SCORE, Titled
from contentspider.index.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from contentspider.index.embedders import NamedEmbedder
    from contentspider.index.engine import Refusal
    from contentspider.index.vectors import VectorTable
    from contentspider.index.words import Term

logger = logging.getLogger(__name__)

COLUMNS = ", ".join(FIELDS_BY_NAME)
CONSTRAINTS = {
    "id": "id TEXT NOT NULL UNIQUE",
    "crawl": "crawl TEXT NOT NULL",
    "version": "version INTEGER NOT NULL",
}
# Texts come last: SQLite reads a row up to the last column that it needs, and facets need no texts.
COLUMN_DEFINITIONS = ", ".join(
    CONSTRAINTS.get(field.name, field.name)
    for field in sorted(FIELDS, key=lambda field: field.kind in (Kind.TEXT, Kind.STORED))
)
NAMES = f"{{{' '.join(NAME_FIELDS)}}}"
TEXT_COLUMNS = ", ".join(field.name for field in TEXT_FIELDS)
# The tokenizer splits at spaces only, since our words have no other ASCII signs. "unicode61", the
# default, would tear words at their combining marks.
TABLES = f"""
CREATE TABLE manifest (manifest TEXT NOT NULL);
CREATE TABLE documents (number INTEGER PRIMARY KEY, {OWN}, {COLUMN_DEFINITIONS});
CREATE INDEX documents_by_crawl ON documents (crawl);
CREATE INDEX documents_by_language ON documents (language);
CREATE TABLE words (number INTEGER PRIMARY KEY, words BLOB NOT NULL);
CREATE VIRTUAL TABLE pages USING fts5({TEXT_COLUMNS}, tokenize = "ascii", content = "");
"""
INSERT = f"INSERT INTO documents ({COLUMNS}, {OWN}) VALUES (?{', ?' * len(FIELDS)})"  # noqa: S608
PLACES = ", ?" * len(TEXT_FIELDS)
INSERT_WORDS = f"INSERT INTO pages (rowid, {TEXT_COLUMNS}) VALUES (?{PLACES})"  # noqa: S608
DELETE_WORDS = f"INSERT INTO pages (pages, rowid, {TEXT_COLUMNS}) VALUES ('delete', ?{PLACES})"  # noqa: S608
STATES = "SELECT id, crawl, version, hash FROM documents"
WITHOUT_WORDS = "SELECT count(*) FROM documents WHERE number NOT IN (SELECT number FROM words)"
JSON_FIELDS = [field.name for field in FIELDS if field.is_list or field.kind is Kind.STORED]
# The field that has most bytes (the formatted content), and that no search reads, is compressed.
COMPRESSED_FIELD, COMPRESSION = "more", 6
# The words take 0.37 ms per page at level 6, and 0.1 ms at this one, for 14 % more bytes.
WORDS_COMPRESSION = 1
WEIGHTS = ", ".join(str(field.weight) for field in TEXT_FIELDS)
# A page scores as its best row, and for this share as a whole: one row alone would let pages win
# that have the words in a short section. Measured with 0, 0.25, 0.5, 1 and 2.
PAGE_SHARE = 0.5
# The pages that have some words, and the score of each, with places for more rows. A section may
# have words that its page lacks, such as the address of a film; such a page does not match. SQLite
# computes bm25() only outside of a query with groups; LIMIT keeps the two queries apart.
BEST_ROWS = (
    f"(SELECT page, max(score) + {PAGE_SHARE} * max(score * is_page) + max(bonus)"  # noqa: S608 - names of our own
    " AS score FROM (SELECT * FROM (SELECT"
    f" CASE WHEN rowid > 0 THEN rowid ELSE -rowid / {MAX_SECTIONS} END AS page,"
    f" rowid > 0 AS is_page, -bm25(pages, {WEIGHTS}) AS score, 0.0 AS bonus FROM pages"
    " WHERE pages MATCH ? LIMIT -1) {}) GROUP BY page HAVING max(is_page))"
)
# A page whose name is the query has the words of the query, too, unless the name was cut. So these
# rows alone do not match.
NAMED_ROWS = (
    f" UNION ALL SELECT rowid, 0, 0.0, {NAMED_SCORE} FROM pages WHERE pages MATCH ? AND rowid > 0"  # noqa: S608
)
# CROSS JOIN begins with the matches. Otherwise SQLite may read all matches for each document.
PAGES_WITH_WORDS = (
    "(SELECT rowid AS row FROM pages WHERE pages MATCH ? AND rowid > 0) CROSS JOIN documents"
)
TYPE_WEIGHT = f"CASE WHEN page_type IN {DEMOTED_TYPES} THEN {DEMOTED_WEIGHT} ELSE 1 END"
# The languages, found by one step in their index each. DISTINCT would read an entry per document.
LANGUAGES = """
WITH RECURSIVE found (language) AS (
    SELECT min(language) FROM documents WHERE language > ''
    UNION ALL
    SELECT (SELECT min(language) FROM documents WHERE language > found.language)
    FROM found WHERE found.language IS NOT NULL
) SELECT language FROM found WHERE language IS NOT NULL
"""
# The words of the table "pages". A table of the connection, so that readers may have it, too.
VOCABULARY = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, pages, row)"
LAST = "\U0010ffff"  # sorts after all words
# Reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): the page at place N of a
# ranking gets 1 / (60 + N). The constant 60 is from their paper.
FUSION = "SELECT number AS row, sum(1.0 / (60 + place)) AS fused FROM ({}) GROUP BY number"
NEAREST = "SELECT value AS number, key + 1 AS place FROM json_each(?)"
BUSY_SECS = 10.0
# Messages of errors that a retry may avoid. "already exists": two processes create one index.
TEMPORARY = re.compile(r"locked|busy|disk I/O|already exists", re.IGNORECASE)
# Messages of errors in files that are not databases, and in the values of documents.
NO_DATABASE, BAD_VALUE = "not a database", "malformed JSON"
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
MAX_PROBLEMS = 10  # that a check of the file lists
CHUNK_ROWS = 1000


@dataclass(frozen=True, slots=True)
class HybridQuery(Query):
    """A query with the pages that are *nearest* to it in meaning, the nearest first.

    *nearest* maps the number of a page to the number of its nearest section in `page_sections`. A
    page without sections has the number 0 there.
    """

    nearest: Mapping[int, int] = field(default_factory=dict)


class Selection(NamedTuple):
    """A selection of documents as parts of SQL statements.

    *source* is the part after FROM, with placeholders for *values*. *ranking* has the same
    documents and the tables that the expression *score* needs, with placeholders for
    *ranking_values*. *bonus* is the part of the score that titles have.
    """

    source: str
    ranking: str
    score: str
    bonus: str
    values: Sequence[object]
    ranking_values: Sequence[object]

    def merged_with(self, nearest: Sequence[int]) -> Selection:
        """Return this selection with the documents of the numbers *nearest*, which are in the order
        of their rank. The score is the fusion of both ranks (see `FUSION`).
        """
        place = f"row_number() OVER (ORDER BY {self.score} DESC, documents.id) AS place"
        words = f"SELECT number, {place} FROM {self.ranking}"  # noqa: S608
        fused = FUSION.format(f"{words} UNION ALL {NEAREST}")
        numbers = f"SELECT number AS row FROM {self.source} UNION SELECT value FROM json_each(?)"  # noqa: S608
        return Selection(
            f"({numbers}) CROSS JOIN documents WHERE number = row",
            f"({fused}) CROSS JOIN documents WHERE number = row",
            f"fused + {self.bonus}",
            self.bonus,
            [*self.values, json.dumps(nearest)],
            [*self.ranking_values, json.dumps(nearest)],
        )


class SQLiteEngine(TermEngine):
    """The index in the file of ``sqlite:FILE``. It has one writer; readers see flushed writes."""

    def __init__(self, url: str) -> None:
        self._path = Path(url.partition(":")[2].removeprefix("//"))
        self._display_url = f"sqlite:{self._path}"
        self._connection: sqlite3.Connection | None = None
        # Device and inode of the file that a reader has open. A rebuild replaces the file.
        self._open_file: tuple[int, int] | None = None
        self._vectors: VectorTable | None = None
        # The embedder of the index, if searches cannot use its vectors and have not said so yet.
        self._missing_embedder = ""
        # How many texts of the last query were not UTF-8.
        self._undecodable = 0

    def use_embedder(self, embedder: NamedEmbedder) -> None:
        """See `Engine.use_embedder`."""
        from contentspider.index.vectors import MAX_DOCUMENTS, VectorTable  # loads NumPy

        self._vectors = VectorTable(self._execute, self._query, embedder)
        self.max_documents = MAX_DOCUMENTS

    def open(self, is_writer: bool) -> str:
        self.close()
        with self._translate_errors():  # the folder may not be readable
            if not is_writer and not self._path.is_file():
                raise self._missing_index_error()
        address = self._path.absolute().as_uri()
        if not is_writer:
            address += "?mode=ro"
            self._open_file = self._file()
        with self._translate_errors():
            if is_writer:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                address, BUSY_SECS, uri=True, isolation_level=None, check_same_thread=False
            )
            self._connection.row_factory = sqlite3.Row
            self._connection.text_factory = self._decode
            tables = {row["name"] for row in self._query("SELECT name FROM sqlite_master")}
            if is_writer:
                self._execute("PRAGMA journal_mode = WAL")
                if not tables:
                    self._create_tables(self._connection)
            manifest = ""
            if not tables or "manifest" in tables:
                manifest = self.manifest()
        loaded = Manifest.load(manifest, self._display_url, self.older_schemas)
        self._check_embedder(loaded, is_writer)
        self._missing_embedder = "" if self._vectors else loaded.embedder
        if is_writer:
            self._execute("BEGIN IMMEDIATE")
        return loaded.identity

    def _file(self) -> tuple[int, int] | None:
        """Return device and inode of the index's file; None if it is missing."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _follow_rebuild(self) -> None:
        """As a reader, open the file again if a rebuild has replaced it."""
        if self._open_file is not None and self._open_file != self._file():
            self.open(is_writer=False)

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        tables, manifest = TABLES, Manifest.new()
        if self._vectors is not None:
            from contentspider.index.vectors import TABLES as VECTOR_TABLES

            tables, manifest = TABLES + VECTOR_TABLES, Manifest.new(self._vectors.embedder.name)
        dump = manifest.dump().replace("'", "''")
        connection.executescript(
            f"BEGIN IMMEDIATE; {tables} INSERT INTO manifest VALUES ('{dump}'); COMMIT;"  # noqa: S608
        )

    def _check_embedder(self, manifest: Manifest, is_writer: bool) -> None:
        """Raise `SchemaMismatchError` if the index has vectors of another embedder, or none.

        A reader without an embedder may search any index by words.
        """
        name = self._vectors.embedder.name if self._vectors is not None else ""
        if name == manifest.embedder or not (name or is_writer):
            return
        raise SchemaMismatchError(
            f"{self._display_url} has vectors of {manifest.embedder or 'no embedder'}, but"
            f" CONTENTSPIDER_EMBEDDER names {name or 'none'}: name that of the index, or run"
            f" 'contentspider index rebuild {self._display_url}'",
            manifest.marks,
        )

    def _execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        if self._connection is None:
            raise EngineError(f"{self._display_url} is not open")
        with self._translate_errors():
            return self._connection.execute(statement, values)

    def _query(self, statement: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query. Errors of later rows are translated, too."""
        self._undecodable = 0
        cursor = self._execute(statement, values)
        with self._translate_errors():
            return cursor.fetchall()

    def _decode(self, text: bytes) -> str:
        """Return a text of the database, with U+FFFD for damaged bytes."""
        try:
            return text.decode()
        except UnicodeDecodeError:
            self._undecodable += 1
            return text.decode("utf-8", "replace")

    def _mending(self, crawl: str) -> str:
        return f"run 'contentspider index verify {crawl} {self._display_url} --mend'"

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Raise errors of SQLite and of the file system as `EngineError` or `EngineDownError`."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if BAD_VALUE in str(error):
                raise IndexDamagedError(
                    f"{self._display_url} has a damaged document ({error}):"
                    f" {self._mending('CRAWL')}"
                ) from error
            error_class = EngineDownError if TEMPORARY.search(str(error)) else EngineError
            raise error_class(f"{self._display_url}: {error}") from error
        except (sqlite3.DataError, OverflowError) as error:
            raise EngineError(f"{self._display_url}: {error}") from error
        # An error whose message has damaged bytes is a UnicodeDecodeError.
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if NO_DATABASE in str(error):
                raise EngineError(
                    f"{self._display_url} is damaged, or is not an index ({error}): delete the"
                    " file, and run 'contentspider index sync' to fill a new index"
                ) from error
            raise IndexDamagedError(
                f"{self._display_url} is damaged ({error}): run 'contentspider index rebuild"
                f" {self._display_url}'"
            ) from error
        except OSError as error:
            raise EngineError(f"{self._display_url}: {error.strerror or error}") from error

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refusal]:
        rows, refusals = self._serialise_newest(documents, self._row)
        vectors: Mapping[bytes, bytes] = {}
        if self._vectors is not None:
            # Nothing of the batch is written yet, so nothing is half-written if the embedder fails.
            vectors = self._vectors.embed(chain.from_iterable(texts for *_, texts in rows.values()))
        self.delete(list(rows))
        for values, words, texts in rows.values():
            number = self._execute(INSERT, values).lastrowid or 0
            # Somebody else may have deleted a document of this number, and left its words.
            self._delete_words(number)
            for row, texts_of_row in _numbered(number, words):
                self._execute(INSERT_WORDS, [row, *texts_of_row])
            blob = _compressed(words, WORDS_COMPRESSION)
            self._execute("INSERT INTO words VALUES (?, ?)", [number, blob])
            if self._vectors is not None:
                self._vectors.insert(number, texts, vectors)
        return refusals

    def _row(self, document: Document) -> tuple[list[object], list[list[str]], Sequence[str]]:
        """Return the values of a document's columns, the searchable words of the texts of its page
        and of each section, and the texts to embed.
        """
        record = document.record()
        # JSON escapes lone surrogates, which SQLite does not accept.
        record |= {name: json.dumps(record[name]) for name in JSON_FIELDS if name in record}
        if COMPRESSED_FIELD in document.fields:
            record[COMPRESSED_FIELD] = _compressed(document.fields[COMPRESSED_FIELD], COMPRESSION)
        columns = [*(record.get(name) for name in FIELDS_BY_NAME), _own_column(document)]
        words = [document.searchable_words(), *document.searchable_sections()]
        texts = self._vectors.texts_of(document) if self._vectors is not None else []
        return columns, [list(words_of.values()) for words_of in words], texts

    def delete(self, ids: Sequence[str]) -> None:
        for document_id in ids:
            for (number,) in self._query(
                "SELECT number FROM documents WHERE id = ?", [document_id]
            ):
                self._delete_words(number)
                if self._vectors is not None:
                    self._vectors.delete(number)
            self._execute("DELETE FROM documents WHERE id = ?", [document_id])

    def _delete_words(self, number: int) -> None:
        for row, words in self._words_of(number):
            self._execute(DELETE_WORDS, [row, *words])
        self._execute("DELETE FROM words WHERE number = ?", [number])

    def _words_of(self, number: int) -> Sequence[tuple[int, list[str]]]:
        """Return a document's rows of the index of words, from its row of the table "words"; none
        if it has no such row.
        """
        rows = self._query("SELECT words FROM words WHERE number = ?", [number])
        try:
            return _numbered(number, json.loads(_decompressed(rows[0][0]))) if rows else []
        except (TypeError, ValueError) as error:
            raise IndexDamagedError(
                f"{self._display_url} has damaged words of a document ({error}): run"
                f" 'contentspider index rebuild {self._display_url}'"
            ) from error

    def flush(self) -> None:
        self._execute("COMMIT")
        self._execute("BEGIN IMMEDIATE")

    def find(self, ids: Sequence[str]) -> Mapping[str, DocumentState]:
        rows = chain.from_iterable(self._query(f"{STATES} WHERE id = ?", [name]) for name in ids)
        return {row["id"]: DocumentState(*row) for row in rows}

    def documents(self, crawl: str = "") -> Iterator[DocumentState]:
        condition, values = (" WHERE crawl = ?", [crawl]) if crawl else ("", [])
        cursor = self._execute(STATES + condition, values)
        while True:
            with self._translate_errors():
                rows = cursor.fetchmany(CHUNK_ROWS)
            if not rows:
                return
            for row in rows:
                yield DocumentState(*row)

    def count(self, crawl: str) -> int:
        (row,) = self._query("SELECT count(*) FROM documents WHERE crawl = ?", [crawl])
        return int(row[0])

    def records(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        self._follow_rebuild()
        return {record["id"]: record for record in self._records_of(self._rows(ids))}

    def _rows(self, ids: Sequence[str]) -> list[sqlite3.Row]:
        places = ", ".join("?" * len(ids))
        return self._query(f"SELECT * FROM documents WHERE id IN ({places})", list(ids))  # noqa: S608

    def _records_of(self, rows: Sequence[sqlite3.Row]) -> list[dict[str, Any]]:
        """Return the records in the rows of the last query, without damaged values. Logs which
        documents are damaged.
        """
        records: list[dict[str, Any]] = []
        for row in rows:
            record, is_damaged = _read_record(row)
            records.append(record)
            texts = (value for value in row if isinstance(value, str))
            if is_damaged or (self._undecodable and any(REPLACEMENT in text for text in texts)):
                logger.error(
                    "%s: document %s is damaged: %s",
                    self._display_url,
                    record["id"],
                    self._mending(record.get("crawl", "CRAWL")),
                )
        return records

    def differing(self, documents: Sequence[Document]) -> list[str]:
        rows = {row["id"]: row for row in self._rows([document.id for document in documents])}
        return [
            document.id
            for document in documents
            if (row := rows.get(document.id)) is None or not _has_row(document, row)
        ]

    def damage(self) -> Sequence[str]:
        """See `Engine.damage`. Each document must have words, and the index of words must be whole,
        and have each word as often as the table "words" has it.
        """
        rows = self._query(f"PRAGMA integrity_check({MAX_PROBLEMS})")
        if problems := [str(row[0]) for row in rows if row[0] != "ok"]:
            return problems
        self._execute("INSERT INTO pages (pages) VALUES ('integrity-check')")
        ((bare,),) = self._query(WITHOUT_WORDS)
        if bare:
            return [f"{counted(bare, 'documents')} without words"]
        words: Counter[str] = Counter()
        for (number,) in self._query("SELECT number FROM words"):  # all their words may be large
            for _, texts in self._words_of(number):
                words.update(word for text in texts for word in text.split())
        self._execute(VOCABULARY)
        indexed = {row["term"]: row["cnt"] for row in self._query("SELECT * FROM vocabulary")}
        wrong = sum(indexed.get(word) != words.get(word) for word in words.keys() | indexed.keys())
        return [f"{counted(wrong, 'words')} indexed otherwise than the documents have them"] * bool(
            wrong
        )

    def addresses(self, offset: int, limit: int) -> Sequence[tuple[str, str]]:
        self._follow_rebuild()
        rows = self._query(
            "SELECT coalesce(url, ''), coalesce(title, '') FROM documents"
            " ORDER BY number LIMIT ? OFFSET ?",
            [limit, offset],
        )
        return [(str(row[0]), str(row[1])) for row in rows]

    def identity(self) -> str:
        self._follow_rebuild()
        return super().identity()

    def own_types(self) -> Mapping[str, Sequence[str]]:
        self._follow_rebuild()
        return super().own_types()

    def search(self, query: Query) -> Results:
        self._follow_rebuild()
        return super().search(query)

    def manifest(self) -> str:
        rows = self._query("SELECT manifest FROM manifest")
        return str(rows[0]["manifest"]) if rows else ""

    def write_manifest(self, text: str) -> None:
        self._execute("UPDATE manifest SET manifest = ?", [text])
        self.flush()

    def _indexed_languages(self) -> Iterable[str]:
        rows = self._query(LANGUAGES)
        return [str(row["language"]) for row in rows]

    def _vocabulary(self, prefix: str) -> Mapping[str, int]:
        self._execute(VOCABULARY)
        rows = self._query(
            "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ?", [prefix, prefix + LAST]
        )
        return {row["term"]: row["doc"] for row in rows}

    def _search_words(self, query: Query) -> Results:
        """Return the results by words, merged with those by meaning if the index has vectors.

        While the user types, and if the embedder fails, words decide alone.
        """
        if self._vectors is None or query.is_typing or not split_words(query.words):
            self._warn_of_missing_embedder()
            return super()._search_words(query)
        try:
            nearest = self._vectors.nearest(query)
        except (EmbedderError, EngineDownError) as error:
            logger.warning("%s: the search is by words alone: %s", self._display_url, error)
            note = "These results were found by their words alone, because the embedder failed."
            return replace(super()._search_words(query), note=note)
        if not nearest:
            return super()._search_words(query)
        values = {each.name: getattr(query, each.name) for each in fields(query)}
        hybrid = HybridQuery(**values, nearest=nearest)
        results = super()._search_words(hybrid)
        # No page has the words, not even in another spelling.
        return results if results.total else self._search_terms(hybrid, [], Titled())

    def _warn_of_missing_embedder(self) -> None:
        """Warn once if the index has vectors that searches cannot use."""
        if self._missing_embedder:
            logger.warning(
                "%s has vectors of %s, but searches are by words alone: set CONTENTSPIDER_EMBEDDER"
                " to search by meaning, too",
                self._display_url,
                self._missing_embedder,
            )
            self._missing_embedder = ""

    def _titles_with(self, wholes: Iterable[str], query: Query) -> Iterable[tuple[str | int, str]]:
        return self._titles(_any_whole("title", wholes), query, "-length(title)")

    def _titles_beginning(
        self, phrase: tuple[str, ...], query: Query
    ) -> Iterable[tuple[str | int, str]]:
        return self._titles(f"title : ^ {_quoted(phrase)}", query, "length(title)")

    def _titles(self, match: str, query: Query, order: str) -> list[tuple[str | int, str]]:
        """Return number and title of the first `MAX_TITLES` pages, in an *order*, that match the
        filters of a query and an FTS5 expression.
        """
        conditions, values = filter_conditions(query)
        source = PAGES_WITH_WORDS + _where(["number = row", *conditions])
        rows = self._query(
            f"SELECT number, title FROM {source} ORDER BY {order}, number LIMIT ?",  # noqa: S608
            [match, *values, MAX_TITLES],
        )
        return [(row["number"], row["title"]) for row in rows]

    def _reranked(self, query: Query, groups: Sequence[Sequence[Term]], titles: Titled) -> Results:
        """See `TermEngine._reranked`. Scores that are made of ranks are not changed."""
        look = self._search_terms if isinstance(query, HybridQuery) else super()._reranked
        return look(query, groups, titles)

    def _search_terms(
        self, query: Query, groups: Sequence[Sequence[Term]], titles: Titled
    ) -> Results:
        nearest: Mapping[int, int] = {}
        selection = _select_by_words(query, groups, titles)
        if isinstance(query, HybridQuery):
            if groups and not self._count(selection):
                return Results([], 0, {})
            nearest = query.nearest
            selection = selection.merged_with(list(nearest))
        columns = ", ".join(f"documents.{name}" for name in FIELDS_BY_NAME)
        order = f"ORDER BY {order_terms(query.order)}score DESC, documents.id"
        # SQLite would sort whole documents, and so read them all.
        best = (
            f"SELECT documents.number AS best_number, {selection.score} AS score"  # noqa: S608 - our names
            f" FROM {selection.ranking} {order} LIMIT ? OFFSET ?"
        )
        rows = self._query(
            f"SELECT number, {columns}, score FROM ({best}) CROSS JOIN documents"  # noqa: S608
            f" WHERE number = best_number {order}",
            [*selection.ranking_values, query.limit, query.offset],
        )
        hits = [
            Hit(record, row["score"], nearest.get(row["number"], -1))
            for row, record in zip(rows, self._records_of(rows), strict=True)
        ]
        total, facets = self._total_and_facets(selection)
        facets |= {f"fields.{name}": self._own_counts(name, selection) for name in query.counted}
        return Results(hits, total, facets)

    def _count(self, selection: Selection) -> int:
        """Return the number of documents in a selection."""
        query = f"SELECT count(*) FROM {selection.source}"  # noqa: S608
        return int(self._query(query, selection.values)[0][0])

    def _total_and_facets(self, selection: Selection) -> tuple[int, dict[str, dict[str, int]]]:
        """Return the number of documents in a selection, and their numbers by the values of each
        facet, the largest first. One query counts all facets.
        """
        names = ", ".join(FACETS)
        rows = self._query(
            f"SELECT {names}, count(*) AS pages FROM {selection.source} GROUP BY {names}",  # noqa: S608
            selection.values,
        )
        facets: dict[str, dict[str, int]] = {}
        for name in FACETS:
            counts: Counter[str] = Counter()
            for row in rows:
                if row[name]:
                    counts[str(row[name])] += row["pages"]
            facets[name] = dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))
        return sum(row["pages"] for row in rows), facets

    def _own_counts(self, name: str, selection: Selection) -> dict[str, int]:
        """Return the numbers of documents in a selection by the texts of an own field."""
        rows = self._query(
            "SELECT text.value, count(DISTINCT number) AS pages FROM (SELECT number, documents.own"  # noqa: S608
            f" FROM {selection.source}) AS chosen, json_each(chosen.own, ?) AS text"
            " GROUP BY text.value ORDER BY pages DESC, text.value LIMIT ?",
            [*selection.values, own_path(TEXT, name), MAX_COUNTED],
        )
        return {str(row[0]): row[1] for row in rows}

    @contextmanager
    def rebuild(self) -> Iterator[tuple[SQLiteEngine, str]]:
        """See `Engine.rebuild`. The new index is a file beside this one, which replaces it."""
        new_path = self._path.with_name(f".{self._path.name}.{os.getpid()}.rebuilding")
        new_engine = SQLiteEngine(f"sqlite:{new_path}")
        if self._vectors is not None:
            new_engine.use_embedder(self._vectors.embedder)
        try:
            yield new_engine, new_engine.open(is_writer=True)
            new_engine._execute("COMMIT")
            # A single file can replace another one in one step, so the WAL has to go.
            new_engine._execute("PRAGMA journal_mode = DELETE")
            new_engine.close()
            self.close()
            with self._translate_errors():
                for suffix in ("-wal", "-shm"):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
                new_path.replace(self._path)
        finally:
            new_engine.close()
            for suffix in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):
                    new_path.with_name(new_path.name + suffix).unlink()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._open_file = None


def _select_by_words(query: Query, groups: Sequence[Sequence[Term]], titles: Titled) -> Selection:
    """Return the documents that match the filters of a query and all terms of one of the *groups*.

    Without groups, all documents match. A `HybridQuery` without groups selects no documents by
    words.
    """
    conditions, values = filter_conditions(query)
    if not groups:
        if isinstance(query, HybridQuery):
            conditions.append("FALSE")
        source = "documents" + _where(conditions)
        return Selection(source, source, "0.0", "0.0", values, values)
    named = _any_whole(NAMES, titles.wholes)
    inside = _any_whole("title", titles.titles)
    words = " OR ".join(filter(None, [*map(_match_group, groups), inside]))
    rows = BEST_ROWS.format(NAMED_ROWS if named else "")
    ranking = f"{rows} AS best CROSS JOIN documents"
    bonus = _bonus(titles)
    return Selection(
        PAGES_WITH_WORDS + _where(["number = row", *conditions]),
        ranking + _where(["number = best.page", *conditions]),
        f"best.score * {TYPE_WEIGHT} + {bonus}",
        bonus,
        [words, *values],
        [*filter(None, (words, named)), *values],
    )


def _bonus(titles: Titled) -> str:
    """Return the part of the score of a document that its title has, as SQL."""
    cases = (f"WHEN {number} THEN {score}" for number, score in titles.scores.items())
    return f"CASE documents.number {' '.join(cases)} ELSE 0.0 END" if titles.scores else "0.0"


def _where(conditions: Sequence[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def _match_group(terms: Sequence[Term]) -> str:
    """Return the FTS5 expression that matches all of some terms."""
    forms = (" OR ".join(map(_quoted, term)) for term in terms)
    expression = " AND ".join(f"({alternatives})" for alternatives in forms)
    return f"({expression})"


def _numbered(number: int, words: Sequence[list[str]]) -> list[tuple[int, list[str]]]:
    """Return the words of document *number*, its page's first, with the number of each row."""
    rows = [number, *range(-number * MAX_SECTIONS, -(number + 1) * MAX_SECTIONS, -1)]
    return list(zip(rows, words, strict=False))


def _any_whole(columns: str, wholes: Iterable[str]) -> str:
    """Return the FTS5 expression for texts in *columns* that are one of some `whole_text`, "" for
    none.
    """
    texts = " OR ".join(_quoted([whole]) for whole in wholes)
    return f"{columns} : ({texts})" if texts else ""


def _quoted(phrase: Sequence[str]) -> str:
    """Return the FTS5 expression for a phrase of our own words."""
    return f'"{" ".join(phrase)}"'


def _has_row(document: Document, row: sqlite3.Row) -> bool:
    """Tell whether a row has the fields of a document."""
    record, is_damaged = _read_record(row)
    is_same = have_equal_fields(record, document.record()) and row[OWN] == _own_column(document)
    return is_same and not is_damaged


def _own_column(document: Document) -> str | None:
    """Return the typed values of a document's own fields, as SQLite stores them."""
    own_values = document.own_values()
    # SQLite does not find escaped names.
    return json.dumps(own_values, ensure_ascii=False) if own_values else None


def _compressed(value: object, level: int) -> bytes:
    """Return the JSON of a value, compressed. It may have lone surrogates."""
    text = json.dumps(value, ensure_ascii=False)
    return zlib.compress(text.encode("utf-8", "surrogatepass"), level)


def _decompressed(stored: object) -> str:
    """Return the JSON in a compressed column; raises ValueError if it is damaged."""
    try:
        return zlib.decompress(stored).decode("utf-8", "surrogatepass")  # type: ignore[arg-type]
    except (TypeError, zlib.error) as error:
        raise ValueError(COMPRESSED_FIELD) from error


def _read_record(row: sqlite3.Row) -> tuple[dict[str, Any], bool]:
    """Return the fields in a row without damaged values, and whether there are such values."""
    record: dict[str, Any] = {}
    is_damaged = False
    for name in FIELDS_BY_NAME:
        try:
            if row[name] is not None:
                record[name] = _field_value(name, row[name])
        except ValueError:  # noqa: PERF203 - other fields are still good
            is_damaged = True
    return record | {"id": str(row["id"])}, is_damaged


def _field_value(name: str, stored: object) -> Any:
    """Return the value of a field from its column; raises ValueError if it has another type."""
    if name == COMPRESSED_FIELD:
        stored = _decompressed(stored)
    value = json.loads(stored) if name in JSON_FIELDS and isinstance(stored, str) else stored
    schema_field = FIELDS_BY_NAME[name]
    kind = {Kind.NUMBER: int, Kind.STORED: dict}.get(schema_field.kind, str)
    if schema_field.is_list:
        is_valid = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    else:
        is_valid = isinstance(value, kind)
    if not is_valid:
        raise ValueError(name)
    return value
