# The types by which places.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as CBlock

cdef int _level(list tags, str last_step) except -1
@cython.locals(block=CBlock)
cpdef list heading_levels(blocks)
cpdef tuple innermost_box(CBlock block)
