"""What becomes of the addresses of a crawl."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from scrapy import signals

from contentspider.crawl.engine import in_progress
from contentspider.crawl.hold.binding import ROW_META_KEY
from contentspider.ground.addresses import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from contentspider.crawl.queue.state import CrawlState

# Addresses that are asked again at the end of a crawl, once each.
MAX_ASKED_AGAIN = 10_000
REASON_CHARS = 200
# States of addresses that were answered with success.
READ_STATES = ("fetched", "held", "released", "unchanged")
NOT_MODIFIED_STATUS = 304
# "Not found" and "gone"; redirects that say that a page has moved for good.
NOT_THERE = (404, 410)
PERMANENT = (301, 308)


def status_reason(status: int) -> str:
    """Return what an answer of that *status* is called as the reason for an address' state."""
    return f"HTTP {status}"


class Again(Enum):
    """When a failed address is asked again: never, by a resumed crawl (the failure is ours), or
    already at the end of this one (it is the server's).
    """

    NEVER = 0
    LATER = 1
    AT_END = 2


class Outcome(NamedTuple):
    """What has become of an address: see `Frontier.finish`."""

    state: str
    reason: str | None = None
    target: str | None = None
    again: Again = Again.NEVER


FETCHED = Outcome("fetched")
LOST = Outcome(
    "failed", "no answer came through: a component failed, and the log says how", None, Again.LATER
)


@dataclass(slots=True)
class InFlight:
    """A request that the engine has, whether it was answered, and what has become of it."""

    request: Request
    is_answered: bool = False
    outcome: Outcome | None = None


class Addresses:
    """The addresses that the engine has, by their rows in the ledger, and what becomes of each: it
    is noted while the engine works on a page, and written when it is done with it.

    *is_known* tells whether an earlier crawl knew a page.
    """

    def __init__(self, state: CrawlState, is_known: Callable[[str], bool]) -> None:
        self._state = state
        self._is_known = is_known
        settings = state.crawler.settings
        self._retried_statuses = {int(status) for status in settings.getlist("RETRY_HTTP_CODES")}
        self._in_flight: dict[int, InFlight] = {}
        self._ask_again: list[int] = []
        # When all pauses are over that single addresses have asked for.
        self._paused_until = -math.inf
        # What failed has been asked again.
        self.is_at_end = False
        state.crawler.signals.connect(self.received, signal=signals.response_received)
        state.crawler.signals.connect(self.spider_failed, signal=signals.spider_error)

    def watch(self, row: int, request: Request) -> None:
        """Note that the request of an address has been handed to the engine."""
        self._in_flight[row] = InFlight(request)

    def has(self, row: int | None) -> bool:
        """Tell whether the engine has an address."""
        return row in self._in_flight

    def in_flight(self) -> int:
        """Return how many addresses the engine has."""
        self.finish_done()
        return len(self._in_flight)

    def put_back(self, row: int | None) -> None:
        """Queue an address again whose answer was not used, for a crawl that goes on."""
        if row is not None and self.has(row):
            self.forget(row)
            self._state.ledger.frontier.put_back(row)

    def forget(self, row: int) -> None:
        """Note that an address is in the queue again."""
        self._in_flight.pop(row, None)

    def note(
        self,
        row: int | None,
        state: str,
        reason: str | None = None,
        target: str | None = None,
        again: Again = Again.NEVER,
    ) -> None:
        """Note what has become of an address that the engine has.

        A failure of ours (`Again.LATER`) stays, whatever else comes of the page.
        """
        found = self._in_flight.get(row) if row is not None else None
        if found and not (found.outcome and found.outcome.again is Again.LATER):
            found.outcome = Outcome(state, reason and reason[:REASON_CHARS], target, again)

    def finish_done(self) -> None:
        """Write the state of the addresses with which the engine is done: all links are queued,
        all items held or out.
        """
        busy = in_progress(self._state.crawler)
        for row, found in list(self._in_flight.items()):
            if found.request in busy:
                continue
            del self._in_flight[row]
            outcome = found.outcome or (FETCHED if found.is_answered else LOST)
            state, reason, target, again = outcome
            self._state.ledger.frontier.finish(
                row, state, reason, target, may_pass=again is not Again.NEVER
            )
            is_room = len(self._ask_again) < MAX_ASKED_AGAIN
            if again is Again.AT_END and is_room and not self.is_at_end:
                self._ask_again.append(row)

    def ask_again(self) -> int:
        """Queue once more, at the end, what the server could not give; return how many."""
        self.finish_done()
        rows, self._ask_again, self.is_at_end = self._ask_again, [], True
        return self._state.ledger.frontier.ask_again(rows)

    def pause(self, request: Request, seconds: float, reason: str) -> None:
        """Let one address wait for as many *seconds*, whose host answers: it is asked again at the
        end, or by a resumed crawl if that is longer than ``CONTENTSPIDER_OUTAGE_SECS``.
        """
        again = Again.LATER
        if seconds <= self._state.options.outage_secs:
            again = Again.AT_END
            self._paused_until = max(self._paused_until, time.monotonic() + seconds)
        self.note(request.meta.get(ROW_META_KEY), "failed", reason, again=again)
        request.meta["dont_retry"] = True

    @property
    def is_paused(self) -> bool:
        """Tell whether the end of the crawl has to wait for such an address."""
        return not self.is_at_end and time.monotonic() < self._paused_until

    def witnesses(self, host: str, most: int) -> list[str]:
        """Return addresses of a host that have answered (`Queue.answered`), or, if there is none
        yet, whose answers are being read: the first links of a start page may be what fails.
        """
        self.finish_done()
        return self._state.ledger.frontier.queue.answered(host, most) or [
            found.request.url
            for found in self._in_flight.values()
            if found.is_answered
            and (found.outcome or FETCHED).state in READ_STATES
            and host_of(found.request.url) == host
            and not found.request.url.endswith("/robots.txt")
        ]

    def received(self, response: Response, request: Request) -> None:
        """Note an answer, and why it is no success."""
        row, status = request.meta.get(ROW_META_KEY), response.status
        if row not in self._in_flight:
            return
        self._in_flight[row].is_answered = True
        if status == NOT_MODIFIED_STATUS:  # a user's spider asked for that
            self.note(row, "unchanged")
        elif not 200 <= status < 300:
            # That a page is gone is believed at the second look, at the end.
            may_pass = status in self._retried_statuses or self._is_lost(request, status)
            again = Again.AT_END if may_pass else Again.NEVER
            self.note(row, "failed", status_reason(status), again=again)

    def _is_lost(self, request: Request, status: int) -> bool:
        urls = (request.url, *request.meta.get("redirect_urls", ()))
        return status in NOT_THERE and not self.is_at_end and any(map(self._is_known, urls))

    def spider_failed(self, failure: Failure, response: Response | Failure | None) -> None:
        """Note that the spider's callback, or a spider middleware, failed."""
        self.broke(row_of(response), f"the spider: {failure.value!r}")

    def broke(self, row: int | None, reason: str) -> None:
        """Note that something on our side failed on the page of an address."""
        self.note(row, "failed", reason, again=Again.LATER)


def row_of(response: Response | Failure | None) -> int | None:
    """Return the row of the address that an answer is of."""
    request = getattr(response, "request", None)
    return request.meta.get(ROW_META_KEY) if request is not None else None
