"""Hands the results of a crawl on: models and book to stores at fsspec URLs, changes to indexes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.process_memory import MB, spare_memory
from contentspider.index.errors import redacted_url
from contentspider.state.book.database import MemoryShortError
from contentspider.state.crawls.folder import index_url
from contentspider.state.outcome import BEHIND_STAT
from contentspider.state.stores.models import SharedModels
from contentspider.state.stores.remote import RemoteError, is_url, open_objects
from contentspider.state.stores.shared import SharedBook

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.index.sync import Report
    from contentspider.state.stores.models import ModelStore

logger = logging.getLogger(__name__)

# Memory that an update needs. Without memory, tantivy ends the process.
LEAST = 100 * MB
POLL_SECS = 0.2
# The codes of errors that say what helps.
ADVISING = ("index-schema", "index-damaged", "index-deletions")
END_SECS = 2.0  # a batch of documents that is written at a signal may take as long


class Sharing:
    """Shares the models and the book of a crawl, if their options name stores."""

    def __init__(self, options: CrawlOptions, stats: StatsCollector) -> None:
        self._options = options
        self._stats = stats
        # The store of the crawl's models.
        self.models: ModelStore | None = None
        self._book: SharedBook | None = None

    def check(self) -> None:
        """Raise `RemoteError` if a store cannot be used, or cannot lock out a second writer."""
        for url in {self._options.models_dir, self._options.books_url}:
            if is_url(url):
                open_objects(url).check()

    def pull(self, path: Path) -> None:
        """Download the book to *path*; raises `RemoteError`."""
        if self._options.books_url:
            self._book = SharedBook(open_objects(self._options.books_url), path)
            self._book.pull()

    def begin_change(self) -> None:
        """Record that the local book is about to become newer than the book in the store."""
        if self._book:
            self._book.begin_change()

    async def send(self) -> None:
        """Upload the book and the saved models. The next run uploads what fails now."""
        for error in await run_in_thread(self._send):
            self._stats.inc_value("contentspider/remote/unsent")
            logger.error("%s. The files stay on this machine, and the next run uploads them", error)

    def _send(self) -> list[RemoteError]:
        """Upload, and return the errors."""
        errors = self.models.send() if isinstance(self.models, SharedModels) else []
        try:
            if self._book:
                self._book.push()
        except RemoteError as error:
            errors.append(error)
        return errors


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
        if self._urls:
            from contentspider.index.engine import create_engine  # loads the search

            for url in self._urls:
                create_engine(url)

    async def run(self, book: Path) -> None:
        """Bring the changes in a *book* into the indexes. Failures are logged and counted; the
        outcome of the crawl is then `INDEX_BEHIND`.
        """
        count = self._stats.inc_value
        for url in self._urls:
            try:
                if spare_memory() < LEAST:
                    raise MemoryShortError(
                        f"{redacted_url(url)}: too little memory to update the index"
                    )
                report = await self._sync(book, url)
            except ContentSpiderError as error:
                count("contentspider/index/failed")
                shown = redacted_url(url)
                advice = f": run 'contentspider index sync {book.stem} {shown}', or crawl again"
                if error.code in ADVISING:
                    advice = ""
                told = f"{error}. The index misses changes that the book has{advice}"
                self._stats.set_value(BEHIND_STAT + shown, told)
                logger.error(told)
                continue
            logger.info("%s: %s", redacted_url(url), report)
            for name in ("upserted", "deleted", "kept", "retries"):
                count(f"contentspider/index/{name}", getattr(report, name))
            count("contentspider/index/refused", len(report.refused))
            count("contentspider/index/foreign", report.foreign.total())

    async def _sync(self, book: Path, url: str) -> Report:
        """Update an index in a thread. After a signal, the thread ends with its batch. If it still
        waits for the engine then, it is left behind, and dies with the process.
        """
        from contentspider.index import operations

        loop = asyncio.get_running_loop()
        result: asyncio.Future[Report] = loop.create_future()
        report_progress = self._progress_reporter(url)

        def work() -> None:
            try:
                given = (book, url, self._force, self._take_over, report_progress)
                report = operations.sync(*given)
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
