"""The scheduler whose queue is the book, without an engine."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import NotConfigured
from scrapy.utils.test import get_crawler

from contentspider.crawl.base.engine import wake
from contentspider.crawl.base.items import Bindings
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.crawl.queue.outage import FAILURES, HostPauses
from contentspider.crawl.queue.scheduler import BookScheduler
from contentspider.state.book.book import Book
from tests.messages import wording


class FakeKeeper:
    """A keeper of a book in memory; requests are in flight until `flying` is emptied."""

    def __init__(self) -> None:
        self.book = Book(None)
        self.now = 0.0
        self.hosts = HostPauses(300, lambda: self.now)
        self.is_broken = self.is_resumed = False
        self.is_durable, self.is_inspection = True, False
        self.guarded, self.bindings = nullcontext(), Bindings()
        self.flying: dict[int, Request] = {}
        self.commits = 0
        self.addresses = SimpleNamespace(
            watch=self.flying.__setitem__,
            in_flight=lambda: len(self.flying),
            note=lambda *_, **__: None,
            witnesses=self.book.frontier.queue.answered,
            forget=lambda row: self.flying.pop(row, None),
        )

    def open(self) -> None:
        """Open nothing: it is open."""

    def commit(self) -> None:
        self.commits += 1


class MySpider(Spider):
    name = "my"


def extensions(keeper: FakeKeeper) -> Any:
    return {BookKeeper: keeper}.get


@pytest.fixture
def keeper() -> FakeKeeper:
    return FakeKeeper()


@pytest.fixture(autouse=True)
def no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BookScheduler, "_set_alarm", lambda _: None)


@pytest.fixture
def scheduler(keeper: FakeKeeper) -> BookScheduler:
    crawler: Any = get_crawler(MySpider)
    crawler.get_extension = extensions(keeper)
    made = BookScheduler(crawler)
    made.open(MySpider())
    return made


def taken(scheduler: BookScheduler, host: str = "") -> list[str]:
    found = []
    while request := scheduler.next_request():
        found.append(request.url.rpartition("/")[2])
        assert host in request.url
    return found


def test_in_memory_requests_are_ordered_by_priority_with_stored_ones(
    scheduler: BookScheduler,
) -> None:
    for name, priority in (("high", 5), ("low", -5), ("same", 1)):
        assert scheduler.enqueue_request(Request(f"http://x/{name}", priority=priority))
    for name, priority in (("odd", 1), ("odd-low", -1)):
        odd = Request(f"http://x/{name}", callback=lambda _: None, priority=priority)
        assert scheduler.enqueue_request(odd)
    assert len(scheduler) == 5
    assert taken(scheduler) == ["high", "same", "odd", "odd-low", "low"]
    assert not scheduler.has_pending_requests()


def test_requests_to_host_that_is_down_wait_and_are_not_lost(
    scheduler: BookScheduler, keeper: FakeKeeper
) -> None:
    for number in range(20):
        scheduler.enqueue_request(Request(f"http://down/{number}", priority=1))
        scheduler.enqueue_request(Request(f"http://up/{number}"))
    odd = Request("http://down/odd", callback=lambda _: None, priority=2)
    scheduler.enqueue_request(odd)
    for _ in range(FAILURES):
        keeper.hosts.failed("down", lambda _: FAILURES)
    assert len(taken(scheduler, "up")) == 20
    assert len(scheduler) == 21
    assert scheduler.has_pending_requests()
    keeper.now = 1.0
    assert taken(scheduler) == ["odd"], "one request, to see whether there is an answer"
    keeper.now = 299.0
    assert scheduler.has_pending_requests()
    keeper.now = 301.0
    assert not scheduler.has_pending_requests(), "the crawl waits no longer"
    keeper.hosts.answered("down")
    assert taken(scheduler, "down") == [str(number) for number in range(20)]


def test_host_that_is_down_is_skipped_whatever_its_share_of_queue(
    scheduler: BookScheduler, keeper: FakeKeeper
) -> None:
    for number in range(50):
        scheduler.enqueue_request(Request(f"http://{number % 3}/{number}", priority=-number % 7))
    expected = {host: [] for host in "012"}
    order = sorted(range(50), key=lambda number: (-(-number % 7), number))
    for number in order:
        expected[str(number % 3)].append(str(number))
    keeper.hosts.wait("0", 10)
    found = [scheduler.next_request() for _ in range(5)]
    keeper.hosts.wait("1", 20)
    first = Request("http://2/first", priority=9)
    scheduler.enqueue_request(first)
    scheduler.enqueue_request(Request("http://0/0-first", priority=9))
    assert [request.url[9:] for request in found if request] == [
        str(number) for number in order if number % 3
    ][:5]
    seen = {request.url[9:] for request in found if request}
    assert taken(scheduler, "2") == ["first", *(n for n in expected["2"] if n not in seen)]
    keeper.now = 10.0
    keeper.hosts.answered("0")
    assert taken(scheduler, "0") == ["0-first", *expected["0"]]
    keeper.now = 20.0
    keeper.hosts.answered("1")
    assert taken(scheduler, "1") == [n for n in expected["1"] if n not in seen]
    assert len(scheduler) == 0


def test_request_suspected_of_killing_crawl_is_sent_alone(
    scheduler: BookScheduler, keeper: FakeKeeper
) -> None:
    for number in range(3):
        scheduler.enqueue_request(Request(f"http://x/{number}"))
    keeper.book.database.do("UPDATE addresses SET deaths = 2 WHERE number = 2")
    keeper.book.database.do("UPDATE addresses SET deaths = 1 WHERE number = 1")
    assert taken(scheduler) == ["0"]
    keeper.flying.clear()
    assert taken(scheduler) == ["1"], "and nothing beside it"
    assert keeper.commits == 1, "before it is sent"
    keeper.flying.clear()
    assert taken(scheduler) == ["2"]
    assert keeper.commits == 2, "it did not kill"


def test_password_in_url_becomes_header_and_is_not_stored(
    scheduler: BookScheduler, keeper: FakeKeeper
) -> None:
    assert scheduler.enqueue_request(Request("http://me:p%40ss@x/page"))
    request = scheduler.next_request()
    assert request is not None
    assert request.url == "http://x/page"
    assert request.headers[b"Authorization"] == b"Basic bWU6cEBzcw=="
    rows = keeper.book.database.do(
        "SELECT url, request FROM addresses LEFT JOIN requests ON address = number"
    ).fetchall()
    assert rows == [("http://x/page", None)]


def test_scheduler_requires_addon() -> None:
    crawler: Any = get_crawler(MySpider)
    crawler.get_extension = lambda kind: None
    with pytest.raises(NotConfigured, match="ADDONS"):
        BookScheduler.from_crawler(crawler).open(MySpider())


def test_url_is_queued_once_unless_dont_filter_is_set(
    scheduler: BookScheduler, keeper: FakeKeeper
) -> None:
    request = Request("http://x/1")
    assert scheduler.enqueue_request(request)
    assert not scheduler.enqueue_request(request)
    assert scheduler.enqueue_request(request.replace(dont_filter=True))
    start = request.replace(dont_filter=True, meta={"is_start_request": True})
    assert scheduler.enqueue_request(start)
    assert len(scheduler) == 3
    keeper.is_resumed = True
    assert not scheduler.enqueue_request(start), "a crawl that goes on does not start anew"
    assert scheduler.enqueue_request(start.replace(meta={"contentspider_row": 1, **start.meta}))
    stats = scheduler.crawler.stats
    assert stats is not None
    assert stats.get_value("scheduler/enqueued") == 4
    assert stats.get_value("dupefilter/filtered") == 2


def test_redirect_is_recorded_for_previous_address(
    scheduler: BookScheduler, keeper: FakeKeeper
) -> None:
    notes: list[Any] = []
    keeper.addresses.note = lambda *given, **named: notes.append((*given, named["target"]))
    scheduler.enqueue_request(Request("http://x/1"))
    request = scheduler.next_request()
    assert request is not None and keeper.flying == {1: request}
    meta = {**request.meta, "redirect_reasons": [301]}
    scheduler.enqueue_request(request.replace(url="http://x/2", meta=meta))
    assert notes == [(1, "redirected", "HTTP 301", "http://x/2")]
    retry = request.replace(dont_filter=True)
    assert scheduler.enqueue_request(retry)
    assert keeper.flying == {}, "a retry takes the place of the request before"
    assert [scheduler.next_request().url for _ in range(2)] == ["http://x/1", "http://x/2"]


def test_in_memory_requests_are_warned_about_once(
    scheduler: BookScheduler, keeper: FakeKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    for number, is_inspection in enumerate((True, False, False)):
        keeper.is_inspection = is_inspection
        scheduler.enqueue_request(Request(f"http://x/{number}", callback=lambda _: None))
    (message,) = caplog.messages
    assert message.startswith("<GET http://x/1> stays in memory"), (
        "scrapy shell has no book on the disk"
    )
    assert taken(scheduler) == ["0", "1", "2"]
    assert scheduler._in_memory == {}


def test_unreadable_request_does_not_stop_others(
    scheduler: BookScheduler, keeper: FakeKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        scheduler.enqueue_request(Request(f"http://x/{number}"))
    text = '{"callback": "gone"}'
    keeper.book.database.do("UPDATE requests SET request = ? WHERE address < 3", (text,))
    assert taken(scheduler) == ["2"]
    assert (
        caplog.text.count("cannot be requested: " + wording("crawl.no-such-callback") + " 'gone'")
        == 2
    )
    assert keeper.book.frontier.states() == {"failed": 2, "taken": 1}


def test_first_requests_after_crash_are_committed_one_by_one(
    keeper: FakeKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.crawl.queue.scheduler.CAREFUL_REQUESTS", 2)
    keeper.book.runs.begin()
    crawler: Any = get_crawler(MySpider)
    crawler.get_extension = extensions(keeper)
    scheduler = BookScheduler(crawler)
    scheduler.open(MySpider())
    for number in range(4):
        scheduler.enqueue_request(Request(f"http://x/{number}"))
    assert len(taken(scheduler)) == 4
    assert keeper.commits == 2


def test_broken_book_sends_no_requests(scheduler: BookScheduler, keeper: FakeKeeper) -> None:
    scheduler.enqueue_request(Request("http://x/1"))
    keeper.is_broken = True
    assert scheduler.next_request() is None
    assert not scheduler.has_pending_requests()


def test_known_pages_are_requested_in_turn_to_test_host(
    scheduler: BookScheduler, keeper: FakeKeeper
) -> None:
    for number in range(2):
        scheduler.enqueue_request(Request(f"http://x/{number}"))
        scheduler.next_request()
        keeper.book.frontier.finish(number + 1, "released")
    scheduler.enqueue_request(Request("http://x/waits"))
    for _ in range(FAILURES):
        keeper.hosts.failed("x", lambda _: FAILURES)
    asked = []
    for pause in (1, 2, 4):
        assert scheduler.next_request() is None
        keeper.now += pause
        witness = scheduler.next_request()
        assert witness is not None and witness.dont_filter
        assert all(witness.meta.values()) and len(witness.meta) == 5
        asked.append(witness.url)
        assert witness.callback is not None
        assert witness.callback(None) is None
        assert scheduler.next_request() is None, "one at a time"
        keeper.hosts.failed("x", lambda _: FAILURES)
    assert asked == ["http://x/0", "http://x/1", "http://x/0"]
    keeper.addresses.witnesses = lambda *_: []
    keeper.now += 8
    assert taken(scheduler) == ["waits"]


def test_engine_is_woken_when_host_may_be_requested(
    keeper: FakeKeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    crawler: Any = get_crawler(MySpider)
    crawler.get_extension = extensions(keeper)
    calls: list[Any] = []
    alarms = [SimpleNamespace(cancel=lambda: calls.append("cancelled"))] * 2
    loop = SimpleNamespace(call_later=lambda *given: calls.append(given) or alarms.pop())
    monkeypatch.setattr("asyncio.get_running_loop", lambda: loop)
    scheduler = BookScheduler(crawler)
    scheduler.open(MySpider())
    keeper.hosts.wait("x", 30)
    assert scheduler.next_request() is None
    assert calls == [], "nobody waits"
    scheduler.enqueue_request(Request("http://x/1"))
    for _ in range(2):
        assert scheduler.next_request() is None
    alarm = (30, wake, crawler)
    assert calls == [alarm, "cancelled", alarm]
    scheduler.close("finished")
    assert calls[3:] == ["cancelled"]
