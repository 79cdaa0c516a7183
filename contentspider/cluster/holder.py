"""The holder of a worker: one worker learns a site, and the others use its model."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from contentspider.cluster.keeper import SharedKeeper
from contentspider.crawl.base.engine import extension
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.ground.errors import StateError
from contentspider.site.models.model import SiteModel
from contentspider.state.ledger.pages import SITE_PAGES
from contentspider.state.stores.remote import is_url

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from contentspider.cluster.messages import Reply
    from contentspider.crawl.learning.models import SiteState

logger = logging.getLogger(__name__)


class SharedHolder(ItemHolder):
    """Holds items as in a crawl of one process, but learns a site only in this worker's turn. Other
    workers wait, and use its model.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # Models of this crawl that are saved in a remote store at the end of the crawl.
        self._for_store: dict[str, SiteModel] = {}

    @property
    def _shared(self) -> SharedKeeper:
        return extension(self.crawler, SharedKeeper)

    def _on_opened(self) -> None:
        super()._on_opened()
        self._shared.on_reply = self._apply_reply
        self._shared.on_collected = self._end
        self._shared.is_learning = self._is_learning

    def _is_learning(self) -> bool:
        """Tell whether a site is being learned, or will be learned again from all its pages."""
        sites = self.sites.values()
        return any(state.is_busy or (state.is_early and state.model) for state in sites)

    def _apply_reply(self, reply: Reply) -> None:
        """Use the models of other workers, and hold or release the items of lost workers."""
        for site, manifest, weights in reply.models:
            self._adopt(self._site(site), manifest, weights)
        if not (reply.items or reply.copied):
            return
        held_counts = self._shared.ledger.items.held_counts()
        for site in {*held_counts, *self.sites}:
            state = self._site(site)
            if not state.is_busy:
                state.held = held_counts.get(site, 0)
                state.pages = max(state.pages, state.held)
            if state.held and (state.is_ready or state.is_time(self.options.learn_pages)):
                self._begin(state, is_last=False)

    def _adopt(self, state: SiteState, manifest: str | None, weights: bytes | None) -> None:
        """Use another worker's model, None if the site cannot be learned."""
        if manifest is None or weights is None:
            state.failed = state.model is None
        else:
            try:
                model = SiteModel.parse(json.loads(manifest), weights)
            except StateError as error:
                logger.error("%s: another worker's model cannot be used: %s", state.key, error)
                return
            model.judge = self.models._prior
            state.is_early = False  # the worker that learned the model learns it again
            self._keep(state, model)
        if state.held:
            self._begin(state)

    def _keep(self, state: SiteState, model: SiteModel) -> None:
        """Use a model, and save it in this machine's folder. A remote store gets the models from
        the worker that ends the crawl: if a worker was lost, others have learned its sites again.
        """
        if not is_url(self.options.models_dir):
            super()._save_and_use(state, model)
        else:
            self._use(state, model)
            self._for_store[state.key] = model

    def _end(self) -> None:
        """Save the models in a remote store, and load the states of the sites of all workers."""
        is_cut = getattr(self.crawler.spider, "is_limited", False)
        for key, model in self._for_store.items():
            self.models.save(self.keeper, self._site(key), model, is_cut)
        if self._shared.revisits:
            sites = {site for site, *_ in self._shared.ledger.visits.differences()}
            self._shared.revisits.add_states({site: self._site(site) for site in sites})

    async def _learn(self, state: SiteState, is_last: bool) -> None:
        while not state.is_ready and not self.keeper.is_stopping:
            if not await self._take_turn(state.key):
                await self._shared.next_exchange()  # another worker learns the site
                continue
            try:
                await super()._learn(state, is_last)
                if state.failed:
                    self._shared.ledger.share_model(state.key, None, None)
            finally:
                await self._end_turn(state.key)
            return

    async def _release(self, state: SiteState) -> None:
        await super()._release(state)
        # Items whose pages another worker had claimed are not held any more.
        count = self.keeper.ledger.items.held_counts().get(state.key, 0)
        state.held = state.pages = min(state.held, count)

    async def _mend(self, state: SiteState) -> None:
        while state.is_drifted and not self.keeper.is_stopping:
            if not await self._take_turn(state.key):
                await self._shared.next_exchange()  # another worker learns the site
                continue
            try:
                await super()._mend(state)
            finally:
                await self._end_turn(state.key)
            return

    async def _relearn(self, state: SiteState) -> None:
        if await self._take_turn(state.key):
            try:
                await super()._relearn(state)
            finally:
                await self._end_turn(state.key)

    async def _take_turn(self, site: str) -> bool:
        """Try to get the turn to learn a site, and load the pages that other workers have of it."""
        keeper = self._shared
        if not await keeper.call_store(keeper.store.take_turn, site):
            return False
        pages = await keeper.call_store(keeper.store.sample, site, SITE_PAGES)
        with keeper.guarded:
            keeper.ledger.add_to_sample(site, pages or ())
        return True

    async def _end_turn(self, site: str) -> None:
        """Share the model, then let other workers learn the site."""
        await self._shared.next_exchange()
        await self._shared.retry_store(self._shared.store.end_turn, site)

    def _save_and_use(self, state: SiteState, model: SiteModel) -> None:
        self._keep(state, model)
        if self._is_closing:
            self._for_store.pop(state.key, None)  # the crawl was cut short: the model is not final
        manifest = json.dumps(model.manifest())
        self._shared.ledger.share_model(state.key, manifest, model.dump_weights())
