"""A crawl without an engine, a process or a network: its parts are called directly."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy.http import HtmlResponse
from scrapy.utils.test import get_crawler

from contentspider.crawl.base.meta import PAGE_META_KEY, ROW_META_KEY
from contentspider.crawl.middlewares.guard import GuardMiddleware
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.crawl.queue.scheduler import BookScheduler
from contentspider.crawl.spider.spider import SiteSpider
from contentspider.page.input.page import Page
from contentspider.state.book.book import Book

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from scrapy import Request
    from scrapy.http import Response


class Crawl:
    """A crawl of https://e.org whose book is in memory. A request is in `busy` until the engine,
    of which there is none, is done with it.
    """

    def __init__(self, folder: Path, url: str = "https://e.org/", **arguments: Any) -> None:
        settings = {
            "ADDONS": {"contentspider.Addon": 500},
            "CONTENTSPIDER_DURABLE": True,
            "CONTENTSPIDER_STATE_DIR": str(folder),
            "CONTENTSPIDER_MODELS_DIR": str(folder / "models"),
            **arguments.pop("settings", {}),
        }
        self.crawler: Any = get_crawler(SiteSpider, settings)
        self.crawler.crawling = True
        self.spider = self.crawler.spider = SiteSpider.from_crawler(
            self.crawler, url=url, **arguments
        )
        self.busy: set[Request] = set()
        self.closed: list[str] = []
        self.queued: list[Request] = []
        self.woken = 0
        self.crawler.engine = SimpleNamespace(
            _slot=SimpleNamespace(
                inprogress=self.busy,
                closing=None,
                scheduler=self.queued,
                nextcall=SimpleNamespace(schedule=self._wake),
            ),
            spider=self.spider,
            crawl=self.queued.append,
            close_spider_async=self._close,
            downloader=SimpleNamespace(
                slots={}, active=set(), handlers=SimpleNamespace(download_request_async=None)
            ),
        )
        guard = SimpleNamespace(refusal=lambda request: None)
        self.crawler.get_downloader_middleware = {GuardMiddleware: guard}.get
        keeper = self.crawler.get_extension(BookKeeper)
        assert keeper is not None
        self.keeper: BookKeeper = keeper
        keeper._is_open = True
        keeper.book = Book(None)
        self.frontier = keeper.book.frontier
        self.spider.opened()

    def _wake(self) -> None:
        self.woken += 1

    async def _close(self, reason: str) -> None:
        self.closed.append(reason)

    def stat(self, name: str) -> Any:
        return self.crawler.stats.get_value(f"contentspider/{name}")

    def scheduler(self) -> BookScheduler:
        made = BookScheduler.from_crawler(self.crawler)
        made.open(self.spider)
        return made

    def send(self, request: Request) -> int:
        """Have the engine work on a request; return its row."""
        row = self.frontier.enqueue(request.url.encode(), request.url, 0, "{}", again=True)
        self.frontier.queue.take()
        request.meta[ROW_META_KEY] = row
        self.keeper.addresses.watch(row, request)
        self.busy.add(request)
        return row

    def finish(self) -> None:
        """Have the engine be done with all requests."""
        self.busy.clear()
        self.keeper.addresses.finish_done()

    def state(self, row: int) -> tuple[Any, ...]:
        """Return an address' state, reason, target and whether it may be asked again."""
        found = self.keeper.book.database.do(
            "SELECT state, reason, target, number IN (SELECT address FROM requests)"
            " FROM addresses WHERE number = ?",
            (row,),
        )
        return tuple(found.fetchone())

    def answer(self, request: Request, html: str = "<p>Tea", **fields: Any) -> HtmlResponse:
        """Return the tagged answer to a request."""
        response = HtmlResponse(
            request.url, body=html.encode(), request=request, encoding="utf-8", **fields
        )
        request.meta[PAGE_META_KEY] = Page.from_root(response.selector.root, response.url)
        return response


def run_async(call: Callable[[], Awaitable[Any] | Any]) -> Any:
    """Return what a call gives, and wait for the tasks that it starts."""

    async def main() -> Any:
        found = call()
        found = await found if asyncio.iscoroutine(found) else found
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others)
        return found

    return asyncio.run(main())


def received(crawl: Crawl, request: Request, response: Response) -> None:
    crawl.keeper.addresses.received(response, request)
