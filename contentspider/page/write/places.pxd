# The types by which places.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as CBlock

cdef class Place:
    cdef readonly Py_ssize_t quotes, lists
    cdef readonly bint ordered
    cdef readonly str definition
    cdef readonly tuple tables
    cdef readonly Py_ssize_t level

cdef int _level(list tags, str last_step) except -1
@cython.locals(block=CBlock)
cpdef list heading_levels(blocks)
