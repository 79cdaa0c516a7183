# cython: language_level=3
"""The elements of a tree as the walk reads them."""

from libcpp.vector cimport vector
from lxml.includes.tree cimport const_xmlChar, xmlAttr, xmlDoc, xmlNode

cdef enum Kind:
    CONTAINER, SKIPPED, BREAK, INLINE, LINK, ROW, CELL, ITEM, PREFORMATTED, IMAGE, BASE
    NOSCRIPT, TEMPLATE, TABLE, BUTTON, SCRIPT, NUMBERED, QUOTE, FORMULA, FIELD, FILM, EMBED, NOINDEX

# The attributes that the walk looks at; the first four make an element's step in a path.
cdef enum:
    ID, CLASS, ROLE, ITEMPROP, HIDDEN, STYLE, HREF, SHADOW, ARIA_HIDDEN, COLSPAN, ROWSPAN, NAME
    CFEMAIL
    ATTRIBUTES
    IN_PATH = 4
    EXCLUSION = ATTRIBUTES  # one of those by which an owner leaves an element out

cdef struct MarkText:
    int at, length  # in `Elements.marks`
    bint is_bold, is_code
    bint is_link  # to another page, not to the file of a picture

cdef struct Tag:
    Kind kind
    bint is_custom  # the page's own: its name has a hyphen
    bint is_heading, is_code
    Py_ssize_t mark  # the number of what marks the text in it, 0: nothing does
    Py_ssize_t last  # its latest container, -1: none

cdef struct KnownName:
    const_xmlChar* name
    const_xmlChar* href
    Py_ssize_t tag

cdef class Elements:
    cdef bint has_defaults
    cdef vector[Tag] tags
    cdef list names
    cdef dict numbers
    cdef KnownName known[256]  # numbers of tags by the address of their names
    cdef const char* values[ATTRIBUTES]  # of the element at hand, NULL: it has none
    cdef bint is_excluded  # the element at hand, by such an attribute
    cdef list kept  # what *values* point to, where that is not the tree
    cdef bytearray marks  # the texts of all marks of the page
    cdef vector[MarkText] mark_texts
    cdef Py_ssize_t line_break  # the number of the mark of line breaks

    cdef read_document(self, xmlDoc* document)
    cdef Py_ssize_t tag_of(self, xmlNode* node) except -1
    cdef Py_ssize_t tag_number(self, str name) except -1
    cdef Py_ssize_t add_mark(self, const char* text, Py_ssize_t length) except -1
    cdef Py_ssize_t mark_number(self, str mark) except -1
    cdef Py_ssize_t link_number(self) except -1
    cdef str email(self)
    cdef str email_address(self, const char* href)
    cdef int read_attributes(self, xmlNode* node) except -1
    cdef const char* value(self, xmlNode* node, xmlAttr* attribute) except NULL
    cdef bint excludes(self, xmlNode* node, xmlAttr* attribute) except -1
    cdef const char* keep(self, str value) except NULL
    cdef bint is_hidden(self) except -1
    cdef bint is_block(self) except -1
    cdef str address(self)

cdef str attribute_of(xmlNode* node, const char* name)
cdef xmlNode* first_child(xmlNode* node, const char* name) noexcept
cdef bint is_called(xmlNode* node, const char* name) noexcept
