"""Histories of older versions become those of this one, with all that they hold."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from typing import TYPE_CHECKING

from contentspider.recrawl.fingerprint import fingerprint
from contentspider.state.history.history import SQLiteHistory
from tests.sites import prose
from tests.test_ledger_upgrade import shape_of

if TYPE_CHECKING:
    from pathlib import Path

VERSION_1 = """
CREATE TABLE distrusted (site TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE counters (site TEXT NOT NULL, place TEXT NOT NULL,
    PRIMARY KEY (site, place)) WITHOUT ROWID;
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
    content BLOB, previous BLOB, page BLOB);
CREATE INDEX live_by_text ON pages (text_hash, site) WHERE state = 'live';
CREATE INDEX live_by_content ON pages (content_hash) WHERE state = 'live';
CREATE TABLE changes (seq INTEGER PRIMARY KEY AUTOINCREMENT, crawl INTEGER NOT NULL,
    at TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL, change TEXT NOT NULL,
    change_ratio REAL NOT NULL DEFAULT 0, change_cause TEXT NOT NULL DEFAULT '',
    previous_hash TEXT NOT NULL DEFAULT '', content_hash TEXT NOT NULL DEFAULT '',
    first_seen TEXT NOT NULL, changed_at TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '',
    previous_id TEXT NOT NULL DEFAULT '');
CREATE INDEX unchanged ON changes (seq) WHERE change = 'unchanged';
PRAGMA user_version = 1;
"""
COLUMNS = "id, url, site, state, first_seen, missing, fetches, changes, content"


def test_a_history_of_the_first_version_is_upgraded_with_all_that_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "e.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1)
        for page_id, content in (
            ("1", zlib.compress(prose(1).encode())),
            ("2", b"damaged"),
            ("3", None),
        ):
            connection.execute(
                f"INSERT INTO pages ({COLUMNS}) VALUES (?, ?, 'e', 'live', '', 0, 0, 0, ?)",  # noqa: S608
                (page_id, f"http://e.org/{page_id}", content),
            )
        connection.execute(
            "INSERT INTO changes (crawl, at, id, url, change, first_seen, changed_at)"
            " VALUES (1, '2026', '1', 'http://e.org/1', 'new', '', '')"
        )
        connection.commit()
    history, new = SQLiteHistory(path), SQLiteHistory(tmp_path / "new.sqlite")
    assert shape_of(history) == shape_of(new)
    assert [known.id for known in history.live()] == ["1", "2", "3"]
    assert history.content("1") == prose(1)
    assert [record["seq"] for record in history.changes()] == [1]
    rows = history._database.rows("SELECT fingerprint FROM pages ORDER BY id")
    assert [row[0] for row in rows] == [fingerprint(prose(1)), "", ""]
    history.close()
    new.close()
