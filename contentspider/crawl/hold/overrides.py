"""People's corrections of the sites of a crawl."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.ground.errors import OverridesError
from contentspider.ground.sites import SiteKeys
from contentspider.state.stores.remote import RemoteError
from contentspider.state.stores.shared_models import open_models

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.statscollectors import StatsCollector

    from contentspider.crawl.options import CrawlOptions
    from contentspider.page.input.overrides import Overrides
    from contentspider.state.stores.models import ModelStore

logger = logging.getLogger(__name__)


class CrawlOverrides:
    """The corrections of each site, read when the first of its pages comes."""

    def __init__(self, options: CrawlOptions, stats: StatsCollector, store: ModelStore) -> None:
        self._keys = SiteKeys(options.site_by)
        self._store = store
        self._stats = stats
        self._known: dict[str, Overrides | None] = {}

    def of(self, url: str) -> Overrides | None:
        """Return the corrections of an address' site, None if there are none.

        Those that cannot be used are said once, and counted: the site's pages pass without.
        """
        key = self._keys.key(url)
        if key not in self._known:
            self._known[key] = None
            try:
                self._known[key] = self._store.overrides(key)
            except (OverridesError, RemoteError) as error:
                self._stats.inc_value("contentspider/overrides/broken")
                logger.error(
                    "%s; the pages of %s pass without its corrections. Mend that and crawl again",
                    error,
                    key,
                )
        return self._known[key]


def check_overrides(addresses: Iterable[str], options: CrawlOptions) -> None:
    """Raise `OverridesError` if the corrections of a site in *addresses* cannot be used."""
    keys = SiteKeys(options.site_by)
    store = open_models(options.models_dir, options.state_dir)
    for key in dict.fromkeys(map(keys.key, addresses)):
        store.overrides(key)
