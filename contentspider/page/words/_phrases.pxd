# cython: language_level=3
"""A fast search for many phrases, see `_phrases.pyx`."""

from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

cdef struct Node:  # a character in the tree of beginnings
    Py_UCS4 char
    int child, sibling  # the first child and the next sibling (-1: none)
    uint64_t ends  # a bit for each kind of phrase that has a beginning ending here
    uint64_t below  # a bit for each child, by the last six bits of its character


cdef class Beginnings:
    cdef vector[Node] nodes
    cdef int[128] ascii  # the nodes of first characters (-1: none)

    cdef int find(self, int node, Py_UCS4 char) noexcept
    cdef uint64_t kinds_at(self, str text, Py_ssize_t index) noexcept


cdef class Phrases:
    cdef list searches
    cdef Beginnings anywhere, first
    cdef uint64_t numbered
    cdef readonly Py_ssize_t kinds

    cdef uint64_t candidates(self, str text) noexcept
    cpdef uint64_t kinds_in(self, str text) except? 0xFFFFFFFFFFFFFFFF
