"""Relevance of a text to a page's hints, by the longest common subsequence (LCS).

rapidfuzz computes the LCS a hundred times as fast as pylcs, with the same result.
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

# A block is also compared with the hints of this many other pages. Their mean is the LCS that any
# text of the site has by chance.
CONTRAST_PAGES = 3
# A hint on at least this share of the pages (and at least two pages) describes the site, not the
# page.
SHARED_HINT = 0.1
# Texts are cut to this many characters; descriptions are shorter.
MAX_CHARS = 1_000
MAX_HINTS = 6


def lcs_length(first: str, second: str) -> int:
    """Return the length of the longest common subsequence of two texts, cut to `MAX_CHARS`."""
    return int(LCSseq.similarity(first[:MAX_CHARS], second[:MAX_CHARS]))


def own_hints(hints: Sequence[Hints], originals: Sequence[int] | None = None) -> list[list[str]]:
    """Return the hints of each page, squeezed, without hints that many pages share.

    *originals* has the number of the page that each page copies, since copies count once. A part
    that many titles share, such as the site's name, does no harm: the contrast removes it.
    """
    numbers = range(len(hints)) if originals is None else originals
    pages_with: dict[str, set[int]] = {}
    for page, original in zip(hints, numbers, strict=True):
        for text in page.texts():
            pages_with.setdefault(text, set()).add(original)
    count = len(set(numbers))
    limit = max(2, SHARED_HINT * count)
    return [
        [squeeze(text) for text in page.texts() if len(pages_with[text]) < limit or count == 1][
            :MAX_HINTS
        ]
        for page in hints
    ]


def other_hints(
    own: Sequence[list[str]], originals: Sequence[int] | None = None
) -> list[list[list[str]]]:
    """Return for each page the hints of up to `CONTRAST_PAGES` others, at fixed distances."""
    count = len(own)
    numbers = range(count) if originals is None else originals
    step = max(1, count // (CONTRAST_PAGES + 1))
    hints_of_others = []
    for number in range(count):
        other_pages = [(number + times * step) % count for times in range(1, CONTRAST_PAGES + 1)]
        hints_of_others.append(
            [
                own[other]
                for other in other_pages
                if own[other] and numbers[other] != numbers[number]
            ]
        )
    return hints_of_others


def lcs_lengths(texts: Sequence[str], hints: Sequence[str]) -> NDArray[np.int32]:
    """Return the `lcs_length` of each text (row) with each hint (column).

    It takes a tenth of the time of single calls.
    """
    cut_texts = [text[:MAX_CHARS] for text in texts]
    cut_hints = [hint[:MAX_CHARS] for hint in hints]
    return cdist(cut_texts, cut_hints, scorer=LCSseq.similarity, dtype=np.int32)


def contrasts(
    pages: Sequence[PageBlocks], hints: Sequence[Hints], originals: Sequence[int] | None = None
) -> NDArray[np.float32]:
    """Return each block's relevance to its page's hints, minus its mean relevance to other pages'.

    *originals* is as in `own_hints`. The result has one entry for each block of all pages.
    """
    own = own_hints(hints, originals)
    values: list[NDArray[np.float32]] = []
    for page, page_hints, hints_of_others in zip(
        pages, own, other_hints(own, originals), strict=True
    ):
        if not page_hints or not page.blocks:
            values.append(np.zeros(len(page.blocks), dtype=np.float32))
            continue
        all_hints = list(page_hints)
        for hints_of_other in hints_of_others:
            all_hints += hints_of_other
        texts = [squeeze(block.text[:MAX_CHARS]) for block in page.blocks]
        lengths = lcs_lengths(texts, all_hints)
        shares = lengths / np.array([max(min(len(hint), MAX_CHARS), 1) for hint in all_hints])
        ends = np.cumsum([len(page_hints), *map(len, hints_of_others)])[:-1]
        best = [part.max(axis=1) for part in np.split(shares, ends, axis=1)]
        expected = np.mean(best[1:], axis=0) if hints_of_others else 0.0
        values.append((best[0] - expected).astype(np.float32))
    return np.concatenate(values)
