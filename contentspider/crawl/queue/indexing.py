"""Updates the search indexes of a crawl from the history, after the crawl has ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.base.process_memory import MB, spare_memory
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import create_engine, redacted_url
from contentspider.index.errors import IndexDamagedError
from contentspider.index.operations import sync
from contentspider.index.schema import SchemaMismatchError
from contentspider.state.crawls.folder import index_url
from contentspider.state.ledger.database import MemoryShortError

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.options import CrawlOptions

logger = logging.getLogger(__name__)

# Memory that an update needs. Without memory, tantivy ends the process.
LEAST = 100 * MB


class Indexing:
    """Updates the indexes of ``CONTENTSPIDER_INDEX`` after the crawl has ended."""

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._urls = [index_url(url, options.state_dir) for url in options.index]
        self._force = options.force
        self._take_over = options.take_over
        self._progress_secs = options.progress_secs
        self._stats = stats

    def check(self) -> None:
        """Raise `EngineError` if a URL names no index, or the package of its engine is missing."""
        for url in self._urls:
            create_engine(url)

    async def run(self, history: Path) -> None:
        """Bring the changes in a *history* into the indexes. Failures are logged and counted; the
        outcome of the crawl is then `INDEX_BEHIND`.
        """
        count = self._stats.inc_value
        for url in self._urls:
            try:
                if spare_memory() < LEAST:
                    raise MemoryShortError(
                        f"{redacted_url(url)}: too little memory to update the index"
                    )
                report_progress = self._progress_reporter(url)
                how = (self._force, self._take_over, report_progress)
                report = await run_in_thread(sync, history, url, *how)
            except ContentSpiderError as error:
                count("contentspider/index/failed")
                advice = (
                    f": run 'contentspider index sync {history.stem} {redacted_url(url)}', or crawl"
                    " again"
                )
                if isinstance(error, (SchemaMismatchError, IndexDamagedError)):
                    # the error says what helps
                    advice = ""
                logger.error(f"{error}. The index misses changes that the history has{advice}")
                continue
            logger.info("%s: %s", redacted_url(url), report)
            for name in ("upserted", "deleted", "kept", "retries"):
                count(f"contentspider/index/{name}", getattr(report, name))
            count("contentspider/index/refused", len(report.refused))
            count("contentspider/index/foreign", report.foreign.total())

    def _progress_reporter(self, url: str) -> Callable[[int, int], None]:
        """Return a function that logs the progress of an update, every *progress_secs*."""
        logged_at = time.monotonic()

        def report(done: int, total: int) -> None:
            nonlocal logged_at
            if self._progress_secs and time.monotonic() - logged_at >= self._progress_secs:
                logged_at = time.monotonic()
                logger.info("%s: %d of %d changes are in the index", redacted_url(url), done, total)

        return report
