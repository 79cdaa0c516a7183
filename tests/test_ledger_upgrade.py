"""Ledgers of older versions become those of this one; of a newer one they are left alone."""

from __future__ import annotations

import json
import sqlite3
import zlib
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from contentspider.crawl.ledgers import open_ledger
from contentspider.page.document import Page
from contentspider.storage import schema
from contentspider.storage.database import LedgerBusyError, LedgerFullError, SchemaError
from contentspider.storage.ledger import Ledger
from tests.test_storage import HTML

if TYPE_CHECKING:
    from pathlib import Path


def test_a_ledger_of_another_version_is_not_touched(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    for read_only in (False, True):
        with pytest.raises(SchemaError, match="another version"):
            Ledger(path, read_only=read_only)
    with pytest.raises(SchemaError, match="use that one"):
        open_ledger(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.glob("*.broken")] == []


# The tables of the first version that can be upgraded, and a crawl that was killed.
SCHEMA_2 = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (run INTEGER PRIMARY KEY, started TEXT NOT NULL, pid INTEGER NOT NULL,
    ended TEXT, reason TEXT);
CREATE TABLE urls (id INTEGER PRIMARY KEY, fingerprint BLOB NOT NULL UNIQUE, url TEXT NOT NULL,
    priority INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT, request TEXT, target TEXT,
    canonical TEXT, content_hash TEXT, run INTEGER NOT NULL);
CREATE INDEX queue ON urls (priority DESC, id) WHERE state = 'queued';
CREATE TABLE claims (claim BLOB PRIMARY KEY, url INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE held (number INTEGER PRIMARY KEY, key TEXT UNIQUE, url INTEGER, site TEXT NOT NULL,
    item TEXT NOT NULL, page BLOB NOT NULL);
CREATE INDEX held_by_site ON held (site, number);
CREATE TABLE items (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, url INTEGER, line BLOB,
    reason TEXT);
CREATE TABLE samples (site TEXT NOT NULL, url TEXT NOT NULL, page BLOB NOT NULL,
    PRIMARY KEY (site, url)) WITHOUT ROWID;
INSERT INTO facts VALUES ('learned', '["x"]');
INSERT INTO runs VALUES (1, '2024-01-01T00:00:00+00:00', 1, NULL, NULL);
INSERT INTO urls VALUES (1, x'01', 'http://x/a', 0, 'held', NULL, NULL, NULL, NULL, NULL, 1);
INSERT INTO urls VALUES (2, x'02', 'http://x/b', 0, 'taken', NULL, '{}', NULL, NULL, NULL, 1);
INSERT INTO urls VALUES (7, x'07', 'http://x/c', 0, 'released', NULL, NULL, NULL, NULL, 'h', 1);
INSERT INTO claims VALUES (x'aa', 7);
PRAGMA user_version = 2;
"""


def dump_2(page: Page) -> bytes:
    """Return a page as version 2 dumped it."""
    content = page.content
    record = {
        "url": page.url,
        "hints": asdict(page.hints),
        "blocks": [
            [b.text, b.container, b.link_chars, b.links, b.bold_chars, b.row, b.item, b.spans]
            for b in content.blocks
        ],
        **{
            name: getattr(content, name)
            for name in ("parents", "tags", "paths", "positions", "truncated", "attributes")
        },
        "visuals": content.visuals,
    }
    return zlib.compress(json.dumps(record).encode())


def make_schema_2(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SCHEMA_2)
    page = dump_2(Page.from_html(HTML, "http://x/a"))
    item = json.dumps(["builtins", "dict", {"url": "http://x/a"}])
    connection.execute("INSERT INTO held VALUES (1, '1/0', 1, 'x', ?, ?)", (item, page))
    connection.execute(
        "INSERT INTO items VALUES (1, '7/0', 7, ?, NULL)", (zlib.compress(b'{"n": 7}'),)
    )
    connection.execute("INSERT INTO samples VALUES ('x', 'http://x/a', ?)", (page,))
    connection.close()


def test_an_older_ledger_is_upgraded_in_a_copy(path: Path) -> None:
    make_schema_2(path)
    before = path.read_bytes()
    looked = Ledger(path, read_only=True)
    assert list(looked.items.lines()) == [b'{"n": 7}']
    assert looked.frontier.states() == {"taken": 1, "released": 1, "held": 1}
    looked.close()
    assert path.read_bytes() == before, "who looks changes nothing"
    ledger = open_ledger(path)
    assert ledger is not None
    ledger.begin_run()
    assert [run.number for run in ledger.runs.all()] == [1, 2]
    assert ledger.runs.fact("learned") == ["x"]
    assert ledger.frontier.queue.take(without={"x"}) is None, "its host is known"
    assert ledger.frontier.queue.take(without={"y"}) == (2, "http://x/b", "{}", 0, 1)
    assert not ledger.frontier.claim([b"\xaa"], 8)
    (held,) = ledger.items.release("x")
    assert (held.item, held.page_row) == ({"url": "http://x/a"}, 1)
    assert list(ledger.pages.sample("x")) == [Page.from_html(HTML, "http://x/a")]
    assert ledger.frontier.enqueue(b"new", "http://x/d", 0, "{}") == 8
    ledger.close()
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name, path.name + ".lock"]


def test_an_upgrade_that_fails_leaves_the_old_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_schema_2(path)
    monkeypatch.setitem(schema.STEPS, 2, "CREATE TABLE half (x); SELECT no_such_function();")
    with pytest.raises(LedgerFullError, match="no_such_function"):
        Ledger(path)
    monkeypatch.undo()
    ledger = Ledger(path)
    assert ledger.items.held_counts() == {"x": 1}
    ledger.close()


def test_an_upgrade_waits_for_readers(path: Path) -> None:
    make_schema_2(path)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM urls").fetchone()
    with pytest.raises(LedgerBusyError, match="reads"):
        Ledger(path)
    reader.close()
    Ledger(path).close()
