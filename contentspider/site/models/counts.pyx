# cython: language_level=3
"""Sums over all blocks of a page, which are needed whenever a page is filtered."""

from contentspider.page.tree._block cimport Block

# The weight of a decision at a path that was not seen; a decision at a seen path has 1.
cdef double UNSEEN_TRUST = 0.5


def kept_chars(page, list probabilities not None):
    """Return the number of characters outside of links in blocks with a probability above 0.5."""
    cdef Py_ssize_t index, chars = 0
    cdef Block block
    for index, block in enumerate(page.blocks):
        if probabilities[index] > 0.5:
            chars += len(block.text) - block.link_chars
    return chars


def sureness(page, list probabilities not None, seen=None):
    """Return the mean probability, from 0 to 1, that the decision on a block is right.

    Blocks are weighted by the square root of their length. For blocks whose path was not *seen*
    (None: no path was) the probability is halved, since these decisions only rest on features that
    other paths share.
    """
    cdef Py_ssize_t index
    cdef Block block
    cdef double weight, probability, right, right_sum = 0, weight_sum = 0
    for index, block in enumerate(page.blocks):
        weight = len(block.text) ** 0.5
        probability = probabilities[index]
        right = probability if probability > 0.5 else 1 - probability
        weight_sum += weight
        right_sum += weight * right * (1 if seen is not None and seen[block.path] else UNSEEN_TRUST)
    return round(right_sum / weight_sum, 4) if weight_sum else 0.0


def count_prose(page, seen):
    """Return the number of a page's characters outside of links, and of those at unseen paths."""
    cdef Py_ssize_t prose, chars = 0, unseen = 0
    cdef Block block
    for block in page.blocks:
        prose = len(block.text) - block.link_chars
        chars += prose
        if not seen[block.path]:
            unseen += prose
    return chars, unseen
