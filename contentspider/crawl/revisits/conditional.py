"""Conditional requests: a page that the server says has not changed is not sent again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse

from contentspider.crawl.hold.binding import BINDINGS_META_KEY, PAGE_META_KEY
from contentspider.crawl.hold.holder import Holder
from contentspider.crawl.options import CrawlOptions
from contentspider.crawl.queue.addresses import NOT_MODIFIED_STATUS
from contentspider.crawl.queue.keeper import Keeper
from contentspider.crawl.revisits.lastmods import CHECKED_EACH
from contentspider.crawl.revisits.visit_log import (
    CHECK_META_KEY,
    CONDITIONAL_META_KEY,
    NOT_MODIFIED,
)

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

# After (as an answer comes) it is tagged with its blocks: an answer of 304 has none.
CONDITIONAL_ORDER = 535
ASKING = {"etag": "If-None-Match", "last_modified": "If-Modified-Since"}


class ConditionalMiddleware:
    """Asks for the site spider's known pages only if they have changed. In place of the answer that
    one has not (304), the spider gets the page as the history has it:
    ``response.meta["contentspider_page"]``, the response itself is empty and flagged
    ``not modified``.
    """

    def __init__(self, crawler: Crawler) -> None:
        options = CrawlOptions.from_settings(crawler.settings)
        keeper, holder = crawler.get_extension(Keeper), crawler.get_extension(Holder)
        if not options.conditional or keeper is None or holder is None or not keeper.is_durable:
            raise NotConfigured
        assert crawler.stats
        self.keeper = keeper
        self.holder = holder
        self.stats = crawler.stats
        self.models = holder.models
        self._answered: dict[str, int] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ConditionalMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Ask whether a known page has changed, if the site is to be believed."""
        # A redirect and a retry copy the headers of the request before.
        if request.meta.pop(CONDITIONAL_META_KEY, None):
            for header in ASKING.values():
                request.headers.pop(header, None)
        revisits = self.keeper.revisits
        if revisits is None or self.keeper.is_broken or CHECK_META_KEY in request.meta:
            return
        if not self._is_page(request) or self.models.overrides(request.url) is not None:
            return
        site = self.holder.keys.key(request.url)
        known = revisits.conditional(request.url, site)
        if known is not None:
            for name, header in ASKING.items():
                if value := getattr(known, name):
                    request.headers[header] = value
            request.meta[CONDITIONAL_META_KEY] = known.id

    def _is_page(self, request: Request) -> bool:
        spider = self.holder.crawler.spider
        is_page = getattr(spider, "is_page_request", None)
        return is_page is not None and bool(is_page(request))

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Take the page from the history if it has not changed."""
        known = request.meta.get(CONDITIONAL_META_KEY)
        revisits = self.keeper.revisits
        if response.status != NOT_MODIFIED_STATUS or known is None or revisits is None:
            return response
        page = revisits.stored(known)
        site = self.holder.keys.key(request.url)
        count = self._answered[site] = self._answered.get(site, 0) + 1
        if page is None or count % CHECKED_EACH == 1:
            return request.replace(dont_filter=True, meta={**request.meta, CHECK_META_KEY: True})
        request.meta[PAGE_META_KEY] = page
        request.meta[BINDINGS_META_KEY] = self.holder.bindings
        self.stats.inc_value("contentspider/pages/not_modified")
        return HtmlResponse(
            response.url,
            headers=response.headers,
            request=request,
            flags=[*response.flags, NOT_MODIFIED],
            encoding="utf-8",
        )
