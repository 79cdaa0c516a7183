"""The tables of a ledger."""

from __future__ import annotations

from typing import NamedTuple


class Schema(NamedTuple):
    """What is in a SQLite file: its name for messages, its version, and the statements that make
    its tables.
    """

    name: str
    version: int
    tables: str


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
LEDGER = Schema("ledger", 8, TABLES)
