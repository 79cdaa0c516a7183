# The types by which markup.py is compiled.

cimport cython

from contentspider.page.write.structure cimport Marked as CMarked
from contentspider.page.write.structure cimport Part as CPart

@cython.locals(part=CPart)
cpdef str write_html(list found)
cdef _close(list lists, Py_ssize_t depth, list lines)
cdef _add(CPart part, list lines)
@cython.locals(part=CPart)
cdef str _cell(list members)
cdef bint _is_header(str path) except -1
cdef str _line(CPart part)
cdef str _escape(str text)
cdef str _quoted(str address)
@cython.locals(marked=CMarked)
cdef str _inline(list children, bint in_link=*)
cdef str _inside(list children)
cdef str _pictures(list images)
cdef str _image(image, bint in_link=*)
