# cython: language_level=3
"""What texts say, see `_phrases.pyx`."""

from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

cdef struct Node:  # a character; what phrases begin with leads from one to the next
    Py_UCS4 char
    int child, sibling  # -1: there is none
    uint64_t ends  # a bit for each kind of phrase of which this may be the beginning
    uint64_t below  # a bit for each of the next characters, by their last six bits


cdef class Beginnings:
    cdef vector[Node] nodes
    cdef int[128] ascii  # nodes of first characters

    cdef int find(self, int node, Py_UCS4 char) noexcept
    cdef uint64_t met(self, str text, Py_ssize_t index) noexcept


cdef class Phrases:
    cdef list searches
    cdef Beginnings anywhere, first
    cdef uint64_t numbered
    cdef readonly Py_ssize_t kinds

    cdef uint64_t candidates(self, str text) noexcept
    cpdef uint64_t kinds_in(self, str text) except? 0xFFFFFFFFFFFFFFFF
