"""The scheduler whose queue is the ledger, without an engine."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from contentspider.crawl.queue.keeper import Keeper
from contentspider.crawl.queue.outage import FAILURES, Hosts
from contentspider.crawl.queue.scheduler import LedgerScheduler
from contentspider.state.ledger.ledger import Ledger


class FakeKeeper:
    """A keeper of a ledger in memory; requests are in flight until `flying` is emptied."""

    def __init__(self) -> None:
        self.ledger = Ledger(None)
        self.now = 0.0
        self.hosts = Hosts(300, lambda: self.now)
        self.is_broken = self.is_resumed = False
        self.guarded = nullcontext()
        self.flying: dict[int, Request] = {}
        self.commits = 0
        self.addresses = SimpleNamespace(
            watch=self.flying.__setitem__,
            in_flight=lambda: len(self.flying),
            note=lambda *_, **__: None,
            witnesses=self.ledger.frontier.queue.answered,
            forget=lambda row: self.flying.pop(row, None),
        )

    def open(self) -> None:
        """Open nothing: it is open."""

    def commit(self) -> None:
        self.commits += 1


class MySpider(Spider):
    name = "my"


@pytest.fixture
def keeper() -> FakeKeeper:
    return FakeKeeper()


@pytest.fixture(autouse=True)
def no_alarm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LedgerScheduler, "_set_alarm", lambda _: None)


@pytest.fixture
def scheduler(keeper: FakeKeeper) -> LedgerScheduler:
    crawler: Any = get_crawler(MySpider)
    crawler.get_extension = lambda kind: keeper if kind is Keeper else None
    made = LedgerScheduler(crawler)
    made.open(MySpider())
    return made


def taken(scheduler: LedgerScheduler, host: str = "") -> list[str]:
    found = []
    while request := scheduler.next_request():
        found.append(request.url.rpartition("/")[2])
        assert host in request.url
    return found


def test_requests_in_memory_have_their_priority_among_those_of_the_ledger(
    scheduler: LedgerScheduler,
) -> None:
    for name, priority in (("high", 5), ("low", -5), ("same", 1)):
        assert scheduler.enqueue_request(Request(f"http://x/{name}", priority=priority))
    for name, priority in (("odd", 1), ("odd-low", -1)):
        odd = Request(f"http://x/{name}", callback=lambda _: None, priority=priority)
        assert scheduler.enqueue_request(odd)
    assert len(scheduler) == 5
    assert taken(scheduler) == ["high", "same", "odd", "odd-low", "low"]
    assert not scheduler.has_pending_requests()


def test_nothing_is_sent_to_a_host_that_is_down_and_nothing_lost(
    scheduler: LedgerScheduler, keeper: FakeKeeper
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


def test_a_host_that_is_down_is_passed_at_once_however_much_of_the_queue_it_has(
    scheduler: LedgerScheduler, keeper: FakeKeeper
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


def test_what_may_kill_is_sent_alone(scheduler: LedgerScheduler, keeper: FakeKeeper) -> None:
    for number in range(3):
        scheduler.enqueue_request(Request(f"http://x/{number}"))
    keeper.ledger._database.do("UPDATE addresses SET deaths = 2 WHERE number = 2")
    assert taken(scheduler) == ["0"]
    keeper.flying.clear()
    assert taken(scheduler) == ["1"], "and nothing beside it"
    assert keeper.commits == 1, "before it is sent"
    keeper.flying.clear()
    assert taken(scheduler) == ["2"]


def test_a_password_is_in_a_header_and_in_no_ledger(
    scheduler: LedgerScheduler, keeper: FakeKeeper
) -> None:
    assert scheduler.enqueue_request(Request("http://me:p%40ss@x/page"))
    request = scheduler.next_request()
    assert request is not None
    assert request.url == "http://x/page"
    assert request.headers[b"Authorization"] == b"Basic bWU6cEBzcw=="
    rows = keeper.ledger._database.do("SELECT url, request FROM addresses").fetchall()
    assert rows == [("http://x/page", None)]
