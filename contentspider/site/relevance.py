"""Relevance of a text to a page's hints: the longest common subsequence.

`lcs_length` hides which library counts: pylcs, the paper's, or rapidfuzz, which gives the same
number hundreds of times faster on long texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pylcs
from rapidfuzz.distance import LCSseq

from contentspider.page.hints import squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

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
