# The types by which scorer.py is compiled.

cimport cython

cpdef list places(page)

@cython.locals(text=str, chars=Py_ssize_t, length=int, links=int, share=double)
cpdef int shape(block) except -1

@cython.locals(sure=double, total=double, weight=double, index=Py_ssize_t)
cpdef double confidence(list blocks, list margins, list known) except? -1


cdef class Slot:
    cdef str slot
    cdef bint known, is_summed
    cdef double common, recurring
    cdef list shapes
    cdef readonly dict shaped, linked, place, body, after, before


cdef class Step:
    cdef str slot, step, tags
    cdef Step above
    cdef double under, has
    cdef dict below
    cdef Slot weights


cdef class BlockScorer:
    cdef object table
    cdef dict weights
    cdef double intercept
    cdef frozenset noise_texts
    cdef dict _slots, _after, _before, _texts, _paths, _tops
    cdef Py_ssize_t _chars

    cdef _forget(self)
    cdef Slot _named(self, str slot)
    @cython.locals(at=Step, below=Step, steps=list, raw=str)
    cdef Slot _at(self, str path)
    @cython.locals(below=Step, at=Step)
    cdef Step _below(self, Step above, str raw)
    @cython.locals(slot=Slot)
    cdef Slot _sum(self, Step at, str end)
    @cython.locals(found=double)
    cdef double _shape_sum(self, Slot slot, int code) except? -1
    cdef bint _recurs(self, str text) except -1
    @cython.locals(
        blocks=list, slots=list, margins=list, known=list, around=list, index=Py_ssize_t, last=Py_ssize_t, slot=Slot, following=Slot, margin=double,
        code=int, has_noise=bint
    )
    cpdef tuple score(self, page)
