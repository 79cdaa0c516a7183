# cython: language_level=3
"""Counts of a page's blocks and elements, see `_facts.pyx`."""

from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

cdef struct BlockFacts:
    # Counts in the block's text. *weight* is its length in characters of a spaced script, *marks*
    # the number of links and code spans. *sample* is the length of the text's beginning in which
    # the counts after it are made.
    double chars, weight, words, link_chars, links, bold_chars, code_chars, marks
    double sample, punctuation, commas, digits, upper, separators, questions
    bint ends_sentence, ends_colon, starts_upper, starts_digit, has_url
    # 1 / (1 + length / 100) if the text has a date or a price, else 0.
    double date, price
    # The number of other blocks with the same text, and a bit for each kind of phrase in the text.
    double repeats
    uint64_t phrases
    # The linked part of the text, as a share and in characters of a spaced script.
    double link_share, linked, log_chars
    bint is_prose
    # Its position: *heading* is the level of a heading (0: none), *path* the number of its path, and
    # *holder* the index of its element.
    bint in_row, in_item
    int heading, path, depth, holder

cdef struct ElementFacts:
    int parent, position
    # Sums over the blocks in the element, and the numbers of the first and the last block. In an
    # element without blocks *first* is the number of all blocks and *last* is -1.
    double chars, linked, prose, number
    int first, last


cdef class PageFacts:
    cdef list blocks, parents, tags, paths
    cdef vector[BlockFacts] block
    cdef vector[ElementFacts] element
    cdef Py_ssize_t distinct_paths
    cdef double total  # the weight of all blocks, at least 1

    cdef int count_blocks(self, dict levels) except -1
    cdef int sum_elements(self, list positions) except -1
    cdef float* start(self, float[:, ::1] rows, Py_ssize_t column, Py_ssize_t width) except NULL


cdef inline double some(double number) noexcept nogil:
    """Return *number*, or 1 if it is smaller, as a divisor."""
    return number if number > 1 else 1


cdef inline int slashes(str path) noexcept:
    cdef int count = 0
    cdef Py_UCS4 char
    for char in path:
        count += char == u"/"
    return count
