"""The scheduler. Its queue is in the crawl's book, and survives a kill of the process."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import Request, Spider
from scrapy.core.scheduler import BaseScheduler

from contentspider.crawl.base.engine import Component, extension, wake
from contentspider.crawl.base.meta import (
    ORPHAN_META_KEY,
    PARENT_META_KEY,
    ROW_META_KEY,
    WITNESS_META_KEY,
)
from contentspider.crawl.base.outcomes import redirect_reason
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.crawl.queue.requests import (
    dump_request,
    ignore,
    load_request,
    with_password_apart,
)
from contentspider.ground.addresses import host_of
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.book.answers import Answer
from contentspider.state.book.frontier import MAX_DEATHS

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from contentspider.state.book.queue import Taken

logger = logging.getLogger(__name__)

# After a process died, each of the first requests is committed before it is sent, so that the
# book knows the requests in flight if the process dies again.
CAREFUL_REQUESTS = 100
# Addresses of a host that are requested in turn to test whether the host is down.
WITNESSES = 8
# Any answer to a test counts, so it is not retried, redirected, filtered or taken from the cache.
WITNESS_META = dict.fromkeys(
    [WITNESS_META_KEY, "dont_retry", "dont_redirect", "dont_cache", "handle_httpstatus_all"], True
)


class BookScheduler(Component, BaseScheduler):
    """Stores pending requests in the crawl's book, one per address, highest priority first.

    Requests that cannot be serialised stay in memory, and the pages that led to them stay open: a
    run after a kill reads these pages again. A request that was in flight when the process
    died is retried alone, to find out whether it crashes the crawler. Requests to paused hosts wait
    (`HostPauses`).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._in_memory: dict[int, Request] = {}
        self._has_warned = False
        # The number of next requests that are committed one by one.
        self._careful = 0
        # The request in flight is sent alone, because it may crash the process.
        self._is_alone = False
        self._alarm: asyncio.TimerHandle | None = None
        # Returns whether the spider's budget allows the request of an address, by its row, now.
        self._may_send: Callable[[Request, int], bool] = lambda request, row: True
        # Returns why the spider skips a queued request, "" if it does not.
        self._skip_reason: Callable[[Request], str] = lambda request: ""

    def open(self, spider: Spider) -> None:
        """Open the book of the crawl."""
        self.spider = spider
        self.keeper = extension(self.crawler, BookKeeper)
        self.keeper.open()
        self._frontier = self.keeper.book.frontier
        self._bindings = self.keeper.bindings
        self._may_send = getattr(spider, "may_send", lambda request, row: True)
        self._skip_reason = getattr(spider, "skip_reason", lambda request: "")
        last = self.keeper.book.runs.last()
        self._careful = CAREFUL_REQUESTS if last and last.ended is None else 0
        assert self.crawler.request_fingerprinter
        self._count = self.stats.inc_value
        self._fingerprint = self.crawler.request_fingerprinter.fingerprint

    def has_pending_requests(self) -> bool:
        """Tell whether requests wait, other than requests to lost hosts."""
        is_over = self.keeper.is_broken or getattr(self.spider, "is_limited", False)
        return not is_over and self._frontier.queue.has(self.keeper.hosts.lost())

    def __len__(self) -> int:
        """Return how many requests wait."""
        return self._frontier.queue.length

    def close(self, reason: str) -> None:
        """Cancel the timer that wakes the engine."""
        if self._alarm:
            self._alarm.cancel()

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request. Return False if its address was queued before, unless the request has
        ``dont_filter``.
        """
        request = with_password_apart(request)
        # A retry or a redirect carries the row of the request that it was made from.
        source_row = request.meta.pop(ROW_META_KEY, None)
        parent = request.meta.pop(PARENT_META_KEY, None)
        if source_row is not None:
            reason = redirect_reason(request)
            self.keeper.addresses.note(source_row, "redirected", reason, target=request.url)
        # The start addresses of a resumed crawl are in the book already.
        is_start = source_row is None and bool(request.meta.get("is_start_request"))
        may_repeat = request.dont_filter and not (is_start and self.keeper.is_resumed)
        fingerprint = self._fingerprint(request)
        text, row = None, 0
        with self.keeper.guarded:
            # Most links are known. Looking them up is cheaper than serialising their requests.
            if may_repeat or not self._frontier.knows(fingerprint):
                text = self._dump(request)
                row = self._frontier.enqueue(
                    fingerprint, request.url, request.priority, text, may_repeat, source_row
                )
        if not row:
            self._count("dupefilter/filtered")
            return False
        if ORPHAN_META_KEY in request.meta and source_row is None:
            # No page links to the address, even if its answer is a redirect.
            with self.keeper.guarded:
                self.keeper.book.answers.put(row, Answer(is_orphan=True))
        self.keeper.addresses.forget(row)  # a retry replaces the earlier request
        if text is None:
            self._in_memory[row] = request
            self._frontier.depend(row, parent if source_row is None else source_row)
        self._count("scheduler/enqueued")
        return True

    def _dump(self, request: Request) -> str | None:
        """Return a request as JSON; None, after a warning if a later run could resume the crawl, if
        it cannot be serialised.
        """
        try:
            return dump_request(request, self.spider, self._bindings)
        except TypeError as error:
            is_resumable = self.keeper.is_durable and not self.keeper.is_inspection
            if is_resumable and not self._has_warned:
                logger.warning(
                    f"{request} stays in memory, because it cannot be written to the book"
                    f" ({error}). If the crawl ends before its end, a resumed crawl reads the pages"
                    " again that led to such requests"
                )
                self._has_warned = True
        return None

    def next_request(self) -> Request | None:
        """Return the next request; None if no request waits, or none may be sent now."""
        request = None
        if not self.keeper.is_broken:
            with self.keeper.guarded:
                request = self._next()
            if request is None:
                self._set_alarm()
        return request

    def _set_alarm(self) -> None:
        """Wake the engine when the next pause of a host ends. By itself the engine checks the queue
        every 5 seconds.
        """
        if self._alarm:
            self._alarm.cancel()
            self._alarm = None
        seconds = self.keeper.hosts.next_change()
        if seconds is not None and len(self):
            self._alarm = asyncio.get_running_loop().call_later(seconds, wake, self.crawler)

    def _next(self) -> Request | None:
        """Return the next request, or a test of a paused host."""
        if self._is_alone:
            if self.keeper.addresses.in_flight():
                return None
            self._is_alone = False
            self.keeper.commit()  # the request did not crash the process
        if (witness := self._witness()) is not None:
            return witness
        while entry := self._frontier.queue.take(self.keeper.hosts.closed()):
            row, text, deaths = entry[0], entry[2], entry[4]
            is_deadly = deaths >= MAX_DEATHS - 1
            if is_deadly and self.keeper.addresses.in_flight():
                self._frontier.requeue(row)
                return None
            if (request := self._load(entry)) is None:
                continue
            if not self._may_send(request, row):
                if text is None:
                    self._in_memory[row] = request
                self._frontier.requeue(row)  # a resumed run sends it
                return None
            self._is_alone = is_deadly
            self._hand_out(request, row)
            return request
        return None

    def _load(self, entry: Taken) -> Request | None:
        """Return the request of an address; None if it cannot be read, or the spider skips it."""
        row, address, text, priority, _ = entry
        try:
            if text is None:
                request = self._in_memory.pop(row)
            else:
                request = load_request(text, address, priority, self.spider, self._bindings)
        except ContentSpiderError as error:
            logger.error("%s cannot be requested: %s", address, error)
            self._frontier.finish(row, "failed", f"its request cannot be read: {error}")
            return None
        if reason := self._skip_reason(request):
            self._frontier.finish(row, "skipped", reason)
            self._count(f"contentspider/pages/skipped/{reason}")
            return None
        return request

    def _witness(self) -> Request | None:
        """Return a request that tests a paused host. Tests take turns among several addresses."""
        while (due := self.keeper.hosts.due_witness()) is not None:
            host, number = due
            if addresses := self.keeper.addresses.witnesses(host, WITNESSES):
                self.keeper.hosts.ask(host, is_witness=True)
                url = addresses[number % len(addresses)]
                return Request(url, ignore, errback=ignore, dont_filter=True, meta=WITNESS_META)
        return None

    def _hand_out(self, request: Request, row: int) -> None:
        """Record that the engine gets the request of the address in a row."""
        if self._careful or self._is_alone:
            self._careful = max(self._careful - 1, 0)
            self.keeper.commit()  # before `watch`, because the engine does not have the request yet
        request.meta[ROW_META_KEY] = row
        self.keeper.addresses.watch(row, request)
        self.keeper.hosts.ask(host_of(request.url))
        self._count("scheduler/dequeued")
