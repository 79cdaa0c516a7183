# The types by which resolver.py is compiled.

cdef class Resolver:
    cdef str _base
    cdef bint _is_absolute
    cdef dict _joined

    cpdef str resolve(self, str address)
    cdef str _join(self, str address)
