"""Progress of a crawl: one line that renews itself on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class Progress:
    """Says every second (on a terminal) or every few what the crawl has done so far."""

    def __init__(self, crawler: Crawler) -> None:
        seconds = crawler.settings.getfloat("CONTENTSPIDER_PROGRESS_SECS")
        if seconds <= 0:
            raise NotConfigured("CONTENTSPIDER_PROGRESS_SECS is 0")
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats
        self.is_terminal = sys.stderr.isatty()
        self.seconds = 1.0 if self.is_terminal else seconds
        self.started = time.monotonic()
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Progress:
        """Return the extension of a crawler."""
        return cls(crawler)

    def opened(self) -> None:
        """Start to tell."""
        self.started = time.monotonic()
        self.loop = create_looping_call(self.tell)
        self.loop.start(self.seconds, now=False)

    def closed(self) -> None:
        """Tell a last time and stop."""
        if self.loop.running:
            self.loop.stop()
        self.tell()
        if self.is_terminal:
            sys.stderr.write("\n")

    def line(self) -> str:
        """Return the state of the crawl in a line."""
        get = self.stats.get_value
        pages = get("contentspider/pages/tagged", 0)
        held = get("contentspider/items/held", 0) - get("contentspider/items/released", 0)
        queued = get("scheduler/enqueued", 0) - get("scheduler/dequeued", 0)
        rate = pages / max(time.monotonic() - self.started, 0.001)
        return f"{pages} pages, {get('item_scraped_count', 0)} items, {held} held, {queued} queued, {rate:.1f} pages/s"

    def tell(self) -> None:
        """Write the line."""
        if self.is_terminal:
            sys.stderr.write(f"\r\x1b[K{self.line()}")
            sys.stderr.flush()
        else:
            logger.info("%s", self.line())
