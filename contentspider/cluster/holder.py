"""The holder of a worker: one worker learns a site, and the others use its model."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from contentspider.cluster.keeper import SharedKeeper
from contentspider.cluster.turns import SharedTurns
from contentspider.crawl.base.engine import extension
from contentspider.crawl.learning.holder import ItemHolder
from contentspider.ground.errors import StateError
from contentspider.site.models.model import SiteModel
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

    def opened(self) -> None:
        """Take over held items, and learn sites only in the turns of this worker."""
        self.turns = SharedTurns(self._shared, self._is_example)
        super().opened()
        self._shared.on_reply = self._apply_reply
        self._shared.on_collected = self._end
        self._shared.is_learning = self._is_learning

    def _is_example(self, url: str) -> bool:
        """Tell whether a page is an example of own fields."""
        return bool(self.models.fields_file.example_url(url))

    def _is_learning(self) -> bool:
        """Tell whether a site is being learned, or will be learned again from all its pages."""
        sites = self.sites.values()
        return any(state.is_busy or (state.is_early and state.model) for state in sites)

    def _apply_reply(self, reply: Reply) -> None:
        """Use the models of other workers, and hold or release the items of lost workers."""
        for site, manifest, weights in reply.models:
            self._adopt(self.state_of(site), manifest, weights)
        if not (reply.items or reply.copied):
            return
        held_counts = self._shared.ledger.items.held_counts()
        for site in {*held_counts, *self.sites}:
            state = self.state_of(site)
            if not state.is_busy:
                state.held = held_counts.get(site, 0)
                state.pages = max(state.pages, state.held)
            if state.held and (state.is_ready or state.is_time(self.options.learn_pages)):
                self.begin_work(state, is_last=False)

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
            model.judge = self.models.prior
            state.is_early = False  # the worker that learned the model learns it again
            self.keep(state, model, is_whole=True)
        if state.held:
            self.begin_work(state)

    def save(self, state: SiteState, model: SiteModel, is_whole: bool) -> None:
        """Save a model in this machine's folder. A remote store gets the models from the worker
        that ends the crawl: if a worker was lost, others have learned its sites again.
        """
        if not is_url(self.options.models_dir):
            super().save(state, model, is_whole)
        elif is_whole:
            self._for_store[state.key] = model
        else:
            self._for_store.pop(state.key, None)

    def _end(self) -> None:
        """Save the models in a remote store, and load the states of the sites of all workers."""
        is_cut = getattr(self.crawler.spider, "is_limited", False)
        for key, model in self._for_store.items():
            self.models.save(self.keeper, self.state_of(key), model, is_cut)
        if self._shared.revisits:
            sites = {site for site, *_ in self._shared.ledger.visits.differences()}
            self._shared.revisits.add_states({site: self.state_of(site) for site in sites})
