# The types by which counts.py is compiled.

cimport cython

from contentspider.page.block._block cimport Block as BlockType

cdef double UNSEEN_TRUST

@cython.locals(index=Py_ssize_t, block=BlockType, text=str, chars=Py_ssize_t)
cpdef Py_ssize_t kept_chars(page, list probabilities) except? -1

@cython.locals(
    index=Py_ssize_t, block=BlockType, text=str, path=str, sure=double, whole=double,
    weight=double, probability=double, right=double, known=bint
)
cpdef double sureness(page, list probabilities, seen=*) except? -1

@cython.locals(
    block=BlockType, text=str, path=str, prose=Py_ssize_t, chars=Py_ssize_t, unseen=Py_ssize_t,
    known=bint
)
cpdef tuple count_prose(page, seen)
