"""A scheduler whose queue is the crawl's ledger: what is in it survives any end of the process."""

from __future__ import annotations

import heapq
import logging
from itertools import count
from typing import TYPE_CHECKING

from scrapy.core.scheduler import BaseScheduler

from contentspider.crawl.binding import Bindings
from contentspider.crawl.holder import Holder
from contentspider.crawl.keeper import ROW_META_KEY, Keeper
from contentspider.crawl.requests import dump_request, load_request
from contentspider.errors import ContentSpiderError
from contentspider.storage.database import LedgerFullError

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class LedgerScheduler(BaseScheduler):
    """Queues requests in the ledger, each address once, by priority and then in the order in which
    they came.

    Requests that cannot be made again from data (a callback that is no method of the spider, odd
    values in ``meta``) wait in memory: they work, but are lost if the process is killed, and the
    log says so once.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._memory: list[tuple[int, int, Request, int]] = []  # the last is its address' row
        self._numbers = count()
        self._warned = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the scheduler of a crawler."""
        return cls(crawler)

    def open(self, spider: Spider) -> None:
        """Find the ledger."""
        keeper = self.crawler.get_extension(Keeper)
        if keeper is None:
            raise RuntimeError(
                "LedgerScheduler needs contentspider's add-on: ADDONS = {'contentspider.Addon':"
                " 500}"
            )
        self.spider = spider
        self.keeper = keeper
        keeper.open()
        holder = self.crawler.get_extension(Holder)
        self._bindings = holder.bindings if holder else Bindings()
        assert self.crawler.request_fingerprinter
        self._fingerprint = self.crawler.request_fingerprinter.fingerprint

    def has_pending_requests(self) -> bool:
        """Tell whether requests wait."""
        return bool(self._memory) or (
            self.keeper.ledger.frontier.queued > 0 and not self.keeper.is_broken
        )

    def __len__(self) -> int:
        """Return how many requests wait."""
        return len(self._memory) + self.keeper.ledger.frontier.queued

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request; False if its address is known and it is not one to be sent all the same."""
        assert self.crawler.stats
        # A retry or a redirect comes from a request that was taken from the queue; others come
        # without its row.
        source = request.meta.pop(ROW_META_KEY, None)
        if source is not None and request.meta.get("redirect_urls"):
            self.keeper.note(source, "redirected", target=request.url)
        # A crawl that goes on does not start anew: its start addresses are in the ledger.
        starts_anew = (
            source is None and self.keeper.is_resumed and bool(request.meta.get("is_start_request"))
        )
        again = request.dont_filter and not starts_anew
        fingerprint = self._fingerprint(request)
        text, row = None, 0
        try:
            # Most links are known: to look that up costs less than to make data of their requests.
            if again or not self.keeper.ledger.frontier.knows(fingerprint):
                text = self._dump(request)
                row = self.keeper.ledger.frontier.enqueue(
                    fingerprint, request.url, request.priority, text, again, source
                )
        except LedgerFullError as error:
            self.keeper.fail(error)
            return False
        if not row:
            self.crawler.stats.inc_value("dupefilter/filtered")
            return False
        self.keeper.forget(row)  # a retry takes the place of the request before
        if text is None:
            self._remember(request, row)
        self.crawler.stats.inc_value("scheduler/enqueued")
        return True

    def _dump(self, request: Request) -> str | None:
        try:
            return dump_request(request, self.spider, self._bindings)
        except TypeError as error:
            if not self._warned:
                self._warned = True
                logger.warning(
                    "%s cannot be kept in the ledger (%s): such requests are lost if the crawl is"
                    " killed",
                    request,
                    error,
                )
        return None

    def _remember(self, request: Request, row: int) -> None:
        heapq.heappush(self._memory, (-request.priority, next(self._numbers), request, row))

    def next_request(self) -> Request | None:
        """Return the next request, None if none waits."""
        if self.keeper.is_broken:
            return None
        try:
            if self._memory:
                _, _, request, row = heapq.heappop(self._memory)
                self.keeper.ledger.frontier.take_remembered(row)
                self._hand_out(request, row)
                return request
            while taken := self.keeper.ledger.frontier.take():
                row, address, text, priority = taken
                try:
                    request = load_request(text, address, priority, self.spider, self._bindings)
                except (ContentSpiderError, ValueError, TypeError) as error:
                    logger.error("%s cannot be requested: %s", address, error)
                    self.keeper.ledger.frontier.finish(
                        row, "failed", f"its request cannot be read: {error}"
                    )
                    continue
                self._hand_out(request, row)
                return request
        except LedgerFullError as error:
            self.keeper.fail(error)
        return None

    def _hand_out(self, request: Request, row: int) -> None:
        assert self.crawler.stats
        request.meta[ROW_META_KEY] = row
        self.keeper.watch(row, request)
        self.crawler.stats.inc_value("scheduler/dequeued")
