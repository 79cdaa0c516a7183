"""Finds the page of a site that a text comes from, if copies of pages or listings repeat it.

A text that recurs on copies, or in listings that show whole posts, does not belong to the template.
Only a text that recurs on otherwise different pages does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from contentspider.site.arrays import Floats, Ints

# Pages that share this much of their text are copies: print versions, addresses with parameters,
# mirrors. Pages of an infinite scroll share less. A page that has this much of another page's text
# shows that page.
COPY_SHARE = 0.8
# A page is shown by others only if it has this many characters of text that less than half of the
# pages have.
SHOWN_CHARS = 200


def find_sources(pages: Ints, texts: Ints, chars: Floats, count: int) -> tuple[Ints, Ints]:
    """Return the page that each page copies, and the page that each block's text comes from.

    The first array has an entry for each of *count* pages: the number of the page that it copies,
    or its own number. The second has an entry for each block: the number of the page whose text the
    block's page shows or copies, or the number of the block's page.

    *pages*, *texts* and *chars* have one entry per block: the number of its page, the number of its
    text, and its length. Two pages are copies if their common texts are at least `COPY_SHARE` of
    all texts of both. A text counts by its length, and the less, the more pages have it, since the
    texts of the template are on all pages. A page shows another if it has at least `COPY_SHARE` of
    the other's text, without texts that half of the pages have. Time and memory grow with the
    square of the number of pages.
    """
    if not len(pages):
        return np.arange(count), pages
    page_texts = np.unique(np.stack([pages, texts], axis=1), axis=0)
    frequency = np.bincount(page_texts[:, 1])
    length = np.zeros(len(frequency))
    length[texts] = chars
    weight = length * np.log((count + 1) / np.maximum(frequency, 1)) ** 2
    rows, columns = page_texts.T
    has_text = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(count, len(frequency)))
    common = _common_weight(has_text, weight)
    total = np.diag(common)
    either = total[:, np.newaxis] + total - common
    groups = connected_components(common >= COPY_SHARE * either, directed=False)[1]
    originals = np.unique(groups, return_index=True)[1][groups]
    common_chars = _common_weight(has_text, np.where(2 * frequency < count, length, 0))
    own_chars = np.diag(common_chars)
    shows = (common_chars >= COPY_SHARE * own_chars) & (own_chars >= SHOWN_CHARS)
    shows &= originals[:, np.newaxis] != originals
    sources = originals[pages]
    for page in np.flatnonzero(shows.any(axis=1)):
        blocks = np.flatnonzero(pages == page)
        shown = np.flatnonzero(shows[page])
        # A listing may show a shorter listing. The text comes from the shortest page that has it,
        # so shorter pages come last and overwrite the longer ones.
        for other in shown[np.argsort(-own_chars[shown], kind="stable")]:
            repeated = np.isin(texts[blocks], texts[pages == other])
            sources[blocks[repeated]] = originals[other]
    return originals, sources


def _common_weight(has: csr_matrix, weights: Floats) -> Floats:
    """Return for each pair of pages the total weight of the texts that both have.

    *has* has a row for each page and a column for each text, and 1 where the page has the text.
    """
    return np.asarray((csr_matrix(has.multiply(weights)) @ has.T).todense())
