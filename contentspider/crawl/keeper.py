"""The keeper of a crawl's ledger: opens it, commits it every second, and writes the output with it."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import CloseSpider, NotConfigured
from scrapy.utils.asyncio import create_looping_call, run_in_thread
from scrapy.utils.serialize import ScrapyJSONEncoder

from contentspider.crawl.ledgers import archive, crawl_ledger, open_ledger, remove_left
from contentspider.errors import ContentSpiderError
from contentspider.storage.database import LedgerBusyError, LedgerFullError
from contentspider.storage.ledger import Ledger
from contentspider.storage.output import JsonLinesWriter

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.exceptions import DropItem
    from scrapy.http import Response
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from twisted.python.failure import Failure

logger = logging.getLogger(__name__)

ROW_META_KEY = "contentspider_row"
# What is done between two commits is done again after a kill; a commit waits for the disk once or
# twice.
COMMIT_SECS = 1.0
# Scrapy's word for a crawl that came to its end.
FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Passing:
    """The item that a task passes through the pipelines: its key, its row if it was held, its
    address' row, its content's hash.
    """

    item: Any
    key: str | None
    held_row: int | None
    address_row: int | None
    content_hash: str


# An item may be replaced on its way through the pipelines; the task that carries it stays.
passing: ContextVar[Passing | None] = ContextVar("contentspider_passing", default=None)


class Keeper:
    """Keeps the ledger of a crawl.

    With ``CONTENTSPIDER_DURABLE`` the ledger is ``.scrapy/contentspider/NAME.sqlite``, has every
    address and item, and a killed crawl goes on with ``CONTENTSPIDER_RESUME``. Without, it only
    holds items until their site is learned, and is deleted at the end.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        if not settings.getbool("CONTENTSPIDER_ENABLED", True):
            raise NotConfigured("CONTENTSPIDER_ENABLED is False")
        assert crawler.stats
        self.crawler = crawler
        self.stats = crawler.stats
        self.is_durable = settings.getbool("CONTENTSPIDER_DURABLE")
        self.is_inspection = False
        self.is_broken = False
        self.is_resumed = False
        self._is_open = False
        self._output = settings["CONTENTSPIDER_OUTPUT_FILE"]
        self._writer: JsonLinesWriter | None = None
        self._loop: AsyncioLoopingCall | LoopingCall | None = None
        self._encoder = ScrapyJSONEncoder(ensure_ascii=False)
        self._open: dict[int, Request] = {}
        self._outcomes: dict[int, tuple[str, str | None, str | None]] = {}
        self._syncing: asyncio.Task[None] | None = None
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.closed, signal=signals.spider_closed)
        crawler.signals.connect(self.scraped, signal=signals.item_scraped)
        crawler.signals.connect(self.dropped, signal=signals.item_dropped)
        crawler.signals.connect(self.erred, signal=signals.item_error)
        crawler.signals.connect(self.received, signal=signals.response_received)
        crawler.signals.connect(self.spider_failed, signal=signals.spider_error)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Keeper:
        """Return the extension of a crawler."""
        return cls(crawler)

    def open(self) -> None:
        """Open the ledger, which the scheduler or the pipeline need before the spider is opened.

        If it cannot be, all is kept in memory, `is_broken` says so, and `CloseSpider` is raised.
        """
        if self._is_open:
            return
        self._is_open = True
        self.is_inspection = _is_inspection(self.crawler)
        try:
            if self.is_inspection:
                self.ledger = Ledger(None)
                self._output = ""
            else:
                self._open_ledger()
        except ContentSpiderError as error:
            self.ledger = Ledger(None)
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        self.is_broken = True
        self.stats.set_value("contentspider/ledger/failed", str(error))
        logger.error("%s; nothing is crawled", error)
        raise CloseSpider("ledger") from error

    def _open_ledger(self) -> None:
        settings = self.crawler.settings
        path = crawl_ledger(
            settings["CONTENTSPIDER_CRAWL"]
            or (self.crawler.spider.name if self.crawler.spider else "crawl")
        )
        if not self.is_durable:
            remove_left(path)
            self.ledger = Ledger(
                path.with_name(f"{path.stem}-{os.getpid()}-{time.time_ns()}.sqlite"), durable=False
            )
            return
        old = open_ledger(path)
        if old is not None:
            runs = old.runs.all()
            last = runs[-1] if runs else None
            if last and last.reason != FINISHED:
                if settings.getbool("CONTENTSPIDER_RESUME"):
                    self.ledger, self.is_resumed = old, True
                    how = (
                        f"was stopped ({last.reason})"
                        if last.ended
                        else "ended without notice (killed, or the power was lost)"
                    )
                    logger.warning(
                        "%s: the run of %s %s; going on with %d addresses in the queue and %d held"
                        " items",
                        path,
                        last.started,
                        how,
                        old.frontier.queued + old.frontier.states().get("taken", 0),
                        sum(old.items.held_counts().values()),
                    )
                    return
                logger.warning(
                    "%s: the crawl of %s was not finished; this one starts anew. --resume"
                    " (CONTENTSPIDER_RESUME) would go on with it",
                    path,
                    last.started,
                )
            if not old.detach():
                raise LedgerBusyError(
                    f"{path} is being read by another process (status, replay, report, or a learner"
                    " of the last crawl); try again in a while"
                )
            archive(
                path,
                last.started if last else "empty",
                settings.getint("CONTENTSPIDER_KEEP_CRAWLS"),
            )
        self.ledger = Ledger(path)

    def opened(self, spider: Spider) -> None:
        """Begin a run, and open the output where the last commit left it."""
        self.open()
        if self.is_broken:
            return
        try:
            self.ledger.begin_run()
            if self._output:
                path, *mark = self.ledger.runs.fact("output") or [""]
                same = path == str(Path(self._output).absolute())
                self._writer = JsonLinesWriter(
                    Path(self._output),
                    (mark[0], mark[1]) if same else None,
                    self.ledger.items.lines(),
                )
        except ContentSpiderError as error:
            self._refuse(error)
        self.stats.set_value("contentspider/ledger/resumed", int(self.is_resumed))
        self._loop = create_looping_call(self.tick)
        self._loop.start(COMMIT_SECS, now=False)

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
            if not self.is_broken:
                self.ledger.end_run(
                    "held_left"
                    if reason == FINISHED and self.ledger.items.held_counts()
                    else reason
                )
                self._sync()
        except (LedgerFullError, OSError) as error:
            self.fail(error)
        finally:
            if self._writer:
                self._writer.close()
            self.ledger.close(delete=not self.is_durable)

    def tick(self) -> None:
        """Commit, and bring output and ledger to the disk, in a thread."""
        self.commit()
        if self.is_durable and not self.is_broken and (not self._syncing or self._syncing.done()):
            self._syncing = asyncio.get_running_loop().create_task(self._sync_apart())

    async def _sync_apart(self) -> None:
        try:
            await run_in_thread(self._sync)
        except OSError as error:
            self.fail(error)

    def _sync(self) -> None:
        # In any order: output behind the ledger is cut off, output before it is written anew.
        if self._writer:
            self._writer.sync()
        self.ledger.sync()

    def commit(self) -> None:
        """Commit the ledger, and what is out until now; a kill of the process loses nothing of it."""
        if self.is_broken:
            return
        try:
            self._finish()
            if self._writer:
                self.ledger.runs.set_fact(
                    "output", [str(self._writer.path.absolute()), *self._writer.mark()]
                )
            self.ledger.commit()
        except (LedgerFullError, OSError) as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Stop the crawl, since its ledger cannot be written; what was committed is whole, the rest
        is done again.
        """
        if self.is_broken:
            return
        self.is_broken = True
        self.ledger.rollback()
        self.stats.set_value("contentspider/ledger/failed", str(error))
        if not self.is_durable:
            logger.error("%s; items are held no longer", error)
            return
        logger.error(
            "%s; the crawl stops. Once that is mended, go on with --resume (CONTENTSPIDER_RESUME):"
            " nothing is lost",
            error,
        )
        if self.crawler.engine is not None:
            self._closing = asyncio.get_running_loop().create_task(
                self.crawler.engine.close_spider_async(reason="ledger_full")
            )

    @property
    def is_stopping(self) -> bool:
        """Tell whether the crawl stops since its ledger cannot be written: what comes now is done
        again by a resumed one.
        """
        return self.is_broken and self.is_durable

    # Addresses

    def watch(self, row: int, request: Request) -> None:
        """Note that the request of an address has been handed to the engine."""
        self._open[row] = request

    def put_back(self, row: int | None) -> None:
        """Queue an address again whose answer was not used, for a crawl that goes on."""
        if row in self._open and row is not None:
            self.forget(row)
            self.ledger.frontier.put_back(row)

    def forget(self, row: int) -> None:
        """Note that an address is in the queue again."""
        self._open.pop(row, None)
        self._outcomes.pop(row, None)

    def note(
        self, row: int | None, state: str, reason: str | None = None, target: str | None = None
    ) -> None:
        """Note what has become of an address; it is done when the engine is done with its request."""
        if row in self._open:
            self._outcomes[row] = (state, reason, target)

    def _finish(self) -> None:
        """Set the state of those addresses with whose requests the engine is done: all links
        queued, all items held or out.
        """
        slot = (
            self.crawler.engine._slot if self.crawler.engine else None
        )  # no signal tells when a request's callback and items are done
        busy = slot.inprogress if slot else ()
        for row in [row for row, request in self._open.items() if request not in busy]:
            del self._open[row]
            self.ledger.frontier.finish(row, *self._outcomes.pop(row, ("fetched", None, None)))

    def received(self, response: Response, request: Request) -> None:
        """Note an answer that is no success."""
        if not 200 <= response.status < 300:
            self.note(request.meta.get(ROW_META_KEY), "failed", f"HTTP {response.status}")

    def spider_failed(self, failure: Failure, response: Response | Failure | None) -> None:
        """Note that the spider's callback failed."""
        request = getattr(response, "request", None)
        if request is not None:
            self.note(
                request.meta.get(ROW_META_KEY), "failed", f"the spider: {failure.value!r}"[:200]
            )

    # Items

    def key(self, row: int | None, place: int) -> str | None:
        """Return what an item is recorded under, once: its address' row and its place among the
        page's items.

        Pages that share an address (by a form's body, other cookies) have a row each. None: nothing
        is recorded.
        """
        return f"{row}/{place}" if self.is_durable and row is not None else None

    def scraped(self, item: Any) -> None:
        """Record an item that has passed all pipelines, and write it out."""
        mark = passing.get()
        line = b""
        if self._writer or (self.is_durable and mark):
            try:
                line = self._encoder.encode(ItemAdapter(item).asdict()).encode("utf-8", "replace")
            except (TypeError, ValueError) as error:
                logger.error(
                    "an item of %s cannot be written as JSON (%s): it is in no output of"
                    " contentspider's",
                    type(item).__name__,
                    error,
                )
                self.stats.inc_value("contentspider/items/lost")
                if mark:
                    self._settle(mark, None, f"not JSON: {error}")
                return
        is_new = self._settle(mark, line, None) if mark else True
        if self._writer and is_new:
            try:
                self._writer.write(line)
            except OSError as error:
                self.fail(error)

    def dropped(self, item: Any, exception: DropItem) -> None:
        """Record that one of the pipelines dropped an item."""
        mark = passing.get()
        if mark and mark.item is item:  # else it was dropped before it came to us
            self._settle(mark, None, f"dropped: {exception}")

    def erred(self, item: Any, failure: Failure) -> None:
        """Record that one of the pipelines failed on an item."""
        self.stats.inc_value("contentspider/items/lost")
        mark = passing.get()
        if mark and mark.item is item:
            self._settle(mark, None, f"failed in a pipeline: {failure.value!r}")

    def _settle(self, mark: Passing, line: bytes | None, reason: str | None) -> bool:
        """Record what has become of an item; False if it could not be, or had been before."""
        if self.is_broken:
            return not self.is_durable
        try:
            is_new = self.ledger.items.settle(
                mark.held_row, mark.key, mark.address_row, line, reason
            )
            if mark.address_row is not None:
                state = "released" if reason is None else "failed"
                self.note(mark.address_row, state, reason)
                self.ledger.frontier.mark_released(
                    mark.address_row, state, reason, mark.content_hash
                )
        except LedgerFullError as error:
            self.fail(error)
            return not self.is_durable
        return is_new


def _is_inspection(crawler: Crawler) -> bool:
    """Tell whether ``scrapy shell``, ``fetch`` or ``parse`` look at single pages: nothing is held
    then, and no file touched.
    """
    start = getattr(type(crawler.spider), "start", None)
    # A shell opens the spider without a crawl; the other commands give it a start of their own.
    return not crawler.crawling or getattr(start, "__module__", "").startswith("scrapy.commands.")
