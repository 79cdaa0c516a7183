"""Which page of a site a text comes from: copies, and listings that show whole posts, repeat it.

What repeats so is not the template's: it speaks for the template only between pages that are
otherwise different.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from contentspider.site.arrays import Floats, Ints

# Pages that share this much of their text are copies: print versions, parameters, mirrors. Pages of
# an infinite scroll share less. A page that has this much of another's text shows it.
COPY_SHARE = 0.8
# A page with fewer characters that are on less than half of the pages has no text to be shown.
SHOWN_CHARS = 200


def sources(pages: Ints, texts: Ints, chars: Floats, count: int) -> tuple[Ints, Ints]:
    """Return for each of *count* pages the number of the page that it copies, or its own if it
    copies none; and for each block that of the page whose text it shows, or copies.

    *pages*, *texts* and *chars* have one entry a block: the number of its page, that of its text,
    and its length. Two pages are copies if the texts that both have are `COPY_SHARE` of those that
    either has; a text counts by its length, and the less, the more pages have it: the template's
    texts say nothing. One shows another if it has as much of the other's text, without what half of
    the pages have. Time and memory grow with the square of the number of pages.
    """
    if not len(pages):
        return np.arange(count), pages
    texts_there = np.unique(np.stack([pages, texts], axis=1), axis=0)
    frequency = np.bincount(texts_there[:, 1])
    length = np.zeros(len(frequency))
    length[texts] = chars
    weight = length * np.log((count + 1) / np.maximum(frequency, 1)) ** 2
    rows, columns = texts_there.T
    has = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(count, len(frequency)))
    common = _common(has, weight)
    total = np.diag(common)
    either = total[:, np.newaxis] + total - common
    groups = connected_components(common >= COPY_SHARE * either, directed=False)[1]
    originals = np.unique(groups, return_index=True)[1][groups]
    common_chars = _common(has, np.where(2 * frequency < count, length, 0))
    own_chars = np.diag(common_chars)
    shows = (common_chars >= COPY_SHARE * own_chars) & (own_chars >= SHOWN_CHARS)
    shows &= originals[:, np.newaxis] != originals
    found = originals[pages]
    for page in np.flatnonzero(shows.any(axis=1)):
        here = np.flatnonzero(pages == page)
        shown = np.flatnonzero(shows[page])
        # A listing may show a shorter listing: a text comes from the smallest that has it.
        for other in shown[np.argsort(-own_chars[shown], kind="stable")]:
            found[here[np.isin(texts[here], texts[pages == other])]] = originals[other]
    return originals, found


def _common(has: csr_matrix, weights: Floats) -> Floats:
    """Return what the texts weigh that two pages have, for each pair of pages; *has* has a row a
    page and a column a text.
    """
    return np.asarray((csr_matrix(has.multiply(weights)) @ has.T).todense())
