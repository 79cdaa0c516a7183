"""The scheduler whose queue is the ledger, without an engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.utils.test import get_crawler

from contentspider.crawl.keeper import Keeper
from contentspider.crawl.outage import OUTAGE_FAILURES, Outage
from contentspider.crawl.scheduler import LedgerScheduler
from contentspider.storage.ledger import Ledger


class FakeKeeper:
    """A keeper of a ledger in memory; requests are in flight until `flying` is emptied."""

    def __init__(self) -> None:
        self.ledger = Ledger(None)
        self.outage = Outage(300, lambda: 0.0)
        self.is_broken = self.is_resumed = False
        self.flying: dict[int, Request] = {}
        self.commits = 0
        self.addresses = SimpleNamespace(
            watch=self.flying.__setitem__,
            in_flight=lambda: len(self.flying),
            note=lambda *_, **__: None,
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


@pytest.fixture
def scheduler(keeper: FakeKeeper) -> LedgerScheduler:
    crawler: Any = get_crawler(MySpider)
    crawler.get_extension = lambda kind: keeper if kind is Keeper else None
    made = LedgerScheduler(crawler)
    made.open(MySpider())
    return made


def taken(scheduler: LedgerScheduler) -> list[str]:
    found = []
    while request := scheduler.next_request():
        found.append(request.url.rpartition("/")[2])
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
    assert taken(scheduler) == ["high", "odd", "same", "odd-low", "low"]
    assert not scheduler.has_pending_requests()


def test_nothing_is_sent_in_an_outage_and_nothing_lost(
    scheduler: LedgerScheduler, keeper: FakeKeeper
) -> None:
    for number in range(20):
        scheduler.enqueue_request(Request(f"http://x/{number}"))
    for _ in range(OUTAGE_FAILURES):
        keeper.outage.failed(20)
    assert taken(scheduler) == []
    assert scheduler.has_pending_requests()
    keeper.outage.answered()
    assert len(taken(scheduler)) == 20


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
