"""The turns of a worker to learn sites: PostgreSQL gives each to one worker at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from contentspider.state.ledger.pages import SITE_PAGES

if TYPE_CHECKING:
    from contentspider.cluster.keeper import SharedKeeper
    from contentspider.site.models.model import SiteModel


class SharedTurns:
    """Takes turns in the store of a shared crawl, and shares models in the next exchange."""

    def __init__(self, keeper: SharedKeeper) -> None:
        self._keeper = keeper

    async def take(self, site: str) -> bool:
        """Try to get the turn to learn a site, and load the pages that other workers have of it."""
        keeper = self._keeper
        if not await keeper.call_store(keeper.store.take_turn, site):
            return False
        pages = await keeper.call_store(keeper.store.sample, site, SITE_PAGES)
        with keeper.guarded:
            keeper.ledger.add_to_sample(site, pages or ())
        return True

    async def wait(self) -> None:
        """Wait for the next exchange, which may bring another worker's model."""
        await self._keeper.next_exchange()

    async def end(self, site: str) -> None:
        """Share the model, then let other workers learn the site."""
        await self._keeper.next_exchange()
        await self._keeper.retry_store(self._keeper.store.end_turn, site)

    def share(self, site: str, model: SiteModel | None) -> None:
        """Add a model to the next exchange; None if the site cannot be learned."""
        if model is None:
            self._keeper.ledger.share_model(site, None, None)
        else:
            manifest = json.dumps(model.manifest())
            self._keeper.ledger.share_model(site, manifest, model.dump_weights())
