# cython: language_level=3, annotation_typing=False
"""What is counted over all blocks of a page when it is filtered.

This module is compiled, with the types in counts.pxd; it is Python so that what checks Python
checks it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.blocks import PageBlocks

# What is said of a block whose slot has not been seen counts so much.
UNSEEN_TRUST = 0.5


def outline(page: PageBlocks) -> list[int]:
    """Return for each block the length of its text."""
    lengths: list[int] = []
    for block in page.blocks:
        text = block.text
        lengths.append(len(text))
    return lengths


def kept_chars(page: PageBlocks, probabilities: list[float]) -> int:
    """Return how many characters outside of links stand in blocks that are kept, those above
    0.5.
    """
    chars = 0
    for index, block in enumerate(page.blocks):
        if probabilities[index] > 0.5:
            text = block.text
            chars += len(text) - block.link_chars
    return chars


def sureness(
    page: PageBlocks,
    probabilities: list[float],
    seen: dict[str, bool] | None = None,
    is_seen: Callable[[str], bool] | None = None,
) -> float:
    """Return how sure a decision is: the mean probability of being right, by length of text, from 0
    to 1.

    What is said of blocks at paths that have not been seen counts half: it comes from what they
    share with others. *seen* tells that of a path, and is filled by *is_seen*; None: none has been.
    """
    sure = whole = 0.0
    for index, block in enumerate(page.blocks):
        text, path = block.text, block.path
        weight = len(text) ** 0.5
        probability = probabilities[index]
        right = probability if probability > 0.5 else 1 - probability
        known = False
        if seen is not None and is_seen is not None:
            found = seen.get(path)
            if found is None:
                found = seen[path] = is_seen(path)
            known = found is True
        whole += weight
        sure += weight * right if known else weight * right * UNSEEN_TRUST
    return round(sure / whole, 4) if whole else 0.0


def count_prose(
    page: PageBlocks, seen: dict[str, bool], is_seen: Callable[[str], bool]
) -> tuple[int, int]:
    """Return how many characters outside of links the page has, and how many of them stand at paths
    that have not been seen; *seen* tells that of a path, and is filled by *is_seen*.
    """
    chars = unseen = 0
    for block in page.blocks:
        text, path = block.text, block.path
        prose = len(text) - block.link_chars
        known = seen.get(path)
        if known is None:
            known = seen[path] = is_seen(path)
        chars += prose
        if known is not True:
            unseen += prose
    return chars, unseen
