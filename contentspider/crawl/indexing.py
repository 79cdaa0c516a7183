"""The search indexes of a crawl: brought up to date when it has ended, from the site's history."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.queue.process_memory import MB, spare
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import connect, shown
from contentspider.index.operations import sync
from contentspider.index.sync import Limits
from contentspider.state.crawls.folder import index_url
from contentspider.state.ledger.database import MemoryShortError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.options import CrawlOptions
    from contentspider.index.sync import Report

logger = logging.getLogger(__name__)

# Where it gets none, tantivy ends the process.
LEAST = 100 * MB


class Indexing:
    """Brings the indexes of ``CONTENTSPIDER_INDEX`` up to date when the crawl has ended, in a
    thread. What does not get in is in the history, and gets in the next time.
    """

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._urls = [index_url(url, options.state_dir) for url in options.index]
        self._limits = Limits(force=options.force)
        self._progress_secs = options.progress_secs
        self._stats = stats

    def check(self) -> None:
        """Raise `EngineError` if a URL is none of an index, or its engine's package is missing."""
        for url in self._urls:
            connect(url)

    async def run(self, history: Path) -> None:
        """Bring in what changed; what fails is said and counted, and the crawl none the worse."""
        for url in self._urls:
            await self._sync(history, url)

    async def _sync(self, history: Path, url: str) -> None:
        try:
            if spare() < LEAST:
                raise MemoryShortError(f"{shown(url)}: there is no memory to bring it up to date")
            report = await run_in_thread(sync, history, url, self._limits, self._teller(url))
        except ContentSpiderError as error:
            self._stats.inc_value("contentspider/index/failed")
            logger.error(
                "%s. What is missing there is in the history: 'contentspider index sync %s %s'"
                " brings it in, and so does the next crawl",
                error,
                history.stem,
                shown(url),
            )
        else:
            self._count(url, report)

    def _count(self, url: str, report: Report) -> None:
        logger.info("%s: %s", shown(url), report)
        for name, number in (
            ("upserted", report.upserted),
            ("deleted", report.deleted),
            ("refused", len(report.refused)),
            ("retries", report.retries),
        ):
            self._stats.inc_value(f"contentspider/index/{name}", number)

    def _teller(self, url: str) -> Callable[[int, int], None]:
        """Return what says in the log, every some seconds, how far an index is."""
        last = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            if self._progress_secs and time.monotonic() - last >= self._progress_secs:
                last = time.monotonic()
                logger.info("%s: %d of %d changes are in", shown(url), done, total)

        return tell
