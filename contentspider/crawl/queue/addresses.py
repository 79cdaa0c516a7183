"""Records the outcomes of a crawl's addresses and items in the book."""

from __future__ import annotations

import logging
import math
import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import DropItem
from scrapy.utils.serialize import ScrapyJSONEncoder

from contentspider.crawl.base.engine import in_progress
from contentspider.crawl.base.items import item_values
from contentspider.crawl.base.meta import ASKED_META_KEY, ROW_META_KEY
from contentspider.crawl.base.outcomes import (
    DUPLICATE,
    EMPTY,
    MAX_ASKED_AGAIN,
    NOT_MODIFIED_STATUS,
    NOT_THERE,
    READ_STATES,
    Retry,
    is_of_server,
    status_reason,
)
from contentspider.crawl.base.state import machine_error
from contentspider.ground.addresses import host_of
from contentspider.ground.json_text import json_text
from contentspider.recrawl.changes import UNCHANGED
from contentspider.state.address_state import AddressState
from contentspider.state.outcome import KNOWN_BROKEN, OUR_FAILURE

if TYPE_CHECKING:
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from contentspider.crawl.base.state import CrawlState
    from contentspider.crawl.revisits.revisits import Revisits
    from contentspider.state.book.items import ItemBinding
    from contentspider.state.files.output import JsonLinesWriter

logger = logging.getLogger(__name__)

REASON_CHARS = 200
# The item that a task sends through the pipelines, and its page. A pipeline may replace the item,
# but the task stays the same.
in_hand: ContextVar[tuple[object, ItemBinding] | None] = ContextVar(
    "contentspider_in_hand", default=None
)


@dataclass(slots=True)
class InFlight:
    """A request in the engine, and the outcome of its address so far (see `Frontier.finish`)."""

    request: Request
    is_answered: bool = False
    state: str = ""
    reason: str | None = None
    target: str | None = None
    retry: Retry = Retry.NEVER


class Addresses:
    """Keeps the outcomes of the addresses in flight, and writes each outcome to the book when the
    engine has finished with the request.
    """

    # The pages of earlier crawls, if this crawl compares with them.
    revisits: Revisits | None = None

    def __init__(self, state: CrawlState) -> None:
        self._state = state
        settings = state.crawler.settings
        self._retried_statuses = {int(status) for status in settings.getlist("RETRY_HTTP_CODES")}
        self._in_flight: dict[int, InFlight] = {}
        # Rows of addresses whose answers may still pass through the middlewares.
        self.arriving: set[int | None] = set()
        # Rows of failed addresses to retry at the end of the run.
        self._retries: list[int] = []
        # The claims of pages that wait for another form of their address, by row.
        self._copies: dict[int, list[bytes]] = {}
        # The rows of addresses that were read and wait for another answer, to be read again.
        self._read: set[int] = set()
        # The rows of waiting addresses that have known pages.
        self._known_copies: set[int] = set()
        # When the last pause ends that a single address has asked for.
        self._paused_until = -math.inf
        # The failed addresses have been queued again.
        self.is_at_end = False
        state.crawler.signals.connect(self.received, signal=signals.response_received)
        state.crawler.signals.connect(self.spider_failed, signal=signals.spider_error)

    def watch(self, row: int, request: Request) -> None:
        """Record that the engine got the request of an address."""
        self._in_flight[row] = InFlight(request)

    def has(self, row: int | None) -> bool:
        """Tell whether the request of an address is in the engine."""
        return row in self._in_flight

    def in_flight(self) -> int:
        """Return how many addresses have a request in the engine."""
        self.finish_done()
        return len(self._in_flight)

    def forget(self, row: int) -> None:
        """Record that the engine has finished with an address."""
        self._in_flight.pop(row, None)
        self.arriving.discard(row)

    def note(
        self,
        row: int | None,
        state: str,
        reason: str | None = None,
        target: str | None = None,
        retry: Retry = Retry.NEVER,
    ) -> None:
        """Record the outcome of an address in flight. After a failure of our own components
        (`Retry.NEXT_RUN`) later outcomes are ignored, so that the next run retries the address.
        """
        flight = self._in_flight.get(row) if row is not None else None
        if flight and flight.retry is not Retry.NEXT_RUN:
            flight.state, flight.reason = state, reason and reason[:REASON_CHARS]
            flight.target, flight.retry = target, retry

    def note_unread(self, row: int | None, state: str, reason: str, may_pass: bool) -> None:
        """Record why an answer was not read, unless the address has an outcome already. Middlewares
        refuse answers that are too large, and redirects without end, before Scrapy reports an
        answer.
        """
        flight = self._in_flight.get(row) if row is not None else None
        if flight and not flight.state and not flight.is_answered:
            self.note(row, state, reason, retry=Retry.AT_END if may_pass else Retry.NEVER)

    def finish_done(self) -> None:
        """Write the outcomes of the addresses whose requests, callbacks and items are finished."""
        busy = in_progress(self._state.crawler)
        for row, flight in list(self._in_flight.items()):
            if flight.request not in busy:
                self._finish(row, flight)

    def _finish(self, row: int, flight: InFlight) -> None:
        """Write the outcome of an address."""
        if not flight.state and not flight.is_answered:
            self.note_our_failure(row, "no answer: a component failed, see the log")
        self.forget(row)
        if flight.is_answered and row in self._read:
            self._read.discard(row)
            self._state.stats.inc_value("contentspider/pages/read_again")
        if flight.retry is Retry.WAITS and flight.reason != EMPTY:
            self._read.add(row)
        state = flight.state or "fetched"
        if self._has_failed_again(flight):
            state, flight.retry = AddressState.SKIPPED, Retry.NEVER
            flight.reason = f"{KNOWN_BROKEN} ({flight.reason})"
            self._state.stats.inc_value(f"contentspider/pages/skipped/{KNOWN_BROKEN}")
        if flight.retry is not Retry.NEVER:
            state = AddressState.RETRY
        self._state.book.frontier.finish(row, state, flight.reason, flight.target)
        if flight.retry in (Retry.AT_END, Retry.WAITS):
            self._retry_at_end(row)

    def _retry_at_end(self, row: int) -> None:
        """Have a failed address requested again at the end of this run, unless it is the end."""
        if not self.is_at_end and len(self._retries) < MAX_ASKED_AGAIN:
            self._retries.append(row)

    def _has_failed_again(self, flight: InFlight) -> bool:
        """Tell whether an address has failed that is known as broken."""
        if flight.retry in (Retry.NEVER, Retry.WAITS) or not is_of_server(flight.reason or ""):
            return False
        return self.revisits is not None and self.revisits.broken.is_known(flight.request.url)

    def _is_known(self, url: str) -> bool:
        """Tell whether an address has a known page."""
        return self.revisits is not None and self.revisits.is_known(url)

    def retry_failed(self) -> int:
        """Queue the failed addresses a second time, at the end of the run; return how many.

        Of several waiting pages with the same text, the first one that answers gets the item. A
        known page must keep its item, so known pages are queued first, and the pages that wait with
        them at the next call.
        """
        self.finish_done()
        rows = [row for row in self._retries if not self._settle_copy(row)]
        self._retries, self.is_at_end = [], True
        if not self._known_copies.isdisjoint(rows):
            new_copies = self._copies.keys() - self._known_copies
            self._retries = [row for row in rows if row in new_copies]
            rows = [row for row in rows if row not in new_copies]
        count = self._state.book.frontier.requeue_failed(rows)
        # Zero would end the run. The known pages may have been queued by others.
        return self.retry_failed() if not count and self._retries else count

    def expect_copy(self, row: int | None, address: str, claims: list[bytes]) -> None:
        """At the end of the run, record that a waiting page is a copy if another page owns its
        claims.
        """
        if row is not None:
            self._copies[row] = claims
            if self._is_known(address):
                self._known_copies.add(row)

    def _settle_copy(self, row: int) -> bool:
        """Record that a waiting page is a copy if another page owns its claims; tell whether."""
        book = self._state.book
        original = book.claims.owner(self._copies.get(row, ()), row)
        if original:
            book.frontier.skip_copy(row, DUPLICATE, original)
            self._state.stats.inc_value(f"contentspider/pages/skipped/{DUPLICATE}")
        return bool(original)

    def pause(self, request: Request, seconds: float, reason: str) -> None:
        """Pause a single address whose host answers: until the end of the run, or until the next
        run if the pause is longer than the crawl waits.
        """
        retry = Retry.NEXT_RUN
        if seconds <= self._state.options.outage_secs:
            retry = Retry.AT_END
            self._paused_until = max(self._paused_until, time.monotonic() + seconds)
        self.note(request.meta.get(ROW_META_KEY), "failed", reason, retry=retry)
        request.meta["dont_retry"] = True

    @property
    def may_wait(self) -> bool:
        """Whether an address can still be postponed to the end of the run."""
        waiting = len(self._retries) + len(self._in_flight)
        return not self.is_at_end and waiting < MAX_ASKED_AGAIN

    @property
    def is_paused(self) -> bool:
        """Whether the end of the run must wait for an address in a pause."""
        return not self.is_at_end and time.monotonic() < self._paused_until

    def witnesses(self, host: str, count: int) -> list[str]:
        """Return up to *count* addresses of a host that have answered. If there are none, return
        the addresses whose answers are being read.
        """
        self.finish_done()
        answered = self._state.book.frontier.queue.answered(host, count)
        if answered:
            return answered
        return [
            flight.request.url
            for row, flight in self._in_flight.items()
            if self._is_witness(row, flight, host)
        ]

    def _is_witness(self, row: int, flight: InFlight, host: str) -> bool:
        """Tell whether an address in flight proves that a host answers."""
        url = flight.request.url
        if flight.state not in READ_STATES or host_of(url) != host or url.endswith("/robots.txt"):
            return False
        return flight.is_answered or row in self.arriving

    def received(self, response: Response, request: Request) -> None:
        """Record an answer. If its status is not a success, also record the reason."""
        row, status = request.meta.get(ROW_META_KEY), response.status
        if row not in self._in_flight:
            return
        self._in_flight[row].is_answered = True
        if status == NOT_MODIFIED_STATUS:  # a user's spider sent the validators
            self.note(row, "unchanged")
        elif not 200 <= status < 300:
            may_retry = status in self._retried_statuses and ASKED_META_KEY not in request.meta
            if status in NOT_THERE and not self.is_at_end:
                # A known page counts as gone only if a second request at the end of the run also
                # fails.
                urls = (request.url, *request.meta.get("redirect_urls", ()))
                may_retry = may_retry or any(map(self._is_known, urls))
            retry = Retry.AT_END if may_retry else Retry.NEVER
            self.note(row, "failed", status_reason(status), retry=retry)

    def spider_failed(self, failure: Failure, response: Response | Failure | None) -> None:
        """Record that a callback of the spider, or a spider middleware, raised an error."""
        row, cause = row_of(response), machine_error(failure.value, getattr(response, "url", ""))
        if cause is None or not self._state.stop_for(cause, row):
            self.note_our_failure(row, f"the spider: {failure.value!r}")

    def note_our_failure(self, row: int | None, reason: str) -> None:
        """Record that a component of this crawl failed on the page of an address."""
        self.note(row, "failed", OUR_FAILURE + reason, retry=Retry.NEXT_RUN)


def row_of(response: Response | Failure | None) -> int | None:
    """Return the row in the book of the address of a response."""
    request = getattr(response, "request", None)
    return request.meta.get(ROW_META_KEY) if request is not None else None


class UnchangedItem(DropItem):
    """The item is dropped: its page is unchanged, and only changes are wanted."""


class SkippedItem(DropItem):
    """The item is dropped, and its address skipped for a *reason*: another page has the same main
    content and canonical address (`DUPLICATE`), or the page stands for others that are hidden.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message, log_level="DEBUG")
        self.reason = reason


class UnfilledItem(DropItem):
    """The item is dropped: it cannot be made, and its page stays unread (`set_aside`)."""


class ItemRecorder:
    """Records the outcomes of the crawl's items in the book, each item once under its key, and
    writes the items with *writer*.
    """

    writer: JsonLinesWriter | None = None

    def __init__(self, state: CrawlState, addresses: Addresses) -> None:
        self._state = state
        self._addresses = addresses
        self._default = ScrapyJSONEncoder().default
        self._connect = state.crawler.signals.connect
        self._is_listening = False
        self._connect(self.dropped, signal=signals.item_dropped)
        self._connect(self.failed, signal=signals.item_error)

    def listen(self) -> None:
        """Record the items that pass the pipelines from now on. Scrapy then creates one more task
        for each item.
        """
        if not self._is_listening:
            self._is_listening = True
            self._connect(self.scraped, signal=signals.item_scraped)

    def key(self, row: int | None, place: int) -> str | None:
        """Return the key of an item: the row of its address, and its number on the page."""
        return f"{row}/{place}" if self._state.is_durable and row is not None else None

    def scraped(self, item: Any) -> None:
        """Record an item that has passed all pipelines, and write it."""
        _, hand = in_hand.get() or (item, None)
        line = b""
        if self.writer or (self._state.is_durable and hand):
            try:
                text = json_text(item_values(item), default=self._default)
                line = text.encode("utf-8", "replace")
            except (TypeError, ValueError) as error:
                logger.error(
                    f"an item of {type(item).__name__} cannot be written as JSON ({error}), and is"
                    " missing in the outputs of contentspider"
                )
                self._state.stats.inc_value("contentspider/items/lost")
                if hand:
                    self._settle(hand, None, f"not JSON: {error}", "failed")
                return
        is_new = self._settle(hand, line, None) if hand else True
        if self.writer and is_new:
            try:
                self.writer.write(line)
            except OSError as error:
                self._state.fail(error)

    def dropped(self, item: Any, exception: DropItem) -> None:
        """Record that a pipeline dropped an item."""
        # If an earlier pipeline has dropped the item, its page is not known here.
        # The page of an item that cannot be made stays unread, and the item held if it was held.
        if (hand := _hand_of(item)) and not isinstance(exception, UnfilledItem):
            reason, state = f"dropped: {exception}", "failed"
            if isinstance(exception, UnchangedItem):
                reason, state = UNCHANGED, "unchanged"
            elif isinstance(exception, SkippedItem):
                reason, state = exception.reason, "skipped"
            self._settle(hand, None, reason, state)

    def failed(self, item: Any, response: Response | Failure | None, failure: Failure) -> None:
        """Record that a pipeline raised an error for an item. The next run tries again."""
        self._state.stats.inc_value("contentspider/items/lost")
        hand = _hand_of(item)
        if hand and hand.page_id and not self._state.is_broken:
            with self._state.guarded:  # the book keeps the page and its item as they were
                self._state.book.visits.forget(hand.page_id)
        reason = f"an item failed in a pipeline: {failure.value!r}"[:200]
        row = hand.address_row if hand else row_of(response)
        self._addresses.note_our_failure(row, reason)
        if hand and hand.held_row is not None:
            logger.error("%s; the item stays held, and a resumed crawl tries again", reason)

    def _settle(
        self, hand: ItemBinding, line: bytes | None, reason: str | None, state: str = "released"
    ) -> bool:
        """Record the outcome of an item. Return False if the item must not be written, because it
        was recorded before or could not be recorded.
        """
        if self._state.is_broken:
            return not self._state.is_durable
        row = hand.address_row
        with self._state.guarded:
            is_new = self._record(hand, line, reason)
            if row is not None:
                told = reason if reason != UNCHANGED else None
                self._addresses.note(row, state, told)
                self._state.book.frontier.mark_released(row, state, told)
            return is_new
        return not self._state.is_durable

    def _record(self, hand: ItemBinding, line: bytes | None, reason: str | None) -> bool:
        """Record an item's line, or the reason for dropping it, and the outcome in the version of
        its page. Return False if the item was recorded before.
        """
        book = self._state.book
        version = book.pages.found(hand.page_id) if hand.page_id else None
        base = None
        if version is not None:  # without new text, the item resembles the last one
            has_changed = hand.text is not None or version.item is None
            base = version.page if has_changed else version.item
        is_new, number = book.items.record(hand, line, reason, base)
        if is_new and hand.page_id and hand.is_same_item and number is not None:
            book.visits.keep_item(hand.page_id)
        elif is_new and hand.page_id:
            item = None
            if number is not None:
                number, item = book.items.by_our_names(number, hand.names, line)
            is_left_out = reason == UNCHANGED or hand.key is None
            book.visits.take_item(hand.page_id, item, number, hand.text, is_left_out)
        return is_new


def _hand_of(item: object) -> ItemBinding | None:
    """Return the page of an item that our pipeline has filled in this task; None for others."""
    filled_item, hand = in_hand.get() or (None, None)
    return hand if filled_item is item else None
