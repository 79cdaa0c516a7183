"""The tables of a crawl's ledger, of its history, and of the draft of a history."""

from __future__ import annotations

from typing import NamedTuple


class Schema(NamedTuple):
    """The tables of a SQLite file: a name for messages, a version, and the SQL that creates the
    tables. Files of the version before lack only the tables that are *added*, and get them.
    """

    name: str
    version: int
    tables: str
    added: str = ""


# Row numbers are never reused (AUTOINCREMENT), because items refer to the row of their page.
LEDGER = Schema(
    "ledger",
    11,
    """
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
""",
)

FAILURES = """
CREATE TABLE broken (id TEXT PRIMARY KEY, url TEXT NOT NULL, reason TEXT NOT NULL,
    crawls INTEGER NOT NULL, last_crawl INTEGER NOT NULL, next_crawl INTEGER NOT NULL,
    last TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE refused (site TEXT PRIMARY KEY, crawls INTEGER NOT NULL,
    last_crawl INTEGER NOT NULL) WITHOUT ROWID;
"""

HISTORY = Schema(
    "history",
    12,
    """
CREATE TABLE distrusted (site TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE stale (site TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE dictionaries (number INTEGER PRIMARY KEY AUTOINCREMENT, id INTEGER NOT NULL UNIQUE,
    kind TEXT NOT NULL, words BLOB NOT NULL);
CREATE TABLE counters (site TEXT NOT NULL, place TEXT NOT NULL,
    PRIMARY KEY (site, place)) WITHOUT ROWID;
CREATE TABLE lastmods (site TEXT PRIMARY KEY, true_unchanged REAL NOT NULL,
    false_unchanged REAL NOT NULL, true_changed REAL NOT NULL,
    false_changed REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE crawls (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE,
    visits INTEGER NOT NULL, ended TEXT NOT NULL, is_complete INTEGER NOT NULL);
CREATE TABLE pages (id TEXT PRIMARY KEY, url TEXT NOT NULL, site TEXT NOT NULL,
    state TEXT NOT NULL, first_seen TEXT NOT NULL, last_seen TEXT NOT NULL DEFAULT '',
    last_fetched TEXT NOT NULL DEFAULT '', changed_at TEXT NOT NULL DEFAULT '',
    content_hash TEXT NOT NULL DEFAULT '', text_hash TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '', etag TEXT NOT NULL DEFAULT '',
    last_modified TEXT NOT NULL DEFAULT '', missing INTEGER NOT NULL DEFAULT 0,
    missing_in INTEGER, changes INTEGER NOT NULL DEFAULT 0, changed_days REAL NOT NULL DEFAULT 0,
    still_days REAL NOT NULL DEFAULT 0, links BLOB, content BLOB, previous BLOB, page BLOB,
    item BLOB, item_hash TEXT NOT NULL DEFAULT '', seq INTEGER NOT NULL DEFAULT 0,
    doubt TEXT NOT NULL DEFAULT '', anchors TEXT NOT NULL DEFAULT '',
    layout_hash TEXT NOT NULL DEFAULT '');
CREATE TABLE anchors (target TEXT NOT NULL, text TEXT NOT NULL, pages INTEGER NOT NULL,
    PRIMARY KEY (target, text)) WITHOUT ROWID;
CREATE INDEX anchors_by_text ON anchors (text);
CREATE TABLE copies (id TEXT PRIMARY KEY, original TEXT NOT NULL, crawl INTEGER NOT NULL,
    url TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX copies_by_original ON copies (original);
CREATE TABLE dead (id TEXT PRIMARY KEY, first TEXT NOT NULL, last TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX pages_by_seq ON pages (seq);
CREATE INDEX live_by_text ON pages (text_hash, site) WHERE state = 'live';
CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, crawl INTEGER NOT NULL,
    at TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL, change TEXT NOT NULL,
    change_ratio REAL NOT NULL DEFAULT 0, change_cause TEXT NOT NULL DEFAULT '',
    previous_hash TEXT NOT NULL DEFAULT '', content_hash TEXT NOT NULL DEFAULT '',
    first_seen TEXT NOT NULL, changed_at TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
    previous_id TEXT NOT NULL DEFAULT '', fields TEXT NOT NULL DEFAULT '');
CREATE INDEX unchanged ON changes (seq) WHERE change = 'unchanged';
CREATE TABLE own_answers (address TEXT PRIMARY KEY, site TEXT NOT NULL, etag TEXT NOT NULL,
    last_modified TEXT NOT NULL, texts BLOB NOT NULL);
CREATE INDEX own_answers_by_site ON own_answers (site);
"""
    + FAILURES,
    FAILURES,
)

# The rows that a crawl will write into a history (`contentspider.state.history.draft`).
DRAFT = Schema(
    "draft",
    HISTORY.version,
    HISTORY.tables
    + "CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;",
)
