"""What becomes of addresses: noted while the engine works on a page, written when it is done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.exceptions import CloseSpider, DontCloseSpider, DropItem
from scrapy.http import Response

from contentspider.crawl.base.outcomes import OUR_FAILURE, Retry
from contentspider.crawl.queue import addresses
from contentspider.crawl.queue.addresses import UnchangedItem, in_hand, row_of
from contentspider.page.input.page import Page
from contentspider.state.book.database import BookFullError
from contentspider.state.book.items import ItemBinding
from tests.crawls import Crawl, run_async
from tests.messages import wording

if TYPE_CHECKING:
    from pathlib import Path

PAGE = Page.from_html("<p>Tea is made of leaves.", "https://e.org/tea")


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def sent(crawl: Crawl, path: str = "tea", **fields: Any) -> tuple[int, Request]:
    request = Request(f"https://e.org/{path}", **fields)
    return crawl.send(request), request


def failure(error: Exception) -> Any:
    return SimpleNamespace(value=error)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (200, ("fetched", None, None, 0)),
        (299, ("fetched", None, None, 0)),
        (304, ("unchanged", None, None, 0)),
        (404, ("failed", "HTTP 404", None, 0)),
        (300, ("failed", "HTTP 300", None, 0)),
        (199, ("failed", "HTTP 199", None, 0)),
        (503, ("retry", "HTTP 503", None, 1)),
    ],
)
def test_http_status_decides_state_of_address(
    crawl: Crawl, status: int, state: tuple[Any, ...]
) -> None:
    row, request = sent(crawl)
    crawl.keeper.addresses.received(Response(request.url, status=status), request)
    crawl.keeper.addresses.finish_done()
    assert crawl.state(row)[0] == "taken", "the engine works on it"
    assert crawl.keeper.addresses.in_flight() == 1
    crawl.finish()
    assert crawl.state(row) == state
    assert crawl.keeper.addresses.in_flight() == 0


def test_request_without_response_is_recorded_as_failed_component(crawl: Crawl) -> None:
    row, _ = sent(crawl)
    crawl.finish()
    state, reason, _, may_pass = crawl.state(row)
    assert (state, may_pass) == ("retry", 1)
    assert "a component failed" in reason
    assert crawl.keeper.addresses.retry_failed() == 0, "but by a resumed crawl"


def test_failed_address_keeps_its_first_reason(crawl: Crawl) -> None:
    row, request = sent(crawl)
    crawl.keeper.addresses.spider_failed(
        failure(ValueError("x")), Response(request.url, request=request)
    )
    crawl.keeper.addresses.note(row, "skipped", "duplicate")
    crawl.finish()
    assert crawl.state(row) == ("retry", f"{OUR_FAILURE}the spider: ValueError('x')", None, 1)
    other, _ = sent(crawl, "other")
    crawl.keeper.addresses.note(other, "failed", "x" * 1000, retry=Retry.AT_END)
    crawl.keeper.addresses.note(other, "skipped", "duplicate", target="https://e.org/2")
    crawl.finish()
    assert crawl.state(other) == ("skipped", "duplicate", "https://e.org/2", 0)


def test_long_failure_reason_is_truncated_and_unknown_rows_are_ignored(crawl: Crawl) -> None:
    row, _ = sent(crawl)
    crawl.keeper.addresses.note(row, "failed", "x" * 1000)
    crawl.keeper.addresses.note(None, "failed", "nobody's")
    crawl.keeper.addresses.note(999, "failed", "nobody's")
    crawl.finish()
    assert crawl.state(row)[1] == "x" * 200


def test_failed_addresses_are_retried_once_at_end_of_crawl(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "MAX_ASKED_AGAIN", 2)
    rows = [sent(crawl, str(number))[0] for number in range(4)]
    for row in rows[:3]:
        crawl.keeper.addresses.note(row, "failed", "HTTP 500", retry=Retry.AT_END)
    crawl.keeper.addresses.note(rows[3], "failed", "ours", retry=Retry.NEXT_RUN)
    crawl.finish()
    assert not crawl.keeper.addresses.is_at_end
    assert crawl.keeper.addresses.retry_failed() == 2
    assert crawl.keeper.addresses.is_at_end
    assert [crawl.state(row)[0] for row in rows] == ["queued", "queued", "retry", "retry"]
    row, _ = sent(crawl, "5")
    crawl.keeper.addresses.note(row, "failed", "HTTP 500", retry=Retry.AT_END)
    crawl.finish()
    assert crawl.state(row)[3] == 1
    assert crawl.keeper.addresses.retry_failed() == 0


def test_missing_known_page_is_confirmed_by_second_request(crawl: Crawl) -> None:
    crawl.keeper.addresses._is_known = lambda url: url == "https://e.org/known"
    kinds = {
        "known": 1,
        "unknown": 0,
        "moved": 1,
    }
    for path, may_pass in kinds.items():
        meta = {"redirect_urls": ["https://e.org/known"]} if path == "moved" else {}
        row, request = sent(crawl, path, meta=meta)
        crawl.keeper.addresses.received(Response(request.url, status=410), request)
        crawl.finish()
        assert crawl.state(row)[3] == may_pass
    row, request = sent(crawl, "known")
    crawl.keeper.addresses.received(Response(request.url, status=403), request)
    crawl.finish()
    assert crawl.state(row)[3] == 0
    crawl.keeper.addresses.retry_failed()
    row, request = sent(crawl, "known")
    crawl.keeper.addresses.received(Response(request.url, status=404), request)
    crawl.finish()
    assert crawl.state(row)[3] == 0


def test_single_address_can_pause_without_pausing_its_host(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(addresses.time, "monotonic", lambda: now)
    short, first = sent(crawl, "short")
    later, second = sent(crawl, "long")
    assert not crawl.keeper.addresses.is_paused
    crawl.keeper.addresses.pause(first, 300.0, "busy")
    crawl.keeper.addresses.pause(second, 301.0, "busy")
    third = Request("https://e.org/other")
    crawl.keeper.addresses.pause(third, 1.0, "busy")
    assert first.meta["dont_retry"] and second.meta["dont_retry"]
    now = 399.0
    assert crawl.keeper.addresses.is_paused
    now = 400.0
    assert not crawl.keeper.addresses.is_paused
    now = 399.0
    crawl.finish()
    assert crawl.state(short) == crawl.state(later) == ("retry", "busy", None, 1)
    assert crawl.keeper.addresses.retry_failed() == 1
    assert not crawl.keeper.addresses.is_paused


def test_witness_pages_are_pages_read_earlier_in_crawl(crawl: Crawl) -> None:
    for path in ("a", "b", "robots.txt", "failed", "waits"):
        row, request = sent(crawl, path)
        if path != "waits":
            crawl.keeper.addresses.received(Response(request.url), request)
        if path == "failed":
            crawl.keeper.addresses.note(row, "failed", "x")
        if path == "b":
            crawl.keeper.addresses.note(row, "held")
    crawl.keeper.addresses.arriving |= {sent(crawl, "arriving")[0], None, 999}
    other = Request("https://other.org/")
    crawl.send(other)
    crawl.keeper.addresses.received(Response(other.url), other)
    found = ["https://e.org/a", "https://e.org/b", "https://e.org/arriving"]
    assert crawl.keeper.addresses.witnesses("e.org", 8) == found
    crawl.finish()
    assert crawl.keeper.addresses.witnesses("e.org", 1) == ["https://e.org/b"], "it has an item"


def test_only_responses_to_queued_requests_have_rows() -> None:
    request = Request("https://e.org/", meta={"contentspider_row": 7})
    assert row_of(Response(request.url, request=request)) == 7
    assert row_of(Response("https://e.org/")) is None is row_of(None)


def test_each_item_is_recorded_once_with_its_address(crawl: Crawl) -> None:
    rows = [sent(crawl, str(number))[0] for number in range(4)]
    recorder, items = crawl.keeper.recorder, crawl.keeper.book.items
    assert recorder.key(rows[0], 1) == f"{rows[0]}/1"
    assert recorder.key(None, 1) is None
    lines: list[bytes] = []
    recorder.writer = SimpleNamespace(write=lines.append)
    item = {"n": "ü"}
    for row, error in zip(
        rows, (None, DropItem("no"), UnchangedItem("same"), ValueError("x")), strict=True
    ):
        token = in_hand.set((item, ItemBinding(PAGE, address_row=row, key=f"{row}/0")))
        if error is None:
            recorder.scraped(item)
            recorder.scraped(item)
        elif isinstance(error, DropItem):
            recorder.dropped(item, error)
        else:
            recorder.failed(item, None, failure(error))
        in_hand.reset(token)
    crawl.finish()
    assert [crawl.state(row)[:2] for row in rows] == [
        ("released", None),
        ("failed", "dropped: no"),
        ("unchanged", None),
        ("retry", f"{OUR_FAILURE}an item failed in a pipeline: ValueError('x')"),
    ]
    assert lines == ['{"n": "ü"}'.encode()], "each key once"
    assert (items.count(), items.count("unchanged")) == (1, 1)
    assert crawl.stat("items/lost") == 1
    assert crawl.state(rows[3])[3] == 1, "it is held until the next run"
    recorder.scraped({"n": 2})
    assert lines[1:] == [b'{"n": 2}'], "of no page"


def test_scraped_held_item_marks_its_address_released(crawl: Crawl) -> None:
    row, _ = sent(crawl)
    crawl.keeper.addresses.note(row, "held")
    crawl.finish()
    assert crawl.state(row)[0] == "held"
    item = {"n": 1}
    token = in_hand.set((item, ItemBinding(PAGE, address_row=row, key=f"{row}/0")))
    crawl.keeper.recorder.scraped(item)
    in_hand.reset(token)
    assert crawl.state(row)[0] == "released"


def test_item_that_is_not_json_is_logged_and_counted_as_lost(
    crawl: Crawl, caplog: pytest.LogCaptureFixture
) -> None:
    row, _ = sent(crawl)
    token = in_hand.set(({}, ItemBinding(PAGE, address_row=row, key=f"{row}/0")))
    crawl.keeper.recorder.scraped({"n": object()})
    in_hand.reset(token)
    crawl.finish()
    (message,) = caplog.messages
    assert message.startswith(wording("crawl.item-not-json", "dict"))
    assert crawl.stat("items/lost") == 1
    assert crawl.state(row)[0] == "failed"


def test_write_error_of_output_ends_crawl(crawl: Crawl) -> None:
    def write(line: bytes) -> None:
        raise OSError("no space")

    crawl.keeper.recorder.writer = SimpleNamespace(write=write)
    run_async(lambda: crawl.keeper.recorder.scraped({}))
    assert crawl.keeper.is_broken and crawl.closed == ["book_full"]
    assert crawl.stat("book/failed") == "no space"
    row, _ = sent(crawl)
    token = in_hand.set(({}, ItemBinding(PAGE, address_row=row, key="1/0")))
    crawl.keeper.recorder.dropped({}, DropItem("no"))
    in_hand.reset(token)
    assert not crawl.keeper.book.items.has_item("1/0"), "nothing more is written"


def test_full_book_rolls_back_and_closes_crawl_once(crawl: Crawl) -> None:
    def fill() -> bool:
        for number in range(2):
            with crawl.keeper.guarded:
                raise BookFullError(f"full {number}")
        return True

    rollbacks: list[int] = []
    crawl.keeper.book.rollback = lambda: rollbacks.append(1)
    assert run_async(fill)
    assert rollbacks == [1], "nothing of what came after the last commit is kept"
    assert crawl.closed == ["book_full"]
    assert crawl.stat("book/failed") == "full 0"
    assert crawl.keeper.is_stopping
    with pytest.raises(KeyError), crawl.keeper.guarded:
        raise KeyError


def test_full_book_stops_keeper_even_without_spider(crawl: Crawl) -> None:
    crawl.crawler.engine.spider = None
    crawl.keeper.fail(OSError("full"))
    assert crawl.keeper.is_stopping


def test_crawl_without_durability_ignores_full_book(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, settings={"CONTENTSPIDER_DURABLE": False})
    crawl.keeper.fail(OSError("full"))
    assert not crawl.keeper.is_stopping and not crawl.closed
    lines: list[bytes] = []
    crawl.keeper.recorder.writer = SimpleNamespace(write=lines.append)
    assert crawl.keeper.recorder.key(1, 0) is None
    token = in_hand.set(({}, ItemBinding(PAGE)))
    crawl.keeper.recorder.scraped({})
    in_hand.reset(token)
    assert lines == [b"{}"]


class Revisits:
    """What the keeper asks of the earlier crawls."""

    is_first = False
    broken = SimpleNamespace(is_known=lambda url: False)

    def pages_to_visit(self) -> list[str]:
        return ["https://e.org/known", "https://other.org/"]


def test_idle_crawl_requests_known_pages_then_retries_then_closes(
    crawl: Crawl, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = crawl.keeper
    keeper.revisits = Revisits()
    with pytest.raises(DontCloseSpider):
        keeper.idle()
    assert [request.url for request in crawl.queued] == ["https://e.org/known"]
    assert crawl.queued.pop().priority == -1
    row, request = sent(crawl)
    keeper.addresses.pause(request, 100, "busy")
    crawl.finish()
    with pytest.raises(DontCloseSpider):
        keeper.idle()
    assert crawl.state(row)[0] == "retry" and not keeper.addresses.is_at_end
    keeper.addresses._paused_until = 0
    assert crawl.woken == 0
    with pytest.raises(DontCloseSpider):
        keeper.idle()
    assert crawl.woken == 1
    assert crawl.state(row)[0] == "queued"
    keeper.idle()
    for number in range(7):
        keeper.hosts.wait(f"h{number}", 1000)
    crawl.queued.append(request)
    with pytest.raises(CloseSpider) as ended:
        keeper.idle()
    assert ended.value.reason == "outage"
    assert crawl.stat("hosts/down") == 7
    assert "h0, h1, h2, h3, h4 and others did not answer" in caplog.text
    keeper.is_broken = True
    keeper.idle()
