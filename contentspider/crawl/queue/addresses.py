"""What becomes of the addresses of a crawl, and of its items."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import Request, signals
from scrapy.exceptions import DropItem
from scrapy.utils.serialize import ScrapyJSONEncoder

from contentspider.crawl.base.engine import in_progress
from contentspider.crawl.base.meta import ROW_META_KEY
from contentspider.crawl.base.outcomes import (
    DUPLICATE,
    MAX_ASKED_AGAIN,
    NOT_MODIFIED_STATUS,
    NOT_THERE,
    READ_STATES,
    Again,
    status_reason,
)
from contentspider.ground.addresses import host_of
from contentspider.recrawl.changes import UNCHANGED

if TYPE_CHECKING:
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from contentspider.crawl.base.state import CrawlState
    from contentspider.state.files.output import JsonLinesWriter
    from contentspider.state.ledger.items import PageInHand

logger = logging.getLogger(__name__)

REASON_CHARS = 200
# What a task carries through the pipelines: the item may be replaced on its way; the task stays.
in_hand: ContextVar[tuple[object, PageInHand] | None] = ContextVar(
    "contentspider_in_hand", default=None
)


@dataclass(slots=True)
class InFlight:
    """A request that the engine has, and what has become of its address: see `Frontier.finish`."""

    request: Request
    is_answered: bool = False
    state: str = ""
    reason: str | None = None
    target: str | None = None
    again: Again = Again.NEVER


class Addresses:
    """The addresses that the engine has: what becomes of each is noted, and written when done."""

    def __init__(self, state: CrawlState, is_known: Callable[[str], bool]) -> None:
        self._state = state
        self._is_known = is_known
        settings = state.crawler.settings
        self._retried_statuses = {int(status) for status in settings.getlist("RETRY_HTTP_CODES")}
        self._in_flight: dict[int, InFlight] = {}
        # Rows of those whose answers may still be on their way through the middlewares.
        self.arriving: set[int | None] = set()
        self._ask_again: list[int] = []
        # What pages that wait for another form of their address claim, by their rows.
        self._copies: dict[int, list[bytes]] = {}
        # When all pauses are over that single addresses have asked for.
        self._paused_until = -math.inf
        self.is_at_end = False  # what failed has been asked again
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

    def forget(self, row: int) -> None:
        """Note that the engine does not have an address any more."""
        self._in_flight.pop(row, None)
        self.arriving.discard(row)

    def note(
        self,
        row: int | None,
        state: str,
        reason: str | None = None,
        target: str | None = None,
        again: Again = Again.NEVER,
    ) -> None:
        """Record the outcome of an address that is in flight. If one of our components failed on
        it, that outcome is kept, and later ones are ignored: the address is tried again.
        """
        found = self._in_flight.get(row) if row is not None else None
        if found and found.again is not Again.LATER:
            found.state, found.reason = state, reason and reason[:REASON_CHARS]
            found.target, found.again = target, again

    def finish_done(self) -> None:
        """Write what became of those that the engine is done with, their links and items, too."""
        busy = in_progress(self._state.crawler)
        for row, found in list(self._in_flight.items()):
            if found.request in busy:
                continue
            if not found.state and not found.is_answered:
                self.broke(row, "no answer came through: a component failed, as the log says")
            self.forget(row)
            state, may_pass = found.state or "fetched", found.again is not Again.NEVER
            self._state.ledger.frontier.finish(row, state, found.reason, found.target, may_pass)
            is_room = len(self._ask_again) < MAX_ASKED_AGAIN
            if found.again is Again.AT_END and is_room and not self.is_at_end:
                self._ask_again.append(row)

    def ask_again(self) -> int:
        """Queue once more, at the end, what the server could not give; return how many."""
        self.finish_done()
        rows, self._ask_again, self.is_at_end = self._ask_again, [], True
        return self._state.ledger.frontier.ask_again(
            row for row in rows if not self._is_settled(row)
        )

    def expect_copy(self, row: int | None, claims: list[bytes]) -> None:
        """Note that a page which waits is a copy if another one has its claims at the end."""
        if row is not None:
            self._copies[row] = claims

    def _is_settled(self, row: int) -> bool:
        """Tell whether a page that waited is a copy of one that has come, and note that."""
        ledger = self._state.ledger
        original = ledger.claims.owner(self._copies.pop(row, ()), row)
        if original:
            ledger.frontier.settle_copy(row, DUPLICATE, original)
            self._state.stats.inc_value(f"contentspider/pages/skipped/{DUPLICATE}")
        return bool(original)

    def pause(self, request: Request, seconds: float, reason: str) -> None:
        """Let one address, whose host answers, wait until the end, or for a resumed crawl."""
        again = Again.LATER
        if seconds <= self._state.options.outage_secs:
            again = Again.AT_END
            self._paused_until = max(self._paused_until, time.monotonic() + seconds)
        self.note(request.meta.get(ROW_META_KEY), "failed", reason, again=again)
        request.meta["dont_retry"] = True

    @property
    def may_wait(self) -> bool:
        """Tell whether an address can still be put off until the end."""
        waiting = len(self._ask_again) + len(self._in_flight)
        return not self.is_at_end and waiting < MAX_ASKED_AGAIN

    @property
    def is_paused(self) -> bool:
        """Tell whether the end of the crawl has to wait for such an address."""
        return not self.is_at_end and time.monotonic() < self._paused_until

    def witnesses(self, host: str, most: int) -> list[str]:
        """Return addresses of a host that have answered, or whose answers are being read."""
        self.finish_done()
        return self._state.ledger.frontier.queue.answered(host, most) or [
            found.request.url
            for row, found in self._in_flight.items()
            if (row in self.arriving or found.is_answered)
            and found.state in READ_STATES
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
            may_pass = status in self._retried_statuses
            if status in NOT_THERE and not self.is_at_end:
                # That a page is gone is believed at the second look, at the end.
                urls = (request.url, *request.meta.get("redirect_urls", ()))
                may_pass |= any(map(self._is_known, urls))
            again = Again.AT_END if may_pass else Again.NEVER
            self.note(row, "failed", status_reason(status), again=again)

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


class UnchangedItem(DropItem):
    """The page of the item is as the last crawl knew it, and only changes are wanted."""


class Recorder:
    """Records the items of a crawl, each under its key once, and has *writer* write them."""

    writer: JsonLinesWriter | None = None

    def __init__(self, state: CrawlState, addresses: Addresses) -> None:
        self._state = state
        self._addresses = addresses
        self._encoder = ScrapyJSONEncoder(ensure_ascii=False)
        self._connect = state.crawler.signals.connect
        self._is_listening = False
        self._connect(self.dropped, signal=signals.item_dropped)
        self._connect(self.erred, signal=signals.item_error)

    def listen(self) -> None:
        """Record from now on what passes the pipelines, which costs a task for each item."""
        if not self._is_listening:
            self._is_listening = True
            self._connect(self.scraped, signal=signals.item_scraped)

    def key(self, row: int | None, place: int) -> str | None:
        """Return what an item is recorded under: its address' row and its *place* on the page."""
        return f"{row}/{place}" if self._state.is_durable and row is not None else None

    def scraped(self, item: Any) -> None:
        """Record an item that has passed all pipelines, and write it out."""
        _, hand = in_hand.get() or (item, None)
        line = b""
        if self.writer or (self._state.is_durable and hand):
            try:
                line = self._encoder.encode(ItemAdapter(item).asdict()).encode("utf-8", "replace")
            except (TypeError, ValueError) as error:
                logger.error(
                    f"an item of {type(item).__name__} cannot be written as JSON ({error}): it is"
                    " in no output of contentspider's"
                )
                self._state.stats.inc_value("contentspider/items/lost")
                if hand:
                    self._settle(hand, None, f"not JSON: {error}")
                return
        is_new = self._settle(hand, line, None) if hand else True
        if self.writer and is_new:
            try:
                self.writer.write(line)
            except OSError as error:
                self._state.fail(error)

    def dropped(self, item: Any, exception: DropItem) -> None:
        """Record that one of the pipelines dropped an item."""
        if hand := _hand_of(item):  # else it was dropped before it came to us
            is_ours = isinstance(exception, UnchangedItem)
            self._settle(hand, None, UNCHANGED if is_ours else f"dropped: {exception}")

    def erred(self, item: Any, response: Response | Failure | None, failure: Failure) -> None:
        """Note that one of the pipelines failed on an item: a resumed crawl tries again."""
        self._state.stats.inc_value("contentspider/items/lost")
        hand = _hand_of(item)
        reason = f"an item failed in a pipeline: {failure.value!r}"[:200]
        self._addresses.broke(hand.address_row if hand else row_of(response), reason)
        if hand and hand.held_row is not None:
            logger.error("%s; it stays held, and a resumed crawl tries again", reason)

    def _settle(self, hand: PageInHand, line: bytes | None, reason: str | None) -> bool:
        """Record what has become of an item; False if it could not be, or had been before."""
        if self._state.is_broken:
            return not self._state.is_durable
        ledger, row = self._state.ledger, hand.address_row
        with self._state.guarded:
            is_new = ledger.items.record(hand, line, reason)
            if row is not None:
                state = "released" if reason is None else "failed"
                if reason == UNCHANGED:
                    state, reason = "unchanged", None
                self._addresses.note(row, state, reason)
                ledger.frontier.mark_released(row, state, reason)
            return is_new
        return not self._state.is_durable


def _hand_of(item: object) -> PageInHand | None:
    """Return what an item is about, if our pipeline had it: a task carries one after the other."""
    filled, hand = in_hand.get() or (None, None)
    return hand if filled is item else None
