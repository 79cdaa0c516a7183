# The types by which rows.py is compiled.

cimport cython

from contentspider.page.tree._block cimport Block as BlockType

cdef str SENTENCE_ENDS
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
    parents=list, tags=list, positions=list, by_element=list, blocks=list, index=Py_ssize_t,
    last=Py_ssize_t, parent=Py_ssize_t, container=Py_ssize_t, position=Py_ssize_t, digits=str,
    block=BlockType, by_block=list
)
cpdef list layout_positions(page)

@cython.locals(text=str, chars=Py_ssize_t, length=int, links=int, share=double, end=Py_UCS4)
cpdef int shape(BlockType block) except -1


cdef class SlotNode:
    cdef readonly str step, slot, tags
    cdef readonly SlotNode above
    cdef readonly Group inherited
    cdef Group own, recurring
    cdef list shapes
    cdef dict below, positions, bodies, after, before

    @cython.locals(node=SlotNode)
    cpdef complete(self)


cdef class SlotFeatures:
    cdef object table
    cdef frozenset noise_texts
    cdef dict _paths, _roots, _texts
    cdef Py_ssize_t _chars
    cdef readonly Py_ssize_t size

    cdef _clear_nodes(self)
    @cython.locals(node=SlotNode, child=SlotNode, steps=list, raw_step=str)
    cdef SlotNode _node_of(self, str path)
    cdef SlotNode _child(self, SlotNode parent, str raw_step)
    cdef Group _make_group(
        self, dict groups, str value, str slot, str family, bint with_plain
    )
    cdef Group _make_shape(self, SlotNode node, int code)
    cdef bint _is_noise(self, str text) except -1
    @cython.locals(
        blocks=list, nodes=list, rows=list, positions=list, row=list, index=Py_ssize_t,
        last=Py_ssize_t, node=SlotNode, next_node=SlotNode, has_noise=bint, text=str,
        body=str, previous=str, following=str, block=BlockType
    )
    cpdef list rows(self, page)
    @cython.locals(nodes=list, node=SlotNode, block=BlockType)
    cdef list _nodes(self, list blocks)
    @cython.locals(by_shape=Group, by_position=Group, by_body=Group, by_previous=Group, by_following=Group)
    cdef list _row(
        self, SlotNode node, int code, str position, str body, str previous, str following
    )
