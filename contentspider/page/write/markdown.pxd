# The types by which markdown.py is compiled.

cimport cython

from contentspider.page.write.lines cimport Cell as CCell
from contentspider.page.write.lines cimport Marked as CMarked
from contentspider.page.write.lines cimport Part as CPart

cdef class _Writer:
    cdef readonly list lines
    cdef list indents, signs
    cdef CPart last

    cpdef add(self, CPart part)
    @cython.locals(number=Py_ssize_t, before=Py_ssize_t)
    cdef tuple sign(self, CPart part)
    cdef str open(self, CPart part, str sign)
    cdef str open_frame(self, CPart part, Py_ssize_t number, str prefix)
    cdef str open_details(self, CPart part, str prefix)
    cdef str open_box(self, CPart part, frame, str prefix, bint is_text)
    cpdef close(self, Py_ssize_t shared)

@cython.locals(part=CPart, writer=_Writer)
cpdef str write_markdown(list page_parts)
cdef str _before(str piece, str before)
cdef Py_ssize_t _entry_at(list frames, Py_ssize_t shared) except -1
cdef bint _is_numbered(list frames, Py_ssize_t number) except -1
cdef str _first_sign(bint is_numbered)
cdef bint _has_lines(list frames) except -1
cdef bint _is_text(CPart part) except -1
@cython.locals(shared=Py_ssize_t)
cdef bint _continues(CPart part, CPart last) except -1
@cython.locals(shared=Py_ssize_t)
cdef bint _list_continues(CPart part, CPart last) except -1
cdef str _marker(list frames, Py_ssize_t number, str sign)
cdef list _lines_of_text(CPart part)
cdef bint _begins_entry(CPart part) except -1
cdef list _lines(CPart part)
cdef list _table(list rows)
@cython.locals(part=CPart)
cdef str _cell(CCell cell)
cdef str _part_of_cell(CPart part)
cdef str _pictures(list images)
cdef str _line(CPart part)
cdef str _inline(list children, CPart part)
cdef str _marked(CMarked marked, CPart part, str before, list following)
cdef str _styled(str text, str mark, str before, list following)
cdef str _first_character(list following)
cdef bint _is_flanked(str before, str text, str after) except -1
cdef bint _is_punctuation(str character) except -1
cdef str _escape(str text, bint is_whole=*)
cdef str _escape_around_formulas(str text)
cdef str _formula(str source, str delimiter)
cdef str _escape_plain(str text, bint is_whole=*)
cdef str _escape_signs(str text, bint is_whole)
cdef frozenset _plain_brackets(str text, bint is_whole)
cdef str _code(str text)
cdef str _target(str address)
cdef str _image(image)
