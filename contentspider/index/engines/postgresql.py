"""An index in PostgreSQL: a table with a column for each field.

Searches read the column ``words``, a tsvector of our own words and their stems. Neither depends on
the version of PostgreSQL, whose stemmers differ, or on the database's locale. The table's comment
is the manifest, so that one statement renames both. Searches complete and correct words with the
help of a second table, which lists our own words.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager, suppress
from copy import copy
from datetime import timezone
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row
from psycopg.types.json import Json

from contentspider.index.engine import Hit, Results
from contentspider.index.engines.postgresql_filters import (
    field_conditions,
    order_terms,
    without_nul,
)
from contentspider.index.errors import EngineDownError, EngineError, redacted_url
from contentspider.index.marks import Manifest, SchemaMismatchError
from contentspider.index.own_fields import TEXT
from contentspider.index.schema import (
    DATE_FIELDS,
    DEMOTED_TYPES,
    DEMOTED_WEIGHT,
    FACETS,
    FIELDS,
    FIELDS_BY_NAME,
    STATE_FIELDS,
    TEXT_FIELDS,
    Document,
    DocumentState,
    Kind,
)
from contentspider.index.term_engine import MAX_TITLES, TermEngine
from contentspider.index.titles import NAMED_SCORE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from typing_extensions import LiteralString

    from contentspider.index.engine import Query, Refusal
    from contentspider.index.schema import Field
    from contentspider.index.titles import Titled
    from contentspider.index.words import Term

    Connection = psycopg.Connection[dict[str, Any]]

CONNECTION: dict[str, str | int] = {
    "application_name": "contentspider",
    "client_encoding": "utf8",
    "connect_timeout": 10,
    # Milliseconds: a server behind a broken network sends no error.
    "tcp_user_timeout": 30_000,
}
PAGE = 2000
MAX_COUNTED = 1000  # texts of an own field
LAST = "\U0010ffff"  # sorts after all words
VOCABULARY_COMMENT = "The words of an index of contentspider"
# PostgreSQL's limits of a tsvector: positions per word, and the largest position.
MAX_POSITIONS, LAST_POSITION = 255, 16_383
# A tsvector has four weights, A to D. Each weight of the schema gets a letter; A is the largest.
LETTERS = dict(
    zip(sorted({field.weight for field in TEXT_FIELDS}, reverse=True), "ABCD", strict=False)
)
WEIGHTS = [
    next((weight / max(LETTERS) for weight, letter in LETTERS.items() if letter == rank), 0.0)
    for rank in "DCBA"
]
# The letters of titles, headings and texts of links. A page that has the words of a query there in
# their order has its score multiplied.
PHRASED = "".join(letter for weight, letter in LETTERS.items() if weight > min(LETTERS))
PHRASE_WEIGHT = 2.0
SCALE = 500.0  # makes scores of words as large as in other engines (see `Titled`)
TITLE_LETTER = LETTERS[FIELDS_BY_NAME["title"].weight]  # no other text has it
COLUMNS = sql.SQL(", ").join(map(sql.Identifier, FIELDS_BY_NAME))
STATE = sql.SQL(", ").join(map(sql.Identifier, STATE_FIELDS))
TYPES = {Kind.NUMBER: "bigint", Kind.STORED: "json", Kind.DATE: "timestamptz"}
# Locks the name of an index until the transaction ends.
LOCK = "SELECT pg_advisory_xact_lock(hashtext(%s))"
BAD_DOCUMENT = (errors.DataError, errors.ProgramLimitExceeded, ValueError, TypeError)
# A failed connection lacks an error code. After messages with these words a retry does not help.
PERMANENT = re.compile("authentication|password|does not exist|pg_hba|permission|certificate")


class PostgreSQLEngine(TermEngine):
    """The table in ``postgresql://host:port/database/table``.

    libpq reads credentials and options of the connection from the environment: ``PGUSER``,
    ``PGPASSWORD``, ``PGSSLMODE``.
    """

    def __init__(self, url: str) -> None:
        self._display_url = redacted_url(url)
        parts = urlsplit(url)
        names = [unquote(name) for name in parts.path.split("/")[1:]]
        try:
            self._conninfo = make_conninfo(
                "", **CONNECTION, host=parts.hostname, port=parts.port, dbname=names[0]
            )
            (_, self._name) = names
        except (ValueError, IndexError):
            names = []
        # PostgreSQL cuts names after 63 bytes, and a rebuild appends a suffix to the name.
        if not all(names) or not re.fullmatch(r"[a-zA-Z0-9_-]{1,50}", "".join(names[1:])):
            raise EngineError(
                f"{self._display_url!r} is not the address of an index: write"
                " postgresql://host:port/database/table. The table's name has at most 50 letters,"
                " digits, '_' and '-'"
            )
        self._connection: Connection | None = None

    @property
    def _table(self) -> sql.Identifier:
        return sql.Identifier(self._name)

    @property
    def _vocabulary_table(self) -> sql.Identifier:
        return sql.Identifier(f"{self._name}__words")

    def open(self, is_writer: bool) -> str:
        with self._transaction() as connection:
            # Two processes may open a new index at once; only one creates the table.
            connection.execute(LOCK, [self._name])
            if (comment := self._comment(connection)) is not None:
                return self._identity_of(comment)
            if not is_writer:
                raise self._missing_index_error()
            return self._create_table(connection)

    def manifest(self) -> str:
        with self._transaction() as connection:
            return self._comment(connection) or ""

    def write_manifest(self, text: str) -> None:
        with self._transaction() as connection:
            self._write_comment(connection, text)

    def _change_manifest(self, change: Callable[[Manifest], Manifest]) -> None:
        with self._transaction() as connection:
            connection.execute(LOCK, [self._name])
            manifest = Manifest.load(
                self._comment(connection) or "", self._display_url, self.older_schemas
            )
            self._write_comment(connection, change(manifest).dump())

    def _write_comment(self, connection: Connection, text: str) -> None:
        comment = sql.SQL("COMMENT ON TABLE {} IS {}")
        connection.execute(comment.format(self._table, sql.Literal(text)))

    def _comment(self, connection: Connection, table: sql.Identifier | None = None) -> str | None:
        """Return the comment of a *table* (default: the index), maybe "", or None if the table does
        not exist.
        """
        row = connection.execute(
            "SELECT coalesce(obj_description(to_regclass(%(name)s), 'pg_class'), '') AS comment"
            " WHERE to_regclass(%(name)s) IS NOT NULL",
            {"name": (table or self._table).as_string()},
        ).fetchone()
        return None if row is None else str(row["comment"])

    def _create_table(self, connection: Connection) -> str:
        """Create the table and its indexes, and return the identity of the new index."""
        columns = [
            sql.SQL(_column_type(field)).format(sql.Identifier(field.name)) for field in FIELDS
        ]
        # PostgreSQL names the indexes: fixed names would collide with the old table's in a rebuild.
        for statement in (
            "CREATE TABLE {} ({}, own jsonb, words tsvector NOT NULL, PRIMARY KEY (id))",
            # `documents` reads pages of rows in this order.
            'ALTER TABLE {} ALTER id TYPE text COLLATE "C"',
            "CREATE INDEX ON {} (crawl, id)",
            "CREATE INDEX ON {} (language)",
            "CREATE INDEX ON {} USING gin (words)",
        ):
            connection.execute(sql.SQL(statement).format(self._table, sql.SQL(", ").join(columns)))
        self._create_vocabulary(connection)
        manifest = Manifest.new()
        self._write_comment(connection, manifest.dump())
        return manifest.identity

    def _create_vocabulary(self, connection: Connection) -> None:
        """Create the table of words. An index that was dropped by hand may have left one."""
        table = self._vocabulary_table
        self._check_vocabulary(connection)
        for statement in (
            "DROP TABLE IF EXISTS {}",
            # In the order of the bytes, words with a common prefix follow each other.
            'CREATE TABLE {} (word text COLLATE "C" PRIMARY KEY, documents bigint NOT NULL)',
        ):
            connection.execute(sql.SQL(statement).format(table))
        comment = sql.SQL("COMMENT ON TABLE {} IS {}")
        connection.execute(comment.format(table, sql.Literal(VOCABULARY_COMMENT)))

    def _check_vocabulary(self, connection: Connection) -> None:
        """Raise `EngineError` if the table of words belongs to another program."""
        if self._comment(connection, self._vocabulary_table) not in (None, VOCABULARY_COMMENT):
            raise EngineError(
                f"{self._display_url}: the table {self._name}__words belongs to another program:"
                " name another index"
            )

    def upsert(self, documents: Sequence[Document]) -> Sequence[Refusal]:
        """See `Engine.upsert`. A bad document fails its whole batch: nothing is written then."""
        statement = sql.SQL(
            "INSERT INTO {table} AS old ({columns}, own, words)"
            " VALUES ({values}, %(own)s, %(words)s::tsvector)"
            " ON CONFLICT (id) DO UPDATE SET ({columns}, own, words)"
            " = ROW ({new}, excluded.own, excluded.words)"
            " WHERE old.version <= excluded.version"
        ).format(
            table=self._table,
            columns=COLUMNS,
            values=sql.SQL(", ").join(map(sql.Placeholder, FIELDS_BY_NAME)),
            new=sql.SQL(", ").join(sql.Identifier("excluded", name) for name in FIELDS_BY_NAME),
        )
        with self._transaction() as connection, connection.cursor() as cursor:
            own_words = [_own_words(document) for document in documents]
            counts = Counter(
                word for texts in own_words for word in set(chain.from_iterable(texts.values()))
            )
            cursor.executemany(statement, list(map(self._values, documents, own_words)))
            # Two writers that lock the words in different orders would wait for each other.
            words = sorted(counts)
            cursor.execute(
                sql.SQL(
                    "INSERT INTO {vocabulary} AS old (word, documents)"
                    " SELECT * FROM unnest(%s::text[], %s::bigint[]) ON CONFLICT (word)"
                    " DO UPDATE SET documents = old.documents + excluded.documents"
                ).format(vocabulary=self._vocabulary_table),
                [words, [counts[word] for word in words]],
            )
        return []

    def _values(
        self, document: Document, own_words: Mapping[str, Sequence[str]]
    ) -> dict[str, object]:
        """Return the values of the placeholders in `upsert`, by name."""
        record = document.record()
        return {
            **dict.fromkeys(FIELDS_BY_NAME),
            **record,
            **{name: Json(record[name]) for name in ("fields", "more") if name in record},
            "own": Json(own_values) if (own_values := document.own_values()) else None,
            "words": _vector(own_words),
        }

    def delete(self, ids: Sequence[str]) -> None:
        self._execute("DELETE FROM {table} WHERE id = ANY(%(ids)s)", ids=list(ids))

    def find(self, ids: Sequence[str]) -> Mapping[str, DocumentState]:
        rows = self._execute("SELECT {state} FROM {table} WHERE id = ANY(%(ids)s)", ids=list(ids))
        return {row["id"]: DocumentState(**row) for row in rows}

    def documents(self, crawl: str = "") -> Iterator[DocumentState]:
        last = ""
        while True:
            # A cursor would keep one transaction open while the caller writes.
            rows = self._execute(
                "SELECT {state} FROM {table} WHERE id > %(last)s"
                " AND (crawl = %(crawl)s OR %(crawl)s = '') ORDER BY id LIMIT %(page)s",
                last=last,
                crawl=crawl,
                page=PAGE,
            )
            yield from (DocumentState(**row) for row in rows)
            if len(rows) < PAGE:
                return
            last = rows[-1]["id"]

    def count(self, crawl: str) -> int:
        statement = "SELECT count(*) AS documents FROM {table} WHERE crawl = %(crawl)s"
        return int(self._execute(statement, crawl=crawl)[0]["documents"])

    def records(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        statement = "SELECT {columns} FROM {table} WHERE id = ANY(%(ids)s)"
        return {row["id"]: _record(row) for row in self._execute(statement, ids=list(ids))}

    def addresses(self, offset: int, limit: int) -> Sequence[tuple[str, str]]:
        rows = self._execute(
            "SELECT url, title FROM {table} ORDER BY id LIMIT %(limit)s OFFSET %(offset)s",
            limit=limit,
            offset=offset,
        )
        return [(row["url"] or "", row["title"] or "") for row in rows]

    def _indexed_languages(self) -> Iterable[str]:
        rows = self._execute("SELECT DISTINCT language FROM {table} WHERE language IS NOT NULL")
        return [row["language"] for row in rows]

    def _vocabulary(self, prefix: str) -> Mapping[str, int]:
        """See `TermEngine._vocabulary`. A document counts each time it is written, and words stay
        when their documents are deleted: exact counts would slow down each write.
        """
        rows = self._execute(
            "SELECT word, documents FROM {vocabulary} WHERE word >= %(first)s AND word < %(last)s",
            {"vocabulary": self._vocabulary_table},
            first=prefix,
            last=prefix + LAST,
        )
        return {row["word"]: row["documents"] for row in rows}

    def _titles_with(self, wholes: Iterable[str], query: Query) -> Iterable[tuple[str | int, str]]:
        return self._titles(_any_title(wholes), query, sql.SQL("-length(title)"))

    def _titles_beginning(
        self, phrase: tuple[str, ...], query: Query
    ) -> Iterable[tuple[str | int, str]]:
        return self._titles(_phrase(phrase, TITLE_LETTER), query, sql.SQL("length(title)"))

    def _titles(
        self, words: str, query: Query, order: sql.Composable
    ) -> list[tuple[str | int, str]]:
        """Return id and title of the first `MAX_TITLES` pages, in an *order*, that match the
        filters of a query and the tsquery *words*.
        """
        conditions, values = _conditions(query, words)
        rows = self._execute(
            "SELECT id, title FROM {table} WHERE {conditions} ORDER BY {order}, id LIMIT %(most)s",
            {"conditions": conditions, "order": order},
            most=MAX_TITLES,
            **values,
        )
        return [(row["id"], row["title"] or "") for row in rows]

    def _search_terms(
        self, query: Query, groups: Sequence[Sequence[Term]], titles: Titled
    ) -> Results:
        alternatives = [f"({' & '.join(map(_match_term, terms))})" for terms in groups]
        words = " | ".join(filter(None, [*alternatives, _any_title(titles.titles)]))
        conditions, values = _conditions(query, words)
        parts = {
            "conditions": conditions,
            "order": order_terms(query.order),
            "facets": sql.SQL(", ").join(map(sql.Identifier, FACETS)),
        }
        counts = self._execute(
            "SELECT {facets}, grouping({facets}) AS other, count(*) AS documents FROM {table}"
            " WHERE {conditions} GROUP BY GROUPING SETS ((), {facets})",
            parts,
            **values,
        )
        rows = self._execute(
            "SELECT {columns},"
            " %(scale)s"
            " * sqrt(ts_rank_cd(%(weights)s::real[], words, %(words)s::tsquery, 1)::float8)"
            " * ts_rank(%(weights)s::real[], words, %(words)s::tsquery, 1)::float8"
            " * CASE WHEN words @@ %(phrases)s::tsquery THEN %(phrase_weight)s ELSE 1 END"
            " * CASE WHEN page_type = ANY(%(demoted)s) THEN %(demoted_weight)s ELSE 1 END"
            " + CASE WHEN words @@ %(wholes)s::tsquery THEN %(named_score)s ELSE 0 END"
            " + coalesce((%(title_scores)s::jsonb ->> id)::float8, 0) AS score"
            " FROM {table} WHERE {conditions} ORDER BY {order}score DESC, id"
            " LIMIT %(limit)s OFFSET %(offset)s",
            parts,
            weights=WEIGHTS,
            scale=SCALE,
            demoted=list(DEMOTED_TYPES),
            demoted_weight=DEMOTED_WEIGHT,
            title_scores=Json(dict(titles.scores)),
            phrases=" | ".join(_first_forms(terms) for terms in groups if len(terms) > 1),
            phrase_weight=PHRASE_WEIGHT,
            wholes=" | ".join(map(_lexeme, titles.wholes)),
            named_score=NAMED_SCORE,
            limit=query.limit,
            offset=query.offset,
            **values,
        )
        hits = [Hit(_record(row), row["score"]) for row in rows]
        total, facets = _total_and_facets(counts)
        for name in query.counted:
            rows = self._execute(
                "SELECT text.value, count(DISTINCT id) AS documents FROM {table},"
                " jsonb_array_elements_text(own #> %(path)s::text[]) AS text WHERE {conditions}"
                " GROUP BY text.value ORDER BY documents DESC, text.value LIMIT %(most)s",
                parts,
                path=[TEXT, name],
                most=MAX_COUNTED,
                **values,
            )
            facets[f"fields.{name}"] = {row["value"]: row["documents"] for row in rows}
        return Results(hits, total, facets)

    @contextmanager
    def rebuild(self) -> Iterator[tuple[PostgreSQLEngine, str]]:
        """See `Engine.rebuild`. The new index is a second table, which is renamed at the end."""
        with self._transaction() as connection:
            comment = self._comment(connection)
            self._check_vocabulary(connection)  # indexes of older versions have no such table
        if comment is not None:
            # Any schema may be replaced, but only a table that contentspider created.
            with suppress(SchemaMismatchError):
                self._identity_of(comment)
        new_engine = copy(self)
        new_engine._name = f"{self._name}__new"
        new_engine._connection = None
        try:
            new_engine._execute("DROP TABLE IF EXISTS {table}")
            yield new_engine, new_engine.open(is_writer=True)
            with self._transaction() as connection:
                for old, new in (
                    (self._table, new_engine._table),
                    (self._vocabulary_table, new_engine._vocabulary_table),
                ):
                    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(old))
                    connection.execute(sql.SQL("ALTER TABLE {} RENAME TO {}").format(new, old))
        finally:
            # After an exception the unfinished table stays until the next rebuild drops it.
            new_engine.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _execute(
        self,
        statement: LiteralString,
        parts: Mapping[str, sql.Composable] | None = None,
        **values: object,
    ) -> list[dict[str, Any]]:
        """Execute a statement in a transaction, and return its rows.

        ``{table}``, ``{columns}``, ``{state}`` and the names of *parts* are replaced in the
        statement. *values* are the values of its placeholders.
        """
        names = {"table": self._table, "columns": COLUMNS, "state": STATE}
        query = sql.SQL(statement).format(**names, **(parts or {}))
        with self._transaction() as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Give a connection in a transaction; raises its errors as `EngineError`."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = psycopg.connect(
                    self._conninfo, autocommit=True, row_factory=dict_row
                )
            with self._connection.transaction():
                yield self._connection
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            message = f"{self._display_url}: {_one_line(error)}"
            is_permanent = error.sqlstate is None and PERMANENT.search(message)
            if is_permanent or isinstance(error, BAD_DOCUMENT):
                raise EngineError(message) from error
            # A server that dies may leave the connection open, and in the middle of a command.
            self.close()
            raise EngineDownError(message) from error
        except (psycopg.Error, ValueError, TypeError) as error:
            raise EngineError(f"{self._display_url}: {_one_line(error)}") from error


def _column_type(field: Field) -> LiteralString:
    """Return the definition of a field's column, with ``{}`` for its name."""
    column_type = "{} " + TYPES.get(field.kind, "text")
    return column_type + "[]" if field.is_list else column_type


def _conditions(query: Query, words: str) -> tuple[sql.Composable, dict[str, object]]:
    """Return the conditions of the filters of a query and of the tsquery *words* (none if ""), and
    the values of their placeholders.
    """
    conditions: list[sql.Composable] = [sql.SQL("words @@ %(words)s::tsquery" if words else "true")]
    conditions += [
        sql.SQL("{} = ANY({})").format(sql.Identifier(name), sql.Placeholder(name))
        for name in query.filters
    ]
    own_conditions, own_values = field_conditions(query.required)
    # PostgreSQL rejects texts with NUL. No document has such a value.
    values = (
        {"words": words}
        | own_values
        | {
            name: [without_nul(value) for value in values]
            for name, values in query.conditions.items()
        }
    )
    return sql.SQL(" AND ").join([*conditions, *own_conditions]), values


def _match_term(term: Term) -> str:
    """Return the tsquery that matches any form of a term."""
    return f"({' | '.join(map(_phrase, term))})"


def _any_title(wholes: Iterable[str]) -> str:
    """Return the tsquery for titles that are one of some `whole_text`, "" for none."""
    return " | ".join(_phrase([whole], TITLE_LETTER) for whole in wholes)


def _first_forms(terms: Sequence[Term]) -> str:
    """Return the tsquery for the words of some terms in this order in `PHRASED` texts."""
    return _phrase([word for term in terms for word in term[0]], PHRASED)


def _phrase(words: Sequence[str], letters: str = "") -> str:
    """Return the tsquery for a phrase of words; *letters* limits it to words with these weights."""
    return " <-> ".join(
        f"{_lexeme(word)}:{letters}" if letters else _lexeme(word) for word in words
    )


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    record = {name: row[name] for name in FIELDS_BY_NAME if row[name] is not None}
    for name in DATE_FIELDS:
        if name in record:
            record[name] = record[name].astimezone(timezone.utc).isoformat(timespec="seconds")
    return record


def _own_words(document: Document) -> dict[str, list[str]]:
    """Return the words of each text of a document, by the field's name."""
    return {name: text.split() for name, text in document.searchable_words().items()}


def _vector(own_words: Mapping[str, Sequence[str]]) -> str:
    """Return a document's words as the text of a tsvector, with positions and weights.

    Stems stand behind the text. At the positions of their words they would count as much as the
    words of a query themselves, and the ranking is worse (docs/results.md, Search).
    """
    positions: dict[str, list[str]] = {}
    position = 0
    for field in TEXT_FIELDS:
        for word in own_words[field.name]:
            # After the last position the count begins again, so that phrases still match.
            position = position % LAST_POSITION + 1
            positions.setdefault(word, []).append(f"{position}{LETTERS[field.weight]}")
    return " ".join(
        f"{_lexeme(word)}:{','.join(word_positions[:MAX_POSITIONS])}"
        for word, word_positions in positions.items()
    )


def _lexeme(word: str) -> str:
    return f"'{word}'"  # a word has only letters, digits, marks, and `JOINT`


def _total_and_facets(
    rows: Sequence[Mapping[str, Any]],
) -> tuple[int, dict[str, dict[str, int]]]:
    """Return the total and the counts of facets from the rows of the grouping sets."""
    total, facets = 0, {name: dict[str, int]() for name in FACETS}
    for row in rows:
        # SQL's grouping() has a bit for each facet: 0 if the row groups by the facet.
        bits = f"{row['other']:0{len(FACETS)}b}"
        grouped = [name for name, bit in zip(FACETS, bits, strict=True) if bit == "0"]
        if not grouped:
            total = row["documents"]
        elif (value := row[grouped[0]]) is not None:
            facets[grouped[0]][value] = row["documents"]
    return total, facets


def _one_line(error: BaseException) -> str:
    """Return the main message of an error in one line."""
    message = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return " ".join((message or str(error)).split())
