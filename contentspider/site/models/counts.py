# cython: language_level=3, annotation_typing=False
"""What is counted over all blocks of a page when it is filtered.

This module is compiled, with the types in counts.pxd.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.page.blocks import PageBlocks

# How much a decision counts at a place that has not been seen.
UNSEEN_TRUST = 0.5


def kept_chars(page: PageBlocks, probabilities: list[float]) -> int:
    """Return how many characters outside of links stand in blocks with more than 0.5."""
    chars = 0
    for index, block in enumerate(page.blocks):
        if probabilities[index] > 0.5:
            text = block.text
            chars += len(text) - block.link_chars
    return chars


def sureness(
    page: PageBlocks, probabilities: list[float], seen: Mapping[str, bool] | None = None
) -> float:
    """Return the mean probability of being right, by length of text, from 0 to 1.

    Blocks at paths that have not been *seen* count half (None: none have), since their decision
    comes from what they share with others.
    """
    sure = whole = 0.0
    for index, block in enumerate(page.blocks):
        text, path = block.text, block.path
        weight = len(text) ** 0.5
        probability = probabilities[index]
        right = probability if probability > 0.5 else 1 - probability
        known = False if seen is None else seen[path]
        whole += weight
        sure += weight * right if known else weight * right * UNSEEN_TRUST
    return round(sure / whole, 4) if whole else 0.0


def count_prose(page: PageBlocks, seen: Mapping[str, bool]) -> tuple[int, int]:
    """Return a page's characters outside of links, and those at paths that are not *seen*."""
    chars = unseen = 0
    for block in page.blocks:
        text, path = block.text, block.path
        prose = len(text) - block.link_chars
        known = seen[path]
        chars += prose
        if not known:
            unseen += prose
    return chars, unseen
