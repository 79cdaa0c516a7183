# The types by which markdown.py is compiled.

cimport cython

from contentspider.page.block._block cimport Block as CBlock
from contentspider.page.write.structure cimport Marked as CMarked
from contentspider.page.write.structure cimport Part as CPart


@cython.locals(
    lines=list, depth=Py_ssize_t, quotes=Py_ssize_t, part=CPart, prefix=str, line=str
)
cpdef str write_markdown(list found)

@cython.locals(
    block=CBlock, indent=str, fence=str, found=list, line=str, before=str, after=str
)
cdef list _lines(CPart part)

@cython.locals(lines=list, width=Py_ssize_t, row=list, cells=list)
cdef list _table(list rows)

@cython.locals(line=str)
cdef str _cell(CPart part)

cdef str _pictures(list images)

@cython.locals(line=str)
cdef str _line(CPart part)

cdef str _inside(list children, bint in_link)

@cython.locals(found=list, piece=str, last=str, marked=CMarked, is_link=bint)
cdef str _inline(list children, bint in_link)

@cython.locals(mark=str)
cdef str _escape(str text)

@cython.locals(fence=str, space=str)
cdef str _code(str text)

cdef str _target(str address)

cdef str _image(image)
