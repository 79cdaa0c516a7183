# cython: language_level=3
"""What is known of a page's blocks and elements, see `_facts.pyx`."""

from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

cdef struct BlockFacts:
    # Counted in its text; those from *sample* on in its beginning, which is so long. *weight* is
    # the length in characters of a spaced script, *marks* are links and code.
    double chars, weight, words, link_chars, links, bold_chars, code_chars, marks
    double sample, punctuation, commas, digits, upper, separators, questions
    bint ends_sentence, ends_colon, starts_upper, starts_digit, has_url
    # Whether the text has such digits, the less the longer it is.
    double date, price
    # How many other blocks of the page have the text, and a bit for each kind of phrase that it has.
    double repeats
    uint64_t said
    # What follows: how much of the text is linked, as a share and in characters of a spaced script.
    double link_share, linked, log_chars
    bint is_prose
    # Where it stands: *heading* is its level, 0 if it is none; *path* a number.
    bint in_row, in_item
    int heading, path, depth, holder

cdef struct ElementFacts:
    int parent, position
    # Sums over the blocks in it; of those that hold none *first* is the number of all blocks.
    double chars, linked, prose, number
    int first, last


cdef class PageFacts:
    cdef list blocks, parents, tags, paths
    cdef vector[BlockFacts] block
    cdef vector[ElementFacts] element
    cdef Py_ssize_t distinct_paths
    cdef double total  # characters of all blocks, at least one

    cdef int count_blocks(self, dict levels) except -1
    cdef int sum_elements(self, list positions) except -1
    cdef float* start(self, float[:, ::1] rows, Py_ssize_t column, Py_ssize_t width) except NULL


cdef inline double some(double number) noexcept nogil:
    """Return a number to divide by."""
    return number if number > 1 else 1


cdef inline int slashes(str path) noexcept:
    cdef int found = 0
    cdef Py_UCS4 char
    for char in path:
        found += char == u"/"
    return found
