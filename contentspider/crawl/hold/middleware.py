"""The middlewares: tag responses with their blocks, and find the page of each item."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import HtmlResponse
from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.collector import no_collection
from contentspider.crawl.hold.binding import (
    BINDINGS_META_KEY,
    PAGE_META_KEY,
    ROW_META_KEY,
    Unbound,
    came_along,
)
from contentspider.crawl.hold.bodies import THREAD_BYTES
from contentspider.crawl.hold.holder import Holder
from contentspider.crawl.hold.overrides import CrawlOverrides
from contentspider.crawl.options import CrawlOptions
from contentspider.crawl.revisits.visit_log import (
    CHECK_META_KEY,
    CONDITIONAL_META_KEY,
    ORPHAN_META_KEY,
)
from contentspider.page.blocks import MAX_BLOCKS, new_walker
from contentspider.page.input.body import is_binary
from contentspider.page.input.page import Page
from contentspider.state.ledger.items import PageInHand
from contentspider.state.stores.shared_models import open_models

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

ITEMS_META_KEY = "contentspider_items"
OWN_META_KEYS = frozenset(
    [
        *(PAGE_META_KEY, BINDINGS_META_KEY, ROW_META_KEY, ITEMS_META_KEY, "is_start_request"),
        *(ORPHAN_META_KEY, CONDITIONAL_META_KEY, CHECK_META_KEY),
    ]
)
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
        self.walker = new_walker()
        self.holder = crawler.get_extension(Holder)
        if self.holder is not None:
            self.overrides = self.holder.overrides
        else:
            store = open_models(options.models_dir, options.state_dir)
            self.overrides = CrawlOverrides(options, crawler.stats, store)
        self.large = asyncio.Semaphore(MAX_LARGE)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BlocksMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Forget the page of an earlier answer, which the copy of a request has."""
        request.meta.pop(PAGE_META_KEY, None)

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
            if self.holder is not None:
                request.meta[BINDINGS_META_KEY] = self.holder.bindings
            self.stats.inc_value("contentspider/pages/tagged")
            self.stats.inc_value("contentspider/blocks/seen", len(page.content.blocks))
            if page.content.truncated:
                self.stats.inc_value("contentspider/pages/truncated")
                logger.warning(
                    "%s has more than %d blocks of text; the rest is left out",
                    response.url,
                    MAX_BLOCKS,
                )
        return response

    def _read(self, response: HtmlResponse) -> Page:
        root = response.selector.root if response.body.strip() else None
        if root is None or not hasattr(root, "iter"):
            return Page.from_html("", response.url)
        with no_collection():
            return Page.from_root(
                root,
                response.url,
                self.attributes,
                MAX_BLOCKS,
                self.walker,
                self.overrides.of(response.url),
            )


class PagesMiddleware:
    """Finds the page of each item that asks for its content, and takes the items of sites that are
    not known yet out of the stream; keeps our tags out of follow-up requests.

    It is the last to see what callbacks yield, after all other spider middlewares.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.holder = crawler.get_extension(Holder)
        self.field_map = CrawlOptions.from_settings(crawler.settings).item_fields

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> PagesMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Let requests pass without our tags, and items that need not be held.

        Callbacks pass ``meta=response.meta``, and the queue would store them. This is not Scrapy's
        base class, whose further generators cost each of a page's links more than all that is done
        here.
        """
        async for found in result:
            if isinstance(found, Request):
                meta = found.meta
                if not OWN_META_KEYS.isdisjoint(meta):
                    for key in OWN_META_KEYS:
                        meta.pop(key, None)
            elif (
                found is not None
                and self.holder is not None
                and self.field_map.fields(found) is not None
                and self._is_held(found, response, self.holder)
            ):
                continue
            yield found

    def _is_held(self, item: object, response: Response, holder: Holder) -> bool:
        meta = response.meta if response.request else {}
        row, bound = meta.get(ROW_META_KEY), holder.bindings.get(item)
        if isinstance(bound, Unbound):
            page = None if came_along(item, response) else meta.get(PAGE_META_KEY)
            bound = PageInHand(page, row) if page is not None else None
        if bound is None:
            return False
        place = meta[ITEMS_META_KEY] = meta.get(ITEMS_META_KEY, -1) + 1
        key = holder.keeper.recorder.key(row, place)
        hand = PageInHand(bound.page, bound.page_row, row, key)
        if holder.hold(item, hand):
            return True
        holder.bindings.put(item, hand)
        return False
