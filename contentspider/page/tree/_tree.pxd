# cython: language_level=3

from libcpp.vector cimport vector
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport xmlNode

from contentspider.page.tree._elements cimport Elements

cdef class Names:
    cdef str key, numbered, kind, role
    cdef Py_ssize_t classes, numbers
    cdef bint is_telling, is_box  # it has a kind or a role; its kind is a box's

cdef class Step:
    cdef Names names
    cdef readonly str path
    cdef Py_ssize_t chars, slashes
    cdef bint full
    cdef dict steps  # those below; None: there is at most *latest*
    cdef bytes latest_name
    cdef Step latest

cdef class Paths:
    cdef dict names
    cdef Step top
    cdef Py_ssize_t cached
    cdef vector[char] name  # the key in *names* of the element at hand

    cdef forget(self)
    cdef Py_ssize_t write_name(self, str tag, const char** values) except -1
    cdef Step below(self, Step above, str tag, const char** values)
    cdef str path(self, Step step, str above)

cdef struct Container:
    xmlNode* node  # NULL: there is none
    Py_ssize_t parent, position, tag
    Py_ssize_t before  # the latest one of its tag with another parent that is open, -1: none
    Py_ssize_t index  # in the page, -1: no text was found below it

cdef class Tree:
    cdef list parents, tags, paths, positions, attributes  # the page's
    cdef Elements elements
    cdef Py_ssize_t figure  # the number of its tag
    cdef Paths known_paths
    cdef vector[Container] containers
    cdef list steps, container_attributes  # of each container
    cdef Py_ssize_t classes, numbers  # of all containers, see `Names`
    cdef etree._Element root
    cdef list kept  # the elements of the page's containers, None: they are not wanted

    cdef Py_ssize_t enter(self, Py_ssize_t number, Py_ssize_t parent, xmlNode* node) except -1
    cdef Names names_of(self, Py_ssize_t number)
    cdef int add_attributes(self, xmlNode* node, Py_ssize_t container) except -1
    cdef Py_ssize_t keep(self, Py_ssize_t number) except -1
    cdef bint has_numbered_names(self) noexcept
    cdef number_paths(self)
    cdef Py_ssize_t shared(self, Py_ssize_t one, Py_ssize_t other) noexcept
    cdef bint is_apart(self, Py_ssize_t below, Py_ssize_t above) except -1
