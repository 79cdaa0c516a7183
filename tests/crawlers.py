"""Crawlers whose parts are there and whose book is open, with no reactor and no request."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from scrapy.spiders import Spider
from scrapy.utils.test import get_crawler

from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.queue.keeper import BookKeeper

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy.crawler import Crawler


class PageSpider(Spider):
    """A spider that says which of its requests are pages, as the site spider does."""

    name = "my"
    reads_documents = True

    def is_page_request(self, request: object) -> bool:
        return "other" not in getattr(request, "url", "")


def open_crawler(folder: Path, **settings: object) -> Crawler:
    """Return a crawler with the add-on, whose book and history are open; settings in capitals
    are Scrapy's own.
    """
    named = {
        name if name.isupper() else f"CONTENTSPIDER_{name.upper()}": value
        for name, value in settings.items()
    }
    crawler = get_crawler(
        PageSpider,
        {
            "ADDONS": {"contentspider.Addon": 500},
            "CONTENTSPIDER_CRAWL": "e.org",
            "CONTENTSPIDER_STATE_DIR": str(folder),
            "CONTENTSPIDER_MODELS_DIR": str(folder / "models"),
            **named,
        },
    )
    crawler.crawling = True
    crawler.spider = PageSpider()
    engine: Any = SimpleNamespace(_slot=None, spider=None)
    crawler.engine = engine
    keeper = crawler.get_extension(BookKeeper)
    assert keeper is not None

    async def opened() -> None:
        keeper.open()
        keeper._begin()

    asyncio.run(opened())
    return crawler


def parts(crawler: Crawler) -> tuple[BookKeeper, ItemHolder]:
    keeper, holder = crawler.get_extension(BookKeeper), crawler.get_extension(ItemHolder)
    assert keeper is not None
    assert holder is not None
    return keeper, holder


def close(crawler: Crawler) -> None:
    keeper: Any = crawler.get_extension(BookKeeper)
    keeper.book.close()
