# The types by which structure.py is compiled.

cimport cython

from contentspider.page.block._block cimport Block as CBlock


cdef class Place:
    cdef readonly Py_ssize_t quotes, lists
    cdef readonly bint ordered
    cdef readonly str table


cdef class Places:
    cdef dict _known

    @cython.locals(place=Place)
    cdef Place of(self, str path)


@cython.locals(rooted=str, steps=list, tags=list, inside=list, lists=list, above=list, table=str)
cdef Place place_of(str path)


cdef class Resolver:
    cdef str _base
    cdef bint _is_absolute
    cdef dict _joined

    @cython.locals(whole=str)
    cpdef str resolve(self, str address)
    @cython.locals(whole=str)
    cdef str _join(self, str address)


cdef class Marked:
    cdef readonly str mark, target
    cdef readonly Py_ssize_t end
    cdef readonly list children

    @cython.locals(found=list)
    cpdef str text(self)


cdef class Part:
    cdef readonly CBlock block
    cdef readonly Py_ssize_t quotes, depth
    cdef readonly bint ordered, begins
    cdef readonly list rows, line, before, after


@cython.locals(
    resolver=Resolver, places=Places, place=Place, found=list, lists=list, quotes=Py_ssize_t, run_end=Py_ssize_t,
    number=Py_ssize_t, count=Py_ssize_t, block=CBlock, part=Part, is_heading=bint
)
cpdef list parts(blocks, str base)

@cython.locals(block=CBlock, rows=list, row=Py_ssize_t, cell=Py_ssize_t, gap=Py_ssize_t)
cdef list _rows(list blocks, Resolver resolver)

@cython.locals(
    block=CBlock, last=CBlock, members=Py_ssize_t, chars=Py_ssize_t, width=bint
)
cdef bint _is_layout(list blocks) except -1

@cython.locals(
    text=str, top=Marked, ended=Marked, marked=Marked, at=Py_ssize_t, start=Py_ssize_t,
    end=Py_ssize_t, mark=str, target=str, children=list, stack=list
)
cdef list _line(CBlock block, Resolver resolver, list pictures)

cdef _add_text(Marked marked, str text)

@cython.locals(found=list, address=str)
cdef list _pictures(CBlock block, Resolver resolver)
