"""What `contentspider.crawl.base.engine` takes for granted of Scrapy, the only place that does.

Runs on the oldest and the newest Scrapy that is supported.
"""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import scrapy
from scrapy import Request, Spider, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import AsyncCrawlerRunner
from scrapy.pipelines import ItemPipelineManager

import contentspider
from contentspider.crawl.base.engine import end_at_start, in_progress, pass_item, queue_length

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

SETTINGS = {
    "TWISTED_REACTOR_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False,
    "LOG_ENABLED": False,
}


class Story:
    """What happened in a crawl, in its order."""

    def __init__(self) -> None:
        self.events: list[Any] = []


class Pipelines(ItemPipelineManager):
    """Passes an item late, when all pages are done and before the pipelines close."""

    async def close_spider_async(self) -> None:
        assert self.crawler
        crawler: Any = self.crawler
        crawler.spidercls.story.events.append(("finish", len(in_progress(self.crawler))))
        await pass_item(self.crawler, {"url": "late"})
        await super().close_spider_async()


class OddSpider(Spider):
    name = "odd"
    story: Story

    async def start(self) -> AsyncIterator[Request]:
        for number in range(3):
            yield Request(f"data:text/plain,{number}")

    def parse(self, response: Response) -> Iterator[dict[str, str]]:
        assert response.request in in_progress(self.crawler), "while its callback runs"
        yield {"url": response.url}


class SlowPipeline:
    """Takes its time, so that items are on their way when their callbacks have ended."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.story = crawler.spidercls.story  # type: ignore[attr-defined]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> SlowPipeline:
        return cls(crawler)

    async def process_item(self, item: dict[str, str]) -> dict[str, str]:
        await asyncio.sleep(0)
        busy = {request.url for request in in_progress(self.crawler)}
        self.story.events.append(("item", item["url"], item["url"] in busy))
        return item

    def close_spider(self) -> None:
        self.story.events.append("closed")


def test_requests_stay_in_progress_until_items_are_done_and_pipelines_close_last() -> None:
    story = OddSpider.story = Story()
    lengths: list[int] = []
    settings = SETTINGS | {"ITEM_PIPELINES": {SlowPipeline: 1}, "ITEM_PROCESSOR": Pipelines}

    async def crawl() -> None:
        runner = AsyncCrawlerRunner(settings)
        crawler = runner.create_crawler(OddSpider)
        crawler.signals.connect(
            scraped := (lambda item: story.events.append(item["url"])), signals.item_scraped
        )
        crawler.signals.connect(
            idle := (lambda: lengths.append(queue_length(crawler))), signals.spider_idle
        )
        await runner.crawl(crawler)
        assert (in_progress(crawler), queue_length(crawler)) == ((), 0), "after its end"
        del scraped, idle

    asyncio.run(crawl())
    items = [event for event in story.events if event[0] == "item"]
    assert len(items) == 4
    assert all(is_busy for _, url, is_busy in items if url != "late")
    assert story.events[-4:] == [("finish", 0), ("item", "late", False), "late", "closed"]
    assert lengths == [0]


def test_spider_can_be_ended_before_its_first_request() -> None:
    OddSpider.story = Story()
    events: list[str] = []

    async def crawl() -> None:
        runner = AsyncCrawlerRunner(SETTINGS)
        crawler = runner.create_crawler(OddSpider)
        handlers = {
            signals.spider_opened: lambda: end_at_start(crawler, "refused"),
            signals.request_scheduled: lambda request: events.append(request.url),
            signals.spider_closed: lambda reason: events.append(reason),
        }
        for signal, handler in handlers.items():
            crawler.signals.connect(handler, signal)
        await runner.crawl(crawler)

    asyncio.run(crawl())
    assert events == ["refused"]


def test_scrapy_base_scheduler_has_expected_methods() -> None:
    assert {"has_pending_requests", "enqueue_request", "next_request"} <= set(dir(BaseScheduler))


PRIVATE = {"_slot", "scraper", "itemproc", "inprogress"}


@pytest.mark.large
def test_only_engine_module_uses_scrapy_internals() -> None:
    folder = Path(contentspider.__file__).parent
    found = {
        f"{path.relative_to(folder)}:{node.lineno}"
        for path in folder.rglob("*.py")
        if path.name != "engine.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE
    }
    assert found == set(), scrapy.__version__
