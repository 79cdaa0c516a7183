# cython: language_level=3, wraparound=False
"""What a picture shows a reader: its address and its description."""

from libc.string cimport strcmp
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport xmlAttr, xmlNode

etree.import_lxml__etree()

# The first that is an address counts: pages that load their pictures late have others than "src".
cdef enum:
    SRC, DATA_SRC, DATA_ORIGINAL, DATA_LAZY_SRC, DATA_SRCSET, SRCSET, ALT, WIDTH, HEIGHT, NAMES
    SOURCES = 6
cdef const char** ATTRIBUTES = [
    "src",
    "data-src",
    "data-original",
    "data-lazy-src",
    "data-srcset",
    "srcset",
    "alt",
    "width",
    "height",
]

cdef Py_ssize_t MAX_ADDRESS_CHARS = 2_000
cdef Py_ssize_t MAX_DESCRIPTION_CHARS = 500
# Less wide or high than this, in pixels, pictures count visits, or fill gaps; without a description
# they are icons.
cdef int MIN_SIZE = 4, MIN_ICON_SIZE = 33


cdef tuple describe(xmlNode* node, clean_text):
    """Return the address and the description of a picture, None if it shows a reader nothing."""
    cdef xmlAttr* found[NAMES]
    cdef xmlAttr* attribute = node.properties
    cdef const char* name
    cdef str address, description
    cdef int i, least
    for i in range(NAMES):
        found[i] = NULL
    while attribute is not NULL:
        if attribute.ns is NULL:
            name = <const char*>attribute.name
            for i in range(NAMES):
                if name[0] == ATTRIBUTES[i][0] and strcmp(name, ATTRIBUTES[i]) == 0:
                    found[i] = attribute
                    break
        attribute = attribute.next
    description = value(node, found[ALT])
    least = MIN_SIZE if description else MIN_ICON_SIZE
    if is_below(value(node, found[WIDTH]), least) or is_below(value(node, found[HEIGHT]), least):
        return None
    for i in range(SOURCES):
        address = value(node, found[i])
        if i >= DATA_SRCSET:
            address = address.partition(" ")[0].rstrip(",")
        if address and not address.startswith("data:"):
            break
    else:
        return None
    if len(address) > MAX_ADDRESS_CHARS:
        return None
    if description:
        description = clean_text(description[:2 * MAX_DESCRIPTION_CHARS])[:MAX_DESCRIPTION_CHARS]
    return address, description


cdef str value(xmlNode* node, xmlAttr* attribute):
    if attribute is NULL or attribute.children is NULL:
        return ""
    return etree.attributeValue(node, attribute).strip()


cdef bint is_below(str size, int least) noexcept:
    """Tell whether a number of pixels is below *least*; per cent and other units are not."""
    cdef int number = 0
    cdef Py_UCS4 digit
    if not size:
        return False
    if size.endswith("px"):
        size = size[:len(size) - 2]
    for digit in size:
        if not c"0" <= digit <= c"9":
            return False
        if number < least:
            number = 10 * number + <int>digit - c"0"
    return number < least
