# cython: language_level=3
"""What a page shows without scripts."""

from lxml.includes.tree cimport xmlNode

cdef bint is_seen_without_scripts(xmlNode* noscript) noexcept
cdef int drop_stand_ins(list blocks, list noscripts) except -1
