"""The tables of a book.

A row of ``pages`` is a version of a page. A crawl writes its versions with the number of its run.
Readers see the newest version of each page up to the run in ``published``, and the change records
up to it: so nobody sees a crawl before it is published, and a crawl that fails leaves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

NO_MIGRATIONS: Mapping[int, str] = MappingProxyType({})


class Schema(NamedTuple):
    """The tables of a SQLite file: a name for messages, a version, and the SQL that creates the
    tables. *migrations* has, by version, the SQL that brings a file to the next version.
    """

    name: str
    version: int
    tables: str
    migrations: Mapping[int, str] = NO_MIGRATIONS


# What belongs to a crawl alone, and is empty when the next one begins. Row numbers are never reused
# (AUTOINCREMENT), because items refer to the row of their page.
CRAWL = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE addresses (number INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint BLOB NOT NULL UNIQUE, url TEXT NOT NULL, priority INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT, target TEXT, canonical TEXT,
    deaths INTEGER NOT NULL DEFAULT 0, host TEXT NOT NULL DEFAULT '');
CREATE INDEX duplicates ON addresses (target) WHERE reason = 'duplicate';
CREATE INDEX queue ON addresses (priority DESC, number, host) WHERE state = 'queued';
CREATE TABLE requests (address INTEGER PRIMARY KEY, request TEXT NOT NULL);
CREATE TABLE claims (claim BLOB PRIMARY KEY, address INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (address INTEGER PRIMARY KEY, etag TEXT, last_modified TEXT, links INTEGER,
    moved_from TEXT, is_orphan INTEGER NOT NULL, is_check INTEGER NOT NULL,
    is_unsent INTEGER NOT NULL, reading BLOB NOT NULL DEFAULT x'');
CREATE INDEX orphans ON answers (address) WHERE is_orphan;
CREATE TABLE held_items (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE,
    address INTEGER, site TEXT NOT NULL, item TEXT NOT NULL, page INTEGER NOT NULL,
    page_address INTEGER);
CREATE INDEX held_by_site ON held_items (site, number);
CREATE TABLE items (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,
    address INTEGER, line INTEGER, reason TEXT, page TEXT, names TEXT);
CREATE TABLE sample (site TEXT NOT NULL, place BLOB NOT NULL, url TEXT NOT NULL,
    page INTEGER NOT NULL, PRIMARY KEY (site, place)) WITHOUT ROWID;
CREATE TABLE sitemap_dates (id TEXT PRIMARY KEY, has_changed INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE own_texts (number INTEGER PRIMARY KEY, site TEXT NOT NULL, url TEXT NOT NULL,
    source TEXT NOT NULL, answer TEXT NOT NULL, record BLOB NOT NULL);
CREATE INDEX own_by_site ON own_texts (site, source);
CREATE INDEX own_by_answer ON own_texts (answer);
CREATE TABLE own_sources (address TEXT PRIMARY KEY, site TEXT NOT NULL, etag TEXT NOT NULL,
    last_modified TEXT NOT NULL) WITHOUT ROWID;
"""
CRAWL_TABLES = (
    "facts addresses requests claims answers held_items items sample sitemap_dates own_texts"
    " own_sources"
).split()

# The tables that the next crawl needs.
SITE = """
CREATE TABLE published (run INTEGER NOT NULL);
INSERT INTO published VALUES (0);
CREATE TABLE crawls (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,
    ended TEXT NOT NULL DEFAULT '', is_complete INTEGER NOT NULL DEFAULT 0);
CREATE TABLE runs (number INTEGER PRIMARY KEY AUTOINCREMENT, crawl INTEGER NOT NULL,
    started TEXT NOT NULL, pid INTEGER NOT NULL, ended TEXT, reason TEXT);
CREATE TABLE dictionaries (number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,
    words BLOB NOT NULL);
CREATE TABLE contents (number INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,
    dictionary INTEGER, base INTEGER, data BLOB NOT NULL);
CREATE TABLE pages (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL,
    run INTEGER NOT NULL, crawl INTEGER NOT NULL, origin TEXT NOT NULL, address INTEGER,
    url TEXT NOT NULL, site TEXT NOT NULL, state TEXT NOT NULL, first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL, last_fetched TEXT NOT NULL, changed_at TEXT NOT NULL,
    content_hash TEXT NOT NULL, text_hash TEXT NOT NULL, layout_hash TEXT NOT NULL,
    model TEXT NOT NULL, etag TEXT NOT NULL, last_modified TEXT NOT NULL, missing INTEGER NOT NULL,
    missing_in INTEGER NOT NULL, changes INTEGER NOT NULL, changed_days REAL NOT NULL,
    still_days REAL NOT NULL, doubt TEXT NOT NULL, anchors TEXT NOT NULL, item_hash TEXT NOT NULL,
    item_state INTEGER NOT NULL, seq INTEGER NOT NULL, record INTEGER NOT NULL,
    facts TEXT NOT NULL, content INTEGER, previous INTEGER, page INTEGER, item INTEGER,
    links INTEGER, reading BLOB NOT NULL DEFAULT x'');
CREATE UNIQUE INDEX versions ON pages (id, run);
CREATE INDEX pages_by_run ON pages (run);
CREATE INDEX pages_by_address ON pages (address);
CREATE INDEX pages_by_seq ON pages (seq);
CREATE INDEX live_by_text ON pages (text_hash, site) WHERE state = 'live';
CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL,
    crawl INTEGER NOT NULL, origin TEXT NOT NULL, at TEXT NOT NULL, id TEXT NOT NULL,
    url TEXT NOT NULL, change TEXT NOT NULL, change_ratio REAL NOT NULL DEFAULT 0,
    change_cause TEXT NOT NULL DEFAULT '', previous_hash TEXT NOT NULL DEFAULT '',
    content_hash TEXT NOT NULL DEFAULT '', first_seen TEXT NOT NULL, changed_at TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '', previous_id TEXT NOT NULL DEFAULT '',
    fields TEXT NOT NULL DEFAULT '');
CREATE INDEX unchanged ON changes (seq) WHERE change = 'unchanged';
CREATE TABLE anchors (target TEXT NOT NULL, text TEXT NOT NULL, run INTEGER NOT NULL,
    pages INTEGER NOT NULL, PRIMARY KEY (target, text, run)) WITHOUT ROWID;
CREATE INDEX anchors_by_text ON anchors (text);
CREATE TABLE copies (id TEXT NOT NULL, run INTEGER NOT NULL, original TEXT NOT NULL,
    crawl INTEGER NOT NULL, url TEXT NOT NULL, PRIMARY KEY (id, run)) WITHOUT ROWID;
CREATE INDEX copies_by_original ON copies (original);
CREATE TABLE distrusted (site TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stale (site TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE counters (site TEXT NOT NULL, place TEXT NOT NULL,
    PRIMARY KEY (site, place)) WITHOUT ROWID;
CREATE TABLE alternating (site TEXT NOT NULL, slot TEXT NOT NULL,
    PRIMARY KEY (site, slot)) WITHOUT ROWID;
CREATE TABLE slot_lines (site TEXT NOT NULL, slot TEXT NOT NULL, page TEXT NOT NULL,
    crawl INTEGER NOT NULL, lines BLOB NOT NULL,
    PRIMARY KEY (site, slot, page, crawl)) WITHOUT ROWID;
CREATE TABLE lastmods (site TEXT PRIMARY KEY, true_unchanged REAL NOT NULL,
    false_unchanged REAL NOT NULL, true_changed REAL NOT NULL,
    false_changed REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE dead (id TEXT PRIMARY KEY, first TEXT NOT NULL, last TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE broken (id TEXT PRIMARY KEY, url TEXT NOT NULL, reason TEXT NOT NULL,
    crawls INTEGER NOT NULL, last_crawl INTEGER NOT NULL, next_crawl INTEGER NOT NULL,
    last TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE refused (site TEXT PRIMARY KEY, crawls INTEGER NOT NULL,
    last_crawl INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE own_answers (address TEXT PRIMARY KEY, site TEXT NOT NULL, etag TEXT NOT NULL,
    last_modified TEXT NOT NULL, texts BLOB NOT NULL);
CREATE INDEX own_answers_by_site ON own_answers (site);
"""

MIGRATIONS = MappingProxyType(
    {
        20: "ALTER TABLE pages ADD COLUMN reading BLOB NOT NULL DEFAULT x'';"
        " ALTER TABLE answers ADD COLUMN reading BLOB NOT NULL DEFAULT x'';"
        " CREATE INDEX IF NOT EXISTS duplicates ON addresses (target) WHERE reason = 'duplicate';",
        21: "CREATE TABLE IF NOT EXISTS alternating (site TEXT NOT NULL, slot TEXT NOT NULL,"
        " PRIMARY KEY (site, slot)) WITHOUT ROWID;"
        " CREATE TABLE IF NOT EXISTS slot_lines (site TEXT NOT NULL,"
        " slot TEXT NOT NULL, page TEXT NOT NULL, crawl INTEGER NOT NULL, lines BLOB NOT NULL,"
        " PRIMARY KEY (site, slot, page, crawl)) WITHOUT ROWID;",
        # The keys of lines were other hashes: all lines would seem to have changed once.
        22: "DELETE FROM slot_lines;",
    }
)
BOOK = Schema("book", 23, CRAWL + SITE, MIGRATIONS)
