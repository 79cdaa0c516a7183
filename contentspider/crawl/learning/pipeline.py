"""The item pipeline: fill items with the content of their page."""

from __future__ import annotations

import logging
from dataclasses import fields, replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from scrapy.exceptions import DropItem

from contentspider.crawl.base.engine import Component, extension
from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.base.known_page import as_known
from contentspider.crawl.base.outcomes import DUPLICATE
from contentspider.crawl.base.state import machine_error
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.crawl.queue.addresses import (
    SkippedItem,
    UnchangedItem,
    UnfilledItem,
    in_hand,
)
from contentspider.ground.process_memory import no_collection
from contentspider.ground.times import now
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.recrawl.changes import UNCHANGED
from contentspider.site.learn.sampling import page_template
from contentspider.site.models.identity import PASSING_FIELDS, SITE_TYPE, page_id
from contentspider.site.models.record import Extraction, add_own_text, page_fields
from contentspider.site.models.summary import MIN_CHARS, main_slot
from contentspider.state.book.items import ItemBinding
from contentspider.state.book.reading import NO_TEXT, Reading, doubts_of
from contentspider.state.outcome import DROPPED, EMPTY_SLOTS, EMPTY_STAT, SKIPPED_STAT

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.base.known_page import KnownPage
    from contentspider.crawl.learning.models import SiteState
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

logger = logging.getLogger(__name__)


class _Result(NamedTuple):
    """The *fields* of a page and the crawl's *reading* of it, which the book keeps for the next
    crawl if it *may_be_kept*. *outcome* names the stat of the item. *slot* is the slot
    with most of the prose of a page that has lost all of it.
    """

    fields: dict[str, object]
    reading: Reading
    outcome: str
    may_be_kept: bool = False
    slot: str = ""


ITEM_FIELDS = {field.name for field in fields(ContentItem)}
# Fields that are empty unless an option fills them.
EXTRAS = ("passages", "images", "summary", "records")
MAX_EMPTY_SLOTS = 50  # slots that get a stat of their own


class ItemCounts:
    """Counts items by their pages, and how much text they keep, in the *stats* of a crawl."""

    def __init__(self, stats: StatsCollector) -> None:
        self._stats = stats
        self._empty_slots: set[str] = set()

    def count(self, result: _Result, page_type: str) -> None:
        """Count a page, how much of its text was kept, and doubts about the model's decision."""
        count, reading = self._stats.inc_value, result.reading
        count(f"contentspider/page_type/{page_type}")
        count(f"contentspider/items/{result.outcome}")
        for doubt in reading.doubts:
            count(f"contentspider/pages/{doubt}")
        count("contentspider/chars/kept", reading.kept)
        count("contentspider/chars/dropped", reading.dropped)
        if reading.empty:
            self._count_empty(reading.empty, result.slot)

    def _count_empty(self, reason: str, slot: str) -> None:
        """Count a page whose item has less than a sentence, by the *reason*. A page that lost all
        of its prose is also counted by the *slot* with most of the prose.
        """
        is_listed = slot in self._empty_slots or len(self._empty_slots) < MAX_EMPTY_SLOTS
        if reason == DROPPED and is_listed:
            self._empty_slots.add(slot)
            self._stats.inc_value(f"{EMPTY_SLOTS}{slot}")
        self._stats.inc_value(EMPTY_STAT + reason)


class ContentPipeline(Component):
    """Fills items with the content that the model of their site extracts from their page."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.holder = extension(crawler, ItemHolder)
        self.options = self.holder.options
        self._optional_fields = self.options.optional_fields
        self.field_map = self.options.item_fields
        self._warned: set[str] = set()
        self._counts = ItemCounts(self.stats)
        self._is_only_pipeline = self.holder.is_only_pipeline

    def open_spider(self) -> None:
        """Open the book. In ``scrapy shell`` and the like, which run no pipeline, fill items when
        a callback binds them to their page.
        """
        self.holder.keeper.open()
        if self.holder.keeper.is_inspection:
            self.holder.bindings.on_bind = self._fill_bound

    async def process_item(self, item: Any) -> Any:
        """Fill an item, and return it; drop it if it is held, or unchanged and not asked for."""
        in_hand.set(None)
        names = self.field_map.fields(item)
        if names is None:
            return item
        hand = self._take(item)
        if hand is None:
            return item
        in_hand.set((item, hand))
        try:
            with no_collection():
                hand.page_id, change = self._fill(item, hand)
        except DropItem:
            raise
        except Exception as error:
            self._give_up(item, hand, error)
            raise UnfilledItem("its page could not be filtered", log_level="DEBUG") from error
        if self.holder.keeper.is_stopping:
            raise UnfilledItem("the crawl stops, and its next run tries again", log_level="DEBUG")
        hand.names = None if isinstance(item, ContentItem) else names
        if change == UNCHANGED:
            self.stats.inc_value("contentspider/items/unchanged")
            if self.options.only:
                raise UnchangedItem("its page is unchanged", log_level="DEBUG")
        return item

    def _take(self, item: Any) -> ItemBinding | None:
        """Return the binding of an item to its page; None, with a warning, if it is not bound. Drop
        the item if it is held.
        """
        hand = self.holder.bindings.take(item)
        if hand is None:
            self.stats.inc_value("contentspider/items/untagged")
            self._warn_once(
                "untagged",
                f"An item of {type(item).__name__} has no page and is not filled. Its response was"
                " not HTML, or another callback made the item: bind it to its page with"
                " contentspider.bind(item, response)",
            )
        elif not hand.may_pass:  # an errback or `start` yielded it, past the spider middlewares
            hand = ItemBinding(hand.page, hand.page_row)
            if self.holder.hold(item, hand):
                raise DropItem("held until its site has been learned", log_level="DEBUG")
        return hand

    def _fill_bound(self, item: Any) -> None:
        """Fill an item that a callback of ``scrapy parse`` or the like has bound to its page."""
        if hand := self.holder.bindings.get(item):
            self._fill(item, ItemBinding(hand.page))

    def _give_up(self, item: Any, hand: ItemBinding, error: Exception) -> None:
        """Leave a page unread whose item cannot be made: the book keeps the page as it was. If
        the machine has failed, the crawl stops, unless the page has stopped an earlier run.
        """
        keeper = self.holder.keeper
        if not keeper.is_broken:
            with keeper.guarded:
                known_id = self.field_map.identity(item).get("id")
                keeper.book.visits.forget(str(known_id or page_id(hand.page.url)))
        cause = machine_error(error, hand.page.url)
        if cause is None or not keeper.stop_for(cause, hand.address_row):
            keeper.set_aside(hand.address_row, hand.page.url, cause or error)

    def _fill(self, item: Any, hand: ItemBinding) -> tuple[str, str]:
        """Set the fields of an item. Return the id of its page, and the change of the page.

        Raises `SkippedItem` if another page has the same main content and canonical address, or if
        the page stands for others that the site hides, and the errors of our code, of the machine
        and of a user's item class.
        """
        page = hand.page
        state = self.holder.site(page.url)
        if kind := self.holder.hidden.kind_of(page, state.key):
            self._skip(kind, "it stands for pages that the site hides")
        result = self._previous_result(item, hand, state) or self._new_result(item, hand, state)
        self._claim(hand, result.reading.content_claim)
        values = result.fields
        values |= {"change": "", "change_ratio": 0.0, "first_seen": "", "changed_at": ""}
        values["also_at"] = []
        if result.may_be_kept:
            hand.reading = result.reading
        self._complete(values, item, hand, state)
        self.field_map.fill(item, values)
        hand.is_same_item = values["change"] == UNCHANGED and _is_same(values, as_known(page))
        self._counts.count(result, str(values["page_type"]))
        self._offer_to_sample(hand, state, result.reading.template)
        return str(values["id"]), str(values["change"])

    def _new_result(self, item: Any, hand: ItemBinding, state: SiteState) -> _Result:
        """Return the fields of a page under the model of its site."""
        page = hand.page
        extraction = state.extract(page, self.options.keep_teasers)
        fields = page_fields(
            page,
            state.key,
            extraction,
            state.version,
            self._optional_fields,
            self.field_map.fields(item),
            partial(self._note_field, hand),
        )
        reading, slot = self._read(page, extraction, state), ""
        if reading.kept < SENTENCE_CHARS:
            model = state.model if extraction is not None else None
            reason, slot = _why_empty(page, model, str(fields["page_type"]))
            reading = replace(reading, empty=reason)
        if extraction is not None:
            may_be_kept = page.corrections is None and reading.empty != DROPPED
            is_whole = bool(page.content.blocks)
            return _Result(fields, reading, "filtered", may_be_kept and is_whole, slot)
        outcome = "unfiltered"
        if page.is_document:
            outcome = "sites" if fields["page_type"] == SITE_TYPE else "documents"
        return _Result(fields, reading, outcome, slot=slot)

    def _note_field(self, hand: ItemBinding, name: str, page: Page, error: Exception) -> None:
        """Note that a field of a page cannot be made. The next crawl reads the page in full."""
        keeper = self.holder.keeper
        keeper.failures.note_field(name, page, error)
        if hand.address_row is not None and not keeper.is_broken:
            with keeper.guarded:
                keeper.book.answers.forget_validators(hand.address_row)

    def _skip(self, reason: str, message: str) -> NoReturn:
        """Count a page that is skipped, and drop its item."""
        self.stats.inc_value(f"{SKIPPED_STAT}{reason}")
        raise SkippedItem(reason, message)

    def _previous_result(self, item: Any, hand: ItemBinding, state: SiteState) -> _Result | None:
        """Return the fields that the book has of a page which the server did not send (304).
        Return None if they may differ now.
        """
        known = self.holder.known_page(hand.page, state)
        if known is None or not hand.is_unsent or not self._is_reusable(item):
            return None
        if self.holder.keeper.book.own_texts.has(state.key, known.url):
            return None
        if known.item.keys() != ITEM_FIELDS or any(map(known.item.get, EXTRAS)):
            return None
        values = known.item | {"crawled_at": now(), "model_version": state.version}
        return _Result(values, known.reading, "filtered", may_be_kept=True)

    def _is_reusable(self, item: Any) -> bool:
        """Tell whether the book can have all fields of an item as this crawl would fill them."""
        keeper = self.holder.keeper
        if not self._is_only_pipeline or any(self._optional_fields):
            return False
        return type(item) is ContentItem and keeper.revisits is not None and not keeper.is_broken

    def _complete(
        self, values: dict[str, object], item: Any, hand: ItemBinding, state: SiteState
    ) -> None:
        """Add the fields that the item has already, the page's own text, and its change since the
        last visit.
        """
        keeper = self.holder.keeper
        values |= self.field_map.identity(item)
        if keeper.is_broken:
            return
        with keeper.guarded:
            values["also_at"] = self._copies_of(str(values["id"]), hand.page_row)
            own_text = keeper.book.own_texts.of_page(state.key, hand.page.url)
            if own_text and "published_at" in values:
                add_own_text(values, own_text)
            if keeper.revisits is not None:
                keeper.revisits.compare(values, hand, state)
                if values["change"] == UNCHANGED and state.keeps_content:
                    # The page may show another age, another counter or another quote.
                    page_id, content_hash = str(values["id"]), str(values["content_hash"])
                    values |= keeper.book.known.same_content(
                        page_id, content_hash, state.reading_key
                    )

    def _content_claim(self, page: Page, content: str) -> bytes:
        """Return the claim on the content of a page, in crawls of `SiteSpider`; b"" for none."""
        # A user's spider may have an attribute of this name, too.
        duplicates = getattr(self.crawler.spider, "duplicates", None)
        claim_of = getattr(duplicates, "content_claim", None)
        return claim_of(page, content) if claim_of is not None else b""

    def _claim(self, hand: ItemBinding, claim: bytes) -> None:
        """Claim the content of a page for its address. Skip the page if another has claimed it."""
        keeper = self.holder.keeper
        if not claim or hand.page_row is None or keeper.is_inspection or keeper.is_broken:
            return
        with keeper.guarded:
            if not keeper.book.claims.claim([claim], hand.page_row):
                self._skip(DUPLICATE, "another page has its content")

    def _copies_of(self, page_id: str, row: int | None) -> list[str]:
        """Return the addresses of the copies of a page in this crawl and in earlier crawls."""
        keeper = self.holder.keeper
        copies = keeper.book.frontier.copies_of(row) if row is not None else []
        if keeper.revisits is None:
            return sorted(copies)
        return keeper.revisits.known_copies.addresses(page_id, copies)

    def _read(self, page: Page, extraction: Extraction | None, state: SiteState) -> Reading:
        """Return the crawl's reading of a page, without the claims of the spider."""
        claim = self._content_claim(page, extraction.text) if extraction is not None else b""
        lengths = [len(block.text) for block in page.content.blocks]
        total = kept = sum(lengths)
        if extraction is not None:
            kept = sum(compress(lengths, extraction.kept.tolist()))
        template = page_template(page) if lengths else b""
        doubts = doubts_of(extraction) if extraction is not None else ()
        return Reading(state.reading_key, kept, total - kept, doubts, template, claim)

    def _offer_to_sample(self, hand: ItemBinding, state: SiteState, template: bytes) -> None:
        """Offer a page to the sample of its site, which reports and later models need."""
        keeper, page = self.holder.keeper, hand.page
        if not (keeper.is_durable or state.is_early) or keeper.is_inspection or keeper.is_broken:
            return
        if page.is_document or not template:
            return
        with keeper.guarded:
            is_first = keeper.book.own_texts.has(state.key, page.url)
            is_first |= bool(self.holder.models.fields_file.example_url(page.url))
            keeper.book.sample.offer(state.key, page, is_first, hand.content, template)

    def _warn_once(self, key: str, message: str) -> None:
        """Log a warning, unless one with the same *key* was logged before."""
        if key not in self._warned:
            self._warned.add(key)
            logger.warning(message)


def _is_same(fields: dict[str, object], known: KnownPage | None) -> bool:
    """Tell whether an item equals the last crawl's item, except in the `PASSING_FIELDS`."""
    if known is None or fields["content_hash"] != known.item.get("content_hash"):
        return False
    return all(fields[name] == known.item.get(name) for name in fields.keys() - PASSING_FIELDS)


def _why_empty(page: Page, model: SiteModel | None, page_type: str) -> tuple[str, str]:
    """Return why the item of a page has less than a sentence, and the slot with most of the page's
    prose. Without a *model* no text is dropped.
    """
    slot, prose = main_slot(page, model.slot_of) if model else ("", 0)
    if prose < MIN_CHARS:
        return NO_TEXT, slot
    return ("listing" if page_type == "listing" else DROPPED), slot
