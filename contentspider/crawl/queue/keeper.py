"""The extension that opens the book of a crawl, commits it every second, and ends the run."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.utils.asyncio import (
    AsyncioLoopingCall,
    create_looping_call,
    is_asyncio_available,
    run_in_thread,
)

from contentspider.crawl.base.engine import end_at_start, queue_length, wake
from contentspider.crawl.base.state import CrawlState
from contentspider.crawl.queue.addresses import Addresses, ItemRecorder
from contentspider.crawl.queue.interruption import Interruption
from contentspider.crawl.queue.outage import HostPauses
from contentspider.crawl.queue.sharing import Sharing
from contentspider.crawl.revisits.gone import no_exclusion
from contentspider.crawl.revisits.revisits import Revisits
from contentspider.ground.errors import ContentSpiderError
from contentspider.recrawl.changes import UNCHANGED
from contentspider.state.book.book import Book
from contentspider.state.book.database import LedgerBusyError, LedgerFullError
from contentspider.state.crawls.books import crawl_book, open_crawl, open_temporary
from contentspider.state.files.output import JsonLinesWriter, check_output
from contentspider.state.outcome import (
    FINISHED,
    OUTAGE,
    SHUTDOWN,
    UNLEARNED_FACT,
    Ending,
    hidden_sites,
)

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.internet.task import LoopingCall

    from contentspider.crawl.queue.indexing import Indexing

logger = logging.getLogger(__name__)

# After a kill, a resumed run repeats the work since the last commit.
COMMIT_SECS = 1.0
# Seconds between two pauses of the last work, and between two reports of its progress.
PAUSE_SECS, REPORT_SECS = 0.2, 10.0


class EndInterruptedError(Exception):
    """Raised when a signal comes while a crawl does its last work."""


class Pauses:
    """Pauses the last work of a crawl: to commit it, to report its progress, and to look for
    signals.
    """

    def __init__(self, crawler: Crawler, book: Book) -> None:
        self._crawler = crawler
        self._book = book
        self._next_pause = self._next_report = time.monotonic()

    async def pause(self) -> None:
        """Pause if it is time; raises `EndInterruptedError` if the crawl was told to end."""
        now = time.monotonic()
        if now >= self._next_pause:
            self._next_pause = now + PAUSE_SECS
            self._book.commit()
            await asyncio.sleep(0)
        if not self._crawler.crawling:
            raise EndInterruptedError("the crawl was stopped")

    async def report(self, step: str) -> None:
        """Report the step of the crawl's end, if it is time; then pause."""
        now = time.monotonic()
        if now >= self._next_report:
            self._next_report = now + REPORT_SECS
            logger.info("the pages are settled: %s", step)
        await self.pause()


class LedgerKeeper(CrawlState):
    """Opens, commits and closes the book of a crawl, its output and its indexes.

    With ``CONTENTSPIDER_DURABLE`` the book is the file ``NAME.sqlite``, and a killed crawl can be
    resumed from it. Otherwise the book only stores held items, and is deleted at the end.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        options = self.options
        self.hosts = HostPauses(options.outage_secs)
        self.revisits: Revisits | None = None
        self.sharing = Sharing(options, self.stats)
        self.interruption = Interruption(crawler)
        self._has_queued_known = False
        self._is_history_written = False
        self._is_open = False
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._syncing: asyncio.Task[None] | None = None
        self.addresses = Addresses(self, self._is_known, self._is_broken)
        self.recorder = ItemRecorder(self, self.addresses)
        if options.durable or options.output_file:
            self.recorder.listen()
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.idle, signal=signals.spider_idle)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    @cached_property
    def indexing(self) -> Indexing:
        """The updates of the crawl's indexes."""
        from contentspider.crawl.queue.indexing import Indexing  # loads the search

        return Indexing(self.options, self.stats, lambda: self.interruption.is_set)

    def open(self) -> None:
        """Open the book, unless it is open. If that fails, the crawl *is_broken*."""
        if self._is_open:
            return
        self._is_open = True
        self.is_inspection = _is_inspection(self.crawler)
        try:
            if not is_asyncio_available():
                raise ContentSpiderError(
                    "contentspider needs asyncio: leave TWISTED_REACTOR at Scrapy's default, or set"
                    " it to 'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
                )
            if not self.is_inspection:
                self._check()
            self.book = Book(None) if self.is_inspection else self.open_book()
        except ContentSpiderError as error:
            self.book = Book(None)
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        """Mark the crawl as broken: it cannot begin."""
        self.is_broken = True
        self.stats.set_value("contentspider/ledger/failed", str(error))
        logger.error("%s; nothing is crawled", error)

    def _check(self) -> None:
        """Raise `ContentSpiderError` if a store, an index or an output cannot be used. This happens
        before a new crawl begins in the book.
        """
        self.sharing.check()
        if self.options.index:
            self.indexing.check()
        if self.options.output_file:
            check_output(Path(self.options.output_file))

    @property
    def _path(self) -> Path:
        """The file of the book."""
        spider = self.crawler.spider
        name = self.options.crawl or (spider.name if spider else "crawl")
        return crawl_book(name, self.options.state_dir)

    def open_book(self) -> Book:
        """Return the book of this run, which may resume an earlier run."""
        options, spider, path = self.options, self.crawler.spider, self._path
        if not self.is_durable:
            return open_temporary(path)
        max_bytes = options.history_mb * 1_000_000
        self.sharing.pull(path)
        try:
            book, self.is_resumed = open_crawl(path, options.resume, max_bytes)
        except LedgerBusyError as error:
            # Scrapyd may run several jobs of a spider at a time, without names for their crawls.
            job = getattr(spider, "_job", "")
            if options.crawl or not job:
                raise
            path = path.with_name(f"{path.stem}-{job}.sqlite")
            logger.warning("%s; this job uses %s", error, path)
            book, self.is_resumed = open_crawl(path, options.resume, max_bytes)
        return book

    def opened(self, spider: Spider) -> None:
        """Begin the run, and commit every second from now on."""
        self.open()
        try:
            if not self.is_broken:
                self._begin()
        except ContentSpiderError as error:
            self._refuse(error)
        if self.is_broken:
            end_at_start(self.crawler, "ledger")
            return
        self.stats.set_value("contentspider/ledger/resumed", int(self.is_resumed))
        self._loop = create_looping_call(self.tick)
        self._loop.start(COMMIT_SECS, now=False)
        self.interruption.begin()

    def _begin(self) -> None:
        """Begin the run in the book, and open the output, which continues where the last commit
        left it.
        """
        for url in self.book.begin_run():
            logger.error(
                "%s is skipped: the crawl died several times while it was in flight. Please report"
                " this page",
                url,
            )
        if self.is_durable and self.options.history and self.book.path:
            starts = getattr(self.crawler.spider, "start_urls", ())
            self.revisits = Revisits(self.book, self.options, self.failures, starts)
        if self.options.output_file and not self.is_inspection:
            output = Path(self.options.output_file)
            path, *mark = self.book.runs.fact("output") or [""]
            last_mark = (mark[0], mark[1]) if path == str(output.absolute()) else None
            self.recorder.writer = JsonLinesWriter(output, last_mark, self.book.items.lines())

    def idle(self) -> None:
        """At the end of the run, queue the known pages that were not visited, then the failed
        addresses. Close the spider if only requests to lost hosts remain.
        """
        if self.is_broken:
            return
        if self.is_reading:
            raise DontCloseSpider
        with self.guarded:
            if known_count := self._queue_known():
                logger.info("%d known pages that no page linked to are requested", known_count)
                raise DontCloseSpider
            if self.addresses.is_paused:
                raise DontCloseSpider  # Scrapy sends the signal again in some seconds
            if retry_count := self.addresses.retry_failed():
                logger.info("%d addresses that could not be read are retried", retry_count)
                self.hosts.slow_limited()
                wake(self.crawler)  # by itself the engine checks the queue only every 5 seconds
                raise DontCloseSpider
            if queued := queue_length(self.crawler):
                self._report_lost(queued)
                raise CloseSpider(OUTAGE)

    @property
    def is_reading(self) -> bool:
        """Whether the spider still reads sitemaps, which may name further pages."""
        return getattr(self.crawler.spider, "is_reading", False)

    def is_queued(self, address: str) -> bool:
        """Tell whether a plain request of an address was queued in this crawl."""
        assert self.crawler.request_fingerprinter
        fingerprint = self.crawler.request_fingerprinter.fingerprint(Request(address))
        return self.book.frontier.knows(fingerprint)

    def _queue_known(self) -> int:
        """Queue the known pages that this crawl has not visited, and return how many were queued.

        Later calls queue nothing.
        """
        request_of = getattr(self.crawler.spider, "orphan_request", None)
        if self.revisits is None or request_of is None or self._has_queued_known:
            return 0
        self._has_queued_known = True
        length_before = queue_length(self.crawler)
        assert self.crawler.engine
        for url in self.revisits.pages_to_visit():
            if (request := request_of(url)) is not None:
                self.crawler.engine.crawl(request)
        return queue_length(self.crawler) - length_before

    def _report_lost(self, queued: int) -> None:
        """Count and log the hosts whose requests stay in the queue."""
        lost = self.hosts.lost()
        self.stats.set_value("contentspider/hosts/down", len(lost))
        names = ", ".join(lost[:5]) + (" and others" if len(lost) > 5 else "")
        logger.warning(
            f"{names} did not answer, or asked for a pause, for longer than"
            f" CONTENTSPIDER_OUTAGE_SECS={self.options.outage_secs:g}: {queued} addresses stay in"
            " the queue. Continue with --resume (CONTENTSPIDER_RESUME) when the hosts answer again"
        )

    async def closed(self, spider: Spider, reason: str) -> None:
        """End the run, close all files, and share and index the results. A book that is not
        durable is deleted.
        """
        if self._is_open:
            try:
                await self._close(reason)
            finally:
                self.interruption.end()

    async def _close(self, reason: str) -> None:
        if self._loop and self._loop.running:
            self._loop.stop()
        if self._syncing:
            await self._syncing
        self.commit()
        try:
            if not self.is_broken and self._loop:
                await self._end(reason)
        except (ContentSpiderError, OSError) as error:
            self.fail(error)
        except Exception as error:
            logger.exception("the crawl cannot be ended. Please report this")
            self.fail(error)
        finally:
            self._close_files()
        await self.sharing.send()
        if self.options.index and self._is_history_written and self.book.path:
            await self.indexing.run(self.book.path)

    def _close_files(self) -> None:
        """Close output and book."""
        if self.recorder.writer:
            self.recorder.writer.close()
        self.book.close(delete=not self.is_durable)

    async def _end(self, reason: str) -> None:
        """Publish the pages and the output, and end the run in the book."""
        ending = self._ending(reason)
        for name, value in ending.stats().items():
            self.stats.set_value(name, value)
        if self.revisits and ending.is_end:
            ending = await self._write_history(self.revisits, ending)
        self.book.commit()
        self._sync()
        if self.recorder.writer:
            self._publish(self.recorder.writer, ending)
        # The run ends last: after a kill before this step a resumed crawl repeats the steps above.
        self.book.end_run(ending.word)
        if self._is_history_written:
            await self._clean(ending.word == FINISHED)

    async def _clean(self, is_over: bool) -> None:
        """Delete from the book what nobody needs any more. After a signal the rest stays until the
        next crawl has ended: the crawl is complete without this step.
        """
        pauses = Pauses(self.crawler, self.book)
        try:
            for _ in self.book.clean(is_over):
                await pauses.pause()
        except (EndInterruptedError, LedgerFullError) as error:
            self.book.rollback()
            logger.info("the book keeps more than it needs: %s", error)

    async def _write_history(self, revisits: Revisits, ending: Ending) -> Ending:
        """Publish the changes of the pages, and count them. Return how the crawl ended. Nothing is
        published if a signal interrupts the crawl meanwhile.
        """
        self.sharing.begin_change()
        exclusion = getattr(self.crawler.spider, "exclusion", no_exclusion)
        try:
            pauses = Pauses(self.crawler, self.book)
            counts = await revisits.end(ending, exclusion, pauses.report)
        except EndInterruptedError as error:
            self.book.rollback()
            self.stats.set_value("finish_reason", SHUTDOWN)
            logger.warning(
                "%s while its pages were settled: nothing of it is published, and --resume"
                " (CONTENTSPIDER_RESUME) publishes it",
                error,
            )
            return replace(ending, reason=SHUTDOWN)
        for change, number in counts.items():
            self.stats.set_value(f"contentspider/history/{change}", number)
        self._is_history_written = True
        if not self.options.force:
            unseen = counts.get("kept", 0) + counts.get("doubted", 0) - counts.get("excluded", 0)
            ending = replace(ending, unseen=unseen)
            self.stats.set_value("contentspider/ledger/unseen", ending.unseen)
        return ending

    def _publish(self, writer: JsonLinesWriter, ending: Ending) -> None:
        """Replace the output file, unless the crawl misses too many pages of the old file."""
        if self.revisits and self.revisits.has_refilled:
            writer.rewrite(self.book.items.lines())
        if ending.may_replace(writer.path.exists()):
            writer.publish()
            return
        logger.warning(
            f"{writer.path} is left unchanged: the crawl ended ({ending.word}) with {ending.items}"
            f" items, {ending.queued} addresses in the queue, {ending.unread} addresses that could"
            f" not be read, and {ending.unseen} known pages that it did not read."
            + self._next_step(writer, ending)
        )

    def _next_step(self, writer: JsonLinesWriter, ending: Ending) -> str:
        """Return a sentence about the items of a crawl whose output is not replaced."""
        if not ending.items:
            return ""
        if ending.word != FINISHED:
            return f" The new items are in {writer.partial.name}; a resumed crawl continues it"
        replay = f"contentspider replay {self._path.stem} -o FILE"
        return f" '{replay}' writes the new items to a file of your choice"

    def _ending(self, reason: str) -> Ending:
        """Return how the crawl ended, with the counts that its outcome depends on."""
        items, frontier = self.book.items, self.book.frontier
        scraped = self.stats.get_value("item_scraped_count", 0)
        return Ending(
            reason,
            items=items.count() if self.is_durable else scraped,
            queued=frontier.queue.length,
            unread=frontier.unread,
            held=sum(items.held_counts().values()),
            unchanged=items.count(UNCHANGED),
            never_read=self._never_read(),
            unlearned=len(self.book.runs.fact(UNLEARNED_FACT) or []),
            hidden=sum(count for _, count in hidden_sites(self.stats.get_stats()).values()),
        )

    def _never_read(self) -> int:
        """Return how many unread addresses no earlier crawl has read; 0 in the first crawl."""
        if self.revisits is None or self.revisits.is_first:
            return 0
        addresses = self.book.frontier.unread_addresses()
        return sum(not self.revisits.is_known(address) for address, _ in addresses)

    def tick(self) -> None:
        """Commit, and sync output and book to the disk in a thread."""
        self.commit()
        # Written each time, since a crawl may be killed before it writes its last stats.
        held_count = sum(self.book.items.held_counts().values())
        self.stats.set_value("contentspider/ledger/held", held_count)
        self.stats.set_value("contentspider/ledger/queued", self.book.frontier.queue.length)
        if self.is_durable and not self.is_broken and (not self._syncing or self._syncing.done()):
            self._syncing = asyncio.get_running_loop().create_task(self._sync_in_thread())

    async def _sync_in_thread(self) -> None:
        """Sync in a thread. An error stops the crawl."""
        try:
            await run_in_thread(self._sync)
        except OSError as error:
            self.fail(error)

    def _sync(self) -> None:
        """Sync output and book to the disk. Their order does not matter: a resumed run cuts off
        output that the book does not have, and rewrites output that is missing.
        """
        if self.recorder.writer:
            self.recorder.writer.sync()
        self.book.sync()

    def commit(self) -> None:
        """Commit the book and the output. A later kill of the process loses nothing of them."""
        if self.is_broken:
            return
        try:
            self.addresses.finish_done()
            if writer := self.recorder.writer:
                self.book.runs.set_fact("output", [str(writer.path.absolute()), *writer.mark()])
            self.book.commit()
        except (LedgerFullError, OSError) as error:
            self.fail(error)

    def set_aside(self, row: int | None, url: str, error: Exception) -> None:
        """Record that a page cannot be read or filled because of an *error*. It stays unread."""
        self.failures.note_page(url, error, "the page stays unread, and the next run tries again")
        self.addresses.note_our_failure(row, f"its item cannot be made: {error!r}")

    def _is_known(self, url: str) -> bool:
        """Tell whether an address has a known page."""
        return self.revisits is not None and self.revisits.is_known(url)

    def _is_broken(self, url: str) -> bool:
        """Tell whether an address is known as broken."""
        return self.revisits is not None and self.revisits.broken.is_known(url)


def _is_inspection(crawler: Crawler) -> bool:
    """Tell whether the crawler belongs to ``scrapy shell``, ``fetch`` or ``parse``."""
    start = getattr(type(crawler.spider), "start", None)
    # The shell opens the spider without a crawl. The other commands replace its `start` method.
    return not crawler.crawling or getattr(start, "__module__", "").startswith("scrapy.commands.")
