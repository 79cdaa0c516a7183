"""The PostgreSQL tables of a shared crawl: a ledger's tables, and which worker has which rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

VERSION = 3
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


def _replacing(key: str, *columns: str) -> str:
    values = ", ".join(f"{name} = excluded.{name}" for name in columns)
    return f"({key}) DO UPDATE SET {values}"


# The number of a row begins with the number of its run, so that workers do not choose the same one.
# Tables are written in the order of `TABLES`: `claims` may refuse rows of later tables.
ADDRESSES = Table(
    "addresses",
    "number",
    {
        "number": "bigint",
        "fingerprint": "bytea",
        "url": "text",
        "priority": "bigint",
        "state": "text",
        "reason": "text",
        "request": "text",
        "target": "text",
        "canonical": "text",
        "deaths": "bigint",
        "host": "text",
    },
    has_worker=True,
)
STATE, DEATHS = (list(ADDRESSES.columns).index(name) for name in ("state", "deaths"))
CLAIMS = Table("claims", "claim", {"claim": "bytea", "address": "bigint"})
HELD = Table(
    "held_items",
    "number",
    {
        "number": "bigint",
        "key": "text",
        "address": "bigint",
        "site": "text",
        "item": "text",
        "page": "bytea",
        "page_address": "bigint",
    },
    has_worker=True,
)
OWN_TEXTS = Table(
    "own_texts",
    "number",
    dict.fromkeys(("site", "url", "source", "answer"), "text") | {"record": "bytea"},
    has_worker=True,
)
FACTS = Table(
    "facts",
    "name",
    {"name": "text", "value": "text"},
    _replacing("worker, name", "value"),
    has_worker=True,
    order=("worker", "name"),
)
_ANSWER = {
    "address": "bigint",
    "etag": "text",
    "last_modified": "text",
    "links": "bytea",
    "moved_from": "text",
    "is_orphan": "bigint",
    "is_check": "bigint",
    "is_unsent": "bigint",
}
ANSWERS = Table("answers", "address", _ANSWER, _replacing("address", *list(_ANSWER)[1:]))
_VISIT = {"id": "text", "address": "bigint", "visit": "text", "content": "bytea", "page": "bytea"}
_OWN_ANSWER = dict.fromkeys(("address", "site", "etag", "last_modified"), "text")
TABLES = (
    ADDRESSES,
    CLAIMS,
    HELD,
    Table(
        "items",
        "number",
        {
            "key": "text",
            "address": "bigint",
            "line": "bytea",
            "reason": "text",
            "page": "text",
            "names": "text",
        },
        order=("number",),
    ),
    Table("visits", "id", _VISIT, _replacing("id", *list(_VISIT)[1:]), order=("number",)),
    ANSWERS,
    Table(
        "lastmods",
        "id",
        {"id": "text", "has_changed": "bigint"},
        "(id) DO UPDATE SET has_changed = greatest(lastmods.has_changed, excluded.has_changed)",
    ),
    Table(
        "pages",
        "url",
        {"site": "text", "place": "bytea", "url": "text", "page": "bytea"},
        order=("site", "place"),
    ),
    OWN_TEXTS,
    Table("own_answers", "address", _OWN_ANSWER, _replacing("address", *list(_OWN_ANSWER)[1:])),
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
