# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Features of repeated structure: the cards of a listing, the posts of a discussion, rows, entries.

A *unit* is an element that has siblings of its own selector path; together they are a *series*.
"""

from cython.operator cimport dereference
from libc.math cimport log1p
from libc.stdint cimport uint64_t
from libcpp.pair cimport pair
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from contentspider.page.features._facts cimport BlockFacts, ElementFacts, PageFacts, some

# So many elements of one path in one parent are a series.
cdef int MIN_SERIES = 3

UNIT = (
    "units share link_share prose_share mean_chars mean_blocks chars own_link_share number place"
    " weight"
).split()

cdef enum:  # their numbers
    UNITS, SHARE, LINK_SHARE, PROSE_SHARE, MEAN_CHARS, MEAN_BLOCKS, CHARS, OWN_LINK_SHARE, NUMBER
    PLACE, WEIGHT, LAST_UNIT

cdef struct Series:
    double size, chars, linked, prose, number

cdef struct Own:  # what a unit is to all blocks in it
    bint known
    float values[PLACE]


cdef vector[int] series_of(PageFacts page, vector[Series]& series) except *:
    """Return the number of each element's series, and write what is in them."""
    cdef dict numbers = {}
    cdef unordered_map[uint64_t, int] known
    cdef pair[uint64_t, int] entry
    cdef vector[int] found
    cdef Series empty = Series(size=0, chars=0, linked=0, prose=0, number=0)
    cdef Series* own
    cdef ElementFacts* element
    cdef Py_ssize_t index, size = page.element.size(), path
    known.reserve(2 * size)
    found.reserve(size)
    for index in range(size):
        element = &page.element[index]
        path = numbers.setdefault(page.paths[index], index)
        entry.first = <uint64_t>(element.parent + 1) << 32 | <uint64_t>path
        entry.second = <int>series.size()
        found.push_back(dereference(known.insert(entry).first).second)
        if found.back() == <int>series.size():
            series.push_back(empty)
        own = &series[found.back()]
        own.size += 1
        own.chars += element.chars
        own.linked += element.linked
        own.prose += element.prose
        own.number += element.number
    return found


def fill_units(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write the features of the innermost unit around each block and of the outermost; -1: none."""
    cdef float* row = page.start(rows, column, 2 * LAST_UNIT)
    cdef vector[Series] series
    cdef vector[int] of_element = series_of(page, series)
    cdef vector[int] inner, outer
    cdef vector[Own] units
    cdef ElementFacts* element
    cdef Py_ssize_t index, size = page.element.size()
    cdef int parent, within, around
    cdef bint is_unit
    units.resize(size)
    for index in range(size):
        element = &page.element[index]
        parent = element.parent
        is_unit = series[of_element[index]].size >= MIN_SERIES and element.number > 0
        within = around = -1
        if parent >= 0:
            within, around = inner[parent], outer[parent]
        if is_unit:
            within = <int>index
            if around < 0:
                around = within
        inner.push_back(within)
        outer.push_back(around)
        units[index].known = False
    for index in range(rows.shape[0]):
        write(page, index, inner[page.block[index].holder], of_element, series, units, row)
        write(
            page, index, outer[page.block[index].holder], of_element, series, units, row + LAST_UNIT
        )
        row += rows.shape[1]


cdef void write(
    PageFacts page, Py_ssize_t number, int unit, vector[int]& of_element, vector[Series]& series,
    vector[Own]& units, float* into,
) noexcept:
    cdef Py_ssize_t index
    cdef ElementFacts* element
    cdef Series* of
    cdef Own* own
    if unit < 0:
        for index in range(LAST_UNIT):
            into[index] = -1
        return
    element = &page.element[unit]
    own = &units[unit]
    if not own.known:
        own.known = True
        of = &series[of_element[unit]]
        own.values[UNITS], own.values[SHARE] = log1p(of.size), of.chars / some(page.element[0].chars)
        own.values[LINK_SHARE] = of.linked / some(of.chars)
        own.values[PROSE_SHARE] = of.prose / some(of.chars)
        own.values[MEAN_CHARS] = log1p(some(of.chars) / of.size)
        own.values[MEAN_BLOCKS] = log1p(of.number / of.size)
        own.values[CHARS] = log1p(some(element.chars))
        own.values[OWN_LINK_SHARE] = element.linked / some(element.chars)
        own.values[NUMBER] = min(element.position, 30)
    for index in range(PLACE):
        into[index] = own.values[index]
    into[PLACE] = number - element.first
    into[WEIGHT] = page.block[number].weight / some(element.chars)
