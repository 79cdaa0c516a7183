"""Footnotes: a footnote is content if its marker stands in the content."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.tree.tags import NOTE

if TYPE_CHECKING:
    from contentspider.page.tree.blocks import Block
    from contentspider.site.arrays import Bools

# A page with more notes has the small print of a product, or a list of sources. Such notes are
# judged like other blocks.
MAX_NOTES = 20


def with_footnotes(blocks: list[Block], kept: Bools) -> Bools:
    """Return *kept*, extended by the footnotes whose markers stand in kept blocks.

    *kept* tells for each of *blocks* whether the block is content. On a page with more than
    `MAX_NOTES` notes it is returned as it is.
    """
    numbers = [number for number, block in enumerate(blocks) if block.note and not kept[number]]
    if not numbers or len({block.note for block in blocks if block.note}) > MAX_NOTES:
        return kept
    targets = {
        mark[len(NOTE) :]
        for block, is_kept in zip(blocks, kept.tolist(), strict=True)
        if is_kept
        for _, _, mark in block.spans
        if mark.startswith(NOTE)
    }
    kept = kept.copy()
    kept[[number for number in numbers if blocks[number].note in targets]] = True
    return kept
