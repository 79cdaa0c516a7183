"""Relevance of a text to a page's hints: the longest common subsequence.

`lcs_length` hides which library counts: pylcs, the paper's, or rapidfuzz, which gives the same
number hundreds of times faster on long texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pylcs
from rapidfuzz.distance import LCSseq

from contentspider.page.hints import squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.blocks import PageBlocks
    from contentspider.page.hints import Hints

# How many other pages' hints a block is compared with: their mean is what any text would reach.
CONTRAST_PAGES = 3
# A hint that this share of the pages gives (and at least two pages) is the site's, not the page's.
SHARED_HINT = 0.1
# pylcs fills a table of len(a) * len(b) cells and holds the GIL meanwhile: below this many cells (about
# 40 microseconds) it is as quick as the call to anything else.
PYLCS_CELLS = 4_000
# A description is a few hundred characters long: what a block shares with it shows within this length.
MAX_CHARS = 1_000


def lcs_length(first: str, second: str) -> int:
    """Return the length of the longest common subsequence of two texts, in characters.

    Each text is cut to its first `MAX_CHARS` characters.
    """
    first, second = first[:MAX_CHARS], second[:MAX_CHARS]
    if not first or not second:
        return 0
    if len(first) * len(second) <= PYLCS_CELLS:
        return int(pylcs.lcs_sequence_length(first, second))
    return int(LCSseq.similarity(first, second))


def relevance(text: str, hints: Sequence[str]) -> float:
    """Return how much of the best-matching hint *text* contains, from 0 to 1.

    Both are compared squeezed; *hints* must be squeezed already.
    """
    squeezed = squeeze(text[:MAX_CHARS])
    return max((lcs_length(squeezed, hint) / min(len(hint), MAX_CHARS) for hint in hints if hint), default=0.0)


def own_hints(hints: Sequence[Hints]) -> list[list[str]]:
    """Return each page's hints, squeezed, without those that many pages share.

    A title shared in part (the name of the site behind a dash) is harmless: the contrast takes it off.
    """
    counts: dict[str, int] = {}
    for page in hints:
        for text in set(page.texts()):
            counts[text] = counts.get(text, 0) + 1
    limit = max(2, SHARED_HINT * len(hints))
    return [[squeeze(text) for text in page.texts() if counts[text] < limit or len(hints) == 1][:6] for page in hints]


def other_hints(own: Sequence[list[str]]) -> list[list[list[str]]]:
    """Return for each page the hints of up to `CONTRAST_PAGES` others that have some, to compare its own with.

    They stand at fixed distances: the same pages for every block of a page, and no random state.
    """
    count = len(own)
    step = max(1, count // (CONTRAST_PAGES + 1))
    found = []
    for number in range(count):
        others = [own[(number + times * step) % count] for times in range(1, CONTRAST_PAGES + 1)]
        found.append([other for other in others if other and other is not own[number]])
    return found


def contrasts(pages: Sequence[PageBlocks], hints: Sequence[Hints]) -> NDArray[np.float32]:
    """Return for each block of *pages* its relevance to its own page's hints less the mean of that to other pages' hints."""
    own = own_hints(hints)
    values: list[float] = []
    for page, mine, others in zip(pages, own, other_hints(own), strict=True):
        for block in page.blocks:
            if not mine:
                values.append(0.0)
                continue
            expected = sum(relevance(block.text, other) for other in others) / len(others) if others else 0.0
            values.append(relevance(block.text, mine) - expected)
    return np.array(values, dtype=np.float32)
