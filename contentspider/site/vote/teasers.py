"""The slots of the entries of a site's listings, to keep listing pages with their teasers."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from contentspider.site.pagetype import page_type
from contentspider.site.vote.blocks import TEMPLATE_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.site.slots import SlotTable

# Share of the articles that may have a slot of listings: an article may have a teaser, too.
ARTICLE_SHARE = 0.1


def teaser_slots(
    pages: Sequence[Page], kept: Sequence[NDArray[np.bool_]], table: SlotTable
) -> frozenset[str]:
    """Return the slots of the entries of listings: those that listings have and articles lack.

    Slots on both (menus, boxes beside an article) are the template's, and so are slots with the
    same texts on most listings (a pager's "Next", a label "Read more"). *kept* tells for each page
    what is content.
    """
    on_articles: dict[str, int] = defaultdict(int)
    on_listings: dict[str, int] = defaultdict(int)
    places: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    articles = 0
    for page, content in zip(pages, kept, strict=True):
        kind = page_type(page, content)
        found = {(table.slot(block.path), block.text) for block in page.content.blocks}
        if kind == "article":
            articles += 1
            for slot in {slot for slot, _ in found}:
                on_articles[slot] += 1
        elif kind == "listing":
            for slot in {slot for slot, _ in found}:
                on_listings[slot] += 1
            for slot, text in found:
                places[slot][text] += 1
    return frozenset(
        slot
        for slot, listings in on_listings.items()
        if on_articles[slot] <= ARTICLE_SHARE * articles
        and not _is_repeated(places[slot], listings)
    )


def _is_repeated(texts: dict[str, int], listings: int) -> bool:
    """Tell whether a slot's texts stand on `TEMPLATE_SHARE` of the other *listings* that have it,
    in the mean; of one listing nothing is known.
    """
    times = sum(texts.values())
    return listings > 1 and sum(
        count * (count - 1) for count in texts.values()
    ) / times > TEMPLATE_SHARE * (listings - 1)
