"""Items of a small site on their way from a callback to their fields."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import HtmlResponse

from contentspider.crawl.base.meta import PAGE_META_KEY, ROW_META_KEY
from contentspider.crawl.learning.pipeline import ContentPipeline
from contentspider.crawl.middlewares.pages import PagesMiddleware
from contentspider.page.input.page import Page
from tests.crawlers import parts
from tests.recrawled import address
from tests.sites import article

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response


@dataclass
class Article:
    link: str
    body: str = ""


FIELDS = {
    "tests.held.Article": {"content": "body", "url": "link"},
    "dict": {"content": "text"},
}


def page(number: int) -> Page:
    return Page.from_html(article(number), address(f"/{number}"))


def response(number: int = 1, row: int | None = None, **meta: Any) -> HtmlResponse:
    """Return the tagged response of a page."""
    tags = {PAGE_META_KEY: page(number)} | ({ROW_META_KEY: row} if row is not None else {})
    request = Request(address(f"/{number}"), meta=tags | meta)
    return HtmlResponse(request.url, body=article(number).encode(), request=request)


def passed(crawler: Crawler, answer: Response, *found: Any) -> list[Any]:
    """Return what passes of that which a callback yields."""

    async def collect() -> list[Any]:
        async def yielded() -> Any:
            for one in found:
                yield one

        middleware = PagesMiddleware(crawler)
        return [one async for one in middleware.process_spider_output(answer, yielded())]

    return asyncio.run(collect())


def processed(crawler: Crawler, item: Any) -> Any:
    return asyncio.run(ContentPipeline(crawler).process_item(item))


def stat(crawler: Crawler, name: str) -> int:
    assert crawler.stats
    return int(crawler.stats.get_value(f"contentspider/{name}", 0))


def ready(crawler: Crawler) -> None:
    """Have the site's items pass, unfiltered."""
    parts(crawler)[1].site(address("/")).failed = True
