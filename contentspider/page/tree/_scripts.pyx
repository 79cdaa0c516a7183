# cython: language_level=3, wraparound=False
"""Text that scripts would move to its place, and text for readers without scripts (``noscript``).

React streams slow parts of a page as segments, ``<div hidden id="S:1">`` at the end of the body. A
script puts each in place of ``<template id="B:1">`` (or ``P:1``). The content of a template with
``shadowrootmode`` is displayed in the element around it.
"""

from libc.string cimport strcmp, strrchr
from lxml.includes.tree cimport XML_ELEMENT_NODE, XML_TEXT_NODE, xmlAttr, xmlNode

from contentspider.page.tree._block cimport Block

# A shorter ``noscript`` only asks for JavaScript, or replaces a picture or a tracker.
cdef Py_ssize_t MIN_NOSCRIPT_BYTES = 100, MAX_NOTICE_BYTES = 1_000
# A page with less text hardly shows anything. Prose is text of at least this many unlinked
# characters.
cdef Py_ssize_t SMALL_CHARS = 250, PROSE_CHARS = 80


cdef class Segments:
    """The segments of a page: hidden children of *body* that scripts would move.

    *nodes* has the segments by their numbers. *placed* has the numbers of the segments that were
    read in place of their template.
    """

    def __cinit__(self):
        self.nodes, self.placed = {}, set()

    cdef xmlNode* of_template(
        self, xmlNode* template, const char* id_, const char* shadow
    ) except? NULL:
        """Return the element whose children replace a *template*, NULL if there is no such
        element.
        """
        cdef bytes number
        cdef size_t segment
        if shadow is not NULL:
            return template
        number = number_in(id_, b"BP")
        if number is None:
            return NULL
        if not self.is_read:
            self.read()
        segment = self.nodes.get(number, 0)
        if segment == 0 or number in self.placed:
            return NULL
        self.placed.add(number)
        return <xmlNode*>segment

    cdef bint is_segment(self, xmlNode* node, const char* id_, bint* has_moved) except -1:
        """Tell whether a hidden *node* is a segment. Set *has_moved* if it was read in place of
        its template.
        """
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
    """Return the hexadecimal number in an id such as ``S:1f``; None for other ids.

    One of *letters* must stand before the colon.
    """
    cdef const char* colon
    cdef Py_ssize_t index
    if id_ is NULL:
        return None
    colon = strrchr(id_, c":")
    if colon is NULL or colon == id_ or (colon - 1)[0] not in letters:
        return None
    number = <bytes>(colon + 1)
    for char in number:
        if char not in b"0123456789abcdef":
            return None
    return number if 0 < len(number) <= 8 else None


cdef bint is_seen_without_scripts(xmlNode* noscript) noexcept:
    """Tell whether a ``noscript`` holds text of the page, and does not just ask for JavaScript."""
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
    """Drop the blocks of each ``noscript`` that mostly repeats the page.

    No block is dropped if the page has hardly any other text. *noscripts* has two indexes for each
    ``noscript``: of its first block, and of the block after its last.
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
        # This noscript is inside the previous one, which was dropped or kept as a whole.
        if behind > lowest:
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
