"""What the keeper of a crawl says, to its log and to the engine, and when."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import CloseSpider, DontCloseSpider, NotConfigured
from scrapy.utils.test import get_crawler

from contentspider.crawl.queue import keeper as keeper_module
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.state.book.book import Book
from contentspider.state.crawls.books import crawl_book
from tests.crawl.test_keeper import book_of, live, passed
from tests.crawls import Crawl, run_async
from tests.messages import wording

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "contentspider")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.name.startswith("contentspider")]


def test_missing_known_pages_are_requested_once(
    crawl: Crawl, caplog: pytest.LogCaptureFixture
) -> None:
    known = [f"https://{host}/" for host in ("a.e.org", "other.org", "b.e.org")]
    crawl.keeper.revisits = SimpleNamespace(pages_to_visit=lambda: known)  # type: ignore[assignment]
    with pytest.raises(DontCloseSpider):
        crawl.keeper.idle()
    assert [one.url for one in crawl.queued] == [known[0], known[2]]
    (message,) = said(caplog)
    assert message.startswith("2 known pages")
    crawl.queued.clear()
    crawl.keeper.idle()
    assert not crawl.queued


def test_unread_urls_are_retried_when_idle(
    crawl: Crawl, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowed: list[bool] = []
    monkeypatch.setattr(crawl.keeper.addresses, "retry_failed", lambda: 3)
    monkeypatch.setattr(crawl.keeper.hosts.delays, "slow_limited", lambda: slowed.append(True))
    woken = crawl.woken
    with pytest.raises(DontCloseSpider):
        crawl.keeper.idle()
    (message,) = said(caplog)
    assert message.startswith("3 addresses")
    assert (slowed, crawl.woken) == ([True], woken + 1)
    crawl.keeper.is_broken = True
    crawl.keeper.idle()


@pytest.mark.parametrize(("down", "others"), [(1, ""), (5, ""), (6, " and others")])
def test_hosts_down_at_end_of_crawl_are_logged(
    down: int,
    others: str,
    crawl: Crawl,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hosts = [f"{number}.e.org" for number in range(down)]
    monkeypatch.setattr(crawl.keeper.hosts, "lost", lambda: hosts)
    crawl.queued += [None] * 7  # type: ignore[list-item]
    with pytest.raises(CloseSpider) as raised:
        crawl.keeper.idle()
    assert raised.value.reason == "outage"
    assert crawl.stat("hosts/down") == down
    (message,) = said(caplog)
    assert message.startswith(f"{', '.join(hosts[:5])}{others} ")
    assert "7 addresses" in message


def test_reason_for_crawling_nothing_is_logged(
    crawl: Crawl, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper_module, "is_asyncio_available", lambda: False)
    crawl.keeper._is_open = False
    crawl.keeper.open()
    why = wording("crawl.needs-asyncio-whole")
    assert said(caplog) == [f"{why}; nothing is crawled"]
    assert crawl.stat("book/failed") == why
    with pytest.raises(NotConfigured, match=r"^CONTENTSPIDER_ENABLED is False$"):
        BookKeeper(get_crawler(settings_dict={"CONTENTSPIDER_ENABLED": False}))


def test_job_logs_its_own_book_path(crawl: Crawl, caplog: pytest.LogCaptureFixture) -> None:
    folder = crawl.crawler.settings["CONTENTSPIDER_STATE_DIR"]
    path = crawl_book("site", folder)
    other = Book(path)
    crawl.spider._job = "7"  # type: ignore[attr-defined]
    live(crawl)
    other.close()
    (message,) = [one for one in said(caplog) if "this job uses" in one]
    assert message.startswith(str(path))
    assert message.endswith(str(crawl_book("site-7", folder)))


def test_urls_that_kill_crawl_are_logged(crawl: Crawl, caplog: pytest.LogCaptureFixture) -> None:
    crawl.keeper.book.begin_run = lambda: ["https://e.org/killer"]  # type: ignore[assignment]
    crawl.keeper._begin()
    (message,) = said(caplog)
    assert message.startswith("https://e.org/killer is skipped")
    assert crawl.keeper.revisits is None, "a book in memory has no history"


def test_unreplaced_output_is_logged_with_partial_path(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    output = tmp_path / "pages.jsonl"
    output.write_text("before\n")
    crawl = Crawl(tmp_path, settings={"CONTENTSPIDER_OUTPUT_FILE": str(output)})
    partial: list[str] = []
    marks: list[Any] = []

    def work() -> None:
        passed(crawl, 1)
        writer = crawl.keeper.recorder.writer
        assert writer is not None
        partial.append(writer.partial.name)
        crawl.keeper.commit()
        marks.append([str(output.absolute()), *writer.mark()])

    live(crawl, work, reason="memusage_exceeded")
    (message,) = [message for message in said(caplog) if message.startswith(str(output))]
    assert "(memusage_exceeded)" in message
    assert partial[0] in message
    kept = book_of(tmp_path)
    assert kept.runs.fact("output") == marks[0]
    kept.close()


@pytest.mark.parametrize("is_durable", [False, True])
def test_unwritable_book_is_logged_once(
    is_durable: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    crawl = Crawl(tmp_path, settings={"CONTENTSPIDER_DURABLE": is_durable})

    def fail() -> None:
        for _ in range(2):
            crawl.keeper.fail(OSError("full"))

    run_async(fail)
    assert crawl.stat("book/failed") == "full"
    (message,) = said(caplog)
    assert message.startswith("full;")
    assert ("--resume" in message) is is_durable
    assert crawl.closed == (["book_full"] if is_durable else [])


def test_crawl_is_committed_every_second(crawl: Crawl, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def looping(function: Any) -> Any:
        def start(seconds: float, now: bool) -> None:
            started.append((function, seconds, now))

        return SimpleNamespace(start=start, running=False)

    monkeypatch.setattr(keeper_module, "create_looping_call", looping)
    monkeypatch.setattr(crawl.keeper.interruption, "begin", lambda: None)
    crawl.keeper.opened(crawl.spider)
    assert started == [(crawl.keeper.tick, 1.0, False)]
