"""A scheduler whose queue is the crawl's ledger: what is in it survives any end of the process."""

from __future__ import annotations

import heapq
import logging
from itertools import count
from typing import TYPE_CHECKING

from scrapy.core.scheduler import BaseScheduler

from contentspider.crawl.keeper import RELEASE_URL, URL_META_KEY, Keeper
from contentspider.crawl.requests import dump_request, load_request
from contentspider.storage.ledger import LedgerFullError

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)


class LedgerScheduler(BaseScheduler):
    """Queues requests in the ledger, each address once, by priority and then in the order in which they came.

    Requests that cannot be made again from data (a callback that is no method of the spider, odd values in ``meta``)
    wait in memory: they work, but are lost if the process is killed, and the log says so once.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._memory: list[tuple[int, int, Request]] = []
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
            raise RuntimeError("LedgerScheduler needs contentspider's add-on: ADDONS = {'contentspider.Addon': 500}")
        self.spider = spider
        self.keeper = keeper
        assert self.crawler.request_fingerprinter
        self._fingerprint = self.crawler.request_fingerprinter.fingerprint

    def has_pending_requests(self) -> bool:
        """Tell whether requests wait."""
        return bool(self._memory) or (self.keeper.ledger.queued > 0 and not self.keeper.is_broken)

    def __len__(self) -> int:
        """Return how many requests wait."""
        return len(self._memory) + self.keeper.ledger.queued

    def enqueue_request(self, request: Request) -> bool:
        """Queue a request; False if its address is known and it is not one to be sent all the same."""
        assert self.crawler.stats
        source = request.meta.pop(URL_META_KEY, None)
        if source is not None and request.meta.get("redirect_urls"):
            self.keeper.note(source, "redirected", target=request.url)
        # A crawl that goes on does not start anew: its start addresses are in the ledger.
        again = request.dont_filter and not (self.keeper.is_resumed and request.meta.get("is_start_request"))
        try:
            text = dump_request(request, self.spider)
        except TypeError as error:
            self._remember(request, error)
            return True
        try:
            url = self.keeper.ledger.enqueue(self._fingerprint(request), request.url, request.priority, text, again)
        except LedgerFullError as error:
            self.keeper.fail(error)
            return False
        if not url:
            self.crawler.stats.inc_value("dupefilter/filtered")
            return False
        self.keeper.forget(url)  # a retry takes the place of the request before
        self.crawler.stats.inc_value("scheduler/enqueued")
        return True

    def _remember(self, request: Request, error: TypeError) -> None:
        if not self._warned and request.url != RELEASE_URL:
            self._warned = True
            logger.warning("%s cannot be kept in the ledger (%s): such requests are lost if the crawl is killed", request, error)
        heapq.heappush(self._memory, (-request.priority, next(self._numbers), request))

    def next_request(self) -> Request | None:
        """Return the next request, None if none waits."""
        assert self.crawler.stats
        if self._memory:
            return heapq.heappop(self._memory)[2]
        if self.keeper.is_broken:
            return None
        try:
            while taken := self.keeper.ledger.take():
                url, address, text, priority = taken
                try:
                    request = load_request(text, address, priority, self.spider)
                except (ValueError, TypeError) as error:
                    logger.error("%s cannot be requested: %s", address, error)
                    self.keeper.ledger.finish(url, "failed", f"its request cannot be read: {error}")
                    continue
                request.meta[URL_META_KEY] = url
                self.keeper.watch(url, request)
                self.crawler.stats.inc_value("scheduler/dequeued")
                return request
        except LedgerFullError as error:
            self.keeper.fail(error)
        return None
