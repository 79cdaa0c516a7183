"""The middlewares: tag responses with their blocks, and hand each item's page to the pipeline."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.bodies import THREAD_BYTES
from contentspider.crawl.keeper import ROW_META_KEY, Keeper
from contentspider.crawl.settings import CrawlOptions
from contentspider.page.body import is_binary
from contentspider.page.document import Page

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

PAGE_META_KEY = "contentspider_page"
ITEMS_META_KEY = "contentspider_items"
OWN_META_KEYS = (PAGE_META_KEY, ROW_META_KEY, ITEMS_META_KEY, "is_start_request")
# Items on their way to the pipeline at one time: far fewer are, or Scrapy would stop to fetch.
MAX_WAITING = 5_000
# A tree takes about 20 times the memory of its page.
MAX_LARGE = 2


class BlocksMiddleware:
    """Tags every HTML response with its blocks and hints: ``response.meta["contentspider_page"]``,
    a `Page`.
    """

    def __init__(self, crawler: Crawler) -> None:
        options = CrawlOptions.from_settings(crawler.settings)
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats
        self.attributes = options.learning.needs_attributes
        self.max_blocks = options.max_blocks
        self.large = asyncio.Semaphore(MAX_LARGE)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BlocksMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Tag the response if it is HTML and was answered with success."""
        if (
            isinstance(response, HtmlResponse)
            and 200 <= response.status < 300
            and not is_binary(response.body)
        ):
            if len(response.body) > THREAD_BYTES:
                async with self.large:
                    page = await run_in_thread(self._read, response)
            else:
                page = self._read(response)
            request.meta[PAGE_META_KEY] = page
            self.stats.inc_value("contentspider/pages/tagged")
            self.stats.inc_value("contentspider/blocks/seen", len(page.content.blocks))
            if page.content.truncated:
                self.stats.inc_value("contentspider/pages/truncated")
                logger.warning(
                    "%s has more than CONTENTSPIDER_MAX_BLOCKS=%d blocks of text; the rest is left out. Raise the setting to read all of it",
                    response.url,
                    self.max_blocks,
                )
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Note why an address could not be fetched; who else wants to handle it may."""
        keeper = self.crawler.get_extension(Keeper)
        if keeper is not None:
            row = request.meta.get(ROW_META_KEY)
            if isinstance(exception, IgnoreRequest):
                keeper.note(row, "skipped", str(exception)[:200] or "ignored")
            else:
                keeper.note(row, "failed", f"{type(exception).__name__}: {exception}"[:200])

    def _read(self, response: HtmlResponse) -> Page:
        root = response.selector.root if response.body.strip() else None
        if root is None or not hasattr(root, "iter"):
            return Page.from_html("", response.url)
        return Page.from_root(root, response.url, self.attributes, self.max_blocks)


@dataclass(frozen=True, slots=True)
class Source:
    """Where an item comes from: its page, its address' row in the ledger, and which of the page's
    items it is.

    *held_row* and *key* are the row and the key under which it was held; None: it comes from its callback.
    """

    page: Page
    row: int | None = None
    place: int = 0
    held_row: int | None = None
    key: str | None = None


class ItemSources:
    """The source of each item on its way from the callback to the pipeline, by the item's identity."""

    def __init__(self) -> None:
        self._sources: dict[int, tuple[object, Source]] = {}

    def put(self, item: object, source: Source) -> None:
        """Remember the source of an item."""
        self._sources[id(item)] = (item, source)
        if (
            len(self._sources) > MAX_WAITING
        ):  # their items were replaced on the way: nobody will ask
            del self._sources[next(iter(self._sources))]

    def take(self, item: object) -> Source | None:
        """Return the source of an item and forget it."""
        found = self._sources.pop(id(item), None)
        return found[1] if found else None


class PagesMiddleware:
    """Remembers which page an item was made from, and keeps the tag out of follow-up requests."""

    def __init__(self, crawler: Crawler) -> None:
        self.sources = ItemSources()
        self.field_map = CrawlOptions.from_settings(crawler.settings).item_fields

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PagesMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Remember the page of each item that asks for its content, and drop our tags from
        requests.

        Callbacks pass ``meta=response.meta``, and the queue would store them. This is not Scrapy's
        base class, whose further generators cost each of a page's links more than all that is done
        here.
        """
        async for found in result:
            if isinstance(found, Request):
                if meta := found.meta:
                    for key in OWN_META_KEYS:
                        meta.pop(key, None)
            elif found is not None and self.field_map.fields(found) is not None:
                page = response.meta.get(PAGE_META_KEY) if response.request else None
                if page is not None:
                    place = response.meta[ITEMS_META_KEY] = (
                        response.meta.get(ITEMS_META_KEY, -1) + 1
                    )
                    self.sources.put(found, Source(page, response.meta.get(ROW_META_KEY), place))
            yield found
