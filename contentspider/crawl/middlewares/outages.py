"""A downloader middleware that records which hosts answer and queues requests to paused hosts."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest
from scrapy.utils.misc import load_object

from contentspider.crawl.base.engine import Component, extension
from contentspider.crawl.base.meta import (
    ASKED_META_KEY,
    ROW_META_KEY,
    WAITS_META_KEY,
    WITNESS_META_KEY,
)
from contentspider.crawl.base.outcomes import Retry
from contentspider.crawl.middlewares.guard import GuardMiddleware
from contentspider.crawl.middlewares.robots import RobotsUnreadError
from contentspider.crawl.queue.keeper import BookKeeper
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

# A request goes back into the queue at most this often. The address itself may be the cause of the
# outage.
MAX_WAITS = 5


class LimitedError(IgnoreRequest):
    """The address answers 429 while its host answers, and asks for a pause of *seconds*."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it limits requests, and asks for a pause of {seconds:.0f} s")
        self.seconds = seconds


class OutageMiddleware(Component):
    """Reports answers and failures to `HostPauses`. Puts requests to hosts that are down back into
    the queue.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.keeper = extension(crawler, BookKeeper)
        self._retried_errors = tuple(map(load_object, crawler.settings.getlist("RETRY_EXCEPTIONS")))

    def process_request(self, request: Request) -> None:
        """Raise `LimitedError`, before the end of the run, if the address answers 429 while its
        host answers.
        """
        seconds = self.keeper.hosts.delays.wait_of(request.url)
        may_be_asked = self.keeper.addresses.is_at_end or WITNESS_META_KEY in request.meta
        if seconds is not None and not may_be_asked:
            raise LimitedError(seconds)

    def process_response(self, request: Request, response: Response) -> Request | Response:
        """Record that a host answers. If the status says that the server is down or limits
        requests, put the request back into the queue.
        """
        if not self.keeper.is_durable:  # only our scheduler can postpone requests
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
            # Only this address is paused: nobody knows which addresses belong to the broken part.
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
        """Handle an answer of 429, with the *seconds* of its Retry-After."""
        host, hosts = host_of(request.url), self.keeper.hosts
        is_witness = WITNESS_META_KEY in request.meta
        if hosts.delays.wait_of(request.url) is not None and not is_witness:
            hosts.release(host)
            self._pause(request, seconds or 0)
            return response
        hosts.limit(request.url, seconds, self._has_witness(host), is_witness)
        # With a Retry-After the address is the first to be retried after the pause. Its answer
        # shows whether it causes the 429.
        return self._waiting(request, -1 if seconds is None else 1) or response

    def _pause(self, request: Request, seconds: float) -> None:
        """Pause a single address that answered 429."""
        reason = f"HTTP {TOO_MANY_REQUESTS}, Retry-After: {seconds:.0f}"
        self.keeper.addresses.pause(request, max(seconds, FIRST_PAUSE_SECS), reason)

    def _has_witness(self, host: str) -> bool:
        """Tell whether an address of a host has answered."""
        with self.keeper.guarded:
            return not self.keeper.is_broken and bool(self.keeper.addresses.witnesses(host, 1))
        return False

    def process_exception(self, request: Request, exception: Exception) -> Request | None:
        """Record why a request got no answer. If its host is down, or if the crawl was told to end,
        put it back into the queue; if the guard refuses the request, raise the error of the guard.
        """
        if self.keeper.interruption.is_set and self._has(request):
            return request.replace(dont_filter=True)
        guard = self.crawler.get_downloader_middleware(GuardMiddleware)
        refusal = guard.refusal(request) if guard else None
        exception = refusal or exception
        host, is_temporary = host_of(request.url), isinstance(exception, self._retried_errors)
        self._note(request, exception, is_temporary)
        if is_temporary and self.keeper.is_durable:
            self._failed(host)
            return self._waiting(request)
        self.keeper.hosts.release(host)
        if refusal:
            raise refusal
        return None

    def _note(self, request: Request, exception: Exception, is_temporary: bool) -> None:
        """Record the outcome of an address without an answer."""
        row, note = request.meta.get(ROW_META_KEY), self.keeper.addresses.note
        retry = Retry.NEVER if ASKED_META_KEY in request.meta else Retry.AT_END
        if isinstance(exception, LimitedError):
            self._pause(request, exception.seconds)
        elif isinstance(exception, RobotsUnreadError):
            note(row, "failed", str(exception), retry=retry)
        elif isinstance(exception, IgnoreRequest):
            note(row, "skipped", str(exception) or "ignored")
        else:
            retry = retry if is_temporary else Retry.NEVER
            note(row, "failed", f"{type(exception).__name__}: {exception}", retry=retry)

    def _failed(self, host: str) -> None:
        """Record that a host gave no answer."""
        if not self.keeper.is_broken:
            with self.keeper.guarded:
                count = partial(self.keeper.book.frontier.queue.count_of, host)
                self.keeper.hosts.failed(host, count)

    def _waiting(self, request: Request, places: int = -1) -> Request | None:
        """Return the request to put back into the queue, with *places* more priority; None if the
        request must not wait.
        """
        waits = request.meta.get(WAITS_META_KEY, 0)
        if (
            self.keeper.is_broken
            or waits >= MAX_WAITS
            or request.meta.get("dont_retry")
            or not self._has(request)
            or not self.keeper.hosts.is_paused(host_of(request.url))
        ):
            return None
        meta = {**request.meta, WAITS_META_KEY: waits + 1}
        return request.replace(dont_filter=True, priority=request.priority + places, meta=meta)

    def _has(self, request: Request) -> bool:
        return self.keeper.addresses.has(request.meta.get(ROW_META_KEY))
