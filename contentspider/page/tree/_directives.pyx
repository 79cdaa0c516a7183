# cython: language_level=3, wraparound=False
# distutils: language = c++
"""Text that a site's owner excludes from indexing: ranges between comments, and classes.

A range begins with ``<!--googleoff: index-->`` (or ``all``) and ends with
``<!--googleon: index-->``, or begins with ``<!--noindex-->`` and ends with ``<!--/noindex-->``. It
may begin and end in different elements. A range without an end is ignored, since it would exclude
the rest of the page.
"""

cimport cython
from libc.string cimport strlen, strstr
from lxml.includes.tree cimport XML_COMMENT_NODE, XML_ELEMENT_NODE, XML_TEXT_NODE, xmlNode

import re

# Longer comments are not read: they may hold a whole part of a page.
cdef size_t MAX_COMMENT_BYTES = 100
cdef object COMMENT = re.compile(
    rb"\s*(?:google(?P<google>on|off)\s*:.*\b(?:index|all)\b.*|(?P<yandex>/?)noindex\s*)\Z",
    re.IGNORECASE | re.DOTALL,
)
cdef frozenset CLASSES = frozenset([b"robots-noindex", b"robots-nocontent"])
cdef enum:
    GOOGLE = 1, YANDEX = 2


@cython.final
cdef class Directives:
    """Follows the directives of a page in the order of the walk, if they *are_obeyed*. *open* is
    the kind of the open range, 0 outside of ranges. *has_left_out* is true once text was excluded.
    """

    cdef int read(self, xmlNode* comment) except -1:
        """Begin or end a range if the *comment* is a directive."""
        cdef int kind = kind_of(comment)
        if kind == 0:
            return 0
        if self.open:
            if kind == -self.open:
                self.open = 0
        elif kind > 0 and not self.endless & kind:
            if self.has_end(comment, kind):
                self.open = kind
            else:
                self.endless |= kind
        return 0

    cdef int pass_by(self, xmlNode* top) except -1:
        """End the open range if its end is within an element that the walk skips."""
        cdef xmlNode* node = top.children
        while self.open and node is not NULL:
            if node.type == XML_COMMENT_NODE and kind_of(node) == -self.open:
                self.open = 0
            node = next_node(node, top)
        return 0

    cdef int note(self, xmlNode* top) except -1:
        """Remember that text was excluded, if the element has any."""
        cdef xmlNode* node = top.children
        while not self.has_left_out and node is not NULL:
            self.has_left_out = has_text(node)
            node = next_node(node, top)
        return 0

    cdef bint has_end(self, xmlNode* comment, int kind) except -1:
        """Tell whether a range that begins at a *comment* has an end, and remember the text in
        it.
        """
        cdef bint is_text = False
        cdef xmlNode* node = next_node(comment, NULL)
        while node is not NULL:
            if node.type == XML_COMMENT_NODE and kind_of(node) == -kind:
                self.has_left_out = self.has_left_out or is_text
                return True
            is_text = is_text or has_text(node)
            node = next_node(node, NULL)
        return False


cdef xmlNode* next_node(xmlNode* node, xmlNode* top) noexcept:
    """Return the next node in document order, NULL at the end of *top*."""
    if node.type == XML_ELEMENT_NODE and node.children is not NULL:
        return node.children
    while node is not NULL and node != top and node.next is NULL:
        node = node.parent
        if node is not NULL and node.type != XML_ELEMENT_NODE:  # the document
            return NULL
    if node is NULL or node == top:
        return NULL
    return node.next


cdef bint has_text(xmlNode* node) noexcept:
    cdef const char* at
    if node.type != XML_TEXT_NODE or node.content is NULL:
        return False
    at = <const char*>node.content
    while 0 < at[0] <= c" ":
        at += 1
    return at[0] != 0


cdef int kind_of(xmlNode* comment) except -3:
    """Return the kind of range that a *comment* begins, the negative kind if it ends one, else
    0.
    """
    cdef const char* text = <const char*>comment.content
    if text is NULL:
        return 0
    while 0 < text[0] <= c" ":
        text += 1
    if text[0] not in (c"g", c"G", c"n", c"N", c"/") or strlen(text) > MAX_COMMENT_BYTES:
        return 0
    match = COMMENT.match(<bytes>text)
    if match is None:
        return 0
    google = match["google"]
    if google is not None:
        return GOOGLE if google.lower() == b"off" else -GOOGLE
    return -YANDEX if match["yandex"] else YANDEX


cdef bint is_excluding(const char* names) except -1:
    """Tell whether one of an element's classes excludes it."""
    return strstr(names, "robots-no") is not NULL and not CLASSES.isdisjoint((<bytes>names).split())
