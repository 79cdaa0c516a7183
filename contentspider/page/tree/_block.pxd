# cython: language_level=3
"""The block, see `_block.pyx`."""

cdef struct Span:
    int start, end
    int at, length  # the range of its mark in the marks of the page


cdef class Block:
    cdef readonly str text, path, tag
    cdef readonly Py_ssize_t container, link_chars, links, bold_chars, row, item, cell
    cdef readonly str language, anchor, note
    cdef readonly Py_ssize_t number, colspan, rowspan, table
    cdef readonly str numbering
    cdef readonly bint begins_list
    cdef readonly tuple images, films, outer, within
    cdef tuple known_spans  # None: they are still packed
    cdef bytes packed_spans
    cdef bytearray marks

    cdef tuple fields(self)
    cdef int count_marks(self, double* marks, double* chars) except -1
