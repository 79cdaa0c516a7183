# cython: language_level=3, wraparound=False
# distutils: language = c++
"""Finds the column of each table cell, as the HTML standard describes it ("forming a table"): the
first column of the row that no earlier cell of the row takes and no cell of an earlier row spans.
"""

cimport cython

# All cells beyond this number of columns are put into the last one.
cdef Py_ssize_t MAX_COLUMNS = 1_000


@cython.final
cdef class Tables:
    """The tables of a page by their numbers. Number 0 holds cells outside of tables."""

    def __cinit__(self):
        self.add()

    cdef Py_ssize_t add(self) except -1:
        """Add a table, and return its number."""
        cdef Table table
        table.column = 0
        self.tables.push_back(table)
        return self.tables.size() - 1

    cdef int start_row(self, Py_ssize_t number) except -1:
        cdef Table* table = &self.tables[number]
        cdef size_t column
        table.column = 0
        for column in range(table.rows_left.size()):
            table.is_taken[column] = table.rows_left[column] > 0
            if table.rows_left[column] > 0:
                table.rows_left[column] -= 1
        return 0

    cdef Py_ssize_t start_cell(
        self, Py_ssize_t number, Py_ssize_t* colspan, Py_ssize_t* rowspan
    ) except -1:
        """Return the column of the next cell, counted from 1. *colspan* is limited to
        `MAX_COLUMNS`.
        """
        cdef Table* table = &self.tables[number]
        cdef Py_ssize_t column = table.column, index
        while column < <Py_ssize_t>table.is_taken.size() and table.is_taken[column]:
            column += 1
        column = min(column, MAX_COLUMNS - 1)
        colspan[0] = min(colspan[0], MAX_COLUMNS - column)
        while <Py_ssize_t>table.is_taken.size() < column + colspan[0]:
            table.is_taken.push_back(False)
            table.rows_left.push_back(0)
        for index in range(column, column + colspan[0]):
            table.rows_left[index] = rowspan[0] - 1
        table.column = column + colspan[0]
        return column + 1
