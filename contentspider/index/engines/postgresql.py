"""An index in PostgreSQL: a table, whose column ``words`` holds what is searched.

The table's comment is the manifest, so that both get their name at once.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from copy import copy
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from contentspider.index.engine import Hit, Refused, Results, Stored, missing, shown
from contentspider.index.engines.pairs import terms, words
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import (
    FACETS,
    FIELDS,
    LISTING,
    LISTING_WEIGHT,
    TEXTS,
    Kind,
    Manifest,
    SchemaMismatchError,
)

try:
    import psycopg
    from psycopg import errors, sql
    from psycopg.conninfo import make_conninfo
    from psycopg.rows import dict_row
    from psycopg.types.json import Json
except ImportError as error:
    raise missing("postgresql", "psycopg") from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from typing_extensions import LiteralString

    from contentspider.index.document import Document
    from contentspider.index.engine import Query
    from contentspider.index.schema import Field

    Connection = psycopg.Connection[dict[str, Any]]

CONNECTION: dict[str, str | int] = {
    "application_name": "contentspider",
    "client_encoding": "utf8",
    "connect_timeout": 10,
    # A server that is cut off does not even answer with an error (milliseconds).
    "tcp_user_timeout": 30_000,
}
PAGE = 2000
# PostgreSQL's bounds: of how many places of a word in a document it knows, and the last place.
MAX_PLACES, LAST_PLACE = 255, 16_383
# Words count by four letters: one a weight of the schema, A the largest.
LETTERS = dict(zip(sorted({field.weight for field in TEXTS}, reverse=True), "ABCD", strict=False))
WEIGHTS = [
    next((weight / max(LETTERS) for weight, letter in LETTERS.items() if letter == wanted), 0.0)
    for wanted in "DCBA"
]
COLUMNS = sql.SQL(", ").join(sql.Identifier(field.name) for field in FIELDS)
BAD_DOCUMENT = (errors.DataError, errors.ProgramLimitExceeded, ValueError, TypeError)
# To connect fails without a code; these words of it are of what does not pass by itself.
LASTING = re.compile("authentication|password|does not exist|pg_hba|permission|certificate")


class PostgreSQLEngine:
    """The table that ``postgresql://host:port/database/table`` names. Who connects, and how, is
    read from the environment by libpq: ``PGUSER``, ``PGPASSWORD``, ``PGSSLMODE``.
    """

    max_documents = 500
    max_bytes = 8 << 20

    def __init__(self, url: str) -> None:
        self._shown = shown(url)
        parts = urlsplit(url)
        names = [unquote(name) for name in parts.path.split("/")[1:]]
        try:
            self._conninfo = make_conninfo(
                "", **CONNECTION, host=parts.hostname, port=parts.port, dbname=names[0]
            )
            (_, self._name) = names
        except (ValueError, IndexError):
            names = []
        # PostgreSQL cuts names at 63 bytes, and a rebuild's is longer.
        if not all(names) or not re.fullmatch(r"[a-zA-Z0-9_-]{1,50}", "".join(names[1:])):
            raise EngineError(
                f"{self._shown!r} does not say where: write postgresql://host:port/database/table,"
                " and the table in letters, digits, '_' and '-'"
            )
        self._table = sql.Identifier(self._name)
        self._open: Connection | None = None

    def open(self, is_writer: bool) -> str:
        """See `Engine.open`."""
        with self._asked() as connection:
            # Of two writers at once one makes it.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self._name])
            if (comment := self._comment(connection)) is not None:
                return Manifest.load(comment, self._shown).identity
            if not is_writer:
                raise EngineError(
                    f"{self._shown}: there is no index; 'contentspider index sync' fills one"
                )
            return self._make(connection)

    def _comment(self, connection: Connection) -> str | None:
        """Return what the table says of itself; None if it is not there."""
        row = connection.execute(
            "SELECT coalesce(obj_description(to_regclass(%(name)s), 'pg_class'), '') AS comment"
            " WHERE to_regclass(%(name)s) IS NOT NULL",
            {"name": self._table.as_string()},
        ).fetchone()
        return None if row is None else str(row["comment"])

    def _make(self, connection: Connection) -> str:
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(_type(field)))
            for field in FIELDS
        ]
        # Without names of their own: those of an index that is made anew would be taken.
        for statement in (
            "CREATE TABLE {} ({}, words tsvector NOT NULL, PRIMARY KEY (id))",
            "CREATE INDEX ON {} (crawl, id)",
            "CREATE INDEX ON {} USING gin (words)",
        ):
            connection.execute(sql.SQL(statement).format(self._table, sql.SQL(", ").join(columns)))
        manifest = Manifest.new()
        connection.execute(
            sql.SQL("COMMENT ON TABLE {} IS {}").format(self._table, sql.Literal(manifest.dump()))
        )
        return manifest.identity

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """See `Engine.upsert`."""
        statement = sql.SQL(
            "INSERT INTO {table} AS old ({columns}, words) VALUES ({values}, %s::tsvector)"
            " ON CONFLICT (id) DO UPDATE SET ({columns}, words) = ROW ({new}, excluded.words)"
            " WHERE old.version <= excluded.version"
        ).format(
            table=self._table,
            columns=COLUMNS,
            values=sql.SQL(", ").join(sql.Placeholder() * len(FIELDS)),
            new=sql.SQL(", ").join(sql.Identifier("excluded", field.name) for field in FIELDS),
        )
        try:
            with self._asked() as connection, connection.cursor() as cursor:
                cursor.executemany(statement, [_row(document) for document in documents])
        except EngineError as error:
            if not isinstance(error.__cause__, BAD_DOCUMENT):
                raise
            if len(documents) == 1:
                return [Refused(documents[0].id, _line(error.__cause__))]
        else:
            return []
        half = len(documents) // 2
        return [*self.upsert(documents[:half]), *self.upsert(documents[half:])]

    def delete(self, ids: Sequence[str]) -> None:
        """See `Engine.delete`."""
        self._ask("DELETE FROM {table} WHERE id = ANY(%(ids)s)", ids=list(ids))

    def flush(self) -> None:
        """See `Engine.flush`: all that was written is."""

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """See `Engine.find`."""
        rows = self._ask(
            "SELECT id, crawl, version, hash FROM {table} WHERE id = ANY(%(ids)s)", ids=list(ids)
        )
        return {row["id"]: Stored(**row) for row in rows}

    def documents(self, crawl: str = "") -> Iterator[Stored]:
        """See `Engine.documents`."""
        last = ""
        while True:
            # Page by page: a cursor would hold what is written meanwhile in one transaction.
            rows = self._ask(
                "SELECT id, crawl, version, hash FROM {table} WHERE id > %(last)s"
                " AND (crawl = %(crawl)s OR %(crawl)s = '') ORDER BY id LIMIT %(page)s",
                last=last,
                crawl=crawl,
                page=PAGE,
            )
            yield from (Stored(**row) for row in rows)
            if len(rows) < PAGE:
                return
            last = rows[-1]["id"]

    def get(self, document_id: str) -> Mapping[str, Any] | None:
        """See `Engine.get`."""
        rows = self._ask("SELECT {columns} FROM {table} WHERE id = %(id)s", id=document_id)
        return _record(rows[0]) if rows else None

    def search(self, query: Query) -> Results:
        """See `Engine.search`; if none holds all words, those that hold some are found."""
        if unknown := query.filters.keys() - set(FACETS):
            raise EngineError(f"results are not narrowed by {', '.join(sorted(unknown))}")
        found = [f"({' <-> '.join(map(_lexeme, term))})" for term in terms(query.words)]
        results = self._found(query, " & ".join(found))
        if not results.total and len(found) > 1:
            results = self._found(query, " | ".join(found))
        return results

    def _found(self, query: Query, words: str) -> Results:
        is_all = not query.words.strip()
        tests: list[sql.Composable] = [
            sql.SQL("true") if is_all else sql.SQL("words @@ %(words)s::tsquery")
        ]
        tests += [
            sql.SQL("{} = {}").format(sql.Identifier(name), sql.Placeholder(name))
            for name in query.filters
        ]
        parts = {
            "found": sql.SQL(" AND ").join(tests),
            "facets": sql.SQL(", ").join(map(sql.Identifier, FACETS)),
        }
        # PostgreSQL takes no text with NUL in it: nothing has such a value either.
        values = {name: value.replace("\0", "\ufffd") for name, value in query.filters.items()}
        counts = self._ask(
            "SELECT {facets}, grouping({facets}) AS other, count(*) AS documents FROM {table}"
            " WHERE {found} GROUP BY GROUPING SETS ((), {facets})",
            parts,
            words=words,
            **values,
        )
        rows = self._ask(
            "SELECT {columns}, ts_rank(%(weights)s::real[], words, %(words)s::tsquery, 1)::float8"
            " * CASE page_type WHEN %(listing)s THEN %(listing_weight)s ELSE 1 END AS score"
            " FROM {table} WHERE {found} ORDER BY score DESC, id"
            " LIMIT %(limit)s OFFSET %(offset)s",
            parts,
            words=words,
            weights=WEIGHTS,
            listing=LISTING,
            listing_weight=LISTING_WEIGHT,
            limit=query.limit,
            offset=query.offset,
            **values,
        )
        return Results([Hit(_record(row), row["score"]) for row in rows], *_counted(counts))

    @contextmanager
    def rebuild(self) -> Iterator[tuple[PostgreSQLEngine, str]]:
        """See `Engine.rebuild`: it is a table beside this one until then."""
        with self._asked() as connection:
            comment = self._comment(connection)
        # One of ours, of whatever schema: nobody else's table is dropped.
        with suppress(SchemaMismatchError):
            if comment is not None:
                Manifest.load(comment, self._shown)
        new = copy(self)
        new._name = f"{self._name}__new"
        new._table = sql.Identifier(new._name)
        new._open = None
        try:
            new._ask("DROP TABLE IF EXISTS {table}")
            yield new, new.open(is_writer=True)
            with self._asked() as connection:
                connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self._table))
                connection.execute(
                    sql.SQL("ALTER TABLE {} RENAME TO {}").format(new._table, self._table)
                )
        finally:
            # After an exception the unfinished table stays: the next rebuild begins with its end.
            new.close()

    def close(self) -> None:
        """See `Engine.close`."""
        if self._open is not None:
            self._open.close()

    def _ask(
        self,
        statement: LiteralString,
        parts: Mapping[str, sql.Composable] | None = None,
        **values: object,
    ) -> list[dict[str, Any]]:
        """Return the rows of a *statement* about ``{table}``, with its *parts* and *values*."""
        asked = sql.SQL(statement).format(table=self._table, columns=COLUMNS, **(parts or {}))
        with self._asked() as connection:
            cursor = connection.execute(asked, values)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def _asked(self) -> Iterator[Connection]:
        """Give a connection in a transaction; what fails is said as an `Engine` has to."""
        try:
            if self._open is None or self._open.closed:
                self._open = psycopg.connect(self._conninfo, autocommit=True, row_factory=dict_row)
            with self._open.transaction():
                yield self._open
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            said = f"{self._shown}: {_line(error)}"
            is_lasting = error.sqlstate is None and LASTING.search(said)
            if is_lasting or isinstance(error, BAD_DOCUMENT):
                raise EngineError(said) from error
            raise EngineDownError(said) from error
        except (psycopg.Error, ValueError, TypeError) as error:
            raise EngineError(f"{self._shown}: {_line(error)}") from error


def _type(field: Field) -> str:
    if field.name == "id":
        return 'text COLLATE "C"'  # read page by page in this order
    name = {Kind.NUMBER: "bigint", Kind.STORED: "json"}.get(field.kind, "text")
    return f"{name}[]" if field.is_list else name


def _row(document: Document) -> list[object]:
    record = document.record()
    values = [
        Json(record[field.name])
        if field.kind is Kind.STORED and field.name in record
        else record.get(field.name)
        for field in FIELDS
    ]
    return [*values, _vector(record)]


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    return {field.name: row[field.name] for field in FIELDS if row[field.name] is not None}


def _vector(record: Mapping[str, Any]) -> str:
    """Return a document's words as a tsvector: each with its places, and how it counts there."""
    places: dict[str, list[str]] = {}
    place = 0
    for field in TEXTS:
        value = record.get(field.name, "")
        for word in words("\n".join(value) if field.is_list else value):
            # Beyond the last one it begins again: words in a row are in a row there, too.
            place = place % LAST_PLACE + 1
            places.setdefault(word, []).append(f"{place}{LETTERS[field.weight]}")
    return " ".join(f"{_lexeme(word)}:{','.join(at[:MAX_PLACES])}" for word, at in places.items())


def _lexeme(word: str) -> str:
    return f"'{word}'"  # a word has nothing but letters and digits in it


def _counted(rows: Sequence[Mapping[str, Any]]) -> tuple[int, dict[str, dict[str, int]]]:
    """Return how many documents there are in all, and with each value of each facet."""
    total, facets = 0, {name: dict[str, int]() for name in FACETS}
    for row in rows:
        # A bit for each facet that the row is not about, the first facet's is the highest.
        bits = f"{row['other']:0{len(FACETS)}b}"
        about = [name for name, bit in zip(FACETS, bits, strict=True) if bit == "0"]
        if not about:
            total = row["documents"]
        elif (value := row[about[0]]) is not None:
            facets[about[0]][value] = row["documents"]
    return total, facets


def _line(error: BaseException) -> str:
    said = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((said or str(error)).split())
