"""The middlewares: tag responses with their page, and find the page of each item."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy import Request
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.engine import Component, extension, header, tree_of
from contentspider.crawl.hold.binding import BINDINGS_META_KEY, PAGE_META_KEY, ROW_META_KEY
from contentspider.crawl.hold.holder import Holder
from contentspider.crawl.queue.memory import room_for
from contentspider.crawl.queue.process_memory import no_collection
from contentspider.crawl.revisits.answers import (
    CHECK_META_KEY,
    CONDITIONAL_META_KEY,
    NOT_MODIFIED,
    ORPHAN_META_KEY,
)
from contentspider.page.input.body import (
    MAX_BYTES,
    MAX_TAGS,
    NOT_ASCII,
    declared_encoding,
    is_binary,
    is_media,
    limit_markup,
    named_encoding,
    page_encoding,
)
from contentspider.page.input.page import Page
from contentspider.page.input.pdf import is_pdf, read_pdf
from contentspider.page.tree.blocks import MAX_BLOCKS, new_walker
from contentspider.state.ledger.items import PageInHand

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
ITEMS_META_KEY = "contentspider_items"
OWN_META_KEYS = {PAGE_META_KEY, BINDINGS_META_KEY, ROW_META_KEY, ITEMS_META_KEY} | {
    *(ORPHAN_META_KEY, CONDITIONAL_META_KEY, CHECK_META_KEY, "is_start_request")
}
# Above what reads a body's text (MetaRefreshMiddleware, 580), below what unpacks it (590).
BODIES_ORDER = 585
THREAD_BYTES = 300_000  # larger bodies take more than 5 ms to parse: off the event loop
MAX_LARGE = 2  # a tree takes about 20 times the memory of its page


class BodiesMiddleware(Component):
    """Replaces responses in odd encodings, and cuts those with more markup than pages need."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.large = asyncio.Semaphore(1)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response, or one that is safe to read in its place."""
        if not isinstance(response, TextResponse) or is_binary(response.body):
            return response
        with room_for(response, self.crawler):
            safe = await _off_the_loop(_made_safe, response, self.large)
        if safe.body is not response.body:
            self.stats.inc_value("contentspider/pages/cut")
        return safe


class BlocksMiddleware(Component):
    """Tags each HTML response (PDF files, too, if the spider reads them) with its `Page`."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, Holder)
        self.attributes = self.holder.options.learning.needs_attributes
        self.walker = new_walker(self.holder.options.obey_directives)
        self.large = asyncio.Semaphore(MAX_LARGE)
        self.documents = asyncio.Semaphore(1)

    def process_request(self, request: Request) -> None:
        """Forget the page of an earlier answer, which the copy of a request has."""
        request.meta.pop(PAGE_META_KEY, None)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Tag the response if it is a page that was answered with success."""
        if not 200 <= response.status < 300:
            return response
        page = None
        is_other = is_media(header(response, "Content-Type")) or is_binary(response.body)
        if isinstance(response, HtmlResponse) and not is_other:
            page = await self.read_html(response)
            self._count(page)
        elif getattr(self.crawler.spider, "reads_documents", False) and is_pdf(response.body):
            async with self.documents:
                page = await run_in_thread(read_pdf, response.body, response.url)
        if page is not None:
            request.meta[PAGE_META_KEY] = page
            request.meta[BINDINGS_META_KEY] = self.holder.bindings
        return response

    async def read_html(self, response: HtmlResponse) -> Page:
        """Return the page of a response."""
        with room_for(response, self.crawler):
            return await _off_the_loop(self._read, response, self.large)

    def _count(self, page: Page) -> None:
        self.stats.inc_value("contentspider/pages/tagged")
        self.stats.inc_value("contentspider/blocks/seen", len(page.content.blocks))
        if page.content.has_left_out:
            self.stats.inc_value("contentspider/pages/directives")
        if page.content.truncated:
            self.stats.inc_value("contentspider/pages/truncated")
            most = f"{MAX_BLOCKS} blocks of text"
            logger.warning("%s has more than %s; the rest is left out", page.url, most)

    def _read(self, response: HtmlResponse) -> Page:
        root = tree_of(response)
        if root is None:
            return Page.from_html("", response.url)
        overrides = self.holder.models.overrides(response.url)
        given = (self.attributes, MAX_BLOCKS, self.walker, overrides)
        with no_collection():
            return Page.from_root(root, response.url, *given)


class PagesMiddleware(Component):
    """Finds the page of each item, holds items of unknown sites, keeps our tags to us."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, Holder)
        self.field_map = self.holder.options.item_fields

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Keep our tags from requests; hold items. Scrapy's base class costs each link more."""
        async for found in result:
            if isinstance(found, Request):
                meta = found.meta
                if not OWN_META_KEYS.isdisjoint(meta):
                    for key in OWN_META_KEYS:
                        meta.pop(key, None)
            elif (
                found is not None
                and self.field_map.fields(found) is not None
                and self._is_held(found, response)
            ):
                continue
            yield found

    def _is_held(self, item: object, response: Response) -> bool:
        meta = response.meta if response.request else {}
        row, bindings = meta.get(ROW_META_KEY), self.holder.bindings
        bound = bindings.get(item)
        if bound is None and not bindings.has(item) and not _came_along(item, response):
            page = meta.get(PAGE_META_KEY)
            bound = PageInHand(page, row) if page is not None else None
        if bound is None:
            return False
        place = meta[ITEMS_META_KEY] = meta.get(ITEMS_META_KEY, -1) + 1
        key = self.holder.keeper.recorder.key(row, place)
        hand = PageInHand(bound.page, bound.page_row, row, key, may_pass=True)
        hand.is_unsent = NOT_MODIFIED in response.flags and bound.page is meta.get(PAGE_META_KEY)
        if self.holder.hold(item, hand):
            return True
        bindings.put(item, hand)
        return False


async def _off_the_loop(
    function: Callable[[Any], Result], response: Response, free: asyncio.Semaphore
) -> Result:
    """Return what a function makes of a response; of a large one in a thread, when one is free."""
    if len(response.body) <= THREAD_BYTES:
        return function(response)
    async with free:
        return await run_in_thread(function, response)


def _came_along(item: object, response: Response) -> bool:
    """Tell whether an item came in the request, and so was made before the page was there."""
    request = response.request
    given = (*request.cb_kwargs.values(), *request.meta.values()) if request is not None else ()
    return any(found is item for found in given)


def _made_safe(response: TextResponse) -> TextResponse:
    body = response.body
    content_type = header(response, "Content-Type")
    encoding = declared_encoding(body, content_type)
    if encoding != named_encoding(body, content_type):
        encoding = page_encoding(body, content_type)
        logger.debug("%s is read as %s: browsers know no other that it names", response, encoding)
        response = response.replace(encoding=encoding)
    if isinstance(response, HtmlResponse):
        if encoding in NOT_ASCII:
            body = response.text.encode("utf-8", "replace")
        limited = limit_markup(body)
        if limited is not body:
            logger.warning(
                "%s is cut: it has more than %d bytes, %d tags, 1,000 attributes in one, or 500,000"
                " in all",
                response,
                MAX_BYTES,
                MAX_TAGS,
            )
            encoding = "utf-8" if encoding in NOT_ASCII else response.encoding
            return response.replace(body=limited, encoding=encoding)
    return response
