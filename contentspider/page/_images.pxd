# cython: language_level=3
"""What a picture shows a reader."""

from lxml.includes.tree cimport xmlNode

cdef tuple describe(xmlNode* node, clean_text)
