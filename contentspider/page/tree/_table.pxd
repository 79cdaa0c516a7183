# cython: language_level=3
"""The columns of tables, see `_table.pyx`."""

from libcpp.vector cimport vector

cdef struct Table:
    Py_ssize_t column  # of the latest cell in the row, from 1 on
    vector[Py_ssize_t] rows_left  # by column: so many more rows does a cell from above cover
    vector[bint] is_taken  # by column: in this row by a cell from above

cdef class Tables:
    cdef vector[Table] tables

    cdef Py_ssize_t add(self) except -1
    cdef int start_row(self, Py_ssize_t table) except -1
    cdef Py_ssize_t start_cell(
        self, Py_ssize_t table, Py_ssize_t* colspan, Py_ssize_t* rowspan
    ) except -1
