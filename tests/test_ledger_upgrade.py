"""Ledgers of older versions become those of this one; of a newer one they are left alone."""

from __future__ import annotations

import json
import sqlite3
import zlib
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from contentspider.page.document import Page
from contentspider.site.sample import sample_order
from contentspider.state.crawls.ledgers import open_ledger
from contentspider.state.ledger import schema
from contentspider.state.ledger.database import LedgerBusyError, LedgerFullError, SchemaError
from contentspider.state.ledger.ledger import Ledger
from tests.test_storage import HTML

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.state.history.history import SQLiteHistory


@pytest.mark.parametrize("version", [schema.OLDEST - 1, schema.SCHEMA + 1])
def test_a_ledger_of_another_version_is_not_touched(path: Path, version: int) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    ledger.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    ledger.commit()
    ledger.close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = path.read_bytes()
    known = f"{schema.OLDEST} to {schema.SCHEMA}"
    for read_only in (False, True):
        with pytest.raises(SchemaError, match=rf"\(schema {version}; this one knows {known}\)"):
            Ledger(path, read_only=read_only)
    with pytest.raises(SchemaError, match="use that one"):
        open_ledger(path)
    assert path.read_bytes() == before
    assert {entry.name for entry in path.parent.iterdir()} <= {path.name, path.name + ".lock"}


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


# The tables of version 3 as it made them, and a crawl of several hosts that was killed: one page
# is held, one was taken out of the queue, and one run died with another in flight before.
SCHEMA_3 = """
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
INSERT INTO runs VALUES (1, '2024-01-01T00:00:00+00:00', 1, NULL, NULL);
INSERT INTO addresses (number, fingerprint, url, priority, state, request, deaths) VALUES
    (1, x'01', 'http://x/a', 0, 'held', NULL, 0),
    (2, x'02', 'http://x/b', 0, 'queued', '{"meta": {"depth": 1}}', 0),
    (3, x'03', 'http://me:secret@Y.example.org:8080/c?d=/e', 5, 'taken', '{}', 1),
    (4, x'04', 'https://z.org?q', 5, 'queued', '{}', 0),
    (5, x'05', 'http://[::1]:80/', -1, 'queued', '{}', 0),
    (6, x'06', 'http://x/b?2', 5, 'queued', '{}', 0);
INSERT INTO claims VALUES (x'aa', 1);
INSERT INTO items VALUES (7, '9/0', 9, NULL, 'dropped');
PRAGMA user_version = 3;
"""
# As version 3 dumped it.
PAGE_3 = (
    b'{"url":"http://x/a","hints":{"titles":["T"],"descriptions":[],"language":"","canonical":""},'
    b'"content":{"parents":[-1,0],"positions":[0,0],"tag_of":[0,1],"tags":["body","p"],'
    b'"path_of":[0,1],"paths":[[-1,"body"],[0,"/p"]],"texts":["Tea"],"containers":[1],'
    b'"link_chars":[0],"links":[0],"bold_chars":[0],"rows":[0],"items":[0],"cells":[0],"spans":[],'
    b'"marks":[],"images":[],"base":"","truncated":false,"attributes":[],"visuals":[]}}'
)


def make_schema_3(path: Path) -> None:
    """Make the file, with a log beside it in which the last commits are: nobody closed it."""
    made = path.with_name("made")
    connection = sqlite3.connect(made, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(SCHEMA_3)
    item, page = '["builtins", "dict", {"url": "http://x/a"}]', zlib.compress(PAGE_3)
    connection.execute("INSERT INTO held_items VALUES (1, '1/0', 1, 'x', ?, ?)", (item, page))
    connection.execute(
        "INSERT INTO pages VALUES ('x', ?, 'http://x/a', ?)", (sample_order("http://x/a"), page)
    )
    for part in ("", "-wal"):
        path.with_name(path.name + part).write_bytes(made.with_name("made" + part).read_bytes())
    connection.close()
    made.unlink()


def test_of_a_ledger_of_version_3_nothing_queued_is_lost_and_its_hosts_are_known(
    path: Path,
) -> None:
    make_schema_3(path)
    looked = Ledger(path, read_only=True)
    assert looked.frontier.states() == {"held": 1, "queued": 4, "taken": 1}
    looked.close()
    ledger = Ledger(path)
    assert ledger.begin_run() == []
    assert ledger.frontier.states() == {"held": 1, "queued": 5}
    hosts = dict(ledger._database.rows("SELECT url, host FROM addresses"))
    assert hosts == {address: schema.host_of(address) for address in hosts}
    assert set(hosts.values()) == {"x", "y.example.org:8080", "z.org", "[::1]:80"}
    queue = ledger.frontier.queue
    assert [queue.count_of(host, 9) for host in ("x", "y.example.org:8080", "z.org")] == [2, 1, 1]
    assert not queue.has(without=set(hosts.values()))
    # By priority, then by age; those of a host that is left out come when it is not any more.
    third = "http://me:secret@Y.example.org:8080/c?d=/e"
    assert queue.take(without={"z.org", "x"}) == (3, third, "{}", 5, 2)
    taken = [queue.take() for _ in range(4)]
    assert taken == [
        (4, "https://z.org?q", "{}", 5, 0),
        (6, "http://x/b?2", "{}", 5, 0),
        (2, "http://x/b", '{"meta": {"depth": 1}}', 0, 0),
        (5, "http://[::1]:80/", "{}", -1, 0),
    ]
    assert queue.take() is None
    ledger.close()


def test_of_a_ledger_of_version_3_what_is_held_and_kept_is_there(path: Path) -> None:
    make_schema_3(path)
    ledger = Ledger(path)
    ledger.begin_run()
    page = Page.from_html("<title>T</title><p>Tea", "http://x/a")
    (held,) = ledger.items.release("x")
    assert (held.item, held.page, held.page_row) == ({"url": "http://x/a"}, page, 1)
    assert list(ledger.pages.sample("x")) == [page]
    assert ledger.items.has_item("9/0")
    assert not ledger.frontier.claim([b"\xaa"], 2)
    assert ledger.frontier.enqueue(b"new", "http://new/", 0, "{}") == 7
    assert ledger.frontier.queue.count_of("new", 9) == 1
    ledger.close()
    assert sorted(entry.name for entry in path.parent.iterdir()) == [path.name, path.name + ".lock"]


def shape_of(ledger: Ledger | SQLiteHistory) -> dict[object, list[object]]:
    """Return the columns of the tables and of the indexes."""
    named = [*ledger._database.rows("SELECT type, name FROM sqlite_master WHERE sql > ''")]
    return {
        name: [*ledger._database.rows(f"SELECT * FROM pragma_{kind}_xinfo(?)", [name])]  # noqa: S608
        for kind, name in named
    }


def test_the_tables_of_every_version_become_those_of_this_one(path: Path) -> None:
    ledger = Ledger(path)
    wanted = shape_of(ledger)
    assert {"addresses", "queue"} < set(wanted)
    ledger.close()
    for make in (make_schema_2, make_schema_3):
        made = path.with_name(f"{make.__name__}.sqlite")
        make(made)
        ledger = Ledger(made)
        assert shape_of(ledger) == wanted
        ledger.close()
