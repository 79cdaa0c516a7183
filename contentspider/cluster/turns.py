"""The turns of a worker to learn sites: PostgreSQL gives each to one worker at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from contentspider.state.ledger.pages import SITE_PAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from contentspider.cluster.keeper import SharedKeeper
    from contentspider.site.models.model import SiteModel


class SharedTurns:
    """Takes turns in the store of a shared crawl, and shares models in the next exchange.

    *is_example* tells whether a page, by its address, is an example of own fields.
    """

    def __init__(self, keeper: SharedKeeper, is_example: Callable[[str], bool]) -> None:
        self._keeper, self._is_example = keeper, is_example

    async def take(self, site: str) -> bool:
        """Try to get the turn to learn a site, and load the pages that other workers have of it."""
        keeper = self._keeper
        if not await keeper.call_store(keeper.store.take_turn, site):
            return False
        self._add(site, await keeper.call_store(keeper.store.sample, site, SITE_PAGES) or ())
        last = 0
        while rows := await keeper.call_store(keeper.store.held_pages, site, last):
            self._add(site, (page for _, page in rows))
            last = rows[-1][0]
        return True

    def _add(self, site: str, pages: Iterable[bytes]) -> None:
        """Offer pages of other workers to the sample of a site."""
        with self._keeper.guarded:
            self._keeper.ledger.add_to_sample(site, pages, self._is_example)

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
