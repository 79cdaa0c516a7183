# The types by which rows.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as BlockType

cdef str ENDS
cdef frozenset LAYOUT_TAGS


cdef class Group:
    cdef readonly tuple features
    cdef readonly Group above
    cdef dict weights
    cdef double total


@cython.locals(row=list, group=Group, total=double, totals=list)
cpdef list weigh(list rows, dict weights, double intercept)

@cython.locals(above=Group, total=double)
cdef double _weigh_group(Group group, dict weights) except? -1e300

@cython.locals(
    parents=list, tags=list, positions=list, found=list, blocks=list, index=Py_ssize_t,
    last=Py_ssize_t, above=Py_ssize_t, position=Py_ssize_t, place=str, block=BlockType, around=list
)
cpdef list places(page)

@cython.locals(text=str, chars=Py_ssize_t, length=int, links=int, share=double, end=Py_UCS4)
cpdef int shape(BlockType block) except -1


cdef class Place:
    cdef readonly str step, slot, tags
    cdef readonly Place above
    cdef readonly Group passed
    cdef Group own, recurring
    cdef list shapes
    cdef dict below, places, bodies, after, before

    @cython.locals(at=Place)
    cpdef complete(self)


cdef class SlotFeatures:
    cdef object table
    cdef frozenset noise_texts
    cdef dict _paths, _tops, _texts
    cdef Py_ssize_t _chars
    cdef readonly Py_ssize_t size

    cdef _forget(self)
    @cython.locals(at=Place, below=Place, steps=list, raw=str)
    cdef Place _at(self, str path)
    cdef Place _below(self, Place above, str raw)
    cdef Group _make(self, dict groups, str value, str slot, str family, bint alone)
    cdef Group _make_shape(self, Place at, int code)
    cdef bint _recurs(self, str text) except -1
    @cython.locals(
        blocks=list, slots=list, rows=list, around=list, row=list, index=Py_ssize_t,
        last=Py_ssize_t, at=Place, then=Place, code=int, has_noise=bint, text=str,
        block=BlockType, path=str, by_shape=Group, by_place=Group, by_body=Group,
        by_previous=Group, by_following=Group
    )
    cpdef list rows(self, page)
