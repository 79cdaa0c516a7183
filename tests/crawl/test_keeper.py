"""The keeper: opens the book, begins and ends the runs of a crawl, and writes its output."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from pydispatch.dispatcher import getAllReceivers, liveReceivers
from scrapy import Request, signals

from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.learning.models import SiteState
from contentspider.crawl.middlewares.guard import GuardMiddleware
from contentspider.crawl.middlewares.outages import OutageMiddleware
from contentspider.crawl.middlewares.robots import RobotsMiddleware
from contentspider.crawl.queue.addresses import in_hand
from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.overrides import OVERRIDES
from contentspider.page.input.page import Page
from contentspider.site.models.identity import page_id
from contentspider.site.models.record import page_fields
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from contentspider.state.crawls.books import crawl_book
from tests.crawls import Crawl
from tests.messages import wording
from tests.sites import prose

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def live(crawl: Crawl, work: Callable[[], object] = lambda: None, reason: str = "finished") -> None:
    """Open the keeper of a crawl, do some work, and close it."""
    crawl.keeper._is_open = False

    async def main() -> None:
        crawl.keeper.opened(crawl.spider)
        if not crawl.keeper.is_broken:
            work()
        await crawl.keeper.closed(crawl.spider, reason)

    asyncio.run(main())


def passed(crawl: Crawl, number: int) -> None:
    """Let an item of a page pass all pipelines."""
    url = f"https://e.org/{number}"
    row = crawl.keeper.book.frontier.enqueue(url.encode(), url, 0, "{}")
    crawl.keeper.book.frontier.queue.take()
    crawl.keeper.addresses.watch(row, Request(url))
    crawl.keeper.addresses.note(row, "held")
    page = Page.from_html("<p>Tea", url)
    token = in_hand.set(({"n": number}, ItemBinding(page, address_row=row, key=f"{row}/0")))
    crawl.keeper.recorder.scraped({"n": number})
    in_hand.reset(token)


def visited(crawl: Crawl, number: int) -> None:
    """Let the crawl read a page, and compare it with the history."""
    url = f"https://e.org/{number}"
    row = crawl.keeper.book.frontier.enqueue(url.encode(), url, 0, "{}")
    crawl.keeper.book.frontier.queue.take()
    crawl.keeper.book.frontier.finish(row, "released")
    page = Page.from_html(f"<p>{prose(number)}", url)
    fields = page_fields(page, "e.org", None, "")
    fields |= {"url": url, "id": page_id(url), "crawled_at": "2026-01-01T00:00:00+00:00"}
    assert crawl.keeper.revisits is not None
    hand = ItemBinding(page, row, row, f"{row}/0")
    crawl.keeper.revisits.compare(fields, hand, SiteState("e.org"))


def book_of(folder: Path, name: str = "site") -> Book:
    return Book(crawl_book(name, str(folder)), read_only=True)


def test_finished_crawl_publishes_output_and_history(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "contentspider")
    output = tmp_path / "pages.jsonl"
    crawl = Crawl(tmp_path, settings={"CONTENTSPIDER_OUTPUT_FILE": str(output)})
    syncs: list[str] = []

    def work() -> None:
        for number in range(3):
            passed(crawl, number)
        assert crawl.keeper.recorder.writer is not None
        crawl.keeper.recorder.writer.sync = lambda: syncs.append("output")
        crawl.keeper.book.sync = lambda: syncs.append("book")
        assert not output.exists()

    live(crawl, work)
    with pytest.raises(ValueError, match="closed"):
        crawl.keeper.recorder.writer.write(b"x")
    assert [json.loads(line) for line in output.read_text().splitlines()] == [
        {"n": number} for number in range(3)
    ]
    assert syncs[:2] == ["output", "book"]
    assert crawl.keeper._loop is not None and not crawl.keeper._loop.running
    assert wording("crawl.pages-written") not in caplog.text, "only a long end tells its steps"
    kept = book_of(tmp_path)
    assert kept.runs.all()[-1].reason == "finished"
    assert kept.frontier.states() == {"released": 3}
    assert crawl.stat("book/items") == 3
    assert crawl.stat("book/resumed") == 0
    assert crawl.stat("book/unread") == crawl.stat("book/queued") == 0
    assert kept.pages.published == kept.runs.all()[-1].number
    kept.close()
    next_crawl = Crawl(tmp_path)
    assert not next_crawl.keeper.addresses._is_known("https://e.org/1"), "no page is known"
    next_crawl.keeper.addresses.revisits = SimpleNamespace(is_known=lambda url: url == "x")
    assert next_crawl.keeper.addresses._is_known("x")


def test_resumed_crawl_continues_its_output(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    output = tmp_path / "pages.jsonl"
    output.write_text("before\n")
    settings = {"CONTENTSPIDER_OUTPUT_FILE": str(output), "CONTENTSPIDER_RESUME": True}
    first = Crawl(tmp_path, settings=settings)
    live(first, lambda: passed(first, 1), reason="memusage_exceeded")
    assert output.read_text() == "before\n"
    assert wording("crawl.output-unchanged", "memusage_exceeded", "1") in caplog.text
    assert first.stat("changes/new") is None
    second = Crawl(tmp_path, settings=settings)
    live(second, lambda: passed(second, 2))
    assert second.stat("book/resumed") == 1
    assert output.read_text() == '{"n": 1}\n{"n": 2}\n'


def test_crawl_without_resume_starts_over(tmp_path: Path) -> None:
    live(first := Crawl(tmp_path), lambda: passed(first, 1), reason="shutdown")
    live(second := Crawl(tmp_path))
    assert second.stat("book/resumed") == 0
    assert second.stat("book/items") == 0


def test_temporary_book_is_deleted_after_crawl(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, settings={"CONTENTSPIDER_DURABLE": False})
    crawl.crawler.stats.set_value("item_scraped_count", 7)
    paths: list[Any] = []
    live(crawl, lambda: paths.append(crawl.keeper.book.path))
    assert paths[0].parent.name == "temporary" and not paths[0].exists()
    assert crawl.stat("book/items") == 7
    assert crawl.keeper.revisits is None


def test_scrapyd_jobs_of_same_spider_have_separate_books(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = Book(crawl_book("site", str(tmp_path)))
    crawl = Crawl(tmp_path)
    crawl.spider._job = "7"
    live(crawl)
    assert (tmp_path / "site-7.sqlite").exists()
    assert "this job uses" in caplog.text
    named = Crawl(tmp_path, settings={"CONTENTSPIDER_CRAWL": "site"})
    named.spider._job = "8"
    live(named)
    assert named.keeper.is_broken
    assert wording("state.book-busy") in named.stat("book/failed")
    assert not (tmp_path / "site-8.sqlite").exists()
    other.close()


def test_unopenable_book_or_index_ends_crawl_before_it_begins(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "site.sqlite").mkdir()
    broken = Crawl(tmp_path)
    live(broken)
    assert broken.keeper.is_broken and broken.keeper._loop is None
    assert "nothing is crawled" in caplog.text
    assert broken.crawler.signals.send_catch_log is not None

    async def started() -> None:
        await broken.crawler.signals.send_catch_log_async(signals.engine_started)

    asyncio.run(started())
    assert broken.closed == ["book"]
    overrides = tmp_path / "y/models/e.org" / OVERRIDES
    overrides.parent.mkdir(parents=True)
    overrides.write_text("drop = ['<']")
    corrected = Crawl(tmp_path / "y")
    live(corrected)
    assert corrected.keeper.is_broken and f"{overrides}:1" in corrected.stat("book/failed")
    index = Crawl(tmp_path / "x", settings={"CONTENTSPIDER_INDEX": "nothing:x"})
    live(index)
    assert index.keeper.is_broken and "nothing" in index.stat("book/failed")


@pytest.mark.parametrize("name", ["_slot", "downloader"])
def test_keeper_refuses_to_crawl_by_a_scrapy_without_private_names(
    name: str, tmp_path: Path
) -> None:
    crawl = Crawl(tmp_path)
    delattr(crawl.crawler.engine, name)
    live(crawl)
    assert crawl.keeper.is_broken
    assert f"Scrapy {scrapy.__version__}" in crawl.stat("book/failed")
    assert name in crawl.stat("book/failed")


def test_keeper_refuses_to_crawl_without_asyncio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.crawl.queue.keeper.is_asyncio_available", lambda: False)
    crawl = Crawl(tmp_path)
    crawl.keeper._is_open = False
    crawl.keeper.open()
    assert "needs asyncio" in crawl.stat("book/failed")
    book = crawl.keeper.book
    crawl.keeper.open()
    assert crawl.keeper.book is book, "once"


def test_inspection_mode_writes_no_files(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.crawler.crawling = False
    live(crawl)
    assert crawl.keeper.is_inspection
    assert list(tmp_path.iterdir()) == []


def test_url_that_killed_crawl_twice_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = Book(crawl_book("site", str(tmp_path)))
    book.begin_run()
    book.frontier.enqueue(b"x", "https://e.org/killer", 0, "{}")
    book.frontier.queue.take()
    book.database.do("UPDATE addresses SET deaths = 2")
    book.commit()
    book.close()
    live(Crawl(tmp_path, settings={"CONTENTSPIDER_RESUME": True}))
    assert "https://e.org/killer is skipped" in caplog.text


def test_tick_commits_book_and_syncs_it_to_disk(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    keeper = crawl.keeper
    seen: list[Any] = []

    def work() -> None:
        passed(crawl, 1)
        keeper.book.frontier.enqueue(b"q", "https://e.org/q", 0, "{}")
        item = ContentItem("https://e.org/")
        keeper.book.items.hold("e.org", item, ItemBinding(Page.from_html("<p>x", "https://e.org/")))
        keeper.tick()
        seen.append(keeper._syncing)
        keeper.tick()
        assert keeper._syncing is seen[0], "one at a time"
        kept = book_of(tmp_path)
        seen.append(kept.frontier.states())
        kept.close()

    live(crawl, work, reason="shutdown")
    assert seen[0].done()
    assert seen[1] == {"queued": 1, "released": 1}
    assert crawl.stat("book/held") == crawl.stat("book/queued") == 1


def test_full_disk_ends_crawl(tmp_path: Path) -> None:
    def fail(error: Exception) -> Any:
        def raises(*_: object) -> None:
            raise error

        return raises

    for name, error in (("commit", ContentSpiderError("x")), ("sync", OSError("full"))):
        crawl = Crawl(tmp_path / name)

        def work(crawl: Crawl = crawl, name: str = name) -> None:
            if name == "sync":
                crawl.keeper.book.sync = fail(OSError("full"))
                crawl.keeper.tick()

        live(crawl, work)
        assert crawl.keeper.is_broken is (name == "sync"), error
        assert crawl.closed == (["book_full"] if name == "sync" else [])
    done = Crawl(tmp_path / "done")
    done.keeper.is_broken = True
    done.keeper.book.commit = fail(OSError("it is written"))
    done.keeper.commit()
    done.keeper._is_open = False
    asyncio.run(done.keeper.closed(done.spider, "finished"))


def test_indexes_are_updated_after_history_is_written(tmp_path: Path) -> None:
    for reason, count in (("finished", 1), ("shutdown", 0)):
        crawl = Crawl(tmp_path / reason)
        runs: list[Path] = []
        sent: list[int] = []

        async def run(path: Path, runs: list[Path] = runs) -> None:
            runs.append(path)

        async def send(sent: list[int] = sent) -> None:
            sent.append(1)

        async def written(*_: object) -> dict[str, int]:
            return {"new": 2}

        crawl.keeper.indexing.run = run
        crawl.keeper.sharing.send = send

        def work(crawl: Crawl = crawl, written: Any = written) -> None:
            assert crawl.keeper.revisits is not None
            crawl.keeper.revisits.end = written

        live(crawl, work, reason=reason)
        assert (len(runs), len(sent)) == (count, 1)
        assert crawl.stat("changes/new") == (2 if count else None)


def test_signal_while_history_is_written_leaves_it_to_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("contentspider.crawl.queue.run_end.PAUSE_SECS", 0)
    monkeypatch.setattr("contentspider.crawl.queue.run_end.REPORT_SECS", 0)
    settings = {"CONTENTSPIDER_RESUME": True}
    first = Crawl(tmp_path, settings=settings)

    def work(crawl: Crawl, is_stopped: bool) -> None:
        for number in range(3):
            visited(crawl, number)
        crawl.crawler.crawling = not is_stopped

    with caplog.at_level(logging.INFO, "contentspider"):
        live(first, lambda: work(first, is_stopped=True))
    assert wording("crawl.pages-written") in caplog.text
    assert first.stat("changes/new") is None
    assert first.crawler.stats.get_value("finish_reason") == "shutdown"
    assert book_of(tmp_path).runs.all()[-1].reason == "shutdown"
    with closing(book_of(tmp_path)) as one:
        assert not list(one.changes.records())
    second = Crawl(tmp_path, settings=settings)
    live(second)
    assert second.stat("book/resumed") == 1
    assert second.stat("changes/new") == 3


def test_signal_while_the_book_is_cleaned_leaves_crawl_complete(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)

    async def end(*_: object) -> dict[str, int]:
        crawl.crawler.crawling = False
        return {"new": 1}

    def work() -> None:
        visited(crawl, 1)
        passed(crawl, 2)
        assert crawl.keeper.revisits is not None
        crawl.keeper.revisits.end = end

    live(crawl, work)
    assert crawl.stat("changes/new") == 1
    kept = book_of(tmp_path)
    assert kept.runs.all()[-1].reason == "finished"
    assert kept.frontier.states() == {"released": 2}
    kept.close()


def heard(crawl: Crawl, signal: object) -> set[str]:
    """Return which methods of ours listen to a signal."""
    receivers = liveReceivers(getAllReceivers(crawl.crawler, signal))
    return {
        one.__qualname__ for one in receivers if one.__module__.startswith("contentspider.crawl.")
    }


def test_keeper_components_are_connected_to_their_signals(tmp_path: Path) -> None:
    settings = {"ROBOTSTXT_OBEY": True}
    crawl = Crawl(tmp_path, settings=settings)
    middlewares = [
        kind.from_crawler(crawl.crawler)
        for kind in (OutageMiddleware, GuardMiddleware, RobotsMiddleware)
    ]
    expected = {
        signals.spider_opened: {
            "BookKeeper.opened",
            "SiteSpider.opened",
            "GuardMiddleware._opened",
            "ItemHolder.opened",
            "Progress.opened",
            "MemoryWatch.opened",
        },
        signals.spider_idle: {
            "BookKeeper.idle",
            "ItemHolder._on_idle",
            "RobotsMiddleware._forget_unread",
            "SiteSpider.idle",
        },
        signals.response_received: {"Addresses.received"},
        signals.response_downloaded: {"GuardMiddleware._downloaded"},
        signals.spider_error: {"Addresses.spider_failed"},
        signals.request_dropped: {"SiteSpider.request_dropped"},
        signals.item_scraped: {"ItemRecorder.scraped"},
        signals.item_dropped: {"ItemRecorder.dropped"},
        signals.item_error: {"ItemRecorder.failed"},
    }
    assert {signal: heard(crawl, signal) for signal in expected} == expected
    assert "BookKeeper.closed" in heard(crawl, signals.spider_closed)
    del middlewares
    light = Crawl(tmp_path, settings={"CONTENTSPIDER_DURABLE": False})
    assert heard(light, signals.item_scraped) == set(), "each item would cost a task"
    for _ in range(2):
        light.keeper.recorder.listen()
    assert heard(light, signals.item_scraped) == {"ItemRecorder.scraped"}
