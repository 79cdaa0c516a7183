# The types by which tables.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as CBlock
from contentspider.page.write.lines cimport Cell as CCell
from contentspider.page.write.lines cimport Row as CRow

cdef class Layout:
    cdef bint repeats_columns
    cdef Py_ssize_t chars_left
    cdef dict above

    @cython.locals(cell=CCell)
    cdef dict line(self, CRow row)
    cdef _repeat(self, CCell cell, Py_ssize_t columns, Py_ssize_t row, dict line)

@cython.locals(block=CBlock)
cpdef tuple table_at(blocks, Py_ssize_t start, Py_ssize_t outermost=*)
cdef bint _is_in_table(CBlock block, Py_ssize_t level, table) except -1
cdef bint _is_over_columns(CBlock block, Py_ssize_t level) except -1
cpdef object table_of(CBlock block, Py_ssize_t level)
@cython.locals(number=Py_ssize_t, tables=tuple)
cpdef str table_path(CBlock block, Py_ssize_t level)
cpdef tuple cell_at(CBlock block, Py_ssize_t level)
@cython.locals(block=CBlock)
cdef bint _is_layout(list blocks, Py_ssize_t level) except -1
@cython.locals(block=CBlock)
cdef bint _has_header(list blocks, Py_ssize_t level) except -1
@cython.locals(block=CBlock, row=CRow, cell=CCell)
cpdef list table_rows(blocks, Py_ssize_t level)
cpdef bint is_huge(list rows) except -1
cpdef list lay_out(list rows, bint repeats_columns)
@cython.locals(cell=CCell)
cdef Py_ssize_t _row_chars(CRow row) except -1
@cython.locals(block=CBlock)
cdef Py_ssize_t _chars(CCell cell) except -1
