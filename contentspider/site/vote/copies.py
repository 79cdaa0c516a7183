"""Pages of a site that are copies of each other: their common text is not the template's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]
    Ints = NDArray[np.int64]

# Pages that share this much of their text are copies: print versions, parameters, mirrors. Pages of
# an infinite scroll share less.
COPY_SHARE = 0.8


def originals(pages: Ints, texts: Ints, chars: Floats, count: int) -> Ints:
    """Return for each of *count* pages the number of the page that it copies, or its own if it
    copies none.

    *pages*, *texts* and *chars* have one entry a block: the number of its page, that of its text,
    and its length. Two pages are copies if the texts that both have are `COPY_SHARE` of those that
    either has; a text counts by its length, and the less, the more pages have it: the template's
    texts say nothing. Time and memory grow with the square of the number of pages.
    """
    if not len(pages):
        return np.arange(count)
    texts_there = np.unique(np.stack([pages, texts], axis=1), axis=0)
    frequency = np.bincount(texts_there[:, 1])
    length = np.zeros(len(frequency))
    length[texts] = chars
    weight = length * np.log((count + 1) / np.maximum(frequency, 1)) ** 2
    rows, columns = texts_there.T
    has = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(count, len(frequency)))
    weighted = has.multiply(weight).tocsr()
    common = np.asarray((weighted @ has.T).todense())
    total = np.diag(common)
    either = total[:, np.newaxis] + total - common
    groups = connected_components(csr_matrix(common >= COPY_SHARE * either), directed=False)[1]
    return np.unique(groups, return_index=True)[1][groups]
