"""What kind of page a page is: an article, a listing, a form, or something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.names import HEADINGS
from contentspider.page.text import text_weight

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contentspider.page.document import Page

# Characters (of a spaced script) of kept prose without which a page is hardly an article.
ARTICLE_CHARS = 150
MIN_ARTICLE_CHARS = 40
# A listing's entries are headings that are links: with less prose than this to each it is a
# listing, where they are kept with their teasers, and where they are not (an article has a few
# related ones beside it).
PROSE_PER_KEPT_ENTRY = 400
PROSE_PER_ENTRY = 100


def page_type(page: Page, kept: NDArray[np.bool_]) -> str:
    """Return ``article``, ``listing``, ``form`` or ``other`` from what was kept of the page.

    Discussions, products and recipes are articles: pages with content of their own.
    """
    blocks = page.content.blocks
    if not blocks:
        return "other"
    is_kept = kept.tolist()
    entries = [
        keep
        for block, keep in zip(blocks, is_kept, strict=True)
        if block.tag in HEADINGS and block.link_chars / len(block.text) > 0.8
    ]
    kept_entries = sum(entries)
    other_entries = len(entries) - kept_entries
    # So much prose makes it an article, whatever follows: the rest need not be counted.
    enough = PROSE_PER_ENTRY * other_entries
    if kept_entries >= 3:
        enough = max(enough, PROSE_PER_KEPT_ENTRY * kept_entries)
    enough = max(enough, ARTICLE_CHARS)
    kept_prose = 0.0
    for block, keep in zip(blocks, is_kept, strict=True):
        if keep:
            kept_prose += text_weight(block.text) * (1 - block.link_chars / len(block.text))
            if kept_prose >= enough:
                return "article"
    if kept_prose >= ARTICLE_CHARS:
        return "listing"
    if sum("/form" in block.path for block in blocks) > len(blocks) / 3:
        return "form"
    if kept_prose >= MIN_ARTICLE_CHARS and len(entries) < 2:
        return "article"
    return (
        "listing"
        if sum(block.link_chars / len(block.text) > 0.5 for block in blocks) >= 5
        else "other"
    )
