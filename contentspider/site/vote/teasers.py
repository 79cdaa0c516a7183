"""The slots of the entries of a site's listings, to keep listing pages with their teasers."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from contentspider.site.pagetype import page_type
from contentspider.site.vote.blocks import TEMPLATE_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Bools

# Share of the articles that may have a slot of listings: an article may have a teaser, too.
ARTICLE_SHARE = 0.1


def teaser_slots(
    pages: Sequence[Page], kept: Sequence[Bools], slot_of: Callable[[str], str]
) -> frozenset[str]:
    """Return the slots of the entries of listings: those that listings have and articles lack.

    Slots on both (menus, boxes beside an article) are the template's, and so are slots with the
    same texts on most listings ("Next", "Read more"). *kept* tells for each page what is content,
    *slot_of* the slot of a path.
    """
    slots_of: dict[str, Counter[str]] = defaultdict(Counter)
    texts: dict[str, Counter[str]] = defaultdict(Counter)
    articles = 0
    for page, content in zip(pages, kept, strict=True):
        kind = page_type(page, content)
        articles += kind == "article"
        found = {(slot_of(block.path), block.text) for block in page.content.blocks}
        slots_of[kind].update({slot for slot, _ in found})
        if kind == "listing":
            for slot, text in found:
                texts[slot][text] += 1
    return frozenset(
        slot
        for slot, listings in slots_of["listing"].items()
        if slots_of["article"][slot] <= ARTICLE_SHARE * articles
        and not _is_repeated(texts[slot], listings)
    )


def _is_repeated(texts: Counter[str], listings: int) -> bool:
    """Tell whether the texts of a slot stand on most of the other *listings* that have it."""
    pairs = sum(count * (count - 1) for count in texts.values())
    return listings > 1 and pairs / texts.total() > TEMPLATE_SHARE * (listings - 1)
