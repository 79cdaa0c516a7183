# cython: language_level=3

from contentspider.page.features.facts._facts cimport BlockFacts

cdef int count_text(str text, BlockFacts* into) except -1
