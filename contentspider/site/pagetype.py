"""The type of a page: article, listing, form or other."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from contentspider.page.about.hints import ONE_PRODUCT
from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import text_weight
from contentspider.page.words.names import HEADINGS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

# An article has at least this many characters of kept prose, in scripts that write spaces between
# words. On pages with fewer than two entries fewer characters are enough.
ARTICLE_CHARS = 150
MIN_ARTICLE_CHARS = 40
# A heading is an entry of a listing if more than this share of its text is a link.
ENTRY_LINK_SHARE = 0.8
# A page is a listing if it has less kept prose than this per kept entry (entries are kept with
# their teasers), or than this per other entry (an article has a few related articles beside it).
PROSE_PER_KEPT_ENTRY = 400
PROSE_PER_ENTRY = 100
MIN_KEPT_ENTRIES = 3
# A page is a form if more than this share of its blocks stand in forms. A page with little text is
# a listing if it has this many blocks that are mostly links.
FORM_SHARE = 1 / 3
LINK_SHARE = 0.5
MIN_LINKS = 5


def page_type(page: Page, kept: NDArray[np.bool_]) -> str:
    """Return ``article``, ``listing``, ``form`` or ``other``, by the *kept* blocks of a page.
    Discussions, products and recipes are articles. The entries of a listing are headings that link
    to other pages, with teasers or whole texts. A page that declares one product is an
    article, even with more text about related products.
    """
    kind = _type_of_blocks(page, kept)
    is_product = kind in ("listing", "form") and ONE_PRODUCT in page.hints.page_kinds
    return "article" if is_product else kind


def _type_of_blocks(page: Page, kept: NDArray[np.bool_]) -> str:
    blocks = page.content.blocks
    if not blocks:
        return "other"
    is_kept = kept.tolist()
    entries = [block.tag in HEADINGS and is_entry(block) for block in blocks]
    kept_entries = sum(compress(entries, is_kept))
    article_chars = max(ARTICLE_CHARS, PROSE_PER_ENTRY * (sum(entries) - kept_entries))
    if kept_entries >= MIN_KEPT_ENTRIES:
        if lists_whole_texts(blocks, is_kept, entries):
            return "listing"
        article_chars = max(article_chars, PROSE_PER_KEPT_ENTRY * kept_entries)
    prose = 0.0
    for block in compress(blocks, is_kept):
        prose += prose_chars(block)
        if prose >= article_chars:
            return "article"
    if prose >= ARTICLE_CHARS:
        return "listing"
    return _type_without_prose(blocks, prose, sum(entries))


def _type_without_prose(blocks: list[Block], prose: float, entries: int) -> str:
    """Return the type of a page with less kept *prose* than `ARTICLE_CHARS`."""
    if sum("/form" in block.path for block in blocks) > len(blocks) * FORM_SHARE:
        return "form"
    if prose >= MIN_ARTICLE_CHARS and entries < 2:
        return "article"
    links = sum(block.link_chars / len(block.text) > LINK_SHARE for block in blocks)
    return "listing" if links >= MIN_LINKS else "other"


def is_entry(block: Block) -> bool:
    """Tell whether a block is an entry of a listing: a heading that links to another page."""
    return (
        block.tag in HEADINGS
        and block.link_chars > ENTRY_LINK_SHARE * len(block.text)
        and any(is_link(mark) and "#" not in mark for _, _, mark in block.spans)
    )


def prose_chars(block: Block) -> float:
    """Return the number of characters of a block outside of links, as `text_weight` counts them."""
    return text_weight(block.text) * (1 - block.link_chars / len(block.text))


def lists_whole_texts(blocks: list[Block], kept: list[bool], entries: list[bool]) -> bool:
    """Tell whether the kept blocks of a page are entries of one heading level, each with its text.

    Before the first entry only short texts may stand, and after it no other heading of its level or
    above. At least `MIN_KEPT_ENTRIES` entries must have a text.
    """
    kept_entries = compress(entries, kept)
    entry_level = 0
    texts: list[float] = []
    for block, is_listing_entry in zip(compress(blocks, kept), kept_entries, strict=True):
        level = HEADINGS.get(block.tag, 9)
        if is_listing_entry and entry_level in (0, level):
            entry_level = level
            texts.append(0.0)
        elif entry_level:
            if level <= entry_level:
                return False
            texts[-1] += prose_chars(block)
        elif level <= 6 or prose_chars(block) >= ARTICLE_CHARS:
            return False
    return sum(text >= PROSE_PER_ENTRY for text in texts) >= MIN_KEPT_ENTRIES
