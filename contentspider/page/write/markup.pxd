# The types by which markup.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as CBlock
from contentspider.page.write.lines cimport Cell as CCell
from contentspider.page.write.lines cimport Marked as CMarked
from contentspider.page.write.lines cimport Part as CPart
from contentspider.page.write.lines cimport Row as CRow

@cython.locals(part=CPart)
cpdef str write_html(list page_parts)
cdef str _closing(list frames, Py_ssize_t shared)
cdef str _opening(CPart part)
cdef str _numbering(CBlock block, Py_ssize_t first)
cdef str _tag(frame)
cdef _add(CPart part, list lines)
@cython.locals(row=CRow, cell=CCell)
cdef list _table(list rows)
@cython.locals(part=CPart)
cdef str _cell(CCell cell)
cdef bint _is_plain(CPart part) except -1
cdef str _preformatted(CBlock block)
cpdef str html_line(CPart part)
cdef str _escape(str text)
cdef str _quoted(str address)
cdef str _inline(list children)
cdef str _marked(CMarked marked)
cdef str _pictures(list images)
cdef str _image(image)
