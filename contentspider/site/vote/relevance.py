"""Relevance of a text to a page's hints: the longest common subsequence.

rapidfuzz counts, a hundred times as fast as pylcs and with the same result; to the letter of the
paper (`contentspider.site.vote.paper`) pylcs does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

from contentspider.page.about.hints import squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from contentspider.page.about.hints import Hints
    from contentspider.page.tree.blocks import PageBlocks

# How many other pages' hints a block is compared with; any text reaches their mean.
CONTRAST_PAGES = 3
# A hint that this share of the pages gives (and at least two pages) is the site's, not the page's.
SHARED_HINT = 0.1
# Of a text, in characters: descriptions are shorter.
MAX_CHARS = 1_000


def lcs_length(first: str, second: str) -> int:
    """Return the length of the longest common subsequence of two texts, cut to `MAX_CHARS`."""
    return int(LCSseq.similarity(first[:MAX_CHARS], second[:MAX_CHARS]))


def lcs_length_pylcs(first: str, second: str) -> int:
    """Return what `lcs_length` does, counted by pylcs, which holds the GIL for up to 7 ms."""
    import pylcs

    return int(pylcs.lcs_sequence_length(first[:MAX_CHARS], second[:MAX_CHARS]))


def own_hints(hints: Sequence[Hints], originals: Sequence[int] | None = None) -> list[list[str]]:
    """Return each page's hints, squeezed, without those that many pages share.

    *originals* gives for each page the number of the page that it copies: copies count once. A
    title shared in part (a site's name behind a dash) is harmless: the contrast takes it off.
    """
    numbers = range(len(hints)) if originals is None else originals
    pages_with: dict[str, set[int]] = {}
    for page, original in zip(hints, numbers, strict=True):
        for text in page.texts():
            pages_with.setdefault(text, set()).add(original)
    count = len(set(numbers))
    limit = max(2, SHARED_HINT * count)
    return [
        [squeeze(text) for text in page.texts() if len(pages_with[text]) < limit or count == 1][:6]
        for page in hints
    ]


def other_hints(
    own: Sequence[list[str]], originals: Sequence[int] | None = None
) -> list[list[list[str]]]:
    """Return for each page the hints of up to `CONTRAST_PAGES` others, at fixed distances."""
    count = len(own)
    numbers = range(count) if originals is None else originals
    step = max(1, count // (CONTRAST_PAGES + 1))
    found = []
    for number in range(count):
        others = [(number + times * step) % count for times in range(1, CONTRAST_PAGES + 1)]
        found.append(
            [own[other] for other in others if own[other] and numbers[other] != numbers[number]]
        )
    return found


def lcs_lengths(texts: Sequence[str], hints: Sequence[str]) -> NDArray[np.int32]:
    """Return `lcs_length` of each text with each hint, a row a text, in a tenth of the time."""
    cut = [[text[:MAX_CHARS] for text in many] for many in (texts, hints)]
    return cdist(*cut, scorer=LCSseq.similarity, dtype=np.int32)


def contrasts(
    pages: Sequence[PageBlocks], hints: Sequence[Hints], originals: Sequence[int] | None = None
) -> NDArray[np.float32]:
    """Return each block's relevance to its own page's hints less the mean to others'."""
    own = own_hints(hints, originals)
    values: list[NDArray[np.float32]] = []
    for page, mine, others in zip(pages, own, other_hints(own, originals), strict=True):
        if not mine or not page.blocks:
            values.append(np.zeros(len(page.blocks), dtype=np.float32))
            continue
        every = [hint for many in (mine, *others) for hint in many]
        lengths = lcs_lengths([squeeze(block.text[:MAX_CHARS]) for block in page.blocks], every)
        shares = lengths / np.array([max(min(len(hint), MAX_CHARS), 1) for hint in every])
        ends = np.cumsum([len(mine), *map(len, others)])[:-1]
        best = [part.max(axis=1) for part in np.split(shares, ends, axis=1)]
        expected = np.mean(best[1:], axis=0) if others else 0.0
        values.append((best[0] - expected).astype(np.float32))
    return np.concatenate(values)
