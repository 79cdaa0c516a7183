"""The tables of a ledger, and how those of older versions become the present ones."""

from __future__ import annotations

import json
import re
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contentspider.page.about.hints import Hints
from contentspider.page.blocks import Block, PageBlocks
from contentspider.page.document import Page
from contentspider.site.sample import sample_order

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Mapping

SCHEMA = 8
# Row numbers are never given out twice (AUTOINCREMENT): items are recorded under their page's.
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL,
    pid INTEGER NOT NULL, ended TEXT, reason TEXT);
CREATE TABLE addresses (number INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint BLOB NOT NULL UNIQUE, url TEXT NOT NULL, priority INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT, request TEXT, target TEXT, canonical TEXT,
    deaths INTEGER NOT NULL DEFAULT 0, host TEXT NOT NULL DEFAULT '');
CREATE INDEX queue ON addresses (priority DESC, number, host) WHERE state = 'queued';
CREATE TABLE claims (claim BLOB PRIMARY KEY, address INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE held_items (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE,
    address INTEGER, site TEXT NOT NULL, item TEXT NOT NULL, page BLOB NOT NULL,
    page_address INTEGER);
CREATE INDEX held_by_site ON held_items (site, number);
CREATE TABLE items (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,
    address INTEGER, line BLOB, reason TEXT, page TEXT, names TEXT);
CREATE TABLE pages (site TEXT NOT NULL, place BLOB NOT NULL, url TEXT NOT NULL, page BLOB NOT NULL,
    PRIMARY KEY (site, place)) WITHOUT ROWID;
CREATE TABLE answers (address INTEGER PRIMARY KEY, etag TEXT, last_modified TEXT, links BLOB,
    moved_from TEXT, is_orphan INTEGER NOT NULL, is_check INTEGER NOT NULL,
    is_unsent INTEGER NOT NULL);
CREATE TABLE visits (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    address INTEGER, visit TEXT NOT NULL, content BLOB, page BLOB);
CREATE TABLE lastmods (id TEXT PRIMARY KEY, has_changed INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE own_texts (number INTEGER PRIMARY KEY, site TEXT NOT NULL, url TEXT NOT NULL,
    source TEXT NOT NULL, answer TEXT NOT NULL, record BLOB NOT NULL);
CREATE INDEX own_by_site ON own_texts (site, source);
CREATE INDEX own_by_answer ON own_texts (answer);
CREATE TABLE own_answers (address TEXT PRIMARY KEY, site TEXT NOT NULL, etag TEXT NOT NULL,
    last_modified TEXT NOT NULL) WITHOUT ROWID;
"""
OLDEST = 2
# What makes a version the next one. When TABLES change, these keep what they were.
TABLES_3 = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL,
    pid INTEGER NOT NULL, ended TEXT, reason TEXT);
CREATE TABLE addresses (number INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint BLOB NOT NULL UNIQUE, url TEXT NOT NULL, priority INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT, request TEXT, target TEXT, canonical TEXT,
    content_hash TEXT, deaths INTEGER NOT NULL DEFAULT 0);
CREATE INDEX queue ON addresses (priority DESC, number) WHERE state = 'queued';
CREATE TABLE claims (claim BLOB PRIMARY KEY, address INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE held_items (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE,
    address INTEGER, site TEXT NOT NULL, item TEXT NOT NULL, page BLOB NOT NULL);
CREATE INDEX held_by_site ON held_items (site, number);
CREATE TABLE items (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,
    address INTEGER, line BLOB, reason TEXT);
CREATE TABLE pages (site TEXT NOT NULL, place BLOB NOT NULL, url TEXT NOT NULL, page BLOB NOT NULL,
    PRIMARY KEY (site, place)) WITHOUT ROWID;
"""
TO_3 = f"""
ALTER TABLE facts RENAME TO old_facts; ALTER TABLE runs RENAME TO old_runs;
ALTER TABLE claims RENAME TO old_claims; ALTER TABLE items RENAME TO old_items;
DROP INDEX queue; DROP INDEX held_by_site;
{TABLES_3}
INSERT INTO facts SELECT name, value FROM old_facts;
INSERT INTO runs SELECT run, started, pid, ended, reason FROM old_runs;
INSERT INTO addresses SELECT id, fingerprint, url, priority, state, reason, request, target,
    canonical, content_hash, 0 FROM urls;
INSERT INTO claims SELECT claim, url FROM old_claims;
INSERT INTO held_items SELECT number, key, url, site, item, page_of_2(page) FROM held;
INSERT INTO items SELECT number, key, url, line, reason FROM old_items;
INSERT OR IGNORE INTO pages SELECT site, sample_order(url), url, page_of_2(page) FROM samples;
DROP TABLE old_facts; DROP TABLE old_runs; DROP TABLE urls; DROP TABLE old_claims;
DROP TABLE held; DROP TABLE old_items; DROP TABLE samples;
"""  # noqa: S608 - it is made of our own tables
TO_4 = """
ALTER TABLE addresses ADD COLUMN host TEXT NOT NULL DEFAULT '';
UPDATE addresses SET host = host_of(url);
DROP INDEX queue;
CREATE INDEX queue ON addresses (priority DESC, number, host) WHERE state = 'queued';
ALTER TABLE held_items ADD COLUMN page_address INTEGER;
UPDATE held_items SET page_address = address;
"""
TO_5 = """
ALTER TABLE addresses DROP COLUMN content_hash;
CREATE TABLE answers (address INTEGER PRIMARY KEY, etag TEXT, last_modified TEXT, links BLOB,
    moved_from TEXT, is_orphan INTEGER NOT NULL, is_check INTEGER NOT NULL,
    is_unsent INTEGER NOT NULL);
CREATE TABLE visits (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    address INTEGER, visit TEXT NOT NULL, content BLOB, page BLOB);
"""
TO_6 = """
ALTER TABLE items ADD COLUMN page TEXT;
ALTER TABLE items ADD COLUMN names TEXT;
"""
TO_7 = """
CREATE TABLE lastmods (id TEXT PRIMARY KEY, has_changed INTEGER NOT NULL) WITHOUT ROWID;
"""
TO_8 = """
CREATE TABLE own_texts (number INTEGER PRIMARY KEY, site TEXT NOT NULL, url TEXT NOT NULL,
    source TEXT NOT NULL, answer TEXT NOT NULL, record BLOB NOT NULL);
CREATE INDEX own_by_site ON own_texts (site, source);
CREATE INDEX own_by_answer ON own_texts (answer);
CREATE TABLE own_answers (address TEXT PRIMARY KEY, site TEXT NOT NULL, etag TEXT NOT NULL,
    last_modified TEXT NOT NULL) WITHOUT ROWID;
"""
STEPS = {2: TO_3, 3: TO_4, 4: TO_5, 5: TO_6, 6: TO_7, 7: TO_8}


@dataclass(frozen=True, slots=True)
class Schema:
    """What is in a file: what it is called, the version and the statements of its tables, the
    oldest version that *steps* (statements, by the version that they begin with) make it of, and
    the functions that these call.
    """

    name: str
    version: int
    tables: str
    oldest: int
    steps: Mapping[int, str] = field(default_factory=dict)
    functions: Mapping[str, Callable[[Any], str | bytes]] = field(default_factory=dict)

    def upgrade(self, connection: sqlite3.Connection, version: int) -> None:
        """Make the tables of a *version* from the oldest on the present ones, in one
        transaction.
        """
        for name, function in self.functions.items():
            connection.create_function(name, 1, function, deterministic=True)
        steps = " ".join(self.steps[step] for step in range(version, self.version))
        connection.executescript(f"BEGIN; {steps} PRAGMA user_version = {self.version}; COMMIT")


def host_of(address: str) -> str:
    """Return the host of an address, with its port if it names one.

    >>> host_of("http://me@Example.org:80?a/b"), host_of("data:,x")
    ('example.org:80', '')
    """
    _, slashes, rest = address.partition("://")
    return re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2].lower() if slashes else ""


def _page_of_2(data: bytes) -> bytes:
    """Return a page as `Page.dump` writes it from what version 2 wrote; a damaged one as it is, for
    its reader to say so.
    """
    try:
        record = json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
        said = record["hints"]
        titles, descriptions = tuple(said["titles"]), tuple(said["descriptions"])
        hints = Hints(titles, descriptions, said["language"], said["canonical"])
        content = PageBlocks(
            parents=record["parents"],
            tags=record["tags"],
            paths=record["paths"],
            positions=record["positions"],
            truncated=record["truncated"],
            attributes=[[(name, value) for name, value in each] for each in record["attributes"]],
            visuals=record["visuals"],
        )
        for text, container, link_chars, links, bold_chars, row, item, spans in record["blocks"]:
            tag, path = content.tags[container], content.paths[container]
            marks = tuple((start, end, mark) for start, end, mark in spans)
            content.blocks.append(
                Block(text, path, tag, container, link_chars, links, bold_chars, row, item, marks)
            )
        return Page(record["url"], content, hints).dump()
    except (zlib.error, ValueError, KeyError, TypeError, IndexError):
        return data


LEDGER = Schema(
    "ledger",
    SCHEMA,
    TABLES,
    OLDEST,
    STEPS,
    {"sample_order": sample_order, "host_of": host_of, "page_of_2": _page_of_2},
)
