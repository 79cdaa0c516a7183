"""Which hosts answer; requests to those that do not wait in the queue."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest
from scrapy.utils.misc import load_object

from contentspider.crawl.base.engine import Component, extension
from contentspider.crawl.base.meta import ROW_META_KEY, WAITS_META_KEY, WITNESS_META_KEY
from contentspider.crawl.base.outcomes import Again
from contentspider.crawl.middlewares.guard import GuardMiddleware
from contentspider.crawl.middlewares.robots import RobotsUnreadError
from contentspider.crawl.queue.keeper import Keeper
from contentspider.crawl.queue.outage import (
    FIRST_PAUSE_SECS,
    NO_SERVER,
    TOO_MANY_REQUESTS,
    UNAVAILABLE,
    retry_after,
)
from contentspider.ground.addresses import host_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

MAX_WAITS = 5  # what failed so often while its host was down may be the cause


class LimitedError(IgnoreRequest):
    """The address finds requests too many while its host does not, and wants to wait *seconds*."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it finds requests too many, and is asked {seconds:.0f} s later at least")
        self.seconds = seconds


class AnswersMiddleware(Component):
    """Notes why there was no answer; requests to hosts that are down go back into the queue."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.keeper = extension(crawler, Keeper)
        self._retried_errors = tuple(map(load_object, crawler.settings.getlist("RETRY_EXCEPTIONS")))

    def process_request(self, request: Request) -> None:
        """Let what finds requests too many wait until the end, without asking it before; raises
        `LimitedError` then.
        """
        seconds = self.keeper.hosts.wait_of(request.url)
        may_be_asked = self.keeper.addresses.is_at_end or WITNESS_META_KEY in request.meta
        if seconds is not None and not may_be_asked:
            raise LimitedError(seconds)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Note that a host answers; let the request wait if it says that there is no answer now."""
        if not self.keeper.is_durable:  # no other queue lets requests wait
            return response
        host, hosts, status = host_of(request.url), self.keeper.hosts, response.status
        if status not in (TOO_MANY_REQUESTS, *NO_SERVER):
            if "cached" in response.flags:
                hosts.release(host)
            else:
                if 200 <= status < 300:
                    self.keeper.addresses.arriving.add(request.meta.get(ROW_META_KEY))
                hosts.answered(host, WITNESS_META_KEY in request.meta)
            return response
        seconds = retry_after(response) if status in (TOO_MANY_REQUESTS, UNAVAILABLE) else None
        if status == TOO_MANY_REQUESTS:
            return self._limited(request, response, seconds)
        if seconds is None:
            self._failed(host)
        elif hosts.is_partly_down(host):
            # The address gets its pause, not the host: no address tells where a part of it ends.
            self._failed(host)
            reason = f"HTTP {UNAVAILABLE}, Retry-After: {seconds:.0f}"
            self.keeper.addresses.pause(request, seconds, reason)
            return response
        else:
            hosts.wait(host, seconds, self._has_witness(host))
        return self._waiting(request) or response

    def _limited(
        self, request: Request, response: Response, seconds: float | None
    ) -> Request | Response:
        host, hosts = host_of(request.url), self.keeper.hosts
        is_witness = WITNESS_META_KEY in request.meta
        if hosts.wait_of(request.url) is not None and not is_witness:
            hosts.release(host)
            self._pause(request, seconds or 0)
            return response
        hosts.limit(request.url, seconds, self._has_witness(host), is_witness)
        # The address is asked again first, if it said when: that tells whether it is the cause.
        return self._waiting(request, -1 if seconds is None else 1) or response

    def _pause(self, request: Request, seconds: float) -> None:
        reason = f"HTTP {TOO_MANY_REQUESTS}, Retry-After: {seconds:.0f}"
        self.keeper.addresses.pause(request, max(seconds, FIRST_PAUSE_SECS), reason)

    def _has_witness(self, host: str) -> bool:
        with self.keeper.guarded:
            return not self.keeper.is_broken and bool(self.keeper.addresses.witnesses(host, 1))
        return False

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Note why there was no answer; a request waits if its host is down, or is refused."""
        guard = self.crawler.get_downloader_middleware(GuardMiddleware)
        refusal = guard.refusal(request) if guard else None
        exception = refusal or exception
        host, note = host_of(request.url), self.keeper.addresses.note
        row = request.meta.get(ROW_META_KEY)
        may_pass = isinstance(exception, self._retried_errors)
        if isinstance(exception, LimitedError):
            self._pause(request, exception.seconds)
        elif isinstance(exception, RobotsUnreadError):
            note(row, "failed", str(exception), again=Again.AT_END)
        elif isinstance(exception, IgnoreRequest):
            note(row, "skipped", str(exception) or "ignored")
        else:
            again = Again.AT_END if may_pass else Again.NEVER
            note(row, "failed", f"{type(exception).__name__}: {exception}", again=again)
        if may_pass and self.keeper.is_durable:
            self._failed(host)
            return self._waiting(request)
        self.keeper.hosts.release(host)
        if refusal:
            raise refusal
        return None

    def _failed(self, host: str) -> None:
        if not self.keeper.is_broken:
            with self.keeper.guarded:
                count = partial(self.keeper.ledger.frontier.queue.count_of, host)
                self.keeper.hosts.failed(host, count)

    def _waiting(self, request: Request, places: int = -1) -> Request | None:
        """Return the request that waits in place of one, by default a place down, if it is to."""
        waits = request.meta.get(WAITS_META_KEY, 0)
        if (
            self.keeper.is_broken
            or waits >= MAX_WAITS
            or request.meta.get("dont_retry")
            or not self.keeper.addresses.has(request.meta.get(ROW_META_KEY))
            or not self.keeper.hosts.is_paused(host_of(request.url))
        ):
            return None
        meta = {**request.meta, WAITS_META_KEY: waits + 1}
        return request.replace(dont_filter=True, priority=request.priority + places, meta=meta)
