"""The keeper of a crawl's ledger: opens it, and commits it and the output every second."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
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
from contentspider.crawl.queue.addresses import Addresses, Recorder
from contentspider.crawl.queue.indexing import Indexing
from contentspider.crawl.queue.outage import Hosts
from contentspider.crawl.queue.sharing import Sharing
from contentspider.crawl.revisits.gone import no_exclusion
from contentspider.crawl.revisits.revisits import Revisits
from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.recrawl.changes import UNCHANGED
from contentspider.state.crawls.ledgers import crawl_ledger, history_of, open_crawl, open_temporary
from contentspider.state.crawls.outcome import FINISHED, OUTAGE, Ending
from contentspider.state.files.output import JsonLinesWriter, check_output
from contentspider.state.history.history import History
from contentspider.state.ledger.database import LedgerBusyError, LedgerFullError
from contentspider.state.ledger.ledger import Ledger

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.internet.task import LoopingCall

logger = logging.getLogger(__name__)

COMMIT_SECS = 1.0  # what is done between two commits is done again after a kill


class Keeper(CrawlState):
    """Keeps the ledger of a crawl, and what hangs on it: with ``CONTENTSPIDER_DURABLE`` in
    ``NAME.sqlite``, to outlive a kill; else only for held items, until the end.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        options = self.options
        self.hosts = Hosts(options.outage_secs)
        self.revisits: Revisits | None = None
        self.sharing = Sharing(options, self.stats)
        self.indexing = Indexing(options, self.stats)
        self._has_asked_known = False
        self._is_history_written = False
        self._is_open = False
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._syncing: asyncio.Task[None] | None = None
        self.addresses = Addresses(self, self._is_known)
        self.recorder = Recorder(self, self.addresses)
        if options.durable or options.output_file:
            self.recorder.listen()
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.idle, signal=signals.spider_idle)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)

    def open(self) -> None:
        """Open the ledger, before the spider is opened; if that fails, the crawl *is_broken*."""
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
            self.ledger = Ledger(None) if self.is_inspection else self._open_ledger()
        except ContentSpiderError as error:
            self.ledger = Ledger(None)
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        self.is_broken = True
        self.stats.set_value("contentspider/ledger/failed", str(error))
        logger.error("%s; nothing is crawled", error)

    def _check(self) -> None:
        """Raise `ContentSpiderError` if the options ask for what cannot be, while the ledger of the
        last crawl is still there.
        """
        self.sharing.check()
        self.indexing.check()
        if self.options.output_file:
            check_output(Path(self.options.output_file))
        history = history_of(self._path)
        if self.is_durable and self.options.history and history.exists():
            with suppress(StateError):  # a damaged one is set aside later
                History(history, read_only=True).close()

    @property
    def _path(self) -> Path:
        spider = self.crawler.spider
        name = self.options.crawl or (spider.name if spider else "crawl")
        return crawl_ledger(name, self.options.state_dir)

    def _open_ledger(self) -> Ledger:
        options, spider, path = self.options, self.crawler.spider, self._path
        if not self.is_durable:
            return open_temporary(path)
        try:
            ledger, self.is_resumed = open_crawl(path, options.resume)
        except LedgerBusyError as error:
            # Scrapyd's jobs of one spider may run at a time: nobody was asked for a name.
            job = getattr(spider, "_job", "")
            if options.crawl or not job:
                raise
            path = path.with_name(f"{path.stem}-{job}.sqlite")
            logger.warning("%s; this job has %s", error, path)
            ledger, self.is_resumed = open_crawl(path, options.resume)
        return ledger

    def opened(self, spider: Spider) -> None:
        """Begin a run, and open the output where the last commit left it."""
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

    def _begin(self) -> None:
        for url in self.ledger.begin_run():
            said = "the crawl died with it in flight, again and again; please report this page"
            logger.error("%s is set aside: %s", url, said)
        if self.is_durable and self.options.history and self.ledger.path:
            history = history_of(self.ledger.path)
            self.sharing.pull_history(history)
            self.revisits = Revisits(self.ledger, history, self.options)
        if self.options.output_file and not self.is_inspection:
            output = Path(self.options.output_file)
            path, *mark = self.ledger.runs.fact("output") or [""]
            known = (mark[0], mark[1]) if path == str(output.absolute()) else None
            self.recorder.writer = JsonLinesWriter(output, known, self.ledger.items.lines())

    def idle(self) -> None:
        """Ask once more, at the end, for what the server could not give before."""
        if self.is_broken:
            return
        with self.guarded:
            if known := self._ask_known():
                logger.info("%d known pages that have not come yet are asked for", known)
                raise DontCloseSpider
            if self.addresses.is_paused:
                raise DontCloseSpider  # it is idle again in some seconds
            if asked := self.addresses.ask_again():
                logger.info("%d addresses that could not be read are asked again", asked)
                self.hosts.slow_limited()
                wake(self.crawler)  # by itself it would ask in up to 5 seconds
                raise DontCloseSpider
            if queued := queue_length(self.crawler):
                self._report_lost(queued)
                raise CloseSpider(OUTAGE)

    def is_queued(self, address: str) -> bool:
        """Tell whether the plain request of an address has been queued."""
        assert self.crawler.request_fingerprinter
        fingerprint = self.crawler.request_fingerprinter.fingerprint(Request(address))
        return self.ledger.frontier.knows(fingerprint)

    def _ask_known(self) -> int:
        """Ask, once, for the known pages that have not come, and return their number."""
        request_of = getattr(self.crawler.spider, "orphan_request", None)
        if self.revisits is None or request_of is None or self._has_asked_known:
            return 0
        self._has_asked_known = True
        before = queue_length(self.crawler)
        assert self.crawler.engine
        for url in self.revisits.pages_to_visit():
            if (request := request_of(url)) is not None:
                self.crawler.engine.crawl(request)
        return queue_length(self.crawler) - before

    def _report_lost(self, queued: int) -> None:
        lost = self.hosts.lost()
        self.stats.set_value("contentspider/hosts/down", len(lost))
        names = ", ".join(lost[:5]) + (" and others" if len(lost) > 5 else "")
        logger.warning(
            f"{names} did not answer, or asked for a pause, for longer than"
            f" CONTENTSPIDER_OUTAGE_SECS={self.options.outage_secs:g}: {queued} addresses stay in"
            " the queue. Go on with --resume (CONTENTSPIDER_RESUME) when there is an answer again"
        )

    async def closed(self, spider: Spider, reason: str) -> None:
        """End the run; a ledger that is not durable is deleted with it."""
        if not self._is_open:
            return
        if self._loop and self._loop.running:
            self._loop.stop()
        if self._syncing:
            await self._syncing
        self.commit()
        try:
            if not self.is_broken and self._loop:
                self._end(reason)
        except (ContentSpiderError, OSError) as error:
            self.fail(error)
        finally:
            if self.recorder.writer:
                self.recorder.writer.close()
            if self.revisits:
                self.revisits.close()
            self.ledger.close(delete=not self.is_durable)
        await self.sharing.send()
        if self._is_history_written and self.ledger.path:
            await self.indexing.run(history_of(self.ledger.path))

    def _end(self, reason: str) -> None:
        ending = self._ending(reason)
        for name, value in ending.stats().items():
            self.stats.set_value(name, value)
        if self.revisits and ending.is_end:
            self.sharing.begin_change()
            # Before the run is ended: killed between the two, a resumed crawl does it again.
            exclusion = getattr(self.crawler.spider, "exclusion", no_exclusion)
            for change, number in self.revisits.end(ending, exclusion).items():
                self.stats.set_value(f"contentspider/history/{change}", number)
            self._is_history_written = True
        self.ledger.end_run(ending.word)
        self._sync()
        writer = self.recorder.writer
        if writer and self.revisits and self.revisits.has_refilled:
            writer.rewrite(self.ledger.items.lines())
        if writer and ending.may_replace(writer.path.exists()):
            writer.publish()
        elif writer:
            logger.warning(
                f"{writer.path} is left as it was: the crawl ended ({ending.word}) with"
                f" {ending.items} items out, {ending.queued} addresses in the queue and"
                f" {ending.unread} that could not be read. What is out is in {writer.partial.name};"
                " a resumed crawl goes on with it"
            )
        if self._is_history_written and ending.word == FINISHED and self.revisits:
            self.ledger.shrink(self.revisits.is_stored, self.revisits.kept.line)

    def _ending(self, reason: str) -> Ending:
        items, frontier = self.ledger.items, self.ledger.frontier
        scraped = self.stats.get_value("item_scraped_count", 0)
        return Ending(
            reason,
            items=items.count() if self.is_durable else scraped,
            queued=frontier.queue.length,
            unread=frontier.unread,
            held=sum(items.held_counts().values()),
            unchanged=items.count(UNCHANGED),
        )

    def tick(self) -> None:
        """Commit, and bring output and ledger to the disk, in a thread."""
        self.commit()
        # Whoever looks at a crawl whose end was not waited for finds these.
        held = sum(self.ledger.items.held_counts().values())
        self.stats.set_value("contentspider/ledger/held", held)
        self.stats.set_value("contentspider/ledger/queued", self.ledger.frontier.queue.length)
        if self.is_durable and not self.is_broken and (not self._syncing or self._syncing.done()):
            self._syncing = asyncio.get_running_loop().create_task(self._sync_in_thread())

    async def _sync_in_thread(self) -> None:
        try:
            await run_in_thread(self._sync)
        except OSError as error:
            self.fail(error)

    def _sync(self) -> None:
        # In any order: output behind the ledger is cut off, output before it is written anew.
        if self.recorder.writer:
            self.recorder.writer.sync()
        self.ledger.sync()

    def commit(self) -> None:
        """Commit the ledger and the output until now; a kill of the process loses nothing of it."""
        if self.is_broken:
            return
        try:
            self.addresses.finish_done()
            if writer := self.recorder.writer:
                self.ledger.runs.set_fact("output", [str(writer.path.absolute()), *writer.mark()])
            self.ledger.commit()
        except (LedgerFullError, OSError) as error:
            self.fail(error)

    def _is_known(self, url: str) -> bool:
        return self.revisits is not None and self.revisits.is_known(url)


def _is_inspection(crawler: Crawler) -> bool:
    """Tell whether ``scrapy shell``, ``fetch`` or ``parse`` look at single pages."""
    start = getattr(type(crawler.spider), "start", None)
    # A shell opens the spider without a crawl; the other commands give it a start of their own.
    return not crawler.crawling or getattr(start, "__module__", "").startswith("scrapy.commands.")
