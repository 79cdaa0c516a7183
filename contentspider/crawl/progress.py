"""Shows the progress of a crawl: a line that updates itself on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import os
import sys
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from contentspider.crawl.base.engine import Component, queue_length
from contentspider.crawl.base.options import CrawlOptions

if TYPE_CHECKING:
    from rich.live import Live
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


# With these variables of the environment, rich may take any stream for a terminal.
TERMINAL_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE")


def live_line() -> Live | None:
    """Return a line that updates itself; None without a terminal, or without rich."""
    # Scheduled crawls usually run without a terminal. Importing rich takes a while.
    if not sys.stderr.isatty() and not any(map(os.environ.get, TERMINAL_VARIABLES)):
        return None
    try:
        from rich.console import Console
        from rich.live import Live
    except ImportError:
        return None
    console = Console(stderr=True, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        return None
    # Log messages appear above the line.
    return Live(console=console, auto_refresh=False, redirect_stdout=False)


class Progress(Component):
    """Reports the progress of a crawl: every second on a terminal, else every
    ``CONTENTSPIDER_PROGRESS_SECS``.
    """

    def __init__(self, crawler: Crawler) -> None:
        seconds = CrawlOptions.from_settings(crawler.settings).progress_secs
        if seconds <= 0:
            raise NotConfigured("CONTENTSPIDER_PROGRESS_SECS is 0")
        super().__init__(crawler)
        self.live = live_line()
        self.seconds = 1.0 if self.live else seconds
        self.started = time.monotonic()
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    def opened(self) -> None:
        """Start to report."""
        self.started = time.monotonic()
        if self.live:
            self.live.start()
        self.loop = create_looping_call(self.report)
        self.loop.start(self.seconds, now=False)

    def closed(self) -> None:
        """Report a last time, and stop."""
        if self.loop.running:
            self.loop.stop()
        self.report()
        if self.live:
            self.live.stop()

    def line(self) -> str:
        """Return the line with the counts of the crawl."""
        get = self.stats.get_value
        pages = get("contentspider/pages/tagged", 0) - get("contentspider/pages/read_again", 0)
        held_count = get("contentspider/items/held", 0) - get("contentspider/items/released", 0)
        rate = pages / max(time.monotonic() - self.started, 0.001)
        learned = get("contentspider/sites/learned", 0) + get("contentspider/models/loaded", 0)
        return (
            f"{pages} pages, {get('item_scraped_count', 0)} items, {held_count} held,"
            f" {queue_length(self.crawler)} queued, {learned} sites known, {rate:.1f} pages/s"
        )

    def report(self) -> None:
        """Show the line."""
        if self.live:
            self.live.update(self.line()[: self.live.console.width], refresh=True)
        else:
            logger.info("%s", self.line())
