"""The tables of a history."""

from __future__ import annotations

from contentspider.state.ledger.schema import Schema

TABLES = """
CREATE TABLE distrusted (site TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE counters (site TEXT NOT NULL, place TEXT NOT NULL,
    PRIMARY KEY (site, place)) WITHOUT ROWID;
CREATE TABLE lastmods (site TEXT PRIMARY KEY, still REAL NOT NULL, missed REAL NOT NULL,
    said REAL NOT NULL, needless REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE crawls (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,
    visits INTEGER NOT NULL, ended TEXT NOT NULL, is_complete INTEGER NOT NULL);
CREATE TABLE pages (id TEXT PRIMARY KEY, url TEXT NOT NULL, site TEXT NOT NULL,
    state TEXT NOT NULL, first_seen TEXT NOT NULL, last_seen TEXT NOT NULL DEFAULT '',
    last_fetched TEXT NOT NULL DEFAULT '',
    changed_at TEXT NOT NULL DEFAULT '', content_hash TEXT NOT NULL DEFAULT '',
    text_hash TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
    etag TEXT NOT NULL DEFAULT '', last_modified TEXT NOT NULL DEFAULT '',
    missing INTEGER NOT NULL, missing_in INTEGER, fetches INTEGER NOT NULL,
    changes INTEGER NOT NULL, changed_days REAL NOT NULL DEFAULT 0,
    still_days REAL NOT NULL DEFAULT 0, previous_hash TEXT NOT NULL DEFAULT '', links BLOB,
    content BLOB, previous BLOB, page BLOB, item BLOB, item_hash TEXT NOT NULL DEFAULT '',
    seq INTEGER NOT NULL DEFAULT 0, fingerprint TEXT NOT NULL DEFAULT '');
CREATE TABLE copies (id TEXT PRIMARY KEY, owner TEXT NOT NULL,
    crawl INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX pages_by_seq ON pages (seq);
CREATE INDEX live_by_text ON pages (text_hash, site) WHERE state = 'live';
CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, crawl INTEGER NOT NULL,
    at TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL, change TEXT NOT NULL,
    change_ratio REAL NOT NULL DEFAULT 0, change_cause TEXT NOT NULL DEFAULT '',
    previous_hash TEXT NOT NULL DEFAULT '', content_hash TEXT NOT NULL DEFAULT '',
    first_seen TEXT NOT NULL, changed_at TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
    previous_id TEXT NOT NULL DEFAULT '');
CREATE INDEX unchanged ON changes (seq) WHERE change = 'unchanged';
CREATE TABLE own_answers (address TEXT PRIMARY KEY, site TEXT NOT NULL, etag TEXT NOT NULL,
    last_modified TEXT NOT NULL, texts BLOB NOT NULL);
CREATE INDEX own_answers_by_site ON own_answers (site);
"""
HISTORY = Schema("history", 5, TABLES)
