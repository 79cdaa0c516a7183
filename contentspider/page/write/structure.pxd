# The types by which structure.py is compiled.

cimport cython

from contentspider.page.block._block cimport Block as CBlock

cdef class Place:
    cdef readonly Py_ssize_t quotes, lists
    cdef readonly bint ordered
    cdef readonly str table

cdef class Resolver:
    cdef str _base
    cdef bint _is_absolute
    cdef dict _joined

    cpdef str resolve(self, str address)
    cdef str _join(self, str address)

cdef class Marked:
    cdef readonly str mark, target
    cdef readonly Py_ssize_t end
    cdef readonly list children

    cpdef str text(self)

cdef class Part:
    cdef readonly CBlock block
    cdef readonly Py_ssize_t quotes, depth
    cdef readonly bint ordered, begins
    cdef readonly list rows, line, before, after

@cython.locals(block=CBlock, place=Place)
cpdef list parts(blocks, str base)
@cython.locals(block=CBlock)
cdef list _rows(list blocks, Resolver resolver)
@cython.locals(block=CBlock, last=CBlock)
cdef bint _is_layout(list blocks) except -1
cdef list _line(CBlock block, Resolver resolver, list pictures)
cdef _add_text(Marked marked, str text)
cdef list _pictures(CBlock block, Resolver resolver)
