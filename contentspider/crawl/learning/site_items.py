"""Yields one item for each site: the blocks that most of its pages share, such as address,
telephone, opening hours, imprint and menus.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from contentspider.crawl.base.engine import pass_item
from contentspider.crawl.base.items import ContentItem
from contentspider.ground.addresses import split_address
from contentspider.page.about.hints import Hints
from contentspider.page.input.page import Page
from contentspider.site.models.identity import SITE_FRAGMENT, SITE_TYPE, page_id
from contentspider.state.book.items import ItemBinding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.queue.keeper import BookKeeper

logger = logging.getLogger(__name__)

# Fewer pages do not show which blocks a site repeats.
MIN_PAGES = 5
SHARED_SHARE = 0.5  # a block is shared if more than this share of the pages have its text


def site_page(site: str, pages: Iterable[Page]) -> Page | None:
    """Return a page of the blocks that most *pages* of a site repeat. Return None for fewer than
    `MIN_PAGES` pages, and if no block is repeated.

    The page with most of the repeated text is taken, and its other blocks are left out. Repeated
    blocks that this page lacks are left out, too. The address is the site's front page with
    `SITE_FRAGMENT`.
    """
    pages_with: Counter[str] = Counter()
    read = list(pages)
    for page in read:
        pages_with.update({block.text for block in page.content.blocks})
    limit = len(read) * SHARED_SHARE
    shared = {text for text, count in pages_with.items() if count > limit}
    if len(read) < MIN_PAGES or not shared:
        return None

    def fullness(page: Page) -> tuple[int, int, str]:
        texts = {block.text for block in page.content.blocks} & shared
        return -sum(map(len, texts)), len(page.url), page.url

    source = min(read, key=fullness)
    blocks = [block for block in source.content.blocks if block.text in shared]
    parts = split_address(source.url)
    return Page(
        f"{parts.scheme}://{parts.netloc}/{SITE_FRAGMENT}",
        replace(source.content, blocks=blocks, base=source.base, visuals=[], extent=(0, 0)),
        Hints(titles=(site,), language=source.hints.language),
        is_document=True,
    )


async def pass_site_items(keeper: BookKeeper, options: CrawlOptions) -> None:
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
