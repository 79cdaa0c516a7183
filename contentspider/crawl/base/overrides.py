"""Checks people's overrides before a crawl begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.ground.sites import SiteKeys
from contentspider.state.stores.models import open_models

if TYPE_CHECKING:
    from scrapy import Spider

    from contentspider.crawl.base.options import CrawlOptions


def check_overrides(spider: Spider | None, options: CrawlOptions) -> None:
    """Raise `OverridesError` if the overrides of a site that the spider starts at, or that its
    ``allowed_domains`` name, cannot be used.
    """
    keys, store = SiteKeys(options.site_by), open_models(options.models_dir, options.state_dir)
    domains = (f"https://{domain}/" for domain in getattr(spider, "allowed_domains", None) or ())
    for key in dict.fromkeys(map(keys.key, (*getattr(spider, "start_urls", ()), *domains))):
        store.overrides(key)
