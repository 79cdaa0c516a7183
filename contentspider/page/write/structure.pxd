# The types by which structure.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as CBlock
from contentspider.page.write.lines cimport Cell as CCell
from contentspider.page.write.lines cimport Part as CPart
from contentspider.page.write.lines cimport Row as CRow
from contentspider.page.write.places cimport Place as CPlace
from contentspider.page.tree.resolver cimport Resolver as CResolver

cdef class Outline:
    cdef readonly CResolver resolver
    cdef readonly dict labels
    cdef readonly str table
    cdef readonly list parts
    cdef set begun_entries, begun_notes
    cdef list lists
    cdef Py_ssize_t quotes

    cdef add_all(self, list blocks, list levels, Py_ssize_t table_level)
    @cython.locals(part=CPart, table=str, row=CRow, cell=CCell)
    cdef add_table(self, list blocks, Py_ssize_t level)
    @cython.locals(block=CBlock, outline=Outline)
    cdef list _cell_parts(self, list blocks, str table, Py_ssize_t level)
    cdef CPlace _place(self, str path)
    @cython.locals(part=CPart, place=CPlace)
    cdef add(self, CBlock block, Py_ssize_t level)
    @cython.locals(last=CPart)
    cdef _define(self, CPart part, CPlace place)
    cdef _annotate(self, CPart part)
    cdef _enlist(self, CPart part, CPlace place)

@cython.locals(block=CBlock)
cpdef list parts(blocks, CResolver resolver)
cdef str _definition(CBlock block, CPlace place, str last_definition)
@cython.locals(block=CBlock)
cpdef dict note_labels(blocks)
