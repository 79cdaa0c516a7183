"""What all pages of a site share: address, telephone, opening hours, imprint, menus."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from contentspider.ground.addresses import split_address
from contentspider.page.about.hints import Hints
from contentspider.page.input.page import Page
from contentspider.site.models.record import SITE_FRAGMENT

if TYPE_CHECKING:
    from collections.abc import Iterable

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
