"""Holds items in the ledger until their site is learned, then sends them to the pipelines."""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import DontCloseSpider
from scrapy.pipelines import ItemPipelineManager

from contentspider.crawl.base.engine import Component, extension, pass_item, wake
from contentspider.crawl.base.options import CrawlOptions
from contentspider.crawl.learning.learn_process import LearningStoppedError
from contentspider.crawl.learning.models import CrawlModels, SiteState, learned_sites
from contentspider.crawl.learning.site_items import pass_site_items
from contentspider.crawl.learning.turns import LearningTurns, OnlyProcess
from contentspider.crawl.queue.keeper import LedgerKeeper
from contentspider.crawl.queue.memory import shortage
from contentspider.ground.addresses import absolute
from contentspider.ground.errors import NotEnoughTextError
from contentspider.ground.sites import SiteKeys
from contentspider.site.models.record import page_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.crawler import Crawler

    from contentspider.crawl.base.binding import Bindings
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.state.ledger.items import ItemBinding

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
        self.turns: LearningTurns = OnlyProcess()
        self.sites: dict[str, SiteState] = {}
        self._is_closing = False
        self._max_tasks = crawler.settings.getint("CONCURRENT_ITEMS")
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self._on_idle, signal=signals.spider_idle)

    @cached_property
    def keeper(self) -> LedgerKeeper:
        """The keeper of the crawl's ledger."""
        return extension(self.crawler, LedgerKeeper)

    @cached_property
    def bindings(self) -> Bindings:
        """The pages of the crawl's items, with access to the models of their sites."""
        bindings = self.keeper.bindings
        bindings.model_of = lambda url: self.site(url).model
        return bindings

    def site(self, url: str) -> SiteState:
        """Return the state of the site of an address; loads the stored model the first time."""
        return self.state_of(self.keys.key(url))

    def state_of(self, key: str) -> SiteState:
        """Return the state of a site by its key; loads the stored model the first time."""
        if key not in self.sites:
            state = self.sites[key] = SiteState(key)
            is_of_crawl = self.keeper.is_resumed and key in learned_sites(self.keeper)
            may_load = is_of_crawl or not (self.options.relearn or self._is_stale(key))
            if may_load and (model := self.models.load(key)) is not None:
                self._use(state, model)
                state.is_early, state.is_stored = is_of_crawl, True
        return self.sites[key]

    def _is_stale(self, key: str) -> bool:
        """Tell whether the history asks for a new model, and this crawl will see the whole site."""
        is_whole = hasattr(self.crawler.spider, "is_limited") and not self.options.due
        revisits = self.keeper.revisits
        return is_whole and revisits is not None and key in revisits.stale

    def _use(self, state: SiteState, model: SiteModel) -> None:
        state.use(model)
        self.models.note_quality(state.key, model)

    def hold(self, item: Any, hand: ItemBinding) -> bool:
        """Tell whether an item must stop here, because it is held now or was recorded before."""
        keeper = self.keeper
        if keeper.is_stopping:
            return True
        if keeper.is_inspection:
            return False
        state, page = self.site(hand.page.url), hand.page
        if not keeper.is_broken and not page.is_document and _must_wait(state, page):
            return self._hold(state, item, hand)
        with keeper.guarded:
            return hand.key is not None and keeper.ledger.items.has_item(hand.key)
        return keeper.is_stopping

    def _hold(self, state: SiteState, item: Any, hand: ItemBinding) -> bool:
        """Hold an item in the ledger; False if the ledger is broken, so that the item passes."""
        keeper = self.keeper
        with keeper.guarded:
            if not keeper.ledger.items.hold(state.key, item, hand):
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
        # So that the learner, which reads the ledger file, sees all held pages.
        self.keeper.commit()
        try:
            if not state.is_ready:
                await self._in_turn(
                    state, lambda: not state.is_ready, lambda: self._learn(state, is_last)
                )
            elif not self._is_closing:
                await self._in_turn(state, lambda: state.is_drifted, lambda: self._mend(state))
            if state.is_ready:
                await self._release(state)
        finally:
            wake(self.crawler)

    async def _in_turn(
        self, state: SiteState, is_needed: Callable[[], bool], learn: Callable[[], Awaitable[None]]
    ) -> None:
        """Call *learn* in this process's turn to learn a site, unless the model of another process
        comes first, so that it is not needed any more.
        """
        while is_needed() and not self._may_wait_for_next_run:
            if await self.turns.take(state.key):
                try:
                    await learn()
                finally:
                    await self.turns.end(state.key)
                return
            await self.turns.wait()

    async def _learn(self, state: SiteState, is_last: bool) -> None:
        """Learn a site from its held pages, and save the model if it is good enough. If learning
        fails, the site's items pass unfiltered.
        """
        state.is_early = not is_last
        try:
            model = (await self.models.learn(self.keeper, state)).model
        except NotEnoughTextError as error:
            logger.warning("%s; its items pass unfiltered", error)
            state.failed = True
        except LearningStoppedError:
            logger.info("%s: its items stay held, because the crawl was told to end", state.key)
        except MemoryError:
            self.keeper.fail(shortage())
            state.failed = not self.keeper.is_durable
        except Exception as error:  # noqa: BLE001 - the crawl continues after any error (no thread, no memory)
            logger.error(
                f"{state.key} could not be learned from its {state.held} pages ({error}). Its items"
                " pass with all of their text and model_version 'unfiltered', and the crawl counts"
                " as incomplete"
            )
            self.stats.inc_value("contentspider/sites/failed")
            state.failed = True
        else:
            if is_last or state.is_enough(model, self.options.learn_pages):
                self.stats.inc_value("contentspider/sites/learned")
                self._keep_learned(state, model)
        if state.failed:
            self.turns.share(state.key, None)

    async def _mend(self, state: SiteState) -> None:
        """Learn a site again whose held pages have a template that its model does not know."""
        model = await self.models.mend(self.keeper, state)
        if model is not None:
            self.stats.inc_value("contentspider/sites/learned")
            self._keep_learned(state, model)
            state.is_early = False
        elif state.is_drifted:
            # Otherwise every further page would report the same template.
            state.watch = None

    async def _relearn(self, state: SiteState) -> None:
        """Replace the model of the first pages with a model of the whole site."""
        if not await self.turns.take(state.key):
            return
        state.is_early = False
        self.keeper.commit()
        try:
            self._keep_learned(state, (await self.models.learn(self.keeper, state)).model)
        except LearningStoppedError:
            logger.info("%s: the model of the first pages stays", state.key)
        except Exception as error:  # noqa: BLE001 - after any error the present model is used
            logger.warning("%s: the model of the first pages stays: %s", state.key, error)
        finally:
            await self.turns.end(state.key)
            wake(self.crawler)

    @property
    def _may_wait_for_next_run(self) -> bool:
        """Whether the crawl ends before its end, so that a resumed run learns and releases."""
        is_interrupted = self.keeper.is_durable and self.keeper.interruption.is_set
        return self.keeper.is_stopping or is_interrupted

    def _keep_learned(self, state: SiteState, model: SiteModel) -> None:
        self.keep(state, model, is_whole=not self._is_closing)
        self.turns.share(state.key, model)

    def keep(self, state: SiteState, model: SiteModel, is_whole: bool) -> None:
        """Use a model from now on, and save it. *is_whole*: the crawl was not stopped before the
        model was learned.
        """
        self.save(state, model, is_whole)
        self._use(state, model)

    def save(self, state: SiteState, model: SiteModel, is_whole: bool) -> None:
        """Save a model for the next crawl if this crawl has seen the whole site."""
        is_limited = getattr(self.crawler.spider, "is_limited", False)
        self.models.save(self.keeper, state, model, is_limited or not is_whole)

    async def _release(self, state: SiteState) -> None:
        """Send the held items of a site to the item pipelines, `CONCURRENT_ITEMS` at a time."""
        tasks: set[asyncio.Task[None]] = set()
        released = 0
        self.keeper.recorder.listen()
        try:
            with self.keeper.guarded:
                for item, hand in self.keeper.ledger.items.release(state.key):
                    if self._may_wait_for_next_run:
                        break
                    self.bindings.put(item, hand)
                    released += 1
                    self.stats.inc_value("contentspider/items/released")
                    tasks.add(asyncio.create_task(pass_item(self.crawler, item)))
                    if len(tasks) >= self._max_tasks:
                        _, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if tasks:
                await asyncio.wait(tasks)
            # More items may be held by now, of pages with an unknown template. Items whose pages
            # another process had claimed are not held any more.
            held_count = self.keeper.ledger.items.held_counts().get(state.key, 0)
            state.held = state.pages = min(max(state.held - released, 0), held_count)

    def opened(self) -> None:
        """Take over the items that an earlier run of the crawl held."""
        self.keeper.open()
        self.keeper.sharing.models = self.models.store
        if self.keeper.is_durable:  # otherwise the items would be lost
            self.keeper.interruption.listeners.append(self.models.stop.set)
        items = self.keeper.ledger.items
        for key, count in items.held_counts().items():
            state = self.state_of(key)
            state.held = state.pages = count
            self.stats.inc_value("contentspider/items/held", count)
            if state.watch is not None:
                for page in items.held_pages(key):
                    state.watch.add(page)
            elif state.is_ready or count >= self.options.learn_pages:
                self.begin_work(state)

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
                state.work = asyncio.create_task(self._relearn(state))
        if any(state.is_busy for state in self.sites.values()):
            raise DontCloseSpider

    async def finish(self) -> None:
        """Learn the remaining sites and send their items before the pipelines close. If a durable
        crawl was interrupted, the items stay held for the next run.
        """
        self._is_closing = True
        for state in self.sites.values():
            if state.work and state.is_busy:
                await state.work
            if not state.held or self.keeper.is_stopping:
                continue
            is_full = self.stats.get_value("memusage/limit_reached")
            if self.keeper.is_durable and (is_full or not self.crawler.crawling):
                logger.warning(
                    f"{state.key}: {state.held} items stay held, because the crawl was interrupted"
                    " before the site was learned. Continue with --resume (CONTENTSPIDER_RESUME)"
                )
                continue
            await self._learn_and_release(state)
        self._complete_states()
        await pass_site_items(self.keeper, self.options)

    def _complete_states(self) -> None:
        """Give the models of a resumed crawl's sites to the history. This run may have read no page
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
