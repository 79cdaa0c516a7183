"""The keeper of a worker: it shares the results of the worker in PostgreSQL, in a thread.

At the end one worker collects the results of all workers, and ends the crawl like a crawl of one
process.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DontCloseSpider
from scrapy.utils.asyncio import run_in_thread

from contentspider.cluster import connection
from contentspider.cluster.connection import StoreDownError
from contentspider.cluster.ledger import SharedLedger
from contentspider.cluster.messages import LeaveResult
from contentspider.cluster.slots import AHEAD_SECS, SharedHosts
from contentspider.cluster.store import LeaseLostError, Store
from contentspider.cluster.tables import TABLES
from contentspider.crawl.base.engine import wake
from contentspider.crawl.queue.keeper import LedgerKeeper
from contentspider.crawl.revisits.revisits import CRAWL_FACT, Revisits
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.ledgers import crawl_ledger, history_of
from contentspider.state.files.output import JsonLinesWriter
from contentspider.state.ledger.database import (
    LedgerBusyError,
    LedgerFullError,
    is_in_use,
    remove,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from contentspider.cluster.messages import Reply, Report

logger = logging.getLogger(__name__)

# Seconds between two exchanges: if the worker needs addresses, if not, and after a failure.
NEEDY_SECS, CALM_SECS, DOWN_SECS = 0.1, 0.5, 1.0


class SharedKeeper(LedgerKeeper):
    """Keeps the ledger of a worker. All workers with the same crawl name work on one crawl."""

    ledger: SharedLedger
    hosts: SharedHosts

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Only the worker that ends the crawl writes the output. Workers on several machines can
        # only share a history that is in a store (``history_url``).
        self._output = self.options.output_file
        has_history = self.options.history and bool(self.options.history_url)
        self.options = replace(self.options, output_file="", history=has_history)
        delay = crawler.settings.getfloat("FRONTIER_DELAY")
        self.hosts = SharedHosts(self.options.outage_secs, delay, self._waiting)
        self._room = 4 * crawler.settings.getint("CONCURRENT_REQUESTS")
        if delay:
            self._room = min(self._room, max(4, int(2 * AHEAD_SECS / delay)))
        self._has_joined = self._is_leaving = self._is_ending = False
        self._is_exchanging = False
        self._is_crawl_open = self._is_other_busy = True
        self._renewed = self._down_since = 0.0
        self._exchanging: asyncio.Task[None] | None = None
        self._exchange_needed = asyncio.Event()
        self._exchanged = asyncio.Event()
        # Set by the holder of items.
        self.on_reply: Callable[[Reply], None] = lambda reply: None
        self.on_collected: Callable[[], None] = lambda: None
        self.is_learning: Callable[[], bool] = lambda: False

    def open_ledger(self) -> SharedLedger:
        """Join the crawl, and return an empty ledger for this worker."""
        options, spider = self.options, self.crawler.spider
        name = options.crawl or (spider.name if spider else "crawl")
        path = crawl_ledger(name, options.state_dir)
        if is_in_use(path):
            raise LedgerBusyError(
                f"{path} is in use by another process: give each worker of a machine a folder of"
                " its own (--state-dir)"
            )
        self.store = Store(options.frontier, name, connection.LEASE_SECS)
        joined = self.store.join()
        self._has_joined, self.is_resumed = True, joined.is_resumed
        self._renewed = time.monotonic()
        remove(path)  # a copy of rows in PostgreSQL, or the ledger of a crawl that has ended
        ledger = SharedLedger(path, joined.worker)
        ledger.runs.set_fact(CRAWL_FACT, joined.crawl)
        logger.info("worker %d of %s", joined.worker, name)
        return ledger

    def _waiting(self) -> Mapping[str, int]:
        """Return how many addresses this worker has queued, by host."""
        return {} if self.is_inspection else self.ledger.waiting()

    @property
    def holds_lease(self) -> bool:
        """Whether this worker still has its lease, so that no other takes over its addresses."""
        return self.is_inspection or time.monotonic() - self._renewed < connection.LEASE_SECS

    @property
    def is_open(self) -> bool:
        """Whether any worker of the crawl has, or may find, an address to fetch."""
        is_crawl = not self.is_broken and not self.is_inspection
        return is_crawl and (self._is_crawl_open or self.ledger.is_changed)

    def opened(self, spider: Spider) -> None:
        """Start a run, and the task that exchanges results."""
        super().opened(spider)
        if not self.is_broken and not self.is_inspection:
            self._exchanging = asyncio.get_running_loop().create_task(self._exchange_often())

    async def _exchange_often(self) -> None:
        while not self._is_leaving and not self.is_broken:
            try:
                is_up = await self._exchange()
            except Exception as error:
                logger.exception("the worker cannot share its results")
                self.fail(error)
                return
            await asyncio.sleep(NEEDY_SECS if is_up else DOWN_SECS)
            if not self._needs_addresses:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._exchange_needed.wait(), CALM_SECS - NEEDY_SECS)
            self._exchange_needed.clear()

    @property
    def _is_idle(self) -> bool:
        """Whether this worker has finished all addresses, items and learning of its own."""
        is_empty = not self.ledger.frontier.queue.length and not self.addresses.in_flight()
        is_busy = self.is_reading or self.is_learning()
        return is_empty and not is_busy and not self.ledger.items.held_counts()

    @property
    def _needs_addresses(self) -> bool:
        return 2 * self.ledger.frontier.queue.length < self._room

    def request_addresses(self) -> None:
        """Start the next exchange at once if the worker needs addresses."""
        if self._needs_addresses:
            self._exchange_needed.set()

    async def _exchange(self, room: int | None = None) -> bool:
        """Share results and take addresses. Return False if PostgreSQL does not answer now."""
        self.commit()
        if self.is_broken:
            return False
        report = self.ledger.report(
            self._room if room is None else room,
            closed=sorted(self._excluded_hosts()),
            lost=self.hosts.lost(),
            is_idle=self._is_idle,
            is_leaving=self._is_leaving,
        )
        begin = time.monotonic()
        reply = await self._send(report)
        if reply is None:
            return False
        self._renewed, self._down_since = begin, 0.0
        await self._apply(reply)
        return True

    async def _send(self, report: Report) -> Reply | None:
        """Return the reply to a report; None if PostgreSQL does not answer, or the run failed."""
        self._is_exchanging = True
        try:
            return await run_in_thread(self.store.exchange, report)
        except StoreDownError as error:
            self._handle_outage(report, error)
        except LeaseLostError as error:
            self.fail(error)
        finally:
            self._is_exchanging = False
        return None

    async def _apply(self, reply: Reply) -> None:
        """Put the rows of a reply into the ledger, and reserve time slots for requests."""
        with self.guarded:
            self.ledger.apply(reply)
        has_news = reply.taken or reply.models or reply.is_open != self._is_crawl_open
        self._is_crawl_open, self._is_other_busy = reply.is_open, reply.is_busy
        self.on_reply(reply)
        self._exchanged.set()
        counts = {} if self._is_leaving else self.hosts.missing_slots()
        if counts:
            slots = await self.call_store(self.store.reserve_slots, counts, self.hosts.spacing)
            self.hosts.add(slots or {})
        if has_news or counts or not self.is_open:
            wake(self.crawler)

    def _excluded_hosts(self) -> set[str]:
        """Return the hosts whose addresses the worker does not need: hosts that are down, and hosts
        that fill half of its queue while it has addresses of others.
        """
        waiting = self._waiting()
        full = {host for host, count in waiting.items() if 2 * count > self._room}
        paused = {host for host in self.hosts.closed() if self.hosts.is_paused(host)}
        return paused | full if len(waiting) > 1 else paused

    def _handle_outage(self, report: Report, error: StoreDownError) -> None:
        """Keep the changes for the next exchange; end the run after a long outage of PostgreSQL."""
        self.ledger.undo_report(report)
        now = time.monotonic()
        if not self._down_since:
            self._down_since = now
            logger.warning("%s. The worker tries again for CONTENTSPIDER_OUTAGE_SECS", error)
        elif now - self._down_since > self.options.outage_secs:
            self.fail(LedgerFullError(f"{error} (for CONTENTSPIDER_OUTAGE_SECS)"))

    async def next_exchange(self) -> None:
        """Wait until an exchange that begins after this call has ended or failed."""
        for _ in range(1 + self._is_exchanging):
            self._exchanged.clear()
            self._exchange_needed.set()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._exchanged.wait(), DOWN_SECS)

    async def call_store(self, call: Callable[..., Any], *values: Any) -> Any:
        """Return the result of a call of the store; None if PostgreSQL does not answer now."""
        try:
            return await run_in_thread(call, *values)
        except StoreDownError:
            return None
        except LeaseLostError as error:
            self.fail(error)
        return None

    async def retry_store(self, call: Callable[..., Any], *values: Any) -> Any:
        """Return the result of a call of the store, which is repeated for up to
        ``CONTENTSPIDER_OUTAGE_SECS``; None if the run failed in that time.
        """
        end = time.monotonic() + self.options.outage_secs
        while not self.is_broken:
            result = await self.call_store(call, *values)
            if result is not None:
                return result
            if time.monotonic() > end:
                self.fail(LedgerFullError("PostgreSQL does not answer any more"))
            await asyncio.sleep(DOWN_SECS)
        return None

    def idle(self) -> None:
        """Keep the spider open while other workers may find or return addresses."""
        super().idle()
        is_shared = not self.is_broken and not self.is_inspection
        if self.is_open or (self._is_other_busy and is_shared):
            raise DontCloseSpider

    async def closed(self, spider: Spider, reason: str) -> None:
        """Leave the crawl. The last worker collects all results and ends the crawl."""
        with ExitStack() as ending:
            if self._exchanging:
                self._is_leaving = True
                self._exchange_needed.set()
                await self._exchanging
                try:
                    if await self._leave(reason):
                        ending.enter_context(self.store.renewed_lease())
                        await self._collect()
                        self._is_ending = True
                except (ContentSpiderError, OSError) as error:
                    self.fail(error)
            await super().closed(spider, reason)
        if not self._has_joined:
            return
        if self._is_ending and not self.is_broken:
            await self.retry_store(self.store.finish, reason)
        elif self.ledger.path:
            remove(self.ledger.path)
        self.store.close()

    async def _leave(self, reason: str) -> bool:
        """Return this worker's addresses to the crawl; tell whether this worker ends the crawl."""
        while not await self._exchange(room=0) and not self.is_broken:  # noqa: ASYNC110 - no event
            await asyncio.sleep(DOWN_SECS)
        if self.is_broken:
            return False
        result = await self.retry_store(self.store.leave, reason)
        if result is LeaveResult.CONTINUED:
            logger.warning(
                "other workers continue the crawl: one of them ends it and writes the output"
            )
        elif result is LeaveResult.UNFINISHED:
            logger.warning("the crawl is not finished: start it again on any machine to continue")
            self.stats.set_value("contentspider/frontier/left", 1)
        if result is not LeaveResult.ENDS_CRAWL:
            self._note_other_workers()
        return result is LeaveResult.ENDS_CRAWL

    def _note_other_workers(self) -> None:
        """Record that a run without pages is not an error, since other workers may have fetched all
        pages.
        """
        self.stats.set_value("contentspider/ledger/resumed", 1)

    async def _collect(self) -> None:
        """Load the results of all workers into this worker's ledger."""
        logger.info("the crawl is done: this worker collects all results and ends the crawl")
        self.ledger.begin_filling()
        for table in TABLES:
            portions = self.store.read_table(table)
            while rows := await run_in_thread(next, portions, None):
                self.ledger.fill(table, rows)
        self.ledger.end_filling()
        if self.ledger.items.count():
            self._note_other_workers()
        if self.revisits and self.ledger.path:
            self.revisits.close()
            self.revisits = Revisits(
                self.ledger, history_of(self.ledger.path), self.options, self.failures
            )
        self.on_collected()
        if self._output:
            path = Path(self._output)
            self.recorder.writer = JsonLinesWriter(path, None, self.ledger.items.lines())

    @property
    def ends_crawl(self) -> bool:
        """Whether this worker has collected the results of all workers."""
        return self._is_ending
