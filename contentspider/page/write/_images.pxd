# cython: language_level=3
"""The pictures of a page, and the blocks that they stand by."""

from lxml.includes.tree cimport xmlNode

from contentspider.page.block._block cimport Block
from contentspider.page.tree._tree cimport Tree

cdef class Pictures:
    cdef Tree tree
    cdef list blocks
    cdef list inside  # of the open run: how many characters stand before, and what they show
    cdef list alone  # their container, and what they show
    cdef Py_ssize_t left, last

    cdef int add(self, xmlNode* node, Py_ssize_t chars) except -1
    cdef int leave(self, Py_ssize_t container) except -1
    cdef int place(self, Block block, Py_ssize_t container, bint preformatted) except -1
    cdef list share(self, Py_ssize_t following)
