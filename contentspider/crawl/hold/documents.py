"""PDF files that a site links to, as pages of their own kind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.hold.binding import PAGE_META_KEY
from contentspider.page.input.pdf import can_read, is_pdf, read_pdf

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# Next to where HTML is tagged with its blocks: responses come decompressed and redirected.
DOCUMENTS_ORDER = 541


class DocumentsMiddleware:
    """Tags PDF responses with their text, ``response.meta["contentspider_page"]``, one at a time,
    where the extra ``pdf`` is installed.
    """

    def __init__(self) -> None:
        self._one = asyncio.Semaphore(1)
        self._can_read = can_read()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DocumentsMiddleware:
        """Return the middleware of a crawler."""
        return cls()

    async def process_response(self, request: Request, response: Response) -> Response:
        """Tag the response if it is a PDF file that can be read."""
        if self._can_read and 200 <= response.status < 300 and is_pdf(response.body):
            async with self._one:
                page = await run_in_thread(read_pdf, response.body, response.url)
            if page is not None:
                request.meta[PAGE_META_KEY] = page
        return response
