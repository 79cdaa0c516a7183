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
cdef class Outline:
    cdef readonly Resolver resolver
    cdef readonly dict labels
    cdef readonly list parts
    cdef set begun_entries, begun_notes
    cdef list lists
    cdef Py_ssize_t quotes

    @cython.locals(part=Part, table=str)
    cdef add_table(self, list blocks)
    @cython.locals(part=Part, place=Place)
    cdef add(self, CBlock block, Py_ssize_t level)
    @cython.locals(last=Part)
    cdef _define(self, Part part, Place place)
    cdef _annotate(self, Part part)
    cdef _enlist(self, Part part, Place place)

cdef class LineBuilder:
    cdef str text
    cdef Resolver resolver
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

cdef class Layout:
    cdef bint repeats_columns
    cdef Py_ssize_t chars_left
    cdef dict above

    @cython.locals(cell=Cell)
    cdef dict line(self, Row row)
    cdef _repeat(self, Cell cell, Py_ssize_t columns, Py_ssize_t row, dict line)

@cython.locals(block=CBlock)
cpdef list parts(blocks, str base)
cdef str _definition(CBlock block, Place place, str last_definition)
@cython.locals(block=CBlock)
cpdef dict note_labels(blocks)
cpdef Py_ssize_t table_end(blocks, Py_ssize_t start) except -1
@cython.locals(block=CBlock, row=Row, cell=Cell)
cpdef list table_rows(blocks, Resolver resolver, dict labels)
cpdef bint is_huge(list rows) except -1
cpdef list lay_out(list rows, bint repeats_columns)
@cython.locals(cell=Cell)
cdef Py_ssize_t _row_chars(Row row) except -1
@cython.locals(part=Part)
cdef Py_ssize_t _chars(Cell cell) except -1
cdef bint _is_header(str path) except -1
@cython.locals(block=CBlock, last=CBlock)
cdef bint _is_layout(list blocks) except -1
cdef list _line(CBlock block, Resolver resolver, list pictures, dict labels)
cdef list _flat_line(CBlock block, Resolver resolver, dict labels)
cdef str _label(str mark, dict labels)
cdef _add_text(Marked marked, str text)
cdef list _pictures(CBlock block, Resolver resolver)
