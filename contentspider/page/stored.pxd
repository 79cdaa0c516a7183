# The types by which stored.py is compiled.

cimport cython

from contentspider.page.block._block cimport Block as CBlock


@cython.locals(block=CBlock, number=Py_ssize_t)
cpdef dict to_record(content)

@cython.locals(paths=list, known=dict, path_of=list, above=str, path=str)
cdef tuple _shorten(content)

@cython.locals(paths=list, spans=dict, images=dict, number=Py_ssize_t)
cpdef from_record(dict record)
