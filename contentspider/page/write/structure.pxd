# The types by which structure.py is compiled.

cimport cython

from contentspider.page.block._block cimport Block as CBlock

cdef class Place:
    cdef readonly Py_ssize_t quotes, lists
    cdef readonly bint ordered
    cdef readonly str table, definition
    cdef readonly Py_ssize_t level

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

cdef class Cell:
    cdef readonly Py_ssize_t column
    cdef public Py_ssize_t colspan, rowspan
    cdef readonly bint is_header
    cdef readonly list parts

cdef class Row:
    cdef readonly Py_ssize_t number
    cdef readonly list cells

cdef class Part:
    cdef readonly CBlock block
    cdef readonly Py_ssize_t quotes, depth, level
    cdef readonly bint ordered, begins, begins_text
    cdef readonly str definition, label
    cdef readonly dict labels
    cdef readonly list rows, line, before, after

cdef int _level(list tags, str last_step) except -1
@cython.locals(block=CBlock)
cpdef list heading_levels(blocks)
@cython.locals(block=CBlock, place=Place, part=Part)
cpdef list parts(blocks, str base)
cdef str _definition(CBlock block, Place place, str last_definition)
@cython.locals(block=CBlock)
cpdef dict note_labels(blocks)
cpdef Py_ssize_t table_end(blocks, Py_ssize_t start) except -1
@cython.locals(block=CBlock, row=Row, cell=Cell)
cpdef list table_rows(blocks, Resolver resolver, dict labels)
@cython.locals(row=Row, cell=Cell, part=Part)
cpdef list lay_out(list rows, bint repeats_columns)
@cython.locals(part=Part)
cdef Py_ssize_t _chars(Cell cell) except -1
cdef bint _is_header(str path) except -1
@cython.locals(block=CBlock, last=CBlock)
cdef bint _is_layout(list blocks) except -1
cdef list _line(CBlock block, Resolver resolver, list pictures, dict labels)
cdef _add_text(Marked marked, str text)
cdef list _pictures(CBlock block, Resolver resolver)
