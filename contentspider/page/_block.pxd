# cython: language_level=3
"""A run of text of a page."""

cdef class Block:
    cdef readonly str text, path, tag
    cdef readonly Py_ssize_t container, link_chars, links, bold_chars, row, item, cell
    cdef readonly tuple spans, images

    cdef tuple fields(self)
