"""An index in PostgreSQL: a table, whose column ``words`` holds what is searched: what PostgreSQL
makes of the texts in their language, and our words, which do not depend on the database's locale.

The table's comment is the manifest, so that both get their name at once.
"""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from copy import copy
from datetime import timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg.types.json import Json

from contentspider.index.engine import Engine, Hit, Results, shown
from contentspider.index.errors import EngineDownError, EngineError
from contentspider.index.schema import (
    BY_NAME,
    DATES,
    FACETS,
    FIELDS,
    LISTING,
    LISTING_WEIGHT,
    OWN,
    TEXTS,
    Document,
    Kind,
    Manifest,
    SchemaMismatchError,
    Stored,
    joined,
)
from contentspider.index.words import stemmer_of, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from typing_extensions import LiteralString

    from contentspider.index.engine import Query, Refused
    from contentspider.index.words import Term

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
COLUMNS = sql.SQL(", ").join(map(sql.Identifier, BY_NAME))
STATE = sql.SQL(", ").join(map(sql.Identifier, OWN))
TYPES = {Kind.NUMBER: "bigint", Kind.STORED: "json", Kind.DATE: "timestamptz"}
# A document's words: ours, which may stand in a row, then PostgreSQL's of each text.
VECTOR = sql.SQL(" || ").join(
    [
        sql.SQL("%(words)s::tsvector"),
        *(
            sql.SQL("setweight(to_tsvector(%(configuration)s::regconfig, {}), {})").format(
                sql.Placeholder(f"{field.name} text"), LETTERS[field.weight]
            )
            for field in TEXTS
        ),
    ]
)
BAD_DOCUMENT = (errors.DataError, errors.ProgramLimitExceeded, ValueError, TypeError)
# To connect fails without a code; these words of it are of what does not pass by itself.
LASTING = re.compile("authentication|password|does not exist|pg_hba|permission|certificate")


class PostgreSQLEngine(Engine):
    """The table that ``postgresql://host:port/database/table`` names. Who connects, and how, is
    read from the environment by libpq: ``PGUSER``, ``PGPASSWORD``, ``PGSSLMODE``.
    """

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
        # The languages whose words PostgreSQL can stem.
        self._configurations: set[str] = set()

    def open(self, is_writer: bool) -> str:
        with self._asked() as connection:
            # Of two writers at once one makes it.
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self._name])
            rows = connection.execute("SELECT cfgname AS name FROM pg_ts_config").fetchall()
            self._configurations = {row["name"] for row in rows}
            if (comment := self._comment(connection)) is not None:
                return self._identity_of(comment)
            if not is_writer:
                raise self._absent()
            return self._make(connection)

    def manifest(self) -> str:
        with self._asked() as connection:
            return self._comment(connection) or ""

    def keep_manifest(self, text: str) -> None:
        with self._asked() as connection:
            self._say(connection, text)

    def _say(self, connection: Connection, text: str) -> None:
        comment = sql.SQL("COMMENT ON TABLE {} IS {}")
        connection.execute(comment.format(self._table, sql.Literal(text)))

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
            sql.SQL("{} " + TYPES.get(field.kind, "text") + "[]" * field.is_list).format(
                sql.Identifier(field.name)
            )
            for field in FIELDS
        ]
        # Without names of their own: those of an index that is made anew would be taken.
        for statement in (
            "CREATE TABLE {} ({}, words tsvector NOT NULL, PRIMARY KEY (id))",
            # Read page by page in this order.
            'ALTER TABLE {} ALTER id TYPE text COLLATE "C"',
            "CREATE INDEX ON {} (crawl, id)",
            "CREATE INDEX ON {} (language)",
            "CREATE INDEX ON {} USING gin (words)",
        ):
            connection.execute(sql.SQL(statement).format(self._table, sql.SQL(", ").join(columns)))
        manifest = Manifest.new()
        self._say(connection, manifest.dump())
        return manifest.identity

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """See `Engine.upsert`; a document that is bad fails its batch, of which none is in then."""
        statement = sql.SQL(
            "INSERT INTO {table} AS old ({columns}, words) VALUES ({values}, {vector})"
            " ON CONFLICT (id) DO UPDATE SET ({columns}, words) = ROW ({new}, excluded.words)"
            " WHERE old.version <= excluded.version"
        ).format(
            table=self._table,
            columns=COLUMNS,
            values=sql.SQL(", ").join(map(sql.Placeholder, BY_NAME)),
            vector=VECTOR,
            new=sql.SQL(", ").join(sql.Identifier("excluded", name) for name in BY_NAME),
        )
        with self._asked() as connection, connection.cursor() as cursor:
            cursor.executemany(statement, [self._values(document) for document in documents])
        return []

    def _values(self, document: Document) -> dict[str, object]:
        record = document.record()
        language = record.get("language", "")
        config = stemmer_of(language)
        texts = {f"{field.name} text": joined(record.get(field.name)) for field in TEXTS}
        return {
            **dict.fromkeys(BY_NAME),
            **record,
            "more": Json(record["more"]) if "more" in record else None,
            "words": _vector(record, language),
            "configuration": config if config in self._configurations else "simple",
            **texts,
        }

    def delete(self, ids: Sequence[str]) -> None:
        self._ask("DELETE FROM {table} WHERE id = ANY(%(ids)s)", ids=list(ids))

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        rows = self._ask("SELECT {state} FROM {table} WHERE id = ANY(%(ids)s)", ids=list(ids))
        return {row["id"]: Stored(**row) for row in rows}

    def documents(self, crawl: str = "") -> Iterator[Stored]:
        last = ""
        while True:
            # Page by page: a cursor would hold what is written meanwhile in one transaction.
            rows = self._ask(
                "SELECT {state} FROM {table} WHERE id > %(last)s"
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
        rows = self._ask("SELECT {columns} FROM {table} WHERE id = %(id)s", id=document_id)
        return _record(rows[0]) if rows else None

    def _present_languages(self) -> Iterable[str]:
        rows = self._ask("SELECT DISTINCT language FROM {table} WHERE language IS NOT NULL")
        return [row["language"] for row in rows]

    def _found(self, query: Query, wanted: Sequence[Term], is_all: bool) -> Results:
        forms = (" | ".join(" <-> ".join(map(_lexeme, row)) for row in term) for term in wanted)
        words = (" & " if is_all else " | ").join(f"({form})" for form in forms)
        tests: list[sql.Composable] = [sql.SQL("words @@ %(words)s::tsquery" if words else "true")]
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
                self._identity_of(comment)
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
        if self._open is not None:
            self._open.close()

    def _ask(
        self,
        statement: LiteralString,
        parts: Mapping[str, sql.Composable] | None = None,
        **values: object,
    ) -> list[dict[str, Any]]:
        """Return the rows of a *statement* about ``{table}``, with its *parts* and *values*."""
        names = {"table": self._table, "columns": COLUMNS, "state": STATE}
        asked = sql.SQL(statement).format(**names, **(parts or {}))
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


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    record = {name: row[name] for name in BY_NAME if row[name] is not None}
    for name in DATES:
        if name in record:
            record[name] = record[name].astimezone(timezone.utc).isoformat(timespec="seconds")
    return record


def _vector(record: Mapping[str, Any], language: str) -> str:
    """Return a document's words as a tsvector: each with its places, and how it counts there."""
    places: dict[str, list[str]] = {}
    place = 0
    for field in TEXTS:
        for word in words(joined(record.get(field.name)), language):
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
