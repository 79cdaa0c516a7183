"""The PostgreSQL tables of a shared crawl: a ledger's tables, and which worker has which rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from contentspider.state.ledger.database import columns_of
from contentspider.state.schema import LEDGER

VERSION = 4
TYPES = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea"}  # of SQLite and PostgreSQL
Row = tuple[Any, ...]


class Table(NamedTuple):
    """A table of the ledger that workers share.

    *key* is the column that identifies a changed row, *columns* maps names to PostgreSQL types,
    *on_conflict* says what happens to a row that exists already, *has_worker* tells whether rows
    belong to a worker, and *order* has the columns that sort a table for reading (default: *key*).
    """

    name: str
    key: str
    columns: dict[str, str]
    on_conflict: str = "DO NOTHING"
    has_worker: bool = False
    order: tuple[str, ...] = ()

    @property
    def names(self) -> str:
        """The names of the columns, separated by commas."""
        return ", ".join(self.columns)

    def without(self, rows: Iterable[Row], addresses: Collection[int]) -> list[Row]:
        """Return the rows that do not belong to one of the *addresses* (numbers)."""
        if "address" not in self.columns:
            return list(rows)
        place = list(self.columns).index("address")
        return [row for row in rows if row[place] not in addresses]


def _columns(table: str, *, but: str = "") -> dict[str, str]:
    """Return the columns of a table of the ledger with their PostgreSQL types. The column *but* is
    left out: PostgreSQL numbers its rows.
    """
    columns = columns_of(LEDGER, table)
    return {name: TYPES[kind] for name, kind in columns.items() if name != but}


def _replaced(name: str, key: str) -> Table:
    """Return a table whose rows replace earlier rows with the same *key*."""
    columns = _columns(name, but="number")
    values = ", ".join(f"{column} = excluded.{column}" for column in columns if column != key)
    return Table(name, key, columns, f"({key}) DO UPDATE SET {values}")


# The number of a row begins with the number of its run, so that workers do not choose the same one.
# Tables are written in the order of `TABLES`: `claims` may refuse rows of later tables.
ADDRESSES = Table("addresses", "number", _columns("addresses"), has_worker=True)
STATE, DEATHS = (list(ADDRESSES.columns).index(name) for name in ("state", "deaths"))
CLAIMS = Table("claims", "claim", _columns("claims"))
HELD = Table("held_items", "number", _columns("held_items"), has_worker=True)
OWN_TEXTS = Table("own_texts", "number", _columns("own_texts", but="number"), has_worker=True)
FACTS = Table(
    "facts",
    "name",
    _columns("facts"),
    "(worker, name) DO UPDATE SET value = excluded.value",
    has_worker=True,
    order=("worker", "name"),
)
ANSWERS = _replaced("answers", "address")
TABLES = (
    ADDRESSES,
    CLAIMS,
    HELD,
    Table("items", "number", _columns("items", but="number"), order=("number",)),
    _replaced("visits", "id")._replace(order=("number",)),
    ANSWERS,
    Table(
        "lastmods",
        "id",
        _columns("lastmods"),
        "(id) DO UPDATE SET has_changed = greatest(lastmods.has_changed, excluded.has_changed)",
    ),
    Table("pages", "url", _columns("pages"), order=("site", "place")),
    OWN_TEXTS,
    _replaced("own_answers", "address"),
    FACTS,
)
# Rows with *written* have the number of their transaction. All transactions older than the oldest
# running one are complete; row numbers would not show that.
SCHEMA = """
CREATE TABLE crawl (version integer NOT NULL, key text NOT NULL, ender bigint, ended timestamptz);
CREATE TABLE runs (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started timestamptz NOT NULL DEFAULT clock_timestamp(), process text NOT NULL,
    lease timestamptz NOT NULL, ended timestamptz, reason text,
    is_idle boolean NOT NULL DEFAULT false);
CREATE TABLE addresses (number bigint PRIMARY KEY, fingerprint bytea NOT NULL UNIQUE,
    url text NOT NULL, priority bigint NOT NULL, state text NOT NULL, reason text, request text,
    target text, canonical text, deaths bigint NOT NULL DEFAULT 0, host text NOT NULL,
    worker bigint) WITH (fillfactor = 80);
CREATE INDEX queue ON addresses (priority DESC, number) WHERE state = 'queued';
CREATE INDEX suspects ON addresses (deaths) WHERE state = 'queued' AND deaths > 0;
CREATE INDEX taken ON addresses (worker) WHERE state IN ('taken', 'held', 'retry');
CREATE TABLE claims (claim bytea PRIMARY KEY, address bigint NOT NULL);
CREATE TABLE held_items (number bigint PRIMARY KEY, key text UNIQUE, address bigint,
    site text NOT NULL, item text NOT NULL, page bytea NOT NULL, page_address bigint,
    worker bigint NOT NULL);
CREATE INDEX held_by_site ON held_items (site);
CREATE TABLE items (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL UNIQUE, address bigint, line bytea, reason text, page text, names text);
CREATE TABLE visits (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE, address bigint, visit text NOT NULL, content bytea, page bytea);
CREATE TABLE answers (address bigint PRIMARY KEY, etag text, last_modified text, links bytea,
    moved_from text, is_orphan bigint NOT NULL, is_check bigint NOT NULL,
    is_unsent bigint NOT NULL);
CREATE TABLE lastmods (id text PRIMARY KEY, has_changed bigint NOT NULL);
CREATE TABLE pages (site text NOT NULL, place bytea NOT NULL, url text NOT NULL,
    page bytea NOT NULL, PRIMARY KEY (site, place));
CREATE TABLE own_texts (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    site text NOT NULL, url text NOT NULL, source text NOT NULL, answer text NOT NULL,
    record bytea NOT NULL, worker bigint NOT NULL,
    written xid8 NOT NULL DEFAULT pg_current_xact_id());
CREATE UNIQUE INDEX own_text ON own_texts (md5(site || ' ' || source || ' ' || url), md5(record));
CREATE INDEX own_texts_written ON own_texts (written);
CREATE TABLE own_answers (address text PRIMARY KEY, site text NOT NULL, etag text NOT NULL,
    last_modified text NOT NULL);
CREATE TABLE facts (worker bigint NOT NULL, name text NOT NULL, value text NOT NULL,
    PRIMARY KEY (worker, name));
CREATE TABLE models (site text NOT NULL, manifest text, weights bytea, worker bigint NOT NULL,
    written xid8 NOT NULL DEFAULT pg_current_xact_id());
CREATE TABLE turns (site text PRIMARY KEY, worker bigint NOT NULL);
CREATE TABLE hosts (host text PRIMARY KEY, next timestamptz NOT NULL);
"""
