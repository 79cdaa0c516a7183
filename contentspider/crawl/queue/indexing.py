"""The search indexes of a crawl: brought up to date when it has ended, from the site's history."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.base.process_memory import MB, spare
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.engine import connect, shown
from contentspider.index.operations import sync
from contentspider.state.crawls.folder import index_url
from contentspider.state.ledger.database import MemoryShortError

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.options import CrawlOptions

logger = logging.getLogger(__name__)

# Where it gets none, tantivy ends the process.
LEAST = 100 * MB


class Indexing:
    """Brings the indexes of ``CONTENTSPIDER_INDEX`` up to date when the crawl has ended."""

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._urls = [index_url(url, options.state_dir) for url in options.index]
        self._force = options.force
        self._progress_secs = options.progress_secs
        self._stats = stats

    def check(self) -> None:
        """Raise `EngineError` if a URL is none of an index, or its engine's package is missing."""
        for url in self._urls:
            connect(url)

    async def run(self, history: Path) -> None:
        """Bring in what changed. What fails is said and counted: the crawl's outcome is
        `INDEX_BEHIND` then.
        """
        count = self._stats.inc_value
        for url in self._urls:
            try:
                if spare() < LEAST:
                    raise MemoryShortError(f"{shown(url)}: there is no memory to bring it in")
                report = await run_in_thread(sync, history, url, self._force, self._teller(url))
            except ContentSpiderError as error:
                count("contentspider/index/failed")
                logger.error(
                    f"{error}. What is missing there is in the history: 'contentspider index sync"
                    f" {history.stem} {shown(url)}' brings it in, and so does the next crawl"
                )
                continue
            logger.info("%s: %s", shown(url), report)
            for name in ("upserted", "deleted", "kept", "retries"):
                count(f"contentspider/index/{name}", getattr(report, name))
            count("contentspider/index/refused", len(report.refused))

    def _teller(self, url: str) -> Callable[[int, int], None]:
        """Return what says in the log, every some seconds, how far an index is."""
        last = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal last
            if self._progress_secs and time.monotonic() - last >= self._progress_secs:
                last = time.monotonic()
                logger.info("%s: %d of %d changes are in", shown(url), done, total)

        return tell
