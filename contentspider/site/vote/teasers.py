"""Finds the slots of listing entries, so that listings can be kept with their teasers."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from contentspider.site.pagetype import page_type
from contentspider.site.vote.blocks import TEMPLATE_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.arrays import Bools

# A slot of listing entries is on at most this share of the articles, which may have a few teasers.
ARTICLE_SHARE = 0.1


def teaser_slots(
    pages: Sequence[Page], kept: Sequence[Bools], slot_of: Callable[[str], str]
) -> frozenset[str]:
    """Return the slots of listing entries: the slots that listings have and articles do not have.

    Slots on both kinds of pages belong to the template (menus, boxes beside an article), and so do
    slots with the same texts on most listings ("Next", "Read more"). *kept* has an array for each
    page that tells which of its blocks are content. *slot_of* returns the slot of a path.
    """
    slots_of: dict[str, Counter[str]] = defaultdict(Counter)
    texts: dict[str, Counter[str]] = defaultdict(Counter)
    articles = 0
    for page, content in zip(pages, kept, strict=True):
        kind = page_type(page, content)
        articles += kind == "article"
        slot_texts = {(slot_of(block.path), block.text) for block in page.content.blocks}
        slots_of[kind].update({slot for slot, _ in slot_texts})
        if kind == "listing":
            for slot, text in slot_texts:
                texts[slot][text] += 1
    return frozenset(
        slot
        for slot, listings in slots_of["listing"].items()
        if slots_of["article"][slot] <= ARTICLE_SHARE * articles
        and not _is_repeated(texts[slot], listings)
    )


def _is_repeated(texts: Counter[str], listings: int) -> bool:
    """Tell whether the texts of a slot recur on many of the *listings* that have the slot."""
    pairs = sum(count * (count - 1) for count in texts.values())
    return listings > 1 and pairs / texts.total() > TEMPLATE_SHARE * (listings - 1)
