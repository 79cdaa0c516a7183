"""A scheduler whose queue is the crawl's ledger: what is in it survives any end of the process."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler

from contentspider.crawl.base.engine import Component, extension, wake
from contentspider.crawl.base.meta import ORPHAN_META_KEY, ROW_META_KEY, WITNESS_META_KEY
from contentspider.crawl.base.outcomes import redirect_reason
from contentspider.crawl.queue.keeper import Keeper
from contentspider.crawl.queue.requests import dump_request, load_request, with_password_apart
from contentspider.ground.addresses import host_of
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.ledger.frontier import MAX_DEATHS
from contentspider.state.ledger.visits import Answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

# After a process died, the first requests are committed one by one: those in flight are known.
CAREFUL_REQUESTS = 100
WITNESSES = 8  # addresses of a host that are asked in turn to see whether it is down
# Any answer tells: it is neither retried, nor redirected, nor an error, nor a copy.
WITNESS_META = dict.fromkeys(
    [WITNESS_META_KEY, "dont_retry", "dont_redirect", "dont_cache", "handle_httpstatus_all"], True
)


class LedgerScheduler(Component, BaseScheduler):
    """Stores pending requests in the SQLite ledger, one per address, highest priority first.

    Requests that cannot be serialised stay in memory. A request that was in flight when the process
    died is retried alone, to find out whether it crashes the crawler. Requests to hosts that are
    down, or ask for a pause, wait (`Hosts`).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._in_memory: dict[int, Request] = {}
        self._has_warned = False
        self._careful = 0
        self._is_alone = False
        self._alarm: asyncio.TimerHandle | None = None
        # Whether the spider lets a request of a ledger row go out now.
        self._may_send: Callable[[Request, int], bool] = lambda request, row: True

    def open(self, spider: Spider) -> None:
        """Find the ledger."""
        self.spider = spider
        self.keeper = extension(self.crawler, Keeper)
        self.keeper.open()
        self._frontier = self.keeper.ledger.frontier
        self._bindings = self.keeper.bindings
        self._may_send = getattr(spider, "may_send", lambda request, row: True)
        last = self.keeper.ledger.runs.last()
        self._careful = CAREFUL_REQUESTS if last and last.ended is None else 0
        assert self.crawler.request_fingerprinter
        self._count = self.stats.inc_value
        self._fingerprint = self.crawler.request_fingerprinter.fingerprint

    def has_pending_requests(self) -> bool:
        """Tell whether requests wait that are worth waiting for: not those of lost hosts."""
        is_over = self.keeper.is_broken or getattr(self.spider, "is_limited", False)
        return not is_over and self._frontier.queue.has(self.keeper.hosts.lost())

    def __len__(self) -> int:
        """Return how many requests wait."""
        return self._frontier.queue.length

    def close(self, reason: str) -> None:
        """Wake nobody any more."""
        if self._alarm:
            self._alarm.cancel()

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request; False if its address is known, unless it is to be sent all the same."""
        request = with_password_apart(request)
        # That of the request that a retry or a redirect is made of.
        source_row = request.meta.pop(ROW_META_KEY, None)
        if source_row is not None:
            reason = redirect_reason(request)
            self.keeper.addresses.note(source_row, "redirected", reason, target=request.url)
        # A crawl that goes on does not start anew: its start addresses are in the ledger.
        is_start = source_row is None and bool(request.meta.get("is_start_request"))
        again = request.dont_filter and not (is_start and self.keeper.is_resumed)
        fingerprint = self._fingerprint(request)
        text, row = None, 0
        with self.keeper.guarded:
            # Most links are known: to look that up costs less than to make data of their requests.
            if again or not self._frontier.knows(fingerprint):
                text = self._dump(request)
                row = self._frontier.enqueue(
                    fingerprint, request.url, request.priority, text, again, source_row
                )
        if not row:
            self._count("dupefilter/filtered")
            return False
        if ORPHAN_META_KEY in request.meta and source_row is None:
            # Whatever comes of it, also of a redirect: no page linked to it.
            with self.keeper.guarded:
                self.keeper.ledger.visits.answer(row, Answer(is_orphan=True))
        self.keeper.addresses.forget(row)  # a retry takes the place of the request before
        if text is None:
            self._in_memory[row] = request
        self._count("scheduler/enqueued")
        return True

    def _dump(self, request: Request) -> str | None:
        try:
            return dump_request(request, self.spider, self._bindings)
        except TypeError as error:
            if not self._has_warned:
                said = "such requests are lost if the crawl is killed"
                logger.warning("%s cannot be kept in the ledger (%s): %s", request, error, said)
            self._has_warned = True
        return None

    def next_request(self) -> Request | None:
        """Return the next request, None if none waits, or none may be sent now."""
        request = None
        if not self.keeper.is_broken:
            with self.keeper.guarded:
                request = self._next()
            if request is None:
                self._set_alarm()
        return request

    def _set_alarm(self) -> None:
        """Have the engine ask again when a host may be asked, not only every 5 seconds."""
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        seconds = self.keeper.hosts.next_change()
        if seconds is not None and len(self):
            self._alarm = asyncio.get_running_loop().call_later(seconds, wake, self.crawler)

    def _next(self) -> Request | None:
        if self._is_alone:
            if self.keeper.addresses.in_flight():
                return None
            self._is_alone = False
            self.keeper.commit()  # it did not kill
        if (witness := self._witness()) is not None:
            return witness
        while taken := self._frontier.queue.take(self.keeper.hosts.closed()):
            row, address, text, priority, deaths = taken
            is_deadly = deaths >= MAX_DEATHS - 1
            if is_deadly and self.keeper.addresses.in_flight():
                self._frontier.put_back(row)
                return None
            try:
                if text is None:
                    request = self._in_memory.pop(row)
                else:
                    request = load_request(text, address, priority, self.spider, self._bindings)
            except ContentSpiderError as error:
                logger.error("%s cannot be requested: %s", address, error)
                self._frontier.finish(row, "failed", f"its request cannot be read: {error}")
                continue
            if not self._may_send(request, row):
                if text is None:
                    self._in_memory[row] = request
                self._frontier.put_back(row)  # for a run that goes on
                return None
            self._is_alone = is_deadly
            self._hand_out(request, row)
            return request
        return None

    def _witness(self) -> Request | None:
        """Return the request of an address, another one each time, that tells if its host lives."""
        while (due := self.keeper.hosts.due_witness()) is not None:
            host, number = due
            if addresses := self.keeper.addresses.witnesses(host, WITNESSES):
                self.keeper.hosts.ask(host, is_witness=True)
                url = addresses[number % len(addresses)]
                return Request(url, _ignore, errback=_ignore, dont_filter=True, meta=WITNESS_META)
        return None

    def _hand_out(self, request: Request, row: int) -> None:
        if self._careful or self._is_alone:
            self._careful = max(self._careful - 1, 0)
            self.keeper.commit()  # before it is watched: the engine does not have it yet
        request.meta[ROW_META_KEY] = row
        self.keeper.addresses.watch(row, request)
        self.keeper.hosts.ask(host_of(request.url))
        self._count("scheduler/dequeued")


def _ignore(_: object) -> None:
    """Do nothing with what a witness said: that it answered has been noted."""
