# The types by which markdown.py is compiled.

cimport cython

from contentspider.page.write.structure cimport Marked as CMarked
from contentspider.page.write.structure cimport Part as CPart

@cython.locals(part=CPart)
cpdef str write_markdown(list found)
cdef list _lines(CPart part)
cdef list _table(list rows)
cdef str _cell(CPart part)
cdef str _pictures(list images)
cdef str _line(CPart part)
cdef str _inside(list children, bint in_link)
@cython.locals(marked=CMarked)
cdef str _inline(list children, bint in_link)
cdef str _escape(str text)
cdef str _code(str text)
cdef str _target(str address)
cdef str _image(image)
