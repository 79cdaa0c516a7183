"""Updates the search indexes of a crawl from the book, after the crawl has ended."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.process_memory import MB, spare_memory
from contentspider.index.engine import create_engine, redacted_url
from contentspider.index.errors import IndexDamagedError
from contentspider.index.operations import sync
from contentspider.index.schema import SchemaMismatchError
from contentspider.state.book.database import MemoryShortError
from contentspider.state.crawls.folder import index_url

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.index.sync import Report

logger = logging.getLogger(__name__)

# Memory that an update needs. Without memory, tantivy ends the process.
LEAST = 100 * MB
POLL_SECS = 0.2
END_SECS = 2.0  # a batch of documents that is written at a signal may take as long


class IndexingStoppedError(ContentSpiderError):
    """The crawl was told to end while an index was updated."""

    code = "indexing-stopped"

    def __init__(self, url: str) -> None:
        super().__init__(f"{redacted_url(url)}: the crawl was told to end during the update")


class Indexing:
    """Updates the indexes of ``CONTENTSPIDER_INDEX`` after the crawl has ended."""

    def __init__(
        self, options: CrawlOptions, stats: StatsCollector, is_interrupted: Callable[[], bool]
    ) -> None:
        self._is_interrupted = is_interrupted
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
                report = await self._sync(history, url)
            except ContentSpiderError as error:
                count("contentspider/index/failed")
                advice = (
                    f": run 'contentspider index sync {history.stem} {redacted_url(url)}', or crawl"
                    " again"
                )
                if isinstance(error, (SchemaMismatchError, IndexDamagedError)):
                    # the error says what helps
                    advice = ""
                logger.error(f"{error}. The index misses changes that the book has{advice}")
                continue
            logger.info("%s: %s", redacted_url(url), report)
            for name in ("upserted", "deleted", "kept", "retries"):
                count(f"contentspider/index/{name}", getattr(report, name))
            count("contentspider/index/refused", len(report.refused))
            count("contentspider/index/foreign", report.foreign.total())

    async def _sync(self, history: Path, url: str) -> Report:
        """Update an index in a thread. After a signal, the thread ends with its batch. If it still
        waits for the engine then, it is left behind, and dies with the process.
        """
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Report] = loop.create_future()
        report_progress = self._progress_reporter(url)

        def work() -> None:
            try:
                report = sync(history, url, self._force, self._take_over, report_progress)
                settle, value = result.set_result, report
            except BaseException as error:  # noqa: BLE001 - the crawl raises it
                settle, value = result.set_exception, error  # type: ignore[assignment]
            with suppress(RuntimeError):  # the loop has ended without us
                loop.call_soon_threadsafe(settle, value)

        Thread(target=work, daemon=True).start()
        while not result.done():
            await asyncio.wait((result,), timeout=POLL_SECS)
            if self._is_interrupted():
                await asyncio.wait((result,), timeout=END_SECS)
                break
        if not result.done():
            raise IndexingStoppedError(url)
        return result.result()

    def _progress_reporter(self, url: str) -> Callable[[int, int], None]:
        """Return a function that logs the progress of an update, every *progress_secs*. It raises
        an error after a signal.
        """
        logged_at = time.monotonic()

        def report(done: int, total: int) -> None:
            nonlocal logged_at
            if self._is_interrupted():
                raise IndexingStoppedError(url)
            if self._progress_secs and time.monotonic() - logged_at >= self._progress_secs:
                logged_at = time.monotonic()
                logger.info("%s: %d of %d changes are in the index", redacted_url(url), done, total)

        return report
