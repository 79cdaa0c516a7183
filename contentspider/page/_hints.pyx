# cython: language_level=3, wraparound=False
"""The elements of a page's tree that may hold hints, found on the nodes of libxml2 themselves."""

from libc.string cimport strcmp
from lxml.includes cimport etreepublic as etree
from lxml.includes.tree cimport XML_ELEMENT_NODE, const_xmlChar, xmlNode

etree.import_lxml__etree()


def hint_elements(etree._Element root not None):
    """Return the elements that may hold hints, in document order, as tuples of their tag, what they
    are about, and it.

    These are ``title``, ``meta`` (name and content), ``link`` if it may be the canonical one,
    ``script`` of JSON-LD.
    """
    root.text  # raises if there is no node behind the element
    cdef xmlNode* top = root._c_node
    cdef xmlNode* node = top
    cdef const char* name
    cdef list found = []
    while True:
        if node.type == XML_ELEMENT_NODE:
            if etree._getNs(node) is NULL:
                name = <const char*>node.name
                if name[0] == c"m" and strcmp(name, "meta") == 0:
                    content = attribute_of(node, "content")
                    about = (
                        attribute_of(node, "name")
                        or attribute_of(node, "property")
                        or attribute_of(node, "itemprop")
                    )
                    if content and about:
                        found.append(("meta", about, content))
                elif name[0] == c"l" and strcmp(name, "link") == 0:
                    about = attribute_of(node, "rel")
                    if about and "canonical" in about.lower():
                        found.append(("link", about, attribute_of(node, "href")))
                elif name[0] == c"s" and strcmp(name, "script") == 0:
                    about = attribute_of(node, "type")
                    if about and "ld+json" in about.lower():
                        found.append(("script", about, etree.textOf(node) or ""))
                elif name[0] == c"t" and strcmp(name, "title") == 0:
                    found.append(("title", "", etree.textOf(node) or ""))
            if node.children is not NULL:
                node = node.children
                continue
        while node != top and node.next is NULL:
            node = node.parent
        if node == top:
            return found
        node = node.next


cdef str attribute_of(xmlNode* node, const char* name):
    return etree.attributeValueFromNsName(node, NULL, <const_xmlChar*>name) or ""
