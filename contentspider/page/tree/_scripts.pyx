# cython: language_level=3, wraparound=False
"""What pages show with scripts, and without: segments that a script would move to their place, and
texts in ``noscript``.

React streams what takes long as ``<div hidden id="S:1">`` at the body's end, where the page has
``<template id="B:1">`` (or ``P:1``); a script puts the one in the other's place. And a template
with ``shadowrootmode`` is what its element shows.
"""

from libc.string cimport strcmp, strrchr
from lxml.includes.tree cimport XML_ELEMENT_NODE, XML_TEXT_NODE, xmlAttr, xmlNode

from contentspider.page.tree._block cimport Block

# What asks for JavaScript, and pictures' and trackers' stand-ins, are short.
cdef Py_ssize_t MIN_NOSCRIPT_BYTES = 100, MAX_NOTICE_BYTES = 1_000
# Less text than this is hardly a page's; prose is an unlinked text of some length.
cdef Py_ssize_t SMALL_CHARS = 250, PROSE_CHARS = 80


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
    """Return the hexadecimal number behind an id's last colon and one of *letters*, else None."""
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


cdef bint is_seen_without_scripts(xmlNode* noscript) noexcept:
    """Tell whether a ``noscript`` holds a text, rather than asks for JavaScript."""
    cdef Py_ssize_t size = 0
    cdef bint names_javascript = False
    cdef xmlNode* node = noscript.children
    cdef const char* at
    while node is not NULL:
        if node.type == XML_TEXT_NODE and node.content is not NULL:
            at = <const char*>node.content
            while at[0]:
                if at[0] > c" " or at[0] < 0:
                    size += 1
                    if (at[0] == c"j" or at[0] == c"J") and begins_javascript(at):
                        names_javascript = True
                at += 1
            if size > MAX_NOTICE_BYTES:
                return True
        if node.type == XML_ELEMENT_NODE and node.children is not NULL and not is_code(node):
            node = node.children
            continue
        while node is not NULL and node.next is NULL:
            node = node.parent if node.parent != noscript else NULL
        if node is not NULL:
            node = node.next
    return size >= MIN_NOSCRIPT_BYTES and not names_javascript


cdef bint is_code(xmlNode* node) noexcept:
    cdef const char* name = <const char*>node.name
    return strcmp(name, "style") == 0 or strcmp(name, "script") == 0


cdef bint begins_javascript(const char* text) noexcept:
    cdef const char* word = "javascript"
    while word[0] and text[0] | 32 == word[0]:
        word += 1
        text += 1
    return word[0] == 0


cdef int drop_stand_ins(list blocks, list noscripts) except -1:
    """Drop the blocks of *noscripts* (the first of each, and the one behind its last) that say
    little else than the page does, if that has a text beside.
    """
    cdef Block block
    cdef Py_ssize_t index, first, behind, chars = 0, prose, stand_in
    cdef Py_ssize_t lowest = len(blocks)
    cdef set outside = set(), inside = set()
    for first, behind in noscripts:
        inside.update(range(first, behind))
    for index in range(len(blocks)):
        if index not in inside:
            block = blocks[index]
            outside.add(block.text)
            chars += len(block.text)
    if chars < SMALL_CHARS:
        return 0
    for first, behind in reversed(noscripts):
        if behind > lowest:  # within the one before
            continue
        lowest = first
        prose = stand_in = 0
        for block in blocks[first:behind]:
            if block.text in outside:
                stand_in += len(block.text)
            elif len(block.text) - block.link_chars >= PROSE_CHARS:
                prose += len(block.text)
        if prose < SMALL_CHARS or stand_in > prose:
            del blocks[first:behind]
    return 0
