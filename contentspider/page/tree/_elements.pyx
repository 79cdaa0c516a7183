# cython: language_level=3, wraparound=False
# distutils: language = c++
"""Reads the kind and a few attributes of each element for the walk."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE, PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcpy, strcmp, strcspn, strlen, strncmp
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport XML_ELEMENT_NODE, XML_TEXT_NODE, const_xmlChar
from lxml.includes.tree cimport xmlAttr, xmlDoc, xmlDtd, xmlNode

from contentspider.page.tree.tags import (
    BLOCK_STYLE, BOLD, CODE, HIDDEN_EMAILS, HIDDEN_STYLE, KINDS, LINE_BREAK, MARKS, shown_email,
)

etree.import_lxml__etree()

cdef const char** NAMES = [
    "id", "class", "role", "itemprop", "hidden", "style", "href", "shadowrootmode", "aria-hidden",
    "colspan", "rowspan", "name", "data-cfemail",
]
cdef const char** PICTURE_FILES = [
    ".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".avif", ".bmp", ".tif", ".tiff",
]
DEF PICTURES = 10
DEF MAX_ENDING = 5
cdef const char** EXCLUSIONS = ["data-swiftype-index", "data-nosnippet", "data-elastic-exclude"]

# The kinds by their numbers, in the order of `Kind`.
cdef list KINDS_BY_NUMBER = (
    "container skipped break inline link row cell item preformatted image base noscript template"
    " table button script numbered quote formula field film embed noindex"
).split()
cdef dict KIND_OF = {tag: KINDS_BY_NUMBER.index(kind) for tag, kind in KINDS.items()}

cdef bytes EMAILS = HIDDEN_EMAILS.encode()
# What a style does: it hides its element, or makes it a block.
cdef enum:
    NOTHING, HIDES, BLOCKS

cdef dict KNOWN_STYLES = {}
cdef Py_ssize_t MAX_STYLES = 10_000, MAX_STYLE_BYTES = 200


@cython.final
cdef class Elements:
    """The kinds of a tree's tags, and the attributes of the current element."""

    def __cinit__(self):
        self.names, self.numbers, self.kept = [], {}, []
        self.marks = bytearray()
        self.add_mark("", 0)
        self.line_break = self.mark_number(LINE_BREAK)

    cdef read_document(self, xmlDoc* document):
        """Remember whether the document's type declares attributes, which may have default
        values.
        """
        self.has_defaults = (
            declares_attributes(document.intSubset) or declares_attributes(document.extSubset)
        )

    cdef Py_ssize_t tag_of(self, xmlNode* node) except -1:
        cdef const_xmlChar* href = NULL
        cdef size_t slot = (<size_t>node.name ^ <size_t>node.name >> 8) & 255
        cdef KnownName* known = &self.known[slot]
        if node.ns is not NULL:
            href = node.ns.href
        if known.name != node.name or known.href != href:
            known.tag = self.tag_number(etree.namespacedName(node))
            known.name, known.href = node.name, href
        return known.tag

    cdef Py_ssize_t tag_number(self, str name) except -1:
        cdef Tag tag
        number = self.numbers.get(name)
        if number is None:
            number = len(self.names)
            tag.kind = KIND_OF.get(name, CONTAINER)
            tag.last = -1
            tag.is_custom = "-" in name
            tag.is_heading = len(name) == 2 and name[0] == u"h" and u"1" <= name[1] <= u"6"
            tag.is_code = name == "code"
            tag.mark = 0
            mark = MARKS.get(name)
            if mark is not None:
                tag.mark = self.mark_number(mark)
            self.tags.push_back(tag)
            self.names.append(name)
            self.numbers[name] = number
        return number

    cdef Py_ssize_t add_mark(self, const char* text, Py_ssize_t length) except -1:
        """Add a mark, and return its number."""
        cdef MarkText mark
        mark.at, mark.length = <int>PyByteArray_GET_SIZE(self.marks), <int>length
        mark.is_bold = mark.is_code = mark.is_link = False
        if length:
            PyByteArray_Resize(self.marks, mark.at + length)
            memcpy(PyByteArray_AS_STRING(self.marks) + mark.at, text, length)
        self.mark_texts.push_back(mark)
        return self.mark_texts.size() - 1

    cdef Py_ssize_t mark_number(self, str mark) except -1:
        """Add a mark other than a link, and return its number."""
        cdef bytes text = mark.encode()
        cdef Py_ssize_t number = self.add_mark(text, len(text))
        self.mark_texts.back().is_bold = mark == BOLD
        self.mark_texts.back().is_code = mark == CODE
        return number

    cdef Py_ssize_t link_number(self) except -1:
        """Add the address of the current element as a mark; return its number, 0 without
        address.
        """
        cdef const char* href = self.values[HREF]
        cdef Py_ssize_t number, length
        if href is NULL or href[0] == 0:
            return 0
        length = strlen(href)
        if href[0] == c"/" and strncmp(href, EMAILS, len(EMAILS)) == 0:
            href = self.keep(self.email_address(href))
            length = strlen(href)
        if not is_tidy(href, length):
            kept = self.address().encode()
            href, length = kept, len(kept)
            if length == 0:
                return 0
        number = self.add_mark(href, length)
        self.mark_texts.back().is_link = not shows_picture(href)
        return number

    cdef str email(self):
        """Return the e-mail address that the current element shows, if a script has to show it."""
        return "" if self.values[CFEMAIL] is NULL else shown_email(self.values[CFEMAIL].decode())

    cdef str email_address(self, const char* href):
        """Return the address of a link to an e-mail address that is hidden in it, or in its
        element.
        """
        email = shown_email(href.decode().partition("#")[2]) or self.email()
        return "mailto:" + email if email else href.decode()

    cdef int read_attributes(self, xmlNode* node) except -1:
        cdef xmlAttr* attribute = node.properties
        cdef int i
        for i in range(ATTRIBUTES):
            self.values[i] = NULL
        self.is_excluded = False
        while attribute is not NULL:
            if attribute.ns is NULL:
                i = attribute_number(<const char*>attribute.name)
                if i == EXCLUSION:
                    self.is_excluded = self.is_excluded or self.excludes(node, attribute)
                elif i >= 0:
                    self.values[i] = self.value(node, attribute)
            attribute = attribute.next
        if self.has_defaults:
            for i in range(ATTRIBUTES):
                if self.values[i] is NULL:
                    value = etree.attributeValueFromNsName(node, NULL, <const_xmlChar*>NAMES[i])
                    if value is not None:
                        self.values[i] = self.keep(value)
        return 0

    cdef const char* value(self, xmlNode* node, xmlAttr* attribute) except NULL:
        cdef xmlNode* text = attribute.children
        if text is NULL:
            return ""
        if text.next is NULL and text.type == XML_TEXT_NODE and text.content is not NULL:
            return <const char*>text.content
        return self.keep(etree.attributeValue(node, attribute))  # the value refers to entities

    cdef bint excludes(self, xmlNode* node, xmlAttr* attribute) except -1:
        """Tell whether an attribute of `EXCLUSIONS` leaves its element out. The first of them does
        so if its value is "false", the others always.
        """
        cdef bint has_answer = strcmp(<const char*>attribute.name, EXCLUSIONS[0]) == 0
        return not has_answer or strcmp(self.value(node, attribute), "false") == 0

    cdef const char* keep(self, str value) except NULL:
        cdef bytes kept = value.encode()
        self.kept.append(kept)
        return PyBytes_AS_STRING(kept)

    cdef bint is_hidden(self) except -1:
        cdef const char* role = self.values[ROLE]
        cdef const char* hidden = self.values[HIDDEN]
        cdef const char* style = self.values[STYLE]
        if (
            hidden is not NULL
            and strcmp(hidden, "until-found") != 0
            # The panels of tabs are hidden in turn, yet all of them are the page's.
            and (role is NULL or strcmp(role, "tabpanel") != 0)
        ):
            return True
        return style_of(style) == HIDES

    cdef bint is_block(self) except -1:
        """Tell whether the style of the current element makes it a block."""
        return style_of(self.values[STYLE]) == BLOCKS

    cdef str address(self):
        """Return the address that the current element leads to, "" for none."""
        cdef const char* href = self.values[HREF]
        cdef Py_ssize_t length
        cdef str address
        if href is NULL or href[0] == 0:
            return ""
        length = strlen(href)
        address = PyUnicode_DecodeUTF8(href, length, NULL)
        return address if is_tidy(href, length) else address.strip()


cdef str attribute_of(xmlNode* node, const char* name):
    """Return the value of an attribute, "" if there is none, or if the node is no element."""
    cdef xmlAttr* attribute
    cdef xmlNode* text
    if node is NULL or node.type != XML_ELEMENT_NODE:
        return ""
    attribute = node.properties
    while attribute is not NULL:
        if attribute.ns is NULL and strcmp(<const char*>attribute.name, name) == 0:
            text = attribute.children
            if text is NULL:
                return ""
            if text.next is NULL and text.content is not NULL:
                at = <const char*>text.content
                return PyUnicode_DecodeUTF8(at, strlen(at), NULL)
            return etree.attributeValue(node, attribute)  # it has references to entities
        attribute = attribute.next
    if node.doc is NULL or not declares_attributes(node.doc.intSubset):
        return ""
    return etree.attributeValueFromNsName(node, NULL, <const_xmlChar*>name) or ""


cdef int style_of(const char* style) except -1:
    """Return what a style, or NULL, does. The results for short styles are cached."""
    cdef bytes key
    cdef str text
    cdef int found = NOTHING
    if style is NULL or style[0] == 0:
        return NOTHING
    key = style
    known = KNOWN_STYLES.get(key)
    if known is not None:
        return known
    text = key.decode()
    if HIDDEN_STYLE.search(text) is not None:
        found = HIDES
    elif BLOCK_STYLE.search(text) is not None:
        found = BLOCKS
    if len(key) < MAX_STYLE_BYTES and len(KNOWN_STYLES) < MAX_STYLES:
        KNOWN_STYLES[key] = found
    return found


cdef int attribute_number(const char* name) noexcept:
    """Return the number of the attribute with this name; -1 for attributes that are not read."""
    cdef int number = -1
    if name[0] == c"d":
        if is_exclusion(name):
            return EXCLUSION
        return CFEMAIL if strcmp(name, NAMES[CFEMAIL]) == 0 else -1
    if name[0] == c"c":
        number = CLASS if name[1] == c"l" else COLSPAN
    elif name[0] == c"a":
        number = ARIA_HIDDEN
    elif name[0] == c"n":
        number = NAME
    elif name[0] == c"h":
        number = HREF if name[1] == c"r" else HIDDEN
    elif name[0] == c"i":
        number = ID if name[1] == c"d" else ITEMPROP
    elif name[0] == c"s":
        number = STYLE if name[1] == c"t" else SHADOW
    elif name[0] == c"r":
        number = ROLE if strcmp(name, NAMES[ROLE]) == 0 else ROWSPAN
    return number if number >= 0 and strcmp(name, NAMES[number]) == 0 else -1


cdef bint is_exclusion(const char* name) noexcept:
    cdef int i
    if strncmp(name, "data-", 5) != 0 or name[5] not in (c"s", c"n", c"e"):
        return False
    for i in range(3):
        if strcmp(name, EXCLUSIONS[i]) == 0:
            return True
    return False


cdef bint is_tidy(const char* text, Py_ssize_t length) noexcept:
    """Return true if a text that is not empty surely has no white space around it."""
    return c" " < text[0] < 0x7F and c" " < text[length - 1] < 0x7F


cdef bint declares_attributes(xmlDtd* dtd) noexcept:
    return dtd is not NULL and dtd.attributes is not NULL


cdef xmlNode* first_child(xmlNode* node, const char* name) noexcept:
    cdef xmlNode* child = node.children
    while child is not NULL and not is_called(child, name):
        child = child.next
    return child


cdef bint is_called(xmlNode* node, const char* name) noexcept:
    """Tell whether a node is an element with this name and without a namespace. The parent of a root
    is a document, or NULL.
    """
    return (
        node is not NULL
        and node.type == XML_ELEMENT_NODE
        and (node.ns is NULL or node.ns.href is NULL)
        and strcmp(<const char*>node.name, name) == 0
    )


cdef bint shows_picture(const char* href) noexcept:
    """Tell whether an address is that of a picture file: such a link leads to no other page.

    Wikis have pages with such names, but behind a colon (``File:Tea.jpg``).
    """
    cdef size_t end = strcspn(href, "?#"), dot = end, i
    cdef char ending[MAX_ENDING + 1]
    while dot > 0 and end - dot < MAX_ENDING and href[dot] != c".":
        dot -= 1
    for i in range(end - dot):
        ending[i] = href[dot + i] | 0x20  # lower case; a dot stays a dot
    ending[end - dot] = 0
    for i in range(PICTURES):
        if strcmp(ending, PICTURE_FILES[i]) == 0:
            while dot > 0 and href[dot] != c"/":
                if href[dot] == c":" or strncmp(href + dot, "%3", 2) == 0:
                    return False
                dot -= 1
            return True
    return False
