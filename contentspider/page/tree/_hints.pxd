# cython: language_level=3
"""The elements with hints of a page, see `_hints.pyx`."""

from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport xmlNode

cdef class HintElements:
    cdef readonly list found
    cdef etree._Element root
    cdef int place, marks, authors, stated
    cdef xmlNode* last_stated
    cdef xmlNode* headline
    # The dates above the headline, and their places in `found`.
    cdef xmlNode* above[200]
    cdef Py_ssize_t above_at[200]
    cdef int above_count

    cdef int see(self, xmlNode* node) except -1
    cdef int add_stated(self, xmlNode* node) except -1
    cdef int add_date(self, xmlNode* node) except -1
    cdef int drop_cards(self) except -1
    cdef int see_below(self, xmlNode* top) except -1
