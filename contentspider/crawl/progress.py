"""Shows the progress of a crawl: a line that updates itself on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from contentspider.crawl.base.engine import Component, is_closing, queue_length
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.ground.counts import counted
from contentspider.state.outcome import pages_read

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

    from rich.live import Live
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

TICK_SECS = 1.0
READING, LEARNING, WRITING = "reading", "learning", "writing"  # the phases of a crawl
# With these variables of the environment, rich may take any stream for a terminal.
TERMINAL_VARIABLES = ("FORCE_COLOR", "TTY_COMPATIBLE")


@dataclass(frozen=True, slots=True)
class CrawlProgress:
    """How far a run of a crawl is: its *phase*, the pages that it has read (*not_modified* of them
    were not sent, because they have not changed), the items that are *held* until their site is
    learned, the addresses in the queue, and the pages a second.
    """

    phase: str
    pages: int = 0
    not_modified: int = 0
    held: int = 0
    queued: int = 0
    rate: float = 0.0

    def __str__(self) -> str:
        unsent = f" ({self.not_modified:,} not modified)" if self.not_modified else ""
        line = f"{self.phase}: {counted(self.pages, 'pages')}{unsent}, {self.rate:.1f} pages/s"
        if self.queued:
            line += f", {self.queued:,} in the queue{self._time_left()}"
        if self.held:
            line += f", {self.held:,} wait until their site is learned"
        return line

    def _time_left(self) -> str:
        """Return in words how long the queue takes, which pages may still make longer."""
        minutes = self.queued / self.rate / 60 if self.rate else 0
        return f" (at least {minutes:,.0f} min)" if self.phase == READING and minutes >= 1 else ""


# Called with the progress of the crawl every second.
listeners: list[Callable[[CrawlProgress], None]] = []


class LiveLine:
    """Text at the end of a terminal that updates itself. The log appears above it: its handlers
    write to the terminal through *live*, which else would not know of their lines, and delete them.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._stderr = sys.stderr
        self._handlers: list[logging.StreamHandler[TextIO]] = []

    @property
    def width(self) -> int:
        """The number of characters that a line of the terminal has."""
        return self._live.console.width

    def start(self) -> None:
        """Show the text, which is empty at first."""
        self._stderr = sys.stderr
        self._live.start()  # puts another stream in the place of sys.stderr
        self._handlers = [
            handler
            for handler in logging.root.handlers
            if isinstance(handler, logging.StreamHandler) and handler.stream is self._stderr
        ]
        for handler in self._handlers:
            handler.setStream(sys.stderr)

    def update(self, text: str) -> None:
        """Replace the text."""
        self._live.update(text, refresh=True)

    def stop(self) -> None:
        """Leave the text where it is."""
        for handler in self._handlers:
            handler.setStream(self._stderr)
        self._live.stop()


def live_line() -> LiveLine | None:
    """Return text that updates itself; None without a terminal, or without rich."""
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
    return LiveLine(Live(console=console, auto_refresh=False, redirect_stdout=False))


class Progress(Component):
    """Reports the progress of a crawl: every second on a terminal, else when its phase changes and
    every ``CONTENTSPIDER_PROGRESS_SECS``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.seconds = CrawlOptions.from_settings(crawler.settings).progress_secs
        if self.seconds <= 0:
            raise NotConfigured("CONTENTSPIDER_PROGRESS_SECS is 0")
        super().__init__(crawler)
        self.live = live_line()
        self.started = self._logged_at = time.monotonic()
        self._phase = ""  # that was logged last
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    def opened(self) -> None:
        """Start to report."""
        self.started = self._logged_at = time.monotonic()
        self._phase = READING
        if self.live:
            self.live.start()
        self.loop = create_looping_call(self.report)
        self.loop.start(min(TICK_SECS, self.seconds), now=False)

    def closed(self) -> None:
        """Report a last time, and stop."""
        if self.loop.running:
            self.loop.stop()
        self._phase = ""
        self.report()
        if self.live:
            self.live.stop()

    def progress(self) -> CrawlProgress:
        """Return how far the crawl is."""
        get = self.stats.get_value
        pages = pages_read(self.stats.get_stats())
        return CrawlProgress(
            self._phase_now(),
            pages,
            get("contentspider/pages/not_modified", 0),
            get("contentspider/items/held", 0) - get("contentspider/items/released", 0),
            queue_length(self.crawler),
            pages / max(time.monotonic() - self.started, 0.001),
        )

    def _phase_now(self) -> str:
        holder = self.crawler.get_extension(ItemHolder)
        if holder is not None and holder.is_learning:
            return LEARNING
        return WRITING if is_closing(self.crawler) else READING

    def report(self) -> None:
        """Show the line, and tell the listeners."""
        progress, now = self.progress(), time.monotonic()
        for listen in listeners:
            listen(progress)
        if self.live:
            self.live.update(str(progress)[: self.live.width])
        elif progress.phase != self._phase or now - self._logged_at >= self.seconds:
            self._phase, self._logged_at = progress.phase, now
            logger.info("%s", progress)
