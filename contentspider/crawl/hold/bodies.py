"""The middleware that looks at bodies before anything decodes or parses them."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse, TextResponse
from scrapy.utils.asyncio import run_in_thread

from contentspider.page.input.body import (
    NOT_ASCII,
    declared_encoding,
    is_binary,
    limit_attributes,
    named_encoding,
    page_encoding,
)

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# Above Scrapy's own that read a body's text (MetaRefreshMiddleware, 580), below those that unpack
# it (HttpCompressionMiddleware, 590).
BODIES_ORDER = 585
# Bodies beyond this take more than about 5 ms to parse: they do so off the event loop.
THREAD_BYTES = 300_000


class BodiesMiddleware:
    """Replaces responses that would take long, or fail, later: an encoding that browsers do not
    know gives way to the one that `page_encoding` finds; of a tag's attributes the first 1,000
    stay.
    """

    def __init__(self) -> None:
        self.large = asyncio.Semaphore(1)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> BodiesMiddleware:
        """Return the middleware of a crawler."""
        return cls()

    async def process_response(self, request: Request, response: Response) -> Response:
        """Return the response, or one that is safe to read in its place."""
        if not isinstance(response, TextResponse) or is_binary(response.body):
            return response
        if len(response.body) > THREAD_BYTES:
            async with self.large:
                return await run_in_thread(_made_safe, response)
        return _made_safe(response)


def _made_safe(response: TextResponse) -> TextResponse:
    body = response.body
    header = response.headers.get(b"Content-Type") or b""
    content_type = header.decode("latin-1")
    encoding = declared_encoding(body, content_type)
    if encoding != named_encoding(body, content_type):
        encoding = page_encoding(body, content_type)
        logger.debug("%s is read as %s: browsers know no other that it names", response, encoding)
        response = response.replace(encoding=encoding)
    if isinstance(response, HtmlResponse):
        if encoding in NOT_ASCII:
            body = response.text.encode("utf-8", "replace")
        limited = limit_attributes(body)
        if limited is not body:
            logger.warning("%s has tags with more than 1,000 attributes; these are cut", response)
            encoding = "utf-8" if encoding in NOT_ASCII else response.encoding
            return response.replace(body=limited, encoding=encoding)
    return response
