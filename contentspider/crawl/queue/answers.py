"""The middleware that notes which hosts answer, and has requests to those that do not wait."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.exceptions import IgnoreRequest, NotConfigured

from contentspider.crawl.hold.binding import ROW_META_KEY
from contentspider.crawl.queue.keeper import Keeper
from contentspider.crawl.queue.outage import NO_SERVER, TOO_MANY_REQUESTS, UNAVAILABLE, retry_after
from contentspider.crawl.spider.robots import RobotsUnreadError
from contentspider.ground.addresses import host_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

WAITS_META_KEY = "contentspider_waits"
# What failed so often while its host was down may itself be the cause: it is retried as others are.
MAX_WAITS = 5


class AnswersMiddleware:
    """Notes in the ledger what became of requests without an answer, and puts those back in the
    queue whose host is down, or asks for a pause.

    Next to the downloader: before it is decided whether a request is sent again.
    """

    def __init__(self, crawler: Crawler) -> None:
        keeper = crawler.get_extension(Keeper)
        if keeper is None:
            raise NotConfigured("contentspider's Keeper is not in EXTENSIONS")
        self.keeper = keeper
        if keeper.is_durable:  # no other queue lets requests wait
            crawler.signals.connect(self.downloaded, signal=signals.response_downloaded)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> AnswersMiddleware:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def downloaded(self, response: Response, request: Request) -> None:
        """Note that a host answers; redirects come no further."""
        if response.status != TOO_MANY_REQUESTS and response.status not in NO_SERVER:
            self.keeper.hosts.answered(host_of(request.url))

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Have the request wait if the answer says that there is none now."""
        if not self.keeper.is_durable:
            return response
        host, status = host_of(request.url), response.status
        if status != TOO_MANY_REQUESTS and status not in NO_SERVER:
            self.keeper.hosts.let_go(host)  # it came from elsewhere
            return response
        hosts = self.keeper.hosts
        seconds = retry_after(response) if status in (TOO_MANY_REQUESTS, UNAVAILABLE) else None
        if status == TOO_MANY_REQUESTS:
            hosts.wait(host, seconds)
        elif seconds is None:
            self._failed(host)
        elif hosts.is_part(host):
            # The address gets its pause, not the host; others of that part may be asked once each,
            # since no address tells where it ends.
            self._failed(host)
            self.keeper.pauses.wait(request, seconds)
            return response
        else:
            hosts.wait(host, seconds, self._has_witness(host))
        return self._waiting(request) or response

    def _has_witness(self, host: str) -> bool:
        if self.keeper.is_broken:
            return False
        with self.keeper.guarded:
            return bool(self.keeper.addresses.witnesses(host, 1))
        return False

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Note why an address could not be fetched; if its host is down it waits in the queue."""
        host = host_of(request.url)
        if isinstance(exception, IgnoreRequest):
            self.keeper.hosts.let_go(host)
            if isinstance(exception, RobotsUnreadError):  # it is not skipped for good
                self.keeper.addresses.unread(request, str(exception))
            else:
                self.keeper.addresses.skipped(request, exception)
            return None
        may_pass = self.keeper.addresses.unanswered(request, exception)
        if not may_pass or not self.keeper.is_durable:
            self.keeper.hosts.let_go(host)
            return None
        self._failed(host)
        return self._waiting(request)

    def _failed(self, host: str) -> None:
        if self.keeper.is_broken:
            return
        count = partial(self.keeper.ledger.frontier.queue.count_of, host)
        with self.keeper.guarded:
            self.keeper.hosts.failed(host, count)

    def _waiting(self, request: Request) -> Request | None:
        """Return the request that waits in place of one, None if it is not to wait."""
        waits = request.meta.get(WAITS_META_KEY, 0)
        if (
            self.keeper.is_broken
            or waits >= MAX_WAITS
            or request.meta.get("dont_retry")
            or not self.keeper.addresses.has(request.meta.get(ROW_META_KEY))
            or not self.keeper.hosts.is_paused(host_of(request.url))
        ):
            return None
        # One place down: the next to be asked is another one.
        return request.replace(
            dont_filter=True,
            priority=request.priority - 1,
            meta={**request.meta, WAITS_META_KEY: waits + 1},
        )
