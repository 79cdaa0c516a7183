"""The type of a page: an article, a listing, a form, or something else."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING

from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import text_weight
from contentspider.page.words.names import HEADINGS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

# Characters (of a spaced script) of kept prose that an article has.
ARTICLE_CHARS = 150
MIN_ARTICLE_CHARS = 40
# A heading that is a link to elsewhere, but for some characters, is an entry of a listing.
ENTRY_LINK_SHARE = 0.8
# A page with less prose than this to each entry is a listing, where entries are kept with their
# teasers, and where they are not (an article has a few related ones beside it).
PROSE_PER_KEPT_ENTRY = 400
PROSE_PER_ENTRY = 100
MIN_KEPT_ENTRIES = 3
# A page a third of whose blocks stand in forms is one; five links or more to little text a listing.
FORM_SHARE = 1 / 3
LINK_SHARE = 0.5
MIN_LINKS = 5


def page_type(page: Page, kept: NDArray[np.bool_]) -> str:
    """Return ``article``, ``listing``, ``form`` or ``other`` from what was kept of the page.

    Discussions, products and recipes are articles. The entries of a listing are headings that link
    to other pages, with teasers or whole texts.
    """
    blocks = page.content.blocks
    if not blocks:
        return "other"
    is_kept = kept.tolist()
    entries = [block.tag in HEADINGS and is_entry(block) for block in blocks]
    kept_entries = sum(compress(entries, is_kept))
    enough = max(ARTICLE_CHARS, PROSE_PER_ENTRY * (sum(entries) - kept_entries))
    if kept_entries >= MIN_KEPT_ENTRIES:
        if lists_whole_texts(blocks, is_kept, entries):
            return "listing"
        enough = max(enough, PROSE_PER_KEPT_ENTRY * kept_entries)
    prose = 0.0
    for block, keep in zip(blocks, is_kept, strict=True):
        if keep:
            prose += prose_chars(block)
            if prose >= enough:
                return "article"
    if prose >= ARTICLE_CHARS:
        return "listing"
    if sum("/form" in block.path for block in blocks) > len(blocks) * FORM_SHARE:
        return "form"
    if prose >= MIN_ARTICLE_CHARS and sum(entries) < 2:
        return "article"
    links = sum(block.link_chars / len(block.text) > LINK_SHARE for block in blocks)
    return "listing" if links >= MIN_LINKS else "other"


def is_entry(block: Block) -> bool:
    """Tell whether a block is a heading that links to another page, and not to a fragment."""
    return (
        block.tag in HEADINGS
        and block.link_chars > ENTRY_LINK_SHARE * len(block.text)
        and any(is_link(mark) and "#" not in mark for _, _, mark in block.spans)
    )


def prose_chars(block: Block) -> float:
    """Return how many characters (of a spaced script) of a block are not in links."""
    return text_weight(block.text) * (1 - block.link_chars / len(block.text))


def lists_whole_texts(blocks: list[Block], kept: list[bool], entries: list[bool]) -> bool:
    """Tell whether what is kept is one entry of a level after the other, each with a text."""
    level = 0
    texts: list[float] = []
    for block, keep, entry in zip(blocks, kept, entries, strict=True):
        if not keep:
            continue
        own = HEADINGS.get(block.tag, 9)
        if entry and own == (level or own):
            level = own
            texts.append(0.0)
        elif own <= (level or 6) or (not level and prose_chars(block) >= ARTICLE_CHARS):
            return False
        elif texts:
            texts[-1] += prose_chars(block)
    return sum(text >= PROSE_PER_ENTRY for text in texts) >= MIN_KEPT_ENTRIES
