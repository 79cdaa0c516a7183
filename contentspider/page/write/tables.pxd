# The types by which tables.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as CBlock
from contentspider.page.write.lines cimport Cell as CCell
from contentspider.page.write.lines cimport Part as CPart
from contentspider.page.write.lines cimport Row as CRow
from contentspider.page.tree.resolver cimport Resolver as CResolver

cdef class Layout:
    cdef bint repeats_columns
    cdef Py_ssize_t chars_left
    cdef dict above

    @cython.locals(cell=CCell)
    cdef dict line(self, CRow row)
    cdef _repeat(self, CCell cell, Py_ssize_t columns, Py_ssize_t row, dict line)

cpdef Py_ssize_t table_end(blocks, Py_ssize_t start) except -1
@cython.locals(block=CBlock, last=CBlock)
cdef bint _is_layout(list blocks) except -1
@cython.locals(block=CBlock)
cdef bint _has_header(list blocks) except -1
@cython.locals(block=CBlock, row=CRow, cell=CCell)
cpdef list table_rows(blocks, CResolver resolver, dict labels)
cpdef bint is_huge(list rows) except -1
cpdef list lay_out(list rows, bint repeats_columns)
@cython.locals(cell=CCell)
cdef Py_ssize_t _row_chars(CRow row) except -1
@cython.locals(part=CPart)
cdef Py_ssize_t _chars(CCell cell) except -1
