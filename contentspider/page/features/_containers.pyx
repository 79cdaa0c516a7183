# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Features of the elements around a block, and of the elements with most of the page's prose."""

from libc.math cimport log1p
from libc.string cimport memcpy
from libcpp.vector cimport vector

from contentspider.page.features._facts cimport (
    BlockFacts, ElementFacts, PageFacts, slashes, some,
)

# The distances of the ancestors that features are computed for; 0 is the block's own element.
LEVELS = (0, 1, 2, 3, 4, 6)
cdef enum:
    HIGHEST = 6
cdef bint[HIGHEST + 1] IS_LEVEL = [level in LEVELS for level in range(HIGHEST + 1)]

# The last feature is the block's position in the element; the others are the same for all blocks in
# the element.
ELEMENT = "char_share link_share blocks mean_chars long_share sibling position".split()

cdef enum:  # the columns of ELEMENT
    CHAR_SHARE, LINK_SHARE, BLOCKS, MEAN_CHARS, LONG_SHARE, SIBLING, POSITION, LAST_ELEMENT

cdef struct Own:  # the features of an element that all its blocks share
    float values[POSITION]

# The trunk is the deepest element with at least 70 % of the page's prose, the stem with 40 %.
cdef double TRUNK_SHARE = 0.7, STEM_SHARE = 0.4

TRUNK = (
    "in_trunk trunk_depth trunk_share trunk_before trunk_after trunk_link_share in_stem stem_share"
).split()

cdef enum:
    IN_TRUNK, TRUNK_DEPTH, TRUNK_CHARS, TRUNK_BEFORE, TRUNK_AFTER, TRUNK_LINK_SHARE, IN_STEM
    STEM_CHARS, LAST_TRUNK

# Elements that mark the main content. A page with many of them is a list of entries.
LANDMARKS = ("main", "article")
LANDMARK = "count inside char_share largest rank is_largest".split()

cdef enum:
    COUNT, INSIDE, MARK_SHARE, LARGEST, RANK, IS_LARGEST, LAST_LANDMARK


def fill_levels(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write the features of the ancestors at `LEVELS` into *rows*, from *column* on. The root is
    used for levels above the root.
    """
    cdef float* row = page.start(rows, column, len(LEVELS) * LAST_ELEMENT)
    cdef float* into
    cdef vector[Own] elements
    cdef Own* own
    cdef ElementFacts* element
    cdef Py_ssize_t number, index
    cdef int level, at
    cdef double total = some(page.element[0].chars)
    elements.resize(page.element.size())
    for index in range(<Py_ssize_t>page.element.size()):
        own, element = &elements[index], &page.element[index]
        own.values[CHAR_SHARE] = element.chars / total
        own.values[LINK_SHARE] = element.linked / some(element.chars)
        own.values[BLOCKS] = log1p(element.number)
        own.values[MEAN_CHARS] = log1p(element.chars / some(element.number))
        own.values[LONG_SHARE] = element.prose / some(element.chars)
        own.values[SIBLING] = min(element.position, 20)
    for number in range(rows.shape[0]):
        at = page.block[number].holder
        into = row
        for level in range(HIGHEST + 1):
            element = &page.element[at]
            if IS_LEVEL[level]:
                memcpy(into, elements[at].values, sizeof(Own))
                into[POSITION] = (
                    (number - element.first) / <double>max(element.last - element.first, 1)
                )
                into += LAST_ELEMENT
            at = max(element.parent, 0)
        row += rows.shape[1]


cdef Py_ssize_t deepest_with(PageFacts page, double share) noexcept:
    """Return the last element in document order with at least this share of the page's prose, or of
    its text if it has no prose. It is also the deepest.
    """
    cdef Py_ssize_t index = page.element.size() - 1
    cdef ElementFacts* whole = &page.element[0]
    cdef bint by_prose = whole.prose > 0
    cdef double least = share * (whole.prose if by_prose else whole.chars)
    while index > 0:
        if (page.element[index].prose if by_prose else page.element[index].chars) >= least:
            break
        index -= 1
    return index


cdef vector[char] inside(PageFacts page, Py_ssize_t element):
    """Tell for each element whether it is *element* or inside it."""
    cdef vector[char] is_inside
    cdef Py_ssize_t child
    is_inside.assign(page.element.size(), False)
    is_inside[element] = True
    for child in range(element + 1, <Py_ssize_t>is_inside.size()):
        is_inside[child] = is_inside[page.element[child].parent]
    return is_inside


def fill_trunk(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write the features of the trunk and of the stem into *rows*, from *column* on."""
    cdef float* row = page.start(rows, column, LAST_TRUNK)
    cdef Py_ssize_t number, trunk_at = deepest_with(page, TRUNK_SHARE)
    cdef Py_ssize_t stem_at = deepest_with(page, STEM_SHARE)
    cdef vector[char] in_trunk = inside(page, trunk_at), in_stem = inside(page, stem_at)
    cdef ElementFacts* trunk = &page.element[trunk_at]
    cdef BlockFacts* of
    cdef int depth = slashes(page.paths[trunk_at])
    cdef double total = some(page.element[0].chars)
    cdef float trunk_share = trunk.chars / total, link_share = trunk.linked / some(trunk.chars)
    cdef float stem_share = page.element[stem_at].chars / total
    for number in range(rows.shape[0]):
        of = &page.block[number]
        row[IN_TRUNK], row[IN_STEM] = in_trunk[of.holder], in_stem[of.holder]
        row[TRUNK_DEPTH] = of.depth - depth
        row[TRUNK_CHARS], row[TRUNK_LINK_SHARE], row[STEM_CHARS] = trunk_share, link_share, stem_share
        row[TRUNK_BEFORE] = log1p(max(trunk.first - number, 0))
        row[TRUNK_AFTER] = log1p(max(number - trunk.last, 0))
        row += rows.shape[1]


def fill_landmarks(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column, str tag not None):
    """Write the features of the innermost element with a *tag*, or with a role of this name, around
    each block.
    """
    cdef float* row = page.start(rows, column, LAST_LANDMARK)
    cdef vector[int] innermost, ranks  # the landmark around each element, and its place among them
    cdef Py_ssize_t index
    cdef int at, parent, count = 0
    cdef double largest = 0, total = some(page.element[0].chars), chars
    cdef str path, role = f"[{tag}]"
    innermost.resize(page.element.size())
    ranks.resize(page.element.size())
    for index in range(<Py_ssize_t>innermost.size()):
        parent = page.element[index].parent
        path = page.paths[index]
        if page.tags[index] == tag or (
            len(path) and path[len(path) - 1] == u"]" and path.endswith(role)
        ):
            count += 1
            innermost[index], ranks[index] = <int>index, count
            largest = max(largest, page.element[index].chars)
        elif parent >= 0:
            innermost[index] = innermost[parent]
        else:
            innermost[index] = -1
    for index in range(rows.shape[0]):
        at = innermost[page.block[index].holder]
        row[COUNT], row[INSIDE], row[LARGEST] = min(count, 50), at >= 0, largest / total
        row[RANK] = 0
        row[MARK_SHARE] = row[IS_LARGEST] = -1
        if at >= 0:
            chars = page.element[at].chars
            row[RANK] = min(ranks[at], 20)
            row[MARK_SHARE], row[IS_LARGEST] = chars / total, chars / some(largest)
        row += rows.shape[1]
