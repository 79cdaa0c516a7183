# cython: language_level=3
"""The elements around the text of a page."""

from libcpp.vector cimport vector
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport xmlNode

from contentspider.page.tree._elements cimport Elements
from contentspider.page.block._paths cimport Paths

cdef struct Container:
    xmlNode* node  # NULL: there is none
    Py_ssize_t parent
    Py_ssize_t position
    Py_ssize_t tag
    Py_ssize_t before  # the latest one of its tag whose parent is open and another, -1: none
    Py_ssize_t index  # in the page, -1: no text was found below it

cdef class Tree:
    cdef list parents, tags, paths, positions, attributes  # the page's
    cdef Elements elements
    cdef Paths known_paths
    cdef Py_ssize_t max_value_chars
    cdef vector[Container] containers
    cdef list steps, container_attributes  # of each container
    cdef etree._Element root
    cdef list kept  # the elements of the page's containers, None: nobody wants them

    cdef Py_ssize_t enter(self, Py_ssize_t number, Py_ssize_t parent, xmlNode* node) except -1
    cdef int add_attributes(self, xmlNode* node, Py_ssize_t container) except -1
    cdef Py_ssize_t keep(self, Py_ssize_t number) except -1
    cdef Py_ssize_t shared(self, Py_ssize_t one, Py_ssize_t other) noexcept
