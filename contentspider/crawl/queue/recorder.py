"""The recorder of a crawl's items: what passed all pipelines is written out, and noted in the
ledger.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import signals
from scrapy.exceptions import DropItem
from scrapy.utils.serialize import ScrapyJSONEncoder

from contentspider.crawl.queue.addresses import row_of
from contentspider.recrawl.changes import UNCHANGED

if TYPE_CHECKING:
    from scrapy.http import Response
    from twisted.python.failure import Failure

    from contentspider.crawl.queue.addresses import Addresses
    from contentspider.crawl.queue.state import CrawlState
    from contentspider.state.files.output import JsonLinesWriter
    from contentspider.state.ledger.items import PageInHand

logger = logging.getLogger(__name__)


# The item that a task carries through the pipelines, as our pipeline filled it, and what it is
# about: the item may be replaced on its way; the task stays.
in_hand: ContextVar[tuple[object, PageInHand] | None] = ContextVar(
    "contentspider_in_hand", default=None
)


class UnchangedItem(DropItem):
    """The page of the item is as the last crawl knew it, and only changes are wanted."""


class Recorder:
    """Records the items of a crawl, each under its key once.

    *writer* writes them to a file, if it is not None.
    """

    writer: JsonLinesWriter | None = None

    def __init__(self, state: CrawlState, addresses: Addresses) -> None:
        self._state = state
        self._addresses = addresses
        self._encoder = ScrapyJSONEncoder(ensure_ascii=False)
        self._connect = connect = state.crawler.signals.connect
        self._is_listening = False
        connect(self.dropped, signal=signals.item_dropped)
        connect(self.erred, signal=signals.item_error)

    def listen(self) -> None:
        """Record from now on what passes the pipelines; nothing is to be where nothing is held,
        durable or written out, and Scrapy makes a task for each who listens to each item.
        """
        if not self._is_listening:
            self._is_listening = True
            self._connect(self.scraped, signal=signals.item_scraped)

    def key(self, row: int | None, place: int) -> str | None:
        """Return what an item is recorded under, once: its address' row and its place among the
        page's items.

        Pages that share an address (by a form's body, other cookies) have a row each. None: nothing
        is recorded.
        """
        return f"{row}/{place}" if self._state.is_durable and row is not None else None

    def scraped(self, item: Any) -> None:
        """Record an item that has passed all pipelines, and write it out."""
        _, hand = in_hand.get() or (item, None)
        writer = self.writer
        line = b""
        if writer or (self._state.is_durable and hand):
            try:
                line = self._encoder.encode(ItemAdapter(item).asdict()).encode("utf-8", "replace")
            except (TypeError, ValueError) as error:
                logger.error(
                    "an item of %s cannot be written as JSON (%s): it is in no output of"
                    " contentspider's",
                    type(item).__name__,
                    error,
                )
                self._state.stats.inc_value("contentspider/items/lost")
                if hand:
                    self._settle(hand, None, f"not JSON: {error}")
                return
        is_new = self._settle(hand, line, None) if hand else True
        if writer and is_new:
            try:
                writer.write(line)
            except OSError as error:
                self._state.fail(error)

    def dropped(self, item: Any, exception: DropItem) -> None:
        """Record that one of the pipelines dropped an item."""
        if hand := _of(item):  # else it was dropped before it came to us
            is_ours = isinstance(exception, UnchangedItem)
            self._settle(hand, None, UNCHANGED if is_ours else f"dropped: {exception}")

    def erred(self, item: Any, response: Response | Failure | None, failure: Failure) -> None:
        """Note that one of the pipelines failed on an item: a resumed crawl tries again."""
        self._state.stats.inc_value("contentspider/items/lost")
        hand = _of(item)
        reason = f"an item failed in a pipeline: {failure.value!r}"[:200]
        if hand:
            self._addresses.broke(hand.address_row, reason)
            if hand.held_row is not None:  # it stays held
                logger.error("%s; it stays held, and a resumed crawl tries again", reason)
        else:
            self._addresses.broke(row_of(response), reason)

    def _settle(self, hand: PageInHand, line: bytes | None, reason: str | None) -> bool:
        """Record what has become of an item; False if it could not be, or had been before."""
        ledger = self._state.ledger
        if self._state.is_broken:
            return not self._state.is_durable
        with self._state.guarded:
            is_new = ledger.items.record(hand, line, reason)
            if hand.address_row is not None:
                state = "released" if reason is None else "failed"
                if reason == UNCHANGED:
                    state, reason = "unchanged", None
                self._addresses.note(hand.address_row, state, reason)
                ledger.frontier.mark_released(hand.address_row, state, reason)
            return is_new
        return not self._state.is_durable


def _of(item: object) -> PageInHand | None:
    """Return what an item is about, if our pipeline had it: a task carries one after the other."""
    filled, hand = in_hand.get() or (None, None)
    return hand if filled is item else None
