"""The extension that opens the book of a crawl, commits it every second, and ends the run."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider, DontCloseSpider
from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.asyncio import (
    AsyncioLoopingCall,
    create_looping_call,
    is_asyncio_available,
    run_in_thread,
)

from contentspider.crawl.base.engine import (
    Interruption,
    check_scrapy,
    end_at_start,
    queue_length,
    wake,
)
from contentspider.crawl.base.overrides import check_overrides
from contentspider.crawl.base.state import CrawlState
from contentspider.crawl.queue.addresses import Addresses, ItemRecorder
from contentspider.crawl.queue.outage import HostPauses
from contentspider.crawl.queue.run_end import RunEnd
from contentspider.crawl.queue.sharing import Indexing, Sharing
from contentspider.crawl.queue.unlinked import UnlinkedPages
from contentspider.crawl.revisits.revisits import Revisits
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.book.book import Book
from contentspider.state.book.database import BookBusyError, BookFullError
from contentspider.state.crawls.books import crawl_book, open_crawl, open_temporary
from contentspider.state.files.output import JsonLinesWriter, check_output
from contentspider.state.outcome import LIMITED_STAT, OUTAGE

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.internet.task import LoopingCall

logger = logging.getLogger(__name__)

# After a kill, a resumed run repeats the work since the last commit.
COMMIT_SECS = 1.0


class BookKeeper(CrawlState):
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
        self.indexing = Indexing(options, self.stats, lambda: self.interruption.is_set)
        self._unlinked: UnlinkedPages | None = None
        self._is_open = False
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._syncing: asyncio.Task[None] | None = None
        self.addresses = Addresses(self)
        self.recorder = ItemRecorder(self, self.addresses)
        if options.durable or options.output_file:
            self.recorder.listen()
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.idle, signal=signals.spider_idle)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

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
            if self.is_inspection:
                self.book = Book(None)
            else:
                self.book, self.is_resumed = open_book(self, self.sharing)
        except ContentSpiderError as error:
            self.book = Book(None)
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        """Mark the crawl as broken: it cannot begin. Its feeds, which are not open yet, stay as
        they are.
        """
        self.is_broken = True
        if feeds := self.crawler.get_extension(FeedExporter):
            feeds.feeds.clear()
        self.stats.set_value("contentspider/book/failed", str(error))
        logger.error("%s; nothing is crawled", error)

    def _check(self) -> None:
        """Raise `ContentSpiderError` if a store, an index, an output or the overrides of a start
        site cannot be used. This happens before a new crawl begins in the book.
        """
        self.sharing.check()
        self.indexing.check()
        check_overrides(self.crawler.spider, self.options)
        if self.options.output_file:
            check_output(Path(self.options.output_file))

    def opened(self, spider: Spider) -> None:
        """Begin the run, and commit every second from now on."""
        self.open()
        try:
            if not self.is_broken:
                check_scrapy(self.crawler)
                self._begin()
        except ContentSpiderError as error:
            self._refuse(error)
        if self.is_broken:
            end_at_start(self.crawler, "book")
            return
        self.stats.set_value("contentspider/book/resumed", int(self.is_resumed))
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
        if lost := self.book.frontier.unread:
            logger.warning(
                "only the memory of the run before had the requests of %s: the pages that led there"
                " are read again",
                counted(lost, "addresses"),
            )
        if self.is_durable and self.book.path:
            starts = getattr(self.crawler.spider, "start_urls", ())
            self.revisits = Revisits(self.book, self.options, self.failures, starts)
            self.revisits.reads_unlinked = hasattr(self.crawler.spider, "orphan_request")
            self.addresses.revisits = self.revisits
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
            if self._queue_known():
                raise DontCloseSpider
            if self.addresses.is_paused:
                raise DontCloseSpider  # Scrapy sends the signal again in some seconds
            if retry_count := self.addresses.retry_failed():
                unread = counted(retry_count, "addresses")
                logger.info("%s that could not be read: requested again", unread)
                self.hosts.delays.slow_limited()
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

        Later calls queue only pages that waited for the answer of another page.
        """
        if self.revisits is None:
            return 0
        self.addresses.finish_done()
        is_first = self._unlinked is None
        if self._unlinked is None:
            spider, frontier = self.crawler.spider, self.book.frontier
            self._unlinked = UnlinkedPages(spider, self.revisits, frontier)
        length_before = queue_length(self.crawler)
        assert self.crawler.engine
        for request in self._unlinked.requests():
            self.crawler.engine.crawl(request)
        queued = queue_length(self.crawler) - length_before
        if is_first and queued:
            known = counted(queued + self._unlinked.waiting, "known pages")
            logger.info("%s that no page linked to: requested", known)
        return queued

    def _report_lost(self, queued: int) -> None:
        """Count and log the hosts whose requests stay in the queue."""
        lost = self.hosts.lost()
        self.stats.set_value("contentspider/hosts/down", len(lost))
        for host in lost:
            if (seconds := self.hosts.limit_of(host)) is not None:
                self.stats.set_value(LIMITED_STAT + host, seconds)
        names = ", ".join(lost[:5]) + (" and others" if len(lost) > 5 else "")
        seconds = self.hosts.paused_secs(lost)
        logger.warning(
            f"{names} did not answer, or asked for a pause, for {seconds:.0f} s so far, and in all"
            f" for longer than CONTENTSPIDER_OUTAGE_SECS={self.options.outage_secs:g}:"
            f" {counted(queued, 'addresses')} stay in the queue. Continue with --resume"
            " (CONTENTSPIDER_RESUME) when the hosts answer again"
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
        end = RunEnd(self, self.revisits, self.recorder.writer, self.sharing)
        try:
            if not self.is_broken and self._loop:
                await end.write(reason)
        except (ContentSpiderError, OSError) as error:
            self.fail(error)
        except Exception as error:
            logger.exception("the crawl cannot be ended. Please report this")
            self.fail(error)
        finally:
            self._close_files()
        await self.sharing.send()
        if end.is_published and self.book.path:
            await self.indexing.run(self.book.path)

    def _close_files(self) -> None:
        """Close output and book."""
        if self.recorder.writer:
            self.recorder.writer.close()
        self.book.close(delete=not self.is_durable)

    def tick(self) -> None:
        """Commit, and sync output and book to the disk in a thread."""
        self.commit()
        # Written each time, since a crawl may be killed before it writes its last stats.
        held_count = sum(self.book.items.held_counts().values())
        self.stats.set_value("contentspider/book/held", held_count)
        self.stats.set_value("contentspider/book/queued", self.book.frontier.queue.length)
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
        except (BookFullError, OSError) as error:
            self.fail(error)

    def set_aside(self, row: int | None, url: str, error: Exception) -> None:
        """Record that a page cannot be read or filled because of an *error*. It stays unread."""
        self.failures.note_page(url, error, "the page stays unread, and the next run tries again")
        self.addresses.note_our_failure(row, f"its item cannot be made: {error!r}")


def open_book(crawl: CrawlState, sharing: Sharing) -> tuple[Book, bool]:
    """Return the book of a run, and whether it resumes an earlier run."""
    options, spider = crawl.options, crawl.crawler.spider
    path = crawl_book(options.crawl or (spider.name if spider else "crawl"), options.state_dir)
    if not crawl.is_durable:
        return open_temporary(path), False
    max_bytes = options.book_mb * 1_000_000
    sharing.pull(path)
    try:
        return open_crawl(path, options.resume, max_bytes)
    except BookBusyError as error:
        # Scrapyd may run several jobs of a spider at a time, without names for their crawls.
        job = getattr(spider, "_job", "")
        if options.crawl or not job:
            raise
        path = path.with_name(f"{path.stem}-{job}.sqlite")
        logger.warning("%s; this job uses %s", error, path)
        return open_crawl(path, options.resume, max_bytes)


def _is_inspection(crawler: Crawler) -> bool:
    """Tell whether the crawler belongs to ``scrapy shell``, ``fetch`` or ``parse``."""
    start = getattr(type(crawler.spider), "start", None)
    # The shell opens the spider without a crawl. The other commands replace its `start` method.
    return not crawler.crawling or getattr(start, "__module__", "").startswith("scrapy.commands.")
