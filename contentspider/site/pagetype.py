"""What kind of page a page is: an article, a listing, a form, or something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features import HEADINGS, text_weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.document import Page

# Characters (of a spaced script) of kept prose without which a page is hardly an article.
ARTICLE_CHARS = 150
MIN_ARTICLE_CHARS = 40
# A listing's entries are headings that are links: with less prose than this to each it is a listing, where
# they are kept with their teasers, and where they are not (an article has a few related ones beside it).
PROSE_PER_KEPT_ENTRY = 400
PROSE_PER_ENTRY = 100


def page_type(page: Page, kept: NDArray[np.bool_]) -> str:
    """Return ``article``, ``listing``, ``form`` or ``other`` from what was kept of the page.

    Discussions, products and recipes are articles: pages with content of their own.
    """
    blocks = page.content.blocks
    if not blocks:
        return "other"
    links = np.array([block.link_chars / len(block.text) for block in blocks])
    weights = np.array([text_weight(block.text) for block, is_kept in zip(blocks, kept.tolist(), strict=True) if is_kept])
    kept_prose = float((weights * (1 - links[kept])).sum())
    entry = np.array([block.tag in HEADINGS for block in blocks]) & (links > 0.8)
    kept_entries, other_entries = int((entry & kept).sum()), int((entry & ~kept).sum())
    if kept_prose >= ARTICLE_CHARS:
        if (kept_entries >= 3 and kept_prose < PROSE_PER_KEPT_ENTRY * kept_entries) or kept_prose < PROSE_PER_ENTRY * other_entries:
            return "listing"
        return "article"
    if sum("/form" in block.path for block in blocks) > len(blocks) / 3:
        return "form"
    if kept_prose >= MIN_ARTICLE_CHARS and kept_entries + other_entries < 2:
        return "article"
    return "listing" if (links > 0.5).sum() >= 5 else "other"
