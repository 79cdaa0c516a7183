"""The middlewares: tag responses with their blocks, and hand each item's page to the pipeline."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.items import FieldMap
from contentspider.page.blocks import extract_blocks
from contentspider.page.document import Page
from contentspider.page.hints import extract_hints

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

PAGE_META_KEY = "contentspider_page"
# Bodies beyond this take more than about 5 ms to parse: they do so off the event loop.
THREAD_BYTES = 300_000
# Items on their way to the pipeline at one time: far fewer are, or Scrapy would stop to fetch.
MAX_WAITING = 5_000
# A tree takes about 20 times the memory of its page.
MAX_LARGE = 2
# What text hardly holds: control characters but white space and the shifts of old Asian encodings. NUL is UTF-16's.
CONTROLS = bytes(set(range(1, 32)) - set(b"\t\n\f\r\x0e\x0f\x1b"))


class BlocksMiddleware:
    """Tags every HTML response with its blocks and hints: ``response.meta["contentspider_page"]``, a `Page`."""

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("CONTENTSPIDER_ENABLED", True):
            raise NotConfigured("CONTENTSPIDER_ENABLED is False")
        assert crawler.stats
        self.stats = crawler.stats
        self.max_blocks = crawler.settings.getint("CONTENTSPIDER_MAX_BLOCKS")
        self.large = asyncio.Semaphore(MAX_LARGE)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BlocksMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Tag the response if it is HTML and was answered with success."""
        if isinstance(response, HtmlResponse) and response.status == 200 and not is_binary(response.body):
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
                    response.url, self.max_blocks,
                )  # fmt: skip
        return response

    def _read(self, response: HtmlResponse) -> Page:
        try:
            root = response.selector.root if response.body.strip() else None
        except (UnicodeError, LookupError):  # the page names a codec that is no encoding of text
            return Page.from_html(response.body, response.url)
        if root is None or not hasattr(root, "iter"):
            return Page.from_html("", response.url)
        return Page(response.url, extract_blocks(root, self.max_blocks), extract_hints(root))


def is_binary(body: bytes) -> bool:
    """Tell whether a body is none of HTML, whatever its server calls it.

    >>> [is_binary(body) for body in (b"%PDF-1.4", bytes(range(256)), "<p>é".encode("cp1252"), "<p>日本".encode("iso2022_jp"))]
    [True, True, False, False]
    """
    head = body[:1000]
    if head.startswith((b"%PDF-", b"PK\x03\x04")):
        return True
    # UTF-16 writes such bytes for Asian scripts; it begins with a mark, or its markup is full of NULs.
    is_utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"<\0" in head or b"\0<" in head
    return not is_utf16 and len(head.translate(None, CONTROLS)) * 20 < len(head) * 19


class ItemPages:
    """The page of each item on its way from the callback to the pipeline, by the item's identity."""

    def __init__(self) -> None:
        self._pages: dict[int, tuple[object, Page]] = {}

    def put(self, item: object, page: Page) -> None:
        """Remember the page of an item."""
        self._pages[id(item)] = (item, page)
        if len(self._pages) > MAX_WAITING:  # their items were replaced on the way: nobody will ask
            del self._pages[next(iter(self._pages))]

    def take(self, item: object) -> Page | None:
        """Return the page of an item and forget it."""
        found = self._pages.pop(id(item), None)
        return found[1] if found else None


class PagesMiddleware(BaseSpiderMiddleware):
    """Remembers which page an item was made from, and keeps the tag out of follow-up requests."""

    def __init__(self, crawler: Crawler) -> None:
        if not crawler.settings.getbool("CONTENTSPIDER_ENABLED", True):
            raise NotConfigured("CONTENTSPIDER_ENABLED is False")
        super().__init__(crawler)
        self.pages = ItemPages()
        self.field_map = FieldMap(crawler.settings.getdict("CONTENTSPIDER_ITEM_FIELDS"))

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        """Drop our tag: callbacks pass ``meta=response.meta``, and the queue would store it."""
        if PAGE_META_KEY in request.meta:
            del request.meta[PAGE_META_KEY]
        return request

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """Remember the page of an item that asks for its content."""
        if response is not None and self.field_map.fields(item) is not None:
            page = response.meta.get(PAGE_META_KEY) if response.request else None
            if page is not None:
                self.pages.put(item, page)
        return item
