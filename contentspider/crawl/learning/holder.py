"""Holds items in the book until their site is learned, then sends them to the pipelines."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.pipelines import ItemPipelineManager

from contentspider.crawl.base.engine import Component, extension, pass_item, wake
from contentspider.crawl.base.known_page import as_known
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.base.unmapped import UnmappedItems
from contentspider.crawl.learning.hidden import HiddenPages
from contentspider.crawl.learning.models import (
    CrawlModels,
    SiteLearning,
    SiteState,
    learned_sites,
    unlearned_sites,
)
from contentspider.crawl.learning.site_items import pass_site_items
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.ground.addresses import absolute
from contentspider.ground.counts import counted
from contentspider.ground.errors import StateError
from contentspider.ground.sites import SiteKeys
from contentspider.site.models.identity import page_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from contentspider.crawl.base.items import Bindings
    from contentspider.crawl.base.known_page import KnownPage
    from contentspider.page.input.page import Page
    from contentspider.state.book.items import ItemBinding

logger = logging.getLogger(__name__)


class ItemHolder(Component):
    """Holds the items of sites without a model, learns the sites, then sends the items to the
    pipelines.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.options = CrawlOptions.from_settings(crawler.settings)
        self.keys = SiteKeys(self.options.site_by)
        self.models = CrawlModels(self.options, self.stats)
        self.unmapped = UnmappedItems(self.options.item_fields, self.stats)
        self.sites: dict[str, SiteState] = {}
        self._max_tasks = crawler.settings.getint("CONCURRENT_ITEMS")
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self._on_idle, signal=signals.spider_idle)

    @cached_property
    def keeper(self) -> BookKeeper:
        """The keeper of the crawl's book."""
        return extension(self.crawler, BookKeeper)

    @cached_property
    def learning(self) -> SiteLearning:
        """Learns the sites of the crawl."""
        return SiteLearning(self.keeper, self.models)

    @cached_property
    def hidden(self) -> HiddenPages:
        """Tells which pages stand for others that their site hides."""
        return HiddenPages(self.keeper, self.keys)

    @cached_property
    def bindings(self) -> Bindings:
        """The pages of the crawl's items, with access to the models of their sites."""
        bindings = self.keeper.bindings
        bindings.model_of = lambda url: self.site(url).model
        return bindings

    @property
    def _pipelines(self) -> list[str]:
        """The names of the item pipelines."""
        pipelines = self.crawler.settings.getwithbase("ITEM_PIPELINES").items()
        return sorted(str(pipeline) for pipeline, order in pipelines if order is not None)

    @property
    def is_only_pipeline(self) -> bool:
        """Whether ours is the only item pipeline. Others may change items before the book gets
        them, which then cannot be reused.
        """
        return len(self._pipelines) == 1

    @property
    def is_learning(self) -> bool:
        """Whether a site is being learned, or its held items are being sent."""
        return any(state.is_busy for state in self.sites.values())

    def site(self, url: str) -> SiteState:
        """Return the state of the site of an address; loads the stored model the first time."""
        return self.state_of(self.keys.key(url))

    def state_of(self, key: str) -> SiteState:
        """Return the state of a site by its key; loads the stored model the first time."""
        if key not in self.sites:
            revisits = self.keeper.revisits
            restless = revisits.restless(key) if revisits is not None else ()
            state = SiteState(
                key,
                reading_options=self._reading_options,
                keeps_content=self.is_only_pipeline,
                restless=restless,
            )
            self.sites[key] = state
            is_of_crawl = self.keeper.is_resumed and (
                key in learned_sites(self.keeper) or key in unlearned_sites(self.keeper)
            )
            may_load = is_of_crawl or not (self.options.relearn or self._is_stale(key))
            if self.options.models_frozen or self.keeper.is_inspection:
                self.learning.use_frozen(state)
            elif may_load and (model := self.models.load(key)) is not None:
                self.learning.use(state, model)
                state.is_early, state.is_stored = is_of_crawl, True
        return self.sites[key]

    def _is_stale(self, key: str) -> bool:
        """Tell whether the book asks for a new model, and this crawl will see the whole site."""
        is_whole = hasattr(self.crawler.spider, "is_limited") and not self.options.due
        revisits = self.keeper.revisits
        return is_whole and revisits is not None and key in revisits.stale

    def known_page(self, page: Page, state: SiteState) -> KnownPage | None:
        """Return a page that need not be read again under the present model; None for others."""
        known = as_known(page)
        is_same = known is not None and known.reading.key == state.reading_key
        return known if is_same else None

    @cached_property
    def _reading_options(self) -> str:
        options = self.options
        prior, fields_file = None, options.fields_file
        with suppress(StateError):  # who learns, or loads a model, reports a broken prior
            prior = self.models.prior
        return repr(
            (
                replace(options.learning, fields=""),
                prior.digest if prior is not None else "",
                (fields_file.selectors_digest, fields_file.examples_digest),
                options.site_by,
                options.optional_fields,
                self._pipelines,
            )
        )

    def hold(self, item: Any, hand: ItemBinding) -> bool:
        """Tell whether an item must stop here, because it is held now or was recorded before."""
        keeper = self.keeper
        if keeper.is_stopping:
            return True
        if keeper.is_inspection:
            return False
        state, page = self.site(hand.page.url), hand.page
        # The end of the crawl tells whether a page stands for others that the site hides.
        may_stand = not hand.is_unsent and not self.learning.is_closing
        may_wait = not keeper.is_broken and not page.is_document
        if self.known_page(page, state) is not None and state.is_settled:
            state.note_known()
        elif may_wait and (
            _must_wait(state, page) or (may_stand and self.hidden.may_be(page, state.key))
        ):
            return self._hold(state, item, hand)
        with keeper.guarded:
            return hand.key is not None and keeper.book.items.has_item(hand.key)
        return keeper.is_stopping

    def _hold(self, state: SiteState, item: Any, hand: ItemBinding) -> bool:
        """Hold an item in the book; False if the book is broken, so that the item passes."""
        keeper = self.keeper
        with keeper.guarded:
            if not keeper.book.items.hold(state.key, item, hand):
                return True
        if keeper.is_stopping:
            return True
        if keeper.is_broken:
            # Held items stay readable, so the site is learned from them. New items pass.
            if state.held:
                self.begin_work(state)
            else:
                state.failed = True
            return False
        keeper.addresses.note(hand.address_row, "held")
        state.held += 1
        state.pages += hand.page.url != state.last_url
        state.last_url = hand.page.url
        self.stats.inc_value("contentspider/items/held")
        if state.is_time(self.options.learn_pages):
            self.begin_work(state, is_last=False)
        return True

    def begin_work(self, state: SiteState, is_last: bool = True) -> None:
        """Start the task that learns a site and sends its items. If the attempt is not the last
        (*is_last*), a model that is not good enough is discarded.
        """
        if not state.is_busy:
            state.work = asyncio.create_task(self._learn_and_release(state, is_last))

    async def _learn_and_release(self, state: SiteState, is_last: bool = True) -> None:
        # So that the learner, which reads the book's file, sees all held pages.
        self.keeper.commit()
        try:
            if await self._leave_out_hidden(state, is_last):
                return
            if not self._may_wait_for_next_run:
                if not state.is_ready:
                    await self.learning.learn(state, is_last)
                elif state.is_drifted and not self.learning.is_closing:
                    await self.learning.mend(state)
            if state.is_ready:
                await self._release(state)
        finally:
            wake(self.crawler)

    async def _leave_out_hidden(self, state: SiteState, is_last: bool) -> bool:
        """Leave the held items out whose pages stand for others, if the site hides its pages;
        before the end of the crawl they stay held. Tell whether nothing else is left to do.
        """
        if self.hidden.of(state.key) is None:
            return False
        if not is_last:
            state.try_at = 2 * state.pages
            return not state.is_ready
        await self._release(state, lambda page: bool(self.hidden.kind_of(page, state.key)))
        return not state.held

    @property
    def _may_wait_for_next_run(self) -> bool:
        """Whether the crawl ends before its end, so that a resumed run learns and releases."""
        is_interrupted = self.keeper.is_durable and self.keeper.interruption.is_set
        return self.keeper.is_stopping or is_interrupted

    async def _release(
        self, state: SiteState, is_sent: Callable[[Page], bool] = lambda _: True
    ) -> None:
        """Send the held items of a site to the item pipelines, `CONCURRENT_ITEMS` at a time: those
        whose page *is_sent*.
        """
        tasks: set[asyncio.Task[None]] = set()
        released = 0
        self.keeper.recorder.listen()
        try:
            with self.keeper.guarded:
                for item, hand in self.keeper.book.items.release(state.key):
                    if self._may_wait_for_next_run:
                        break
                    if not is_sent(hand.page):
                        continue
                    self.bindings.put(item, hand)
                    released += 1
                    self.stats.inc_value("contentspider/items/released")
                    tasks.add(asyncio.create_task(pass_item(self.crawler, item)))
                    if len(tasks) >= self._max_tasks:
                        _, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if tasks:
                await asyncio.wait(tasks)
            # More items may be held by now, of pages with an unknown template.
            state.held = state.pages = max(state.held - released, 0)

    def opened(self) -> None:
        """Take over the items that an earlier run of the crawl held."""
        self.keeper.open()
        self.keeper.sharing.models = self.models.store
        if self.keeper.is_durable:  # otherwise the items would be lost
            self.keeper.interruption.listeners.append(self.models.stop.set)
        items = self.keeper.book.items
        for key, count in items.held_counts().items():
            state = self.state_of(key)
            state.held = state.pages = count
            self.stats.inc_value("contentspider/items/held", count)
            if state.watch is not None:
                for page in items.held_pages(key):
                    state.is_of_new_template(page)
            elif state.is_ready or count >= self.options.learn_pages:
                self.begin_work(state)

        if self.keeper.is_resumed and not self.keeper.is_broken:
            for key in unlearned_sites(self.keeper):
                self.state_of(key)  # `_on_idle` learns it from the sample

    def _on_idle(self) -> None:
        """Learn the sites that have too few pages to be learned earlier. The spider stays open
        until their items are sent.
        """
        if self.keeper.is_stopping:
            return
        for state in self.sites.values():
            if state.held or state.is_drifted:
                self.begin_work(state)
            elif state.is_early and state.model and not state.is_busy:
                state.work = asyncio.create_task(self.learning.relearn(state))
        if self.is_learning:
            raise DontCloseSpider

    async def finish(self) -> None:
        """Learn the remaining sites and send their items before the pipelines close. If a durable
        crawl was interrupted, the items stay held for the next run.
        """
        self.learning.is_closing = True
        self.models.tell_idle_overrides()
        for state in self.sites.values():
            if state.work and state.is_busy:
                await state.work
            if not state.held or self.keeper.is_stopping:
                continue
            is_full = self.stats.get_value("memusage/limit_reached")
            if self.keeper.is_durable and (is_full or not self.crawler.crawling):
                logger.warning(
                    f"{state.key}: {counted(state.held, 'items')} stay held, because the crawl was"
                    " interrupted before the site was learned. Continue with --resume"
                    " (CONTENTSPIDER_RESUME)"
                )
                continue
            await self._learn_and_release(state)
        self.hidden.tell()
        self.unmapped.tell()
        self._complete_states()
        await pass_site_items(self.keeper, self.options)

    def _complete_states(self) -> None:
        """Give the models of a resumed crawl's sites to `Revisits`. This run may have read no page
        of these sites. Models that the crawl has not learned are loaded when a moved page needs
        them.
        """
        revisits = self.keeper.revisits
        if self.keeper.is_resumed and revisits is not None:
            revisits.state_of = self.state_of
            revisits.add_states({site: self.state_of(site) for site in learned_sites(self.keeper)})


class ItemPipelines(ItemPipelineManager):
    """Scrapy's item pipelines (``ITEM_PROCESSOR``), closed after the held items have passed."""

    async def close_spider_async(self) -> None:
        """Send the held items, then close all pipelines. Scrapy closes the pipelines at once."""
        assert self.crawler
        holder = self.crawler.get_extension(ItemHolder)
        try:
            if holder is not None:
                await holder.finish()
        finally:
            await super().close_spider_async()


def _must_wait(state: SiteState, page: Page) -> bool:
    """Tell whether the item of a page must be held.

    It waits until its site has a model. While held items are being sent, it also waits if its page
    names another page as canonical. The canonical page's item may still be held, and it must be
    sent first: of two items with the same content, the second one is dropped.
    """
    if state.must_wait(page):
        return True
    canonical = page.hints.canonical if state.is_busy else ""
    return bool(canonical) and page_id(absolute(page.url, canonical)) != page_id(page.url)
