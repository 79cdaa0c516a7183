# cython: language_level=3
"""The pictures and films of a page, and the blocks that they stand by."""

from lxml.includes.tree cimport const_xmlChar, xmlNode

from contentspider.page.tree._block cimport Block
from contentspider.page.tree._tree cimport Tree

cdef class Pictures:
    cdef Tree tree
    cdef list blocks
    cdef list inside  # of the open run: how many characters stand before, and what they show
    cdef list alone  # their container, and what they show
    cdef Py_ssize_t left, last
    cdef xmlNode* latest  # the picture, frame or player that was seen last
    cdef bint latest_is_added

    cdef int add(self, xmlNode* node, Py_ssize_t chars) except -1
    cdef int add_noscript(self, xmlNode* noscript, Py_ssize_t chars) except -1
    cdef bint is_latest(self, xmlNode* around, const_xmlChar* name) noexcept
    cdef int leave(self, Py_ssize_t container) except -1
    cdef int place(self, Block block, Py_ssize_t container, bint preformatted) except -1
    cdef int share(self, Block block, Py_ssize_t following) except -1
    cdef bint is_nearer(self, Py_ssize_t one, Py_ssize_t last, Py_ssize_t following) except -1
