"""Yields one item for each site: the blocks that most of its pages share."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.crawl.base.engine import pass_item
from contentspider.crawl.base.items import ContentItem
from contentspider.site.models.record import SITE_TYPE, page_id
from contentspider.site.models.site_page import MIN_PAGES, site_page
from contentspider.state.book.items import ItemBinding

if TYPE_CHECKING:
    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.queue.keeper import LedgerKeeper

logger = logging.getLogger(__name__)


async def pass_site_items(keeper: LedgerKeeper, options: CrawlOptions) -> None:
    """Pass the item of each site through the pipelines, at the end of a crawl that was not stopped.

    Crawls of due pages yield none: they may have read too few pages of a site.
    """
    if not options.site_item or options.due or keeper.is_inspection:
        return
    if keeper.is_stopping or keeper.is_broken or not keeper.crawler.crawling:
        return
    for key in keeper.book.sample.sites():
        page = site_page(key, keeper.book.sample.uniform(key))
        if page is None:
            logger.warning(
                f"no site item for {key}: fewer than {MIN_PAGES} of its pages were read, or they"
                " share no text"
            )
            continue
        item = ContentItem(page.url, page_id(page.url), page_type=SITE_TYPE)
        hand = ItemBinding(page, key=f"site {key}", may_pass=True)
        keeper.bindings.put(item, hand)
        await pass_item(keeper.crawler, item)
