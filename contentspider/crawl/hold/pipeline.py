"""The item pipeline: fill items with the content of their page."""

from __future__ import annotations

import logging
from dataclasses import fields
from itertools import compress
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import DropItem

from contentspider.crawl.engine import Component, extension
from contentspider.crawl.hold.holder import Holder
from contentspider.crawl.hold.items import ContentItem
from contentspider.crawl.queue.addresses import UnchangedItem, in_hand
from contentspider.crawl.queue.process_memory import no_collection
from contentspider.ground.times import now
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.recrawl.changes import BY_MODEL, UNCHANGED
from contentspider.site.models.record import Extraction, add_own_text, content_hash, page_fields
from contentspider.site.models.summary import MIN_CHARS, main_slot
from contentspider.state.crawls.outcome import EMPTY_SLOTS
from contentspider.state.ledger.items import PageInHand

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.crawl.hold.models import SiteState
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

logger = logging.getLogger(__name__)

ITEM_FIELDS = {field.name for field in fields(ContentItem)}
EXTRAS = ("passages", "images", "summary")  # empty in items unless they are asked for
MAX_EMPTY_SLOTS = 50  # that are counted apart
LOW_CONFIDENCE = 0.5  # as of an unknown template: unknown places count half at most


class ContentPipeline(Component):
    """Fills the content of items with what the model of their site keeps of their page."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, Holder)
        self.options = self.holder.options
        self._optional_fields = self.options.optional_fields
        self.field_map = self.options.item_fields
        self._warned: set[str] = set()
        self._empty_slots: set[str] = set()
        # Else the items that the history has may have passed other pipelines.
        pipelines = crawler.settings.getwithbase("ITEM_PIPELINES").values()
        self._is_alone = sum(order is not None for order in pipelines) == 1

    def open_spider(self) -> None:
        """Open the ledger; where single pages are looked at, their items are filled when made."""
        self.holder.keeper.open()
        if self.holder.keeper.is_inspection:
            self.holder.bindings.on_bind = self._fill_bound

    async def process_item(self, item: Any) -> Any:
        """Fill an item, or pass it on if it asks for nothing."""
        in_hand.set(None)
        names = self.field_map.fields(item)
        if names is None:
            return item
        hand = self.holder.bindings.take(item)
        if hand is None:
            self.stats.inc_value("contentspider/items/untagged")
            self._warn_once(
                "untagged",
                f"An item of {type(item).__name__} came without its page: its response was not"
                " HTML, or it was made in another callback (contentspider.bind(item, response)"
                " says which page is its). It passes as it is",
            )
            return item
        if not hand.may_pass:  # no spider middleware has seen it: from an errback, or `start`
            hand = PageInHand(hand.page, hand.page_row)
            if self.holder.hold(item, hand):
                raise DropItem("held until its site has been learned", log_level="DEBUG")
        with no_collection():
            hand.page_id, change = self._fill(item, hand)
        hand.names = None if isinstance(item, ContentItem) else names
        in_hand.set((item, hand))
        if change == UNCHANGED or (self.options.only and change == BY_MODEL):
            self.stats.inc_value("contentspider/items/unchanged")
            if self.options.only:
                raise UnchangedItem("its page is unchanged", log_level="DEBUG")
        return item

    def _fill_bound(self, item: Any) -> None:
        if hand := self.holder.bindings.get(item):
            self._fill(item, PageInHand(hand.page))

    def _fill(self, item: Any, hand: PageInHand) -> tuple[str | None, str]:
        """Set the item's fields if it can be; return its page's id, and how that has changed, or
        `BY_MODEL` if only another model cuts it otherwise.
        """
        page = hand.page
        state = self.holder.site(page.url)
        extraction = self._extract(page, state)
        try:
            values = self._as_before(item, hand, state, extraction)
            if values is None:
                given = (page, state.key, extraction, state.version, self._optional_fields)
                values = page_fields(*given, self.field_map.fields(item))
            values |= {"change": "", "change_ratio": 0.0, "first_seen": "", "changed_at": ""}
            by_model = self._add_what_is_known(values, item, hand, state)
            self.field_map.fill(item, values)
        except Exception as error:  # noqa: BLE001 - a page, or a class, that breaks us must not be lost
            self._say_failed(page, error, "it passes as it is")
            return None, ""
        self._count(page, state.model, extraction, str(values["page_type"]))
        self._keep(page, state)
        return str(values["id"]), BY_MODEL if by_model else str(values["change"])

    def _as_before(
        self, item: Any, hand: PageInHand, state: SiteState, extraction: Extraction | None
    ) -> dict[str, object] | None:
        """Return the fields that a page of which nothing was sent had when it was last filtered;
        None if they may differ now.
        """
        keeper, page = self.holder.keeper, hand.page
        if not (hand.is_unsent and self._is_alone and extraction and keeper.revisits):
            return None
        if type(item) is not ContentItem or any(self._optional_fields) or keeper.is_broken:
            return None
        if keeper.ledger.own_texts.has(state.key, page.url):
            return None
        known = keeper.revisits.item(page.url)
        if known.keys() != ITEM_FIELDS or any(map(known.get, EXTRAS)):
            return None
        if known["content_hash"] != content_hash(extraction.text):
            return None
        return known | {"crawled_at": now(), "model_version": state.version}

    def _add_what_is_known(
        self, values: dict[str, object], item: Any, hand: PageInHand, state: SiteState
    ) -> bool:
        """Set what own texts, the item itself and earlier crawls say of the page; tell whether only
        another model cuts it otherwise.
        """
        keeper = self.holder.keeper
        values |= self.field_map.identity(item)
        if keeper.is_broken:
            return False
        with keeper.guarded:
            own = keeper.ledger.own_texts.of_page(state.key, hand.page.url)
            if own and "published_at" in values:
                add_own_text(values, own)
            if keeper.revisits is not None:
                return keeper.revisits.compare(values, hand.page, hand.page_row, state)
        return False

    def _extract(self, page: Page, state: SiteState) -> Extraction | None:
        if state.model is None or page.is_document:
            return None
        try:
            return state.model.extract(page, self.options.learning.keep_teasers)
        except Exception as error:  # noqa: BLE001 - a page that breaks us must not be lost
            self._say_failed(page, error, "it passes unfiltered")
            return None

    def _count(
        self, page: Page, model: SiteModel | None, extraction: Extraction | None, page_type: str
    ) -> None:
        count = self.stats.inc_value
        lengths = [len(block.text) for block in page.content.blocks]
        total = sum(lengths)
        kept = sum(compress(lengths, extraction.kept.tolist())) if extraction else total
        count("contentspider/chars/kept", kept)
        count("contentspider/chars/dropped", total - kept)
        kind = "filtered" if extraction else "documents" if page.is_document else "unfiltered"
        count(f"contentspider/items/{kind}")
        if extraction and extraction.confidence < LOW_CONFIDENCE:
            count("contentspider/pages/low_confidence")
        if extraction and extraction.by_prior:
            count("contentspider/pages/by_prior")
        if extraction and extraction.is_guess:
            count("contentspider/pages/guessed")
        count(f"contentspider/page_type/{page_type}")
        if kept < SENTENCE_CHARS:
            self._count_empty(page, model if extraction else None, page_type)

    def _count_empty(self, page: Page, model: SiteModel | None, page_type: str) -> None:
        """Count a page whose item has less than a sentence, by the reason, and pages that lose all
        of their text by the slot where most of it stands. Without a *model* nothing is dropped.
        """
        slot, prose = main_slot(page, model.slot_of) if model else ("", 0)
        reason = "dropped"
        if prose < MIN_CHARS:
            reason = "no_text"
        elif page_type == "listing":
            reason = "listing"
        elif slot in self._empty_slots or len(self._empty_slots) < MAX_EMPTY_SLOTS:
            self._empty_slots.add(slot)
            self.stats.inc_value(f"{EMPTY_SLOTS}{slot}")
        self.stats.inc_value(f"contentspider/pages/empty/{reason}")

    def _keep(self, page: Page, state: SiteState) -> None:
        """Offer the page to the sample of its site, for reports and the models of large sites."""
        keeper = self.holder.keeper
        if not (keeper.is_durable or state.is_early) or keeper.is_inspection or keeper.is_broken:
            return
        if page.is_document or not page.content.blocks:
            return
        with keeper.guarded:
            has_own_text = keeper.ledger.own_texts.has(state.key, page.url)
            keeper.ledger.pages.offer(state.key, page, has_own_text)

    def _say_failed(self, page: Page, error: Exception, outcome: str) -> None:
        kind = type(error).__name__
        self.stats.inc_value(f"contentspider/pages/failed/{kind}")
        said = f"{outcome}. Please report this page"
        message = "%s: its item could not be filled (%r); %s"
        self._warn_once(f"failed {kind}", message, page.url, error, said)

    def _warn_once(self, key: str, message: str, *values: object) -> None:
        if key not in self._warned:
            self._warned.add(key)
            logger.warning(message, *values)
