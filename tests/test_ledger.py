"""The ledger of a crawl, and the output that goes with it."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider

from contentspider.crawl.binding import Bindings
from contentspider.crawl.ending import Ending
from contentspider.crawl.ledgers import archive, crawl_ledger, open_ledger, open_temporary
from contentspider.crawl.requests import dump_request, load_request
from contentspider.errors import StateError
from contentspider.page.document import Page
from contentspider.site.sample import sample_order
from contentspider.storage import schema
from contentspider.storage.database import (
    Database,
    LedgerBusyError,
    LedgerFullError,
    SchemaError,
)
from contentspider.storage.ledger import Ledger
from contentspider.storage.output import JsonLinesWriter
from contentspider.storage.pages import SQLitePages
from tests.test_storage import HTML, Article


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.sqlite"


def killed(ledger: Ledger) -> Ledger:
    """Return the ledger as a new process finds it after a kill."""
    ledger.close()
    return Ledger(ledger.path)


def test_the_queue_goes_by_priority_then_by_age_and_knows_each_address_once(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    for name, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 5)):
        assert ledger.frontier.enqueue(name.encode(), f"http://x/{name}", priority, "{}")
    assert not ledger.frontier.enqueue(b"first", "http://x/first", 9, "{}")
    assert (ledger.frontier.knows(b"first"), ledger.frontier.knows(b"other")) == (True, False)
    assert ledger.frontier.queue.length == 4
    taken = [ledger.frontier.queue.take() for _ in range(4)]
    assert [entry[1].rpartition("/")[2] for entry in taken if entry] == [
        "high",
        "first",
        "second",
        "low",
    ]
    assert ledger.frontier.queue.take() is None
    assert ledger.frontier.knows(b"first")
    assert ledger.frontier.enqueue(b"first", "http://x/first", 0, "{}", again=True)
    assert ledger.frontier.queue.length == 1
    ledger.close()


def test_what_was_not_committed_is_done_again_after_a_kill(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    for name in "abc":
        ledger.frontier.enqueue(name.encode(), f"http://x/{name}", 0, "{}")
    assert ledger.frontier.queue.take()
    assert ledger.frontier.queue.take()
    ledger.frontier.finish(1, "failed", "HTTP 404")
    ledger.commit()
    assert ledger.frontier.queue.take()
    ledger.frontier.finish(3, "fetched")
    ledger.frontier.enqueue(b"d", "http://x/d", 0, "{}")
    again = killed(ledger)
    assert again.runs.all()[-1].ended is None
    again.begin_run()
    assert again.frontier.states() == {"queued": 2, "failed": 1}
    assert again.frontier.reasons("failed") == [("HTTP 404", 1, "http://x/a")]
    assert [
        entry[1] for entry in (again.frontier.queue.take(), again.frontier.queue.take()) if entry
    ] == [
        "http://x/b",
        "http://x/c",
    ]
    again.end_run("finished")
    assert [run.reason for run in again.runs.all()] == [None, "finished"]
    again.close()


def test_an_address_may_claim_again_what_it_claimed_before_a_kill(path: Path) -> None:
    ledger = Ledger(path)
    assert ledger.frontier.claim([b"one", b"two"], 1)
    assert not ledger.frontier.claim([b"three", b"two"], 2)
    assert ledger.frontier.claim([b"three"], 3), "nothing is claimed in part"
    assert ledger.frontier.claim([b"one", b"two"], 1)
    ledger.close()


def test_held_items_are_released_in_order_and_settled_once(path: Path) -> None:
    ledger = Ledger(path)
    odd = Article("odd", made=object())  # cannot go to disk
    for number, item in enumerate([{"url": "a"}, odd, {"url": "b"}]):
        assert ledger.items.hold("site", item, Page.from_html(HTML, f"u{number}"), key=f"k{number}")
    assert not ledger.items.hold("site", {"url": "a"}, Page.from_html(HTML, "u0"), key="k0")
    ledger.items.hold("other", {"url": "c"}, Page.from_html(HTML))
    ledger.commit()
    assert ledger.items.held_counts() == {"other": 1, "site": 3}
    assert [page.url for page in ledger.items.held_pages("site")] == ["u0", "u1", "u2"]
    released = list(ledger.items.release("site"))
    assert [held.item for held in released] == [{"url": "a"}, odd, {"url": "b"}]
    assert ledger.items.settle(released[0].row, "k0", line=b'{"n": 1}')
    assert not ledger.items.settle(None, "k0", line=b'{"n": 2}')
    assert ledger.items.settle(released[2].row, "k2", reason="dropped")
    assert list(ledger.items.lines()) == [b'{"n": 1}']
    assert ledger.items.has_item("k0")
    assert ledger.items.has_item("k1")
    assert not ledger.items.has_item("k9")
    assert ledger.items.held_counts() == {"other": 1, "site": 1}
    ledger.close()


def test_an_item_that_is_in_memory_only_is_fetched_again_after_a_kill(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    row = ledger.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    ledger.frontier.queue.take()
    ledger.items.hold(
        "site", Article("odd", made=object()), Page.from_html(HTML), key="k", address_row=row
    )
    ledger.frontier.finish(row, "held")
    ledger.commit()
    again = killed(ledger)
    again.begin_run()
    assert again.items.held_counts() == {}
    assert again.frontier.queue.length == 1
    again.close()


def test_an_item_in_memory_ends_its_address_when_it_is_out(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    row = ledger.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    ledger.frontier.queue.take()
    ledger.items.hold(
        "site", Article("odd", made=object()), Page.from_html(HTML), key="k", address_row=row
    )
    ledger.frontier.finish(row, "held")
    (held,) = ledger.items.release("site")
    ledger.items.settle(held.row, "k", row, b"{}")
    assert ledger.frontier.states() == {"held": 1}
    ledger.frontier.mark_released(row, "released", None)
    assert ledger.frontier.states() == {"released": 1}
    ledger.close()


def test_a_full_disk_is_said_and_leaves_the_last_commit(path: Path) -> None:
    ledger = Ledger(path)
    ledger.items.hold("site", {"url": "kept"}, Page.from_html(HTML))
    ledger.commit()
    ledger._database._connection.execute("COMMIT")
    ledger._database._connection.execute("PRAGMA max_page_count = 30")
    ledger._database._connection.execute("BEGIN")
    page = Page.from_html("".join(f"<p>{number * 7919}</p>" for number in range(20_000)))
    with pytest.raises(LedgerFullError, match="full"):
        for _ in range(20):
            ledger.items.hold("site", {"url": "u"}, page)
    ledger.rollback()
    assert ledger.items.held_counts() == {"site": 1}
    ledger.close()


def test_two_processes_do_not_share_a_ledger(path: Path) -> None:
    ledger = Ledger(path)
    code = (
        "from pathlib import Path\n"
        "from contentspider.storage.ledger import Ledger\n"
        "from contentspider.storage.database import LedgerBusyError\n"
        f"try: Ledger(Path({str(path)!r}))\nexcept LedgerBusyError as e: print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "in use by another process" in done.stdout
    looked = Ledger(path, read_only=True)
    assert looked.runs.all() == []
    looked.close()
    ledger.close(delete=True)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize(
    "content",
    [
        b"no database at all, but some text that is long enough",
        b"SQLite format 3\x00" + b"\xff" * 200,
    ],
)
def test_a_damaged_ledger_is_set_aside(
    content: bytes, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(content)
    with pytest.raises(StateError, match="damaged"):
        Ledger(path)
    assert open_ledger(path) is None
    assert "set aside" in caplog.text
    assert path.with_name("crawl.sqlite.broken").read_bytes() == content


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


def end_a_crawl(path: Path, day: int, reason: str, keep: int = 2) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    ledger.end_run(reason)
    assert ledger.detach()
    archive(path, f"2024-01-0{day}T00:00:00+00:00", keep)


def days(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.parent.glob("*.sqlite"))


def test_old_crawls_are_pruned(path: Path) -> None:
    for day in range(1, 6):
        end_a_crawl(path, day, "finished")
    assert days(path) == ["crawl.20240104T000000.sqlite", "crawl.20240105T000000.sqlite"]


def test_crawls_that_failed_push_out_no_finished_one(path: Path) -> None:
    for day, reason in enumerate(["finished", "finished", "shutdown", "incomplete", "outage"], 1):
        end_a_crawl(path, day, reason)
    assert days(path) == [f"crawl.2024010{day}T000000.sqlite" for day in (1, 2, 4, 5)]
    end_a_crawl(path, 6, "finished")
    assert days(path) == [f"crawl.2024010{day}T000000.sqlite" for day in (2, 5, 6)]


def test_two_crawls_of_one_second_are_both_kept(path: Path) -> None:
    for _ in range(3):
        end_a_crawl(path, 1, "finished", keep=3)
    assert days(path) == [f"crawl.20240101T000000{number}.sqlite" for number in ("-2", "-3", "")]
    end_a_crawl(path, 1, "finished", keep=3)
    assert days(path) == [f"crawl.20240101T000000-{number}.sqlite" for number in (2, 3, 4)]


def test_a_temporary_ledger_deletes_only_what_killed_ones_left(path: Path) -> None:
    others = [path.with_name(name) for name in ("crawl-2024-11.sqlite", "crawl-1-2.sqlite")]
    for other in others:
        Ledger(other).close()
    killed_one = open_temporary(path)
    killed_one._database._connection.close()
    killed_one._database._unlock()
    running = open_temporary(path)
    open_temporary(path).close(delete=True)
    assert all(other.exists() for other in others)
    assert not killed_one.path or not killed_one.path.exists()
    assert running.path
    assert running.path.exists()
    running.close(delete=True)


def test_the_folder_of_the_ledgers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert crawl_ledger("a/b", "state") == Path("state/a_b.sqlite")
    assert crawl_ledger("x").resolve() == tmp_path / ".scrapy/contentspider/x.sqlite"
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "json")  # a project, and no scrapy.cfg in sight
    assert crawl_ledger("x") == tmp_path / ".scrapy/contentspider/x.sqlite"
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_that_cannot_be_made_is_said_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerFullError, match="CONTENTSPIDER_STATE_DIR"):
        Ledger(tmp_path / "file" / "crawl.sqlite")


def test_what_failed_for_reasons_that_may_pass_is_asked_again(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    rows = [ledger.frontier.enqueue(name, f"http://x/{name!r}", 0, "{}") for name in (b"a", b"b")]
    gone = ledger.frontier.enqueue(b"gone", "http://x/gone", 0, "{}")
    for _ in range(3):
        ledger.frontier.queue.take()
    for row in rows:
        ledger.frontier.finish(row, "failed", "HTTP 503", may_pass=True)
    ledger.frontier.finish(gone, "failed", "HTTP 404")
    assert (ledger.frontier.unread, ledger.frontier.queue.length) == (2, 0)
    assert ledger.frontier.ask_again(rows[:1]) == 1
    assert ledger.frontier.queue.length == 1
    ledger.end_run("incomplete")
    again = killed(ledger)
    again.begin_run()
    assert (again.frontier.unread, again.frontier.queue.length) == (0, 2)
    again.close()


def test_a_page_that_kills_again_and_again_is_set_aside(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    ledger.frontier.enqueue(b"killer", "http://x/killer", 1, "{}")
    ledger.frontier.enqueue(b"other", "http://x/other", 0, "{}")
    for deaths in range(3):
        assert ledger.frontier.queue.take() == (1, "http://x/killer", "{}", 1, deaths)
        ledger.commit()
        ledger = killed(ledger)
        assert ledger.begin_run() == (["http://x/killer"] if deaths == 2 else [])
    assert ledger.frontier.reasons("failed") == [
        ("3 runs died with it in flight: it is set aside", 1, "http://x/killer")
    ]
    taken = ledger.frontier.queue.take()
    assert taken
    assert taken[1] == "http://x/other"
    ledger.close()


def test_ends_without_a_death_are_held_against_no_page(path: Path) -> None:
    ledger = Ledger(path)
    for _ in range(4):
        assert ledger.begin_run() == []
        ledger.frontier.enqueue(b"slow", "http://x/slow", 0, "{}")
        taken = ledger.frontier.queue.take()
        assert taken
        assert taken[4] == 0
        ledger.end_run("shutdown")
        ledger = killed(ledger)
    ledger.close()


@pytest.mark.parametrize(
    ("ending", "word", "replaces"),
    [
        (Ending("finished", 10), "finished", True),
        (Ending("finished", 0), "finished", False),
        (Ending("finished", 175, unread=3), "incomplete", True),
        (Ending("finished", 31, unread=144), "incomplete", False),
        (Ending("finished", 31, held=1), "incomplete", True),
        (Ending("max_pages", 5, queued=100), "max_pages", True),
        (Ending("closespider_timeout", 5, queued=100), "closespider_timeout", True),
        (Ending("shutdown", 5, queued=100), "shutdown", True),
        (Ending("shutdown", 0, queued=100), "shutdown", False),
        (Ending("outage", 500, queued=1_000), "outage", False),
        (Ending("ledger_full", 500, queued=1_000), "ledger_full", False),
    ],
)
def test_what_a_crawl_may_replace(ending: Ending, word: str, replaces: bool) -> None:
    assert ending.word == word
    assert ending.may_replace(is_there=True) == replaces
    assert ending.may_replace(is_there=False) == (ending.items > 0)
    assert Ending.from_stats(ending.stats() | {"finish_reason": ending.reason}) == ending


def test_output_behind_the_last_commit_is_cut_off_and_a_lost_file_is_written_anew(
    tmp_path: Path,
) -> None:
    out, partial = tmp_path / "out.jsonl", tmp_path / ".out.jsonl.partial"
    out.write_bytes(b"yesterday")
    writer = JsonLinesWriter(out, None, [])
    writer.write(b"one")
    mark = writer.mark()
    writer.write(b"two")
    writer.mark()
    writer._file.write(b"half of a li")
    writer.close()
    again = JsonLinesWriter(out, mark, [b"one"])
    again.write(b"three")
    again.mark()
    again.close()
    assert partial.read_bytes() == b"one\nthree\n"
    partial.write_bytes(b"")
    last = JsonLinesWriter(out, mark, [b"one"])
    assert out.read_bytes() == b"yesterday", "until the crawl has come to its end"
    last.publish()
    last.close()
    assert out.read_bytes() == b"one\n"
    assert list(tmp_path.iterdir()) == [out]


class MySpider(Spider):
    name = "my"

    def page(self, response: Any, number: int = 0) -> None:
        """Read a page."""

    def failed(self, failure: Any) -> None:
        """Note a failure."""


def test_requests_survive_the_disk() -> None:
    spider = MySpider()
    request = Request(
        "http://x/?q=ü",
        spider.page,
        method="POST",
        headers={"X-Odd": b"\xff", "Accept": ["a", "b"]},
        body=b"\x00\xff",
        priority=3,
        dont_filter=True,
        meta={"depth": 2, "tuple": (1, {"x"})},
        cb_kwargs={"number": 1},
        errback=spider.failed,
        flags=["f"],
        cookies={"a": "b"},
    )
    again = load_request(
        dump_request(request, spider, Bindings()), request.url, request.priority, spider, Bindings()
    )
    assert again.to_dict(spider=spider) == request.to_dict(spider=spider)
    assert dump_request(Request("http://x"), spider, Bindings()) == "{}"
    for odd in (
        Request("http://x", lambda response: None),
        Request("http://x", meta={"page": object()}),
    ):
        with pytest.raises(TypeError):
            dump_request(odd, spider, Bindings())


def test_a_request_calls_only_the_spiders_methods() -> None:
    for text in ('{"callback": "nothing"}', '{"callback": "__init__"}', '{"errback": "name"}'):
        with pytest.raises(ValueError, match="no method"):
            load_request(text, "http://x", 0, MySpider(), Bindings())


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


def test_kept_pages_are_those_of_the_smallest_hash_whatever_their_order(path: Path) -> None:
    addresses = {site: [f"http://{site}/{number}" for number in range(30)] for site in "abc"}
    wanted = {
        site: sorted(sorted(every, key=sample_order)[:5]) for site, every in addresses.items()
    }
    for seed in range(3):
        database = Database(None)
        pages = SQLitePages(database, site_pages=5, all_pages=100)
        everything = [(site, address) for site in addresses for address in addresses[site]]
        random.Random(seed).shuffle(everything)
        for site, address in everything:
            pages.offer(site, Page.from_html(HTML, address))
            pages = pages if seed else SQLitePages(database, site_pages=5, all_pages=100)
        assert {site: [page.url for page in pages.sample(site)] for site in pages.sites()} == wanted


def test_many_sites_share_what_is_kept(path: Path) -> None:
    database = Database(None)
    pages = SQLitePages(database, site_pages=8, all_pages=12)
    large = [f"http://large/{number}" for number in range(40)]
    for address in large:
        pages.offer("large", Page.from_html(HTML, address))
    for site in "abcd":
        for number in range(2):
            pages.offer(site, Page.from_html(HTML, f"http://{site}/{number}"))
    for address in large:
        pages.offer("large", Page.from_html(HTML, address))
    kept = {site: [page.url for page in pages.sample(site)] for site in pages.sites()}
    assert kept["large"] == sorted(sorted(large, key=sample_order)[:4])
    assert [len(kept[site]) for site in "abcd"] == [2, 2, 2, 2]


def test_row_numbers_are_never_given_out_again(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    first = ledger.frontier.enqueue(b"a", "http://x/a", 0, None)
    again = killed(ledger)
    again.begin_run()
    assert again.frontier.enqueue(b"b", "http://x/b", 0, "{}") == first, "it was not committed"
    remembered = again.frontier.enqueue(b"c", "http://x/c", 0, None)
    again.commit()
    last = killed(again)
    last.begin_run()
    assert last.frontier.enqueue(b"d", "http://x/d", 0, "{}") > remembered
    last.close()


OUT_OF_MEMORY = """
import sys
from pathlib import Path
from contentspider.page.document import Page
from contentspider.storage.database import LedgerFullError
from contentspider.storage.ledger import Ledger

ledger = Ledger(Path(sys.argv[1]))
ledger.begin_run()
ledger.frontier.enqueue(b"kept", "http://x/kept", 0, "{}")
ledger.commit()
try:
    ledger._database.do("PRAGMA hard_heap_limit = 1000000")
    for number in range(100):
        ledger.frontier.enqueue(b"%d" % number, f"http://x/{number}", 0, "{}" * 500_000)
except LedgerFullError as error:
    print("stopped:", error)
ledger.rollback()
ledger.commit()
"""


def test_sqlite_out_of_memory_is_said_and_nothing_of_it_committed(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert "stopped:" in done.stdout
    assert "out of memory" in done.stdout
    ledger = Ledger(path, read_only=True)
    assert ledger.frontier.states() == {"queued": 1}
    ledger.close()


def test_changes_that_sqlite_gave_up_by_itself_are_not_taken_for_committed(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    ledger.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    ledger._database._connection.execute("ROLLBACK")  # as it does if its memory is at an end
    with pytest.raises(LedgerFullError, match="gave up"):
        ledger.commit()
    ledger.close()


def test_what_is_damaged_is_said_and_left_out(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ledger = Ledger(path)
    for number in range(3):
        ledger.items.hold("x", {"n": number}, Page.from_html(HTML, f"u{number}"), key=f"h{number}")
        ledger.items.settle(None, f"{number}/0", number, b'{"n": %d}' % number)
        ledger.pages.offer("x", Page.from_html(HTML, f"u{number}"))
    ledger._database.do("UPDATE held_items SET page = x'00' WHERE number = 2")
    ledger._database.do("UPDATE items SET line = x'00' WHERE number = 2")
    ledger._database.do("UPDATE pages SET page = x'00' WHERE url = 'u1'")
    assert [held.item["n"] for held in ledger.items.release("x")] == [0, 2]
    assert [page.url for page in ledger.items.held_pages("x")] == ["u0", "u2"]
    assert list(ledger.items.lines()) == [b'{"n": 0}', b'{"n": 2}']
    assert [page.url for page in ledger.pages.sample("x")] == ["u0", "u2"]
    assert len([line for line in caplog.messages if "crawl.sqlite" in line]) == 4
    ledger.close()


def test_the_disk_is_waited_for_in_a_thread(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    with ThreadPoolExecutor(1) as thread:
        for number in range(100):
            ledger.runs.set_fact(str(number), "x" * 100_000)
            ledger.commit()
            ledger.frontier.enqueue(b"%d" % number, f"http://x/{number}", 0, "{}")
            thread.submit(ledger.sync).result()
    log = path.with_name("crawl.sqlite-wal")
    assert path.stat().st_size > 4_000_000, "the log was brought into the file"
    assert log.exists()
    again = killed(ledger)
    assert again.runs.fact("99") == "x" * 100_000
    assert again.frontier.queue.length == 99
    again.close()


def test_a_ledger_in_memory_touches_no_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    ledger = Ledger(None)
    ledger.begin_run()
    assert ledger.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    ledger.commit()
    ledger.sync()
    ledger.close(delete=True)
    assert list(path.parent.iterdir()) == []
