# The types by which lines.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as CBlock
from contentspider.page.tree.resolver cimport Resolver as CResolver

cdef class Marked:
    cdef readonly str mark, target
    cdef readonly Py_ssize_t end
    cdef readonly list children

    cpdef str text(self)

cdef class Cell:
    cdef readonly Py_ssize_t column
    cdef public Py_ssize_t colspan, rowspan
    cdef readonly bint is_header
    cdef readonly list blocks
    cdef public list parts

cdef class Row:
    cdef readonly Py_ssize_t number
    cdef readonly list cells

cdef class Part:
    cdef readonly CBlock block
    cdef readonly Py_ssize_t level
    cdef public Py_ssize_t shared
    cdef readonly str role
    cdef readonly dict labels
    cdef readonly list line, before, after
    cdef public list frames, rows

cdef class LineBuilder:
    cdef str text
    cdef CResolver resolver
    cdef dict labels
    cdef readonly list stack
    cdef Py_ssize_t at

    @cython.locals(ended=Marked)
    cpdef go_to(self, Py_ssize_t place)
    @cython.locals(marked=Marked)
    cpdef open(self, Py_ssize_t start, Py_ssize_t end, str mark)
    @cython.locals(marked=Marked)
    cdef bint _is_in_link(self) except -1
    @cython.locals(innermost=Marked)
    cpdef add_picture(self, Py_ssize_t place, image)

cdef object _spans(CBlock block)
cdef list _line(CBlock block, CResolver resolver, list pictures, dict labels)
cdef list _flat_line(CBlock block, CResolver resolver, dict labels)
cdef str _label(str mark, dict labels)
cdef _add_text(Marked marked, str text)
cdef list _pictures(CBlock block, CResolver resolver)
