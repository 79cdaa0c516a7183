# The types by which markdown.py is compiled.

cimport cython

from contentspider.page.write.lines cimport Cell as CCell
from contentspider.page.write.lines cimport Marked as CMarked
from contentspider.page.write.lines cimport Part as CPart

@cython.locals(part=CPart, last=CPart, before=CPart)
cpdef str write_markdown(list page_parts)
cdef str _before(str piece, str before)
cdef str _blank_line(CPart part, CPart last)
cdef bint _continues(CPart part, CPart last) except -1
cdef bint _is_next_list(CPart part, CPart before) except -1
cdef bint _is_numbered(CPart part) except -1
cdef str _first_sign(CPart part)
cdef str _marker(CPart part, str sign)
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
cdef str _escape(str text)
cdef str _escape_around_formulas(str text)
cdef str _formula(str source, str delimiter)
cdef str _escape_plain(str text)
cdef str _code(str text)
cdef str _target(str address)
cdef str _image(image)
