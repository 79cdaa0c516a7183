# The types by which structure.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as CBlock
from contentspider.page.write.lines cimport Cell as CCell
from contentspider.page.write.lines cimport Part as CPart
from contentspider.page.write.lines cimport Row as CRow
from contentspider.page.tree.resolver cimport Resolver as CResolver

cdef class Outline:
    cdef readonly CResolver resolver
    cdef readonly dict labels
    cdef readonly Py_ssize_t outside
    cdef readonly list parts
    cdef dict entries
    cdef set terms, begun, ended
    cdef list frames

    @cython.locals(block=CBlock)
    cdef add_all(self, list blocks, list levels, Py_ssize_t table_level)
    cdef _note_entry(self, CBlock block)
    @cython.locals(part=CPart, block=CBlock, row=CRow, cell=CCell)
    cdef add_table(self, list blocks, Py_ssize_t level)
    @cython.locals(block=CBlock, outline=Outline)
    cdef list _cell_parts(self, list blocks, Py_ssize_t outside, Py_ssize_t level)
    cdef add(self, CBlock block, Py_ssize_t level)
    cdef bint _is_term(self, CBlock block, list frames) except -1
    cdef bint _is_title(self, CBlock block, list frames) except -1
    cdef tuple _frames(self, CBlock block, Py_ssize_t end)
    cdef list _entry_before(self, list frames)
    cdef bint _is_note(self, CBlock block, number) except -1
    cdef bint _is_written(self, str kind, number, list frames) except -1
    cdef list _without_lists(self, list frames)
    @cython.locals(shared=Py_ssize_t, most=Py_ssize_t)
    cdef _append(self, CPart part, list frames)

cdef _leave_list(list frames)
cdef bint _has(list frames, str kind) except -1
@cython.locals(block=CBlock)
cpdef list parts(blocks, CResolver resolver)
@cython.locals(block=CBlock)
cpdef dict note_labels(blocks)
