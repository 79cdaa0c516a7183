"""The ledger of a crawl, and the output that goes with it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request, Spider

from contentspider.crawl.ledgers import archive, open_ledger
from contentspider.crawl.requests import dump_request, load_request
from contentspider.errors import StateError
from contentspider.page.document import Page
from contentspider.storage.ledger import Ledger, LedgerFullError
from contentspider.storage.output import JsonLinesWriter
from tests.test_storage import HTML, Article

if TYPE_CHECKING:
    from pathlib import Path


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
        assert ledger.enqueue(name.encode(), f"http://x/{name}", priority, "{}")
    assert not ledger.enqueue(b"first", "http://x/first", 9, "{}")
    assert (ledger.knows(b"first"), ledger.knows(b"other")) == (True, False)
    assert ledger.queued == 4
    taken = [ledger.take() for _ in range(4)]
    assert [entry[1].rpartition("/")[2] for entry in taken if entry] == [
        "high",
        "first",
        "second",
        "low",
    ]
    assert ledger.take() is None
    assert ledger.knows(b"first")
    assert ledger.enqueue(b"first", "http://x/first", 0, "{}", again=True)
    assert ledger.queued == 1
    ledger.close()


def test_what_was_not_committed_is_done_again_after_a_kill(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    for name in "abc":
        ledger.enqueue(name.encode(), f"http://x/{name}", 0, "{}")
    assert ledger.take()
    assert ledger.take()
    ledger.finish(1, "failed", "HTTP 404")
    ledger.commit()
    assert ledger.take()
    ledger.finish(3, "fetched")
    ledger.enqueue(b"d", "http://x/d", 0, "{}")
    again = killed(ledger)
    assert again.runs()[-1].ended is None
    again.begin_run()
    assert again.states() == {"queued": 2, "failed": 1}
    assert again.reasons("failed") == [("HTTP 404", 1, "http://x/a")]
    assert [entry[1] for entry in (again.take(), again.take()) if entry] == [
        "http://x/b",
        "http://x/c",
    ]
    again.end_run("finished")
    assert [run.reason for run in again.runs()] == [None, "finished"]
    again.close()


def test_an_address_may_claim_again_what_it_claimed_before_a_kill(path: Path) -> None:
    ledger = Ledger(path)
    assert ledger.claim([b"one", b"two"], 1)
    assert not ledger.claim([b"three", b"two"], 2)
    assert ledger.claim([b"three"], 3), "nothing is claimed in part"
    assert ledger.claim([b"one", b"two"], 1)
    ledger.close()


def test_held_items_are_released_in_order_and_settled_once(path: Path) -> None:
    ledger = Ledger(path)
    odd = Article("odd", made=object())  # cannot go to disk
    for number, item in enumerate([{"url": "a"}, odd, {"url": "b"}]):
        assert ledger.hold("site", item, Page.from_html(HTML, f"u{number}"), key=f"k{number}")
    assert not ledger.hold("site", {"url": "a"}, Page.from_html(HTML, "u0"), key="k0")
    ledger.hold("other", {"url": "c"}, Page.from_html(HTML))
    ledger.commit()
    assert ledger.held() == {"other": 1, "site": 3}
    assert [page.url for page in ledger.pages("site")] == ["u0", "u1", "u2"]
    released = list(ledger.release("site"))
    assert [held.item for held in released] == [{"url": "a"}, odd, {"url": "b"}]
    assert ledger.settle(released[0].number, "k0", line=b'{"n": 1}')
    assert not ledger.settle(None, "k0", line=b'{"n": 2}')
    assert ledger.settle(released[2].number, "k2", reason="dropped")
    assert list(ledger.lines()) == [b'{"n": 1}']
    assert ledger.has_item("k0")
    assert ledger.has_item("k1")
    assert not ledger.has_item("k9")
    assert ledger.held() == {"other": 1, "site": 1}
    ledger.close()


def test_an_item_that_is_in_memory_only_is_fetched_again_after_a_kill(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    url = ledger.enqueue(b"a", "http://x/a", 0, "{}")
    ledger.take()
    ledger.hold("site", Article("odd", made=object()), Page.from_html(HTML), key="k", url=url)
    ledger.finish(url, "held")
    ledger.commit()
    again = killed(ledger)
    again.begin_run()
    assert again.held() == {}
    assert again.queued == 1
    again.close()


def test_an_item_in_memory_ends_its_address_when_it_is_out(path: Path) -> None:
    ledger = Ledger(path)
    ledger.begin_run()
    url = ledger.enqueue(b"a", "http://x/a", 0, "{}")
    ledger.take()
    ledger.hold("site", Article("odd", made=object()), Page.from_html(HTML), key="k", url=url)
    ledger.finish(url, "held")
    (held,) = ledger.release("site")
    ledger.settle(held.number, "k", url, b"{}")
    assert ledger.states() == {"held": 1}
    ledger.mark_released(url, "released", None, "hash")
    assert ledger.states() == {"released": 1}
    ledger.close()


def test_a_full_disk_is_said_and_leaves_the_last_commit(path: Path) -> None:
    ledger = Ledger(path)
    ledger.hold("site", {"url": "kept"}, Page.from_html(HTML))
    ledger.commit()
    ledger._connection.execute("COMMIT")
    ledger._connection.execute("PRAGMA max_page_count = 30")
    ledger._connection.execute("BEGIN")
    page = Page.from_html("".join(f"<p>{number * 7919}</p>" for number in range(20_000)))
    with pytest.raises(LedgerFullError, match="full"):
        for _ in range(20):
            ledger.hold("site", {"url": "u"}, page)
    ledger.rollback()
    assert ledger.held() == {"site": 1}
    ledger.close()


def test_two_processes_do_not_share_a_ledger(path: Path) -> None:
    ledger = Ledger(path)
    code = (
        "from pathlib import Path\nfrom contentspider.storage.ledger import Ledger,"
        f" LedgerBusyError\ntry: Ledger(Path({str(path)!r}))\nexcept LedgerBusyError as e: print(e)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "in use by another process" in done.stdout
    looked = Ledger(path, read_only=True)
    assert looked.runs() == []
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
    with pytest.raises(StateError, match="another version"):
        Ledger(path)


def test_old_crawls_are_pruned(path: Path) -> None:
    for number in range(5):
        path.write_text(str(number))
        archive(path, f"2024-01-0{number + 1}T00:00:00+00:00", 2)
    assert sorted(entry.name for entry in path.parent.iterdir()) == [
        "crawl.20240104T000000.sqlite",
        "crawl.20240105T000000.sqlite",
    ]


def test_output_behind_the_last_commit_is_cut_off_and_a_lost_file_is_written_anew(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out.jsonl"
    writer = JsonLinesWriter(out, None, [])
    writer.write(b"one")
    mark = writer.sync()
    writer.write(b"two")
    writer.sync()
    writer._file.write(b"half of a li")
    writer.close()
    again = JsonLinesWriter(out, mark, [b"one"])
    again.write(b"three")
    again.sync()
    again.close()
    assert out.read_bytes() == b"one\nthree\n"
    out.write_bytes(b"")
    JsonLinesWriter(out, mark, [b"one"]).close()
    assert out.read_bytes() == b"one\n"


class MySpider(Spider):
    name = "my"

    def page(self, response: Any, number: int = 0) -> None:
        """Read a page."""

    def failed(self, failure: Any) -> None:
        """Note a failure."""


def test_requests_survive_the_disk() -> None:
    spider = MySpider()
    request = Request(
        "http://x/?q=ü", spider.page, method="POST", headers={"X-Odd": b"\xff", "Accept": ["a", "b"]}, body=b"\x00\xff", priority=3, dont_filter=True,
        meta={"depth": 2, "tuple": (1, {"x"})}, cb_kwargs={"number": 1}, errback=spider.failed, flags=["f"], cookies={"a": "b"},
    )  # fmt: skip
    again = load_request(dump_request(request, spider), request.url, request.priority, spider)
    assert again.to_dict(spider=spider) == request.to_dict(spider=spider)
    assert dump_request(Request("http://x"), spider) == "{}"
    for odd in (
        Request("http://x", lambda response: None),
        Request("http://x", meta={"page": object()}),
    ):
        with pytest.raises(TypeError):
            dump_request(odd, spider)


def test_a_request_calls_only_the_spiders_methods() -> None:
    for text in ('{"callback": "nothing"}', '{"callback": "__init__"}', '{"errback": "name"}'):
        with pytest.raises(ValueError, match="no method"):
            load_request(text, "http://x", 0, MySpider())
