# cython: language_level=3
"""The run of text that a walk is reading, see `_text.pyx`."""

from lxml.includes.tree cimport xmlNode
from libcpp.vector cimport vector

from contentspider.page.tree._block cimport Block
from contentspider.page.tree._elements cimport Elements

cdef struct Part:  # a text node, or several adjacent ones
    Py_ssize_t length  # its number of characters if cleaned alone
    bint empty, blank, starts_with_space, ends_with_space, pending_space
    bint is_joined  # no space before it, although white space is there

cdef struct Mark:
    Py_ssize_t mark  # the number of its text in `Elements.mark_texts`
    Py_ssize_t part  # the number of parts of the run before it
    Py_ssize_t start, end

cdef class Run:
    cdef bint preformatted, is_muted
    cdef bint is_raised, is_lowered  # digits are written as raised or lowered ones
    cdef Py_ssize_t parts, end, breaks
    cdef vector[Mark] marks

    cdef vector[char] text
    cdef Py_ssize_t used  # bytes of the text
    cdef bint pending_space, part_ended_with_space
    cdef bint space_has_newline, space_is_break  # the pending space
    cdef vector[Mark] open_marks

    cdef int add_texts(self, xmlNode* node) except -1
    cdef int add(self, const char* text) except -1
    cdef int end_line(self) except -1
    cdef int add_break(self, Elements elements) except -1
    cdef int keep_space(self) except -1
    cdef int break_line(self, Elements elements) except -1
    cdef Py_UCS4 last_char(self) except? 0
    cdef str read(self)
    cdef int clear(self) except -1
    cdef bint open_mark(self, Py_ssize_t number) except -1
    cdef int close_mark(self) except -1
    cdef int close_marks(self, str text, Elements elements) except -1
    cdef bint has_code(self, Elements elements) noexcept
    cdef int give_spans(self, Block block, Elements elements) except -1
    cdef int end_part(self, Part* part) except -1
    cdef int extend(self, Part* part, const char* source) except -1
