# cython: language_level=3
"""Selector paths, kept across pages."""

cdef enum:
    STEP_ATTRIBUTES = 4  # id, class, role, itemprop
    MAX_STEP_CHARS = 200  # as in `blocks`

cdef class Step:
    cdef readonly str key, path
    cdef Py_ssize_t chars, slashes
    cdef bint full
    cdef dict steps
    cdef object latest_name  # of the step below that was asked for last, None: none was
    cdef Step latest

cdef class Paths:
    cdef object element_key
    cdef Py_ssize_t max_chars, max_depth
    cdef dict keys
    cdef Step top
    cdef Py_ssize_t cached

    cdef forget(self)
    cdef Step below(self, Step above, str tag, const char** values)
    cdef Step new_step(self, Step above, str key)
    cdef str path(self, Step step, str above)
