# cython: language_level=3
"""What a server sends behind the page for a script to move into it.

React streams what takes long as ``<div hidden id="S:1">`` at the body's end, where the page has
``<template id="B:1">`` (or ``P:1``); a script puts the one in the other's place. And a template
with ``shadowrootmode`` is what its element shows.
"""

from libc.string cimport strcmp, strrchr, strlen
from lxml.includes.tree cimport XML_ELEMENT_NODE, xmlAttr, xmlNode


cdef class Segments:
    """The segments among the children of *body*, and which of them were put in their places."""

    def __cinit__(self):
        self.nodes, self.placed = {}, set()

    cdef xmlNode* of_template(
        self, xmlNode* template, const char* id_, const char* shadow
    ) except? NULL:
        """Return the element whose children are shown in place of *template*; NULL: none are."""
        cdef bytes number
        cdef size_t found
        if shadow is not NULL:
            return template
        number = number_in(id_, b"BP")
        if number is None:
            return NULL
        if not self.is_read:
            self.read()
        found = self.nodes.get(number, 0)
        if found == 0 or number in self.placed:
            return NULL
        self.placed.add(number)
        return <xmlNode*>found

    cdef bint is_segment(self, xmlNode* node, const char* id_, bint* has_moved) except -1:
        """Tell whether a hidden *node* is a segment; and whether a template had a place for it."""
        cdef bytes number = number_in(id_, b"S") if node.parent == self.body else None
        if number is None:
            return False
        has_moved[0] = number in self.placed
        return True

    cdef read(self):
        cdef xmlNode* node = self.body.children
        cdef xmlAttr* attribute
        self.is_read = True
        while node is not NULL:
            if node.type == XML_ELEMENT_NODE:
                attribute = node.properties
                while attribute is not NULL:
                    if (
                        strcmp(<const char*>attribute.name, "id") == 0
                        and attribute.children is not NULL
                        and attribute.children.content is not NULL
                    ):
                        number = number_in(<const char*>attribute.children.content, b"S")
                        if number is not None:
                            self.nodes.setdefault(number, <size_t>node)
                    attribute = attribute.next
            node = node.next


cdef bytes number_in(const char* id_, bytes letters):
    """Return what follows the last colon of an id if one of *letters* stands before it and a
    hexadecimal number behind, else None.
    """
    cdef const char* colon
    cdef Py_ssize_t index
    if id_ is NULL:
        return None
    colon = strrchr(id_, c":")
    if colon is NULL or colon == id_ or colon[-1:][0] not in letters:
        return None
    number = <bytes>(colon + 1)
    for char in number:
        if char not in b"0123456789abcdef":
            return None
    return number if 0 < len(number) <= 8 else None
