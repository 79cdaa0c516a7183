# cython: language_level=3
from lxml.includes.tree cimport xmlNode

cdef class Directives:
    cdef bint are_obeyed
    cdef readonly bint has_left_out
    cdef int open  # the kind of the range that is left out, 0: none is
    cdef int endless  # kinds of which no end is left in the page, as bits

    cdef int read(self, xmlNode* comment) except -1
    cdef int pass_by(self, xmlNode* top) except -1
    cdef int note(self, xmlNode* top) except -1
    cdef bint has_end(self, xmlNode* comment, int kind) except -1

cdef bint is_excluding(const char* names) except -1
