"""What becomes of a crawl's addresses: noted while the engine has them, and set when it is done."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from scrapy import signals

from contentspider.crawl.engine import in_progress
from contentspider.crawl.hold.binding import ROW_META_KEY
from contentspider.crawl.queue.outage import Transient
from contentspider.ground.addresses import host_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.exceptions import IgnoreRequest
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from contentspider.crawl.queue.state import CrawlState

# Addresses that are asked again at the end of a crawl, once each.
MAX_ASKED_AGAIN = 10_000
REASON_CHARS = 200
# Those of addresses that were answered with success.
READ_STATES = ("fetched", "held", "released", "unchanged")
NOT_MODIFIED_STATUS = 304
# "Not found" and "gone"; redirects that say that a page has moved for good.
NOT_THERE = (404, 410)
PERMANENT = (301, 308)


def status_reason(status: int) -> str:
    """Return what an answer of that *status* is called as the reason for an address' state."""
    return f"HTTP {status}"


class Again(Enum):
    """Whether an address that failed is asked again: never, by a resumed crawl (what failed is on
    our side), or already at the end of this one (the server's).
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


class Addresses:
    """The addresses that the engine has in a crawl, and what becomes of each.

    *is_known* tells whether an earlier crawl knew a page.
    """

    def __init__(self, state: CrawlState, is_known: Callable[[str], bool]) -> None:
        self._state = state
        self._is_known = is_known
        self._transient = Transient(state.crawler.settings)
        self._in_flight: dict[int, Request] = {}
        self._outcomes: dict[int, Outcome] = {}
        self._answered: set[int] = set()
        self._ask_again: list[int] = []
        # What could not be had before has been asked for again.
        self.is_at_end = False
        connect = state.crawler.signals.connect
        connect(self.received, signal=signals.response_received)
        connect(self.spider_failed, signal=signals.spider_error)

    def watch(self, row: int, request: Request) -> None:
        """Note that the request of an address has been handed to the engine."""
        self._in_flight[row] = request
        self._answered.discard(row)

    def in_flight(self) -> int:
        """Return with how many addresses the engine is not done."""
        self.finish_done()
        return len(self._in_flight)

    def put_back(self, row: int | None) -> None:
        """Queue an address again whose answer was not used, for a crawl that goes on."""
        if row in self._in_flight and row is not None:
            self.forget(row)
            self._state.ledger.frontier.put_back(row)

    def forget(self, row: int) -> None:
        """Note that an address is in the queue again."""
        self._in_flight.pop(row, None)
        self._outcomes.pop(row, None)

    def note(
        self,
        row: int | None,
        state: str,
        reason: str | None = None,
        target: str | None = None,
        again: Again = Again.NEVER,
    ) -> None:
        """Note what has become of an address; it is done when the engine is done with its request.

        What broke stays so, whatever else comes of the page.
        """
        if row in self._in_flight:
            known = self._outcomes.get(row)
            if known is None or known.again is not Again.LATER:
                self._outcomes[row] = Outcome(state, reason, target, again)

    def finish_done(self) -> None:
        """Set the state of those addresses with whose requests the engine is done: all links
        queued, all items held or out.
        """
        busy = in_progress(self._state.crawler)
        for row in [row for row, request in self._in_flight.items() if request not in busy]:
            del self._in_flight[row]
            default = FETCHED if row in self._answered else LOST
            self._answered.discard(row)
            outcome = self._outcomes.pop(row, default)
            self._state.ledger.frontier.finish(
                row, outcome.state, outcome.reason, outcome.target, outcome.again is not Again.NEVER
            )
            if (
                outcome.again is Again.AT_END
                and not self.is_at_end
                and len(self._ask_again) < MAX_ASKED_AGAIN
            ):
                self._ask_again.append(row)

    def ask_again(self) -> int:
        """Queue once more, at the end of a crawl, what the server could not give before, and return
        how many addresses that are.
        """
        self.finish_done()
        rows, self._ask_again, self.is_at_end = self._ask_again, [], True
        return self._state.ledger.frontier.ask_again(rows) if rows else 0

    def witnesses(self, host: str, most: int) -> list[str]:
        """Return addresses of a host that have answered (`Queue.answered`), or, if there is none
        yet, whose answers are being read: the first links of a start page may be what fails.
        """
        self.finish_done()
        found = self._state.ledger.frontier.queue.answered(host, most)
        return found or [
            request.url
            for row, request in self._in_flight.items()
            if row in self._answered
            and self._outcomes.get(row, FETCHED).state in READ_STATES
            and host_of(request.url) == host
            and not request.url.endswith("/robots.txt")
        ]

    def skipped(self, request: Request, exception: IgnoreRequest) -> None:
        """Note that a component does not want a request to be sent."""
        reason = str(exception)[:REASON_CHARS] or "ignored"
        self.note(request.meta.get(ROW_META_KEY), "skipped", reason)

    def unread(self, request: Request, reason: str) -> None:
        """Note that a request is not sent for now, and why: there may be an answer later."""
        row = request.meta.get(ROW_META_KEY)
        self.note(row, "failed", reason[:REASON_CHARS], again=Again.AT_END)

    def received(self, response: Response, request: Request) -> None:
        """Note an answer, and why it is no success."""
        row = request.meta.get(ROW_META_KEY)
        if row is not None:
            self._answered.add(row)
            if response.status == NOT_MODIFIED_STATUS:  # a spider of the user's asked for that
                self.note(row, "unchanged")
            elif not 200 <= response.status < 300:
                may_pass = self._transient.is_status(response.status)
                # That a page is gone is believed at the second look, at the end.
                may_pass = may_pass or self._is_lost(request, response.status)
                again = Again.AT_END if may_pass else Again.NEVER
                self.note(row, "failed", status_reason(response.status), again=again)

    def _is_lost(self, request: Request, status: int) -> bool:
        if status not in NOT_THERE or self.is_at_end:
            return False
        return any(map(self._is_known, (request.url, *request.meta.get("redirect_urls", ()))))

    def spider_failed(self, failure: Failure, response: Response | Failure | None) -> None:
        """Note that the spider's callback, or a spider middleware, failed."""
        self.broke(row_of(response), f"the spider: {failure.value!r}")

    def unanswered(self, request: Request, exception: Exception) -> bool:
        """Note why a request got no answer; tell whether there may be one later."""
        may_pass = self._transient.is_error(exception)
        again = Again.AT_END if may_pass else Again.NEVER
        reason = f"{type(exception).__name__}: {exception}"[:REASON_CHARS]
        self.note(request.meta.get(ROW_META_KEY), "failed", reason, again=again)
        return may_pass

    def has(self, row: int | None) -> bool:
        """Tell whether the engine has an address."""
        return row in self._in_flight

    def broke(self, row: int | None, reason: str) -> None:
        """Note that something on our side failed on the page of an address."""
        self.note(row, "failed", reason[:REASON_CHARS], again=Again.LATER)


def row_of(response: Response | Failure | None) -> int | None:
    """Return the row of the address that an answer is of."""
    request = getattr(response, "request", None)
    return request.meta.get(ROW_META_KEY) if request is not None else None
