"""What kind of page a page is: an article, a listing, a form, or something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features import text_weight

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.document import Page

PAGE_TYPES = ("article", "listing", "form", "other")
# Kept text of this weight (characters of a spaced script) makes an article whatever else the page has.
ARTICLE_CHARS = 250


def page_type(page: Page, kept: NDArray[np.bool_]) -> str:
    """Return ``article``, ``listing``, ``form`` or ``other`` from what was kept of the page."""
    blocks = page.content.blocks
    if not blocks:
        return "other"
    chars = np.array([text_weight(block.text) for block in blocks], dtype=float)
    links = np.array([block.link_chars / len(block.text) for block in blocks])
    prose = float((chars * (1 - links))[kept].sum())
    linked = float((chars * links)[kept].sum())
    if prose >= ARTICLE_CHARS and prose >= linked:
        return "article"
    forms = sum("form" in block.path.rsplit("/", 6)[-1] or "/form" in block.path for block in blocks)
    if forms > len(blocks) / 3 and prose < ARTICLE_CHARS:
        return "form"
    unkept_links = float((chars * links)[~kept].sum())
    if linked > prose or (unkept_links > 4 * prose and (links > 0.5).sum() > 8):
        return "listing"
    return "article" if prose else "other"
