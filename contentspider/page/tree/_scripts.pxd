# cython: language_level=3
from lxml.includes.tree cimport xmlNode

cdef class Segments:
    cdef xmlNode* body
    cdef bint is_read
    cdef dict nodes  # addresses of the segments, by their numbers
    cdef set placed

    cdef xmlNode* of_template(self, xmlNode* template, const char* id_, const char* shadow) except? NULL
    cdef bint is_segment(self, xmlNode* node, const char* id_, bint* has_moved) except -1
    cdef read(self)

cdef bint is_seen_without_scripts(xmlNode* noscript) noexcept
cdef int drop_stand_ins(list blocks, list noscripts) except -1
