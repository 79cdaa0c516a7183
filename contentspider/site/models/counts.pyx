# cython: language_level=3
"""What is counted over all blocks of a page when it is filtered."""

from contentspider.page.tree._block cimport Block

# How much a decision counts at a place that has not been seen.
cdef double UNSEEN_TRUST = 0.5


def kept_chars(page, list probabilities not None):
    """Return how many characters outside of links stand in blocks with more than 0.5."""
    cdef Py_ssize_t index, chars = 0
    cdef Block block
    for index, block in enumerate(page.blocks):
        if probabilities[index] > 0.5:
            chars += len(block.text) - block.link_chars
    return chars


def sureness(page, list probabilities not None, seen=None):
    """Return the mean probability of being right, by length of text, from 0 to 1.

    Blocks at paths that have not been *seen* count half (None: none have), since their decision
    comes from what they share with others.
    """
    cdef Py_ssize_t index
    cdef Block block
    cdef double weight, probability, right, sure = 0, whole = 0
    for index, block in enumerate(page.blocks):
        weight = len(block.text) ** 0.5
        probability = probabilities[index]
        right = probability if probability > 0.5 else 1 - probability
        whole += weight
        sure += weight * right * (1 if seen is not None and seen[block.path] else UNSEEN_TRUST)
    return round(sure / whole, 4) if whole else 0.0


def count_prose(page, seen):
    """Return a page's characters outside of links, and those at paths that are not *seen*."""
    cdef Py_ssize_t prose, chars = 0, unseen = 0
    cdef Block block
    for block in page.blocks:
        prose = len(block.text) - block.link_chars
        chars += prose
        if not seen[block.path]:
            unseen += prose
    return chars, unseen
