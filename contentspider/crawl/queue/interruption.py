"""Ends a crawl within seconds after a signal: work that can wait is left to a resumed run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call

from contentspider.crawl.base.engine import Downloads

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from twisted.internet.task import LoopingCall

POLL_SECS = 0.25  # Scrapy sends no signal when it is told to stop
# Requests that have been sent by then are answered, or sent again by a resumed run.
GRACE_SECS = 1.0


class Interruption:
    """Notices that a crawl was told to end by a signal, ends its downloads, and calls *listeners*
    once. A request that waits or is sent goes back into the queue (`OutageMiddleware`).
    """

    def __init__(self, crawler: Crawler) -> None:
        self.listeners: list[Callable[[], None]] = []
        self._crawler = crawler
        self._downloads: Downloads | None = None
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._since: float | None = None

    @property
    def is_set(self) -> bool:
        """Whether the crawl was told to end."""
        return self._since is not None

    def begin(self) -> None:
        """Begin to look for a signal."""
        self._downloads = Downloads(self._crawler)
        self._loop = create_looping_call(self._look)
        self._loop.start(POLL_SECS, now=False)

    def _look(self) -> None:
        if self._crawler.crawling:
            return
        if self._since is None:
            self._since = time.monotonic()
            for listener in self.listeners:
                listener()
        assert self._downloads
        self._downloads.end_waiting()
        if time.monotonic() - self._since >= GRACE_SECS:
            self._downloads.end_running()

    def end(self) -> None:
        """Look no more."""
        if self._loop and self._loop.running:
            self._loop.stop()
