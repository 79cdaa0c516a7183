"""The keeper of a worker: it shares what it does with PostgreSQL, in a thread. One worker brings
all together at the end, and ends the crawl as one of a single process.
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
from contentspider.cluster.messages import Leaving
from contentspider.cluster.pace import AHEAD_SECS, SharedHosts
from contentspider.cluster.store import LeaseLostError, Store
from contentspider.cluster.tables import TABLES
from contentspider.crawl.base.engine import wake
from contentspider.crawl.queue.keeper import Keeper
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

    from contentspider.cluster.messages import Answer, Ask

logger = logging.getLogger(__name__)

# Seconds between two exchanges: when more addresses are wanted, when not, and after a failure.
HUNGRY_SECS, FED_SECS, DOWN_SECS = 0.1, 0.5, 1.0


class SharedKeeper(Keeper):
    """Keeps the ledger of a worker; all workers of one name work on one crawl."""

    ledger: SharedLedger
    hosts: SharedHosts

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Who ends the crawl writes the output, and the history, if the workers have one together.
        self._output, shared = self.options.output_file, bool(self.options.history_url)
        has_history = self.options.history and shared
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
        self._wanted = asyncio.Event()  # an exchange is
        self._exchanged = asyncio.Event()
        # What the holder of items does with it, and knows.
        self.on_answer: Callable[[Answer], None] = lambda answer: None
        self.on_gathered: Callable[[], None] = lambda: None
        self.is_learning: Callable[[], bool] = lambda: False

    def _open_ledger(self) -> SharedLedger:
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
        remove(path)  # a worker's ledger was a copy, or is that of a crawl that is over
        ledger = SharedLedger(path, joined.worker)
        ledger.runs.set_fact(CRAWL_FACT, joined.crawl)
        logger.info("worker %d of %s", joined.worker, name)
        return ledger

    def _waiting(self) -> Mapping[str, int]:
        """Return how many addresses wait here, by host."""
        return {} if self.is_inspection else self.ledger.waiting()

    @property
    def holds_lease(self) -> bool:
        """Tell whether nobody can have taken over what is in this worker's hands."""
        return self.is_inspection or time.monotonic() - self._renewed < connection.LEASE_SECS

    @property
    def is_open(self) -> bool:
        """Tell whether there is, or will be, something to do in the whole crawl."""
        is_crawl = not self.is_broken and not self.is_inspection
        return is_crawl and (self._is_crawl_open or self.ledger.is_changed)

    def opened(self, spider: Spider) -> None:
        """Begin a run, and to share."""
        super().opened(spider)
        if not self.is_broken and not self.is_inspection:
            self._exchanging = asyncio.get_running_loop().create_task(self._exchange_often())

    async def _exchange_often(self) -> None:
        while not self._is_leaving and not self.is_broken:
            try:
                is_up = await self._exchange()
            except Exception as error:
                logger.exception("a worker cannot share what it does")
                self.fail(error)
                return
            await asyncio.sleep(HUNGRY_SECS if is_up else DOWN_SECS)
            if not self._is_hungry:
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self._wanted.wait(), FED_SECS - HUNGRY_SECS)
            self._wanted.clear()

    @property
    def _is_idle(self) -> bool:
        """Tell whether this worker has nothing in hand that others would miss."""
        is_empty = not self.ledger.frontier.queue.length and not self.addresses.in_flight()
        return is_empty and not self.is_learning() and not self.ledger.items.held_counts()

    @property
    def _is_hungry(self) -> bool:
        return 2 * self.ledger.frontier.queue.length < self._room

    def look(self) -> None:
        """Have the next exchange at once if more addresses are wanted."""
        if self._is_hungry:
            self._wanted.set()

    async def _exchange(self, room: int | None = None) -> bool:
        """Share what was done, and take addresses; False if PostgreSQL does not answer now."""
        self.commit()
        if self.is_broken:
            return False
        ask = self.ledger.ask(
            self._room if room is None else room,
            closed=sorted(self._shut()),
            lost=self.hosts.lost(),
            is_idle=self._is_idle,
            is_leaving=self._is_leaving,
        )
        asked, self._is_exchanging = time.monotonic(), True
        try:
            answer = await run_in_thread(self.store.exchange, ask)
        except StoreDownError as error:
            self._be_down(ask, error)
            return False
        except LeaseLostError as error:
            self.fail(error)
            return False
        finally:
            self._is_exchanging = False
        self._renewed, self._down_since = asked, 0.0
        with self.guarded:
            self.ledger.take(answer)
        is_news = answer.taken or answer.models or answer.is_open != self._is_crawl_open
        self._is_crawl_open, self._is_other_busy = answer.is_open, answer.is_busy
        self.on_answer(answer)
        self._exchanged.set()
        wanted = {} if self._is_leaving else self.hosts.wanted()
        if wanted:
            slots = await self.ask_store(self.store.slots, wanted, self.hosts.spacing)
            self.hosts.add(slots or {})
        if is_news or wanted or not self.is_open:
            wake(self.crawler)
        return True

    def _shut(self) -> set[str]:
        """Return the hosts of which no more addresses are wanted: down, or enough are here beside
        those of others.
        """
        waiting = self._waiting()
        enough = {host for host, count in waiting.items() if 2 * count > self._room}
        paused = {host for host in self.hosts.closed() if self.hosts.is_paused(host)}
        return paused | (enough if len(waiting) > 1 else set())

    def _be_down(self, ask: Ask, error: StoreDownError) -> None:
        self.ledger.take_back(ask)
        now = time.monotonic()
        if not self._down_since:
            self._down_since = now
            logger.warning("%s. It is tried again, for as long as a host is waited for", error)
        elif now - self._down_since > self.options.outage_secs:
            self.fail(LedgerFullError(f"{error} (for CONTENTSPIDER_OUTAGE_SECS)"))

    async def next_exchange(self) -> None:
        """Wait until there was one that began after this call, or it failed."""
        for _ in range(1 + self._is_exchanging):
            self._exchanged.clear()
            self._wanted.set()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._exchanged.wait(), DOWN_SECS)

    async def ask_store(self, call: Callable[..., Any], *values: Any) -> Any:
        """Return what a call of the store gives, None if there is no answer now."""
        try:
            return await run_in_thread(call, *values)
        except StoreDownError:
            return None
        except LeaseLostError as error:
            self.fail(error)
        return None

    async def insist(self, call: Callable[..., Any], *values: Any) -> Any:
        """Return what a call of the store gives, which is tried for as long as a host is waited
        for; None if the crawl failed then.
        """
        end = time.monotonic() + self.options.outage_secs
        while not self.is_broken:
            found = await self.ask_store(call, *values)
            if found is not None:
                return found
            if time.monotonic() > end:
                self.fail(LedgerFullError("PostgreSQL does not answer any more"))
            await asyncio.sleep(DOWN_SECS)
        return None

    def idle(self) -> None:
        """Keep the spider open while others may find, or leave, something to do."""
        super().idle()
        is_shared = not self.is_broken and not self.is_inspection
        if self.is_open or (self._is_other_busy and is_shared):
            raise DontCloseSpider

    async def closed(self, spider: Spider, reason: str) -> None:
        """Leave the crawl; one worker ends it with what all have done."""
        with ExitStack() as at_end:
            if self._exchanging:
                self._is_leaving = True
                self._wanted.set()
                await self._exchanging
                try:
                    if await self._leave(reason):
                        at_end.enter_context(self.store.kept())
                        await self._gather()
                        self._is_ending = True
                except (ContentSpiderError, OSError) as error:
                    self.fail(error)
            await super().closed(spider, reason)
        if not self._has_joined:
            return
        if self._is_ending and not self.is_broken:
            await self.insist(self.store.finish, reason)
        elif self.ledger.path:
            remove(self.ledger.path)
        self.store.close()

    async def _leave(self, reason: str) -> bool:
        """Give back what is in hand; tell whether this worker is to end the crawl."""
        while not await self._exchange(room=0) and not self.is_broken:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(DOWN_SECS)
        if self.is_broken:
            return False
        leaving = await self.insist(self.store.leave, reason)
        if leaving is Leaving.TO_OTHERS:
            logger.warning(
                "other workers go on with the crawl: one of them ends it, and writes the output"
            )
        elif leaving is Leaving.UNFINISHED:
            logger.warning("the crawl is not finished: start it again, on any machine, to go on")
            self.stats.set_value("contentspider/frontier/left", 1)
        return leaving is Leaving.TO_END

    async def _gather(self) -> None:
        """Bring all that all workers have done here."""
        logger.info("the crawl is done: this worker brings all together, and ends it")
        self.ledger.begin_filling()
        for table in TABLES:
            portions = self.store.everything(table)
            while rows := await run_in_thread(next, portions, None):
                self.ledger.fill(table, rows)
        self.ledger.end_filling()
        if self.ledger.items.count():
            self.stats.set_value("contentspider/ledger/resumed", 1)  # others may have read all
        if self.revisits and self.ledger.path:
            self.revisits.close()
            self.revisits = Revisits(self.ledger, history_of(self.ledger.path), self.options)
        self.on_gathered()
        if self._output:
            path = Path(self._output)
            self.recorder.writer = JsonLinesWriter(path, None, self.ledger.items.lines())

    def _end(self, reason: str) -> None:
        if self._is_ending:
            super()._end(reason)
            return
        ending = self._ending(reason)
        for name, value in ending.stats().items():
            self.stats.set_value(name, value)
        self.stats.set_value("contentspider/ledger/resumed", 1)
        self.ledger.end_run(ending.word)
