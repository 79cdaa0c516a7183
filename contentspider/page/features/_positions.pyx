# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Features of a block's position on its page, and of the page as a whole."""

from libc.math cimport log1p
from libc.stdint cimport uint64_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from contentspider.page.features._facts cimport BlockFacts, PageFacts, some

from contentspider.page.words.phrases import NOISE_PHRASES

# The block's place on the page, the headings before it and their phrases, and the blocks with its path.
POSITION = [
    *(
        "index_share index_log from_end_log chars_before long_before depth after_h1 from_h1"
        " since_heading heading_level heading_linked"
    ).split(),
    *(f"heading_{name}" for name in NOISE_PHRASES),
    *(
        "first_of_path path_blocks_log path_char_share path_link_share path_mean_chars"
        " position_in_parent in_first_long_container h1_before long_h1_before"
    ).split(),
]

cdef enum:  # the columns of POSITION up to the phrases of headings
    INDEX_SHARE, INDEX_LOG, FROM_END_LOG, CHARS_BEFORE, LONG_BEFORE, DEPTH, AFTER_H1, FROM_H1
    SINCE_HEADING, HEADING_LEVEL, HEADING_LINKED, HEADING_SAYS

cdef enum:  # the columns after the phrases of headings
    FIRST_OF_PATH, PATH_BLOCKS_LOG, PATH_CHAR_SHARE, PATH_LINK_SHARE, PATH_MEAN_CHARS
    POSITION_IN_PARENT, IN_FIRST_LONG_CONTAINER, H1_BEFORE, LONG_H1_BEFORE, LAST_POSITION

PAGE = "page_blocks page_chars page_link_share page_long_share page_h1".split()

cdef enum:
    PAGE_BLOCKS, PAGE_CHARS, PAGE_LINK_SHARE, PAGE_LONG_SHARE, PAGE_H1, LAST_PAGE

cdef struct Path:  # the blocks of one selector path
    bint is_visited
    double blocks, chars, linked


def fill_positions(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write the features of the blocks' positions into *rows*, from a *column* on."""
    cdef float* row = page.start(rows, column, len(POSITION))
    cdef float* after_phrases
    cdef BlockFacts* of
    cdef Path* path
    cdef Path unvisited = Path(is_visited=False, blocks=0, chars=0, linked=0)
    cdef vector[Path] paths
    cdef vector[int] above  # the headings above a block, the highest first
    cdef Py_ssize_t index, first_h1 = -1, latest_h1 = -1, count = rows.shape[0]
    cdef Py_ssize_t kind, kinds = len(NOISE_PHRASES), distance
    cdef double chars = 0, prose = 0, all_prose = 0, h1 = 0, long_h1 = 0
    cdef uint64_t phrases, phrases_above
    cdef int last = -1, first_parent = -1
    paths.assign(page.distinct_paths, unvisited)
    for index in range(count):
        of = &page.block[index]
        path = &paths[of.path]
        path.blocks += 1
        path.chars += of.weight
        path.linked += of.linked
        if of.heading == 1 and first_h1 < 0:
            first_h1 = index
        if of.is_prose:
            if all_prose == 0:
                first_parent = page.element[of.holder].parent
            all_prose += of.weight
    for index in range(count):
        of = &page.block[index]
        if of.heading:
            while not above.empty() and page.block[above.back()].heading >= of.heading:
                above.pop_back()
            above.push_back(<int>index)
            last = <int>index
        if of.heading == 1:
            latest_h1 = index
            h1 += 1
            long_h1 += prose > 0
        row[INDEX_SHARE], row[INDEX_LOG] = index / <double>count, log1p(index)
        row[FROM_END_LOG] = log1p(count - 1 - index)
        row[CHARS_BEFORE] = chars / page.total
        row[LONG_BEFORE] = prose / all_prose if all_prose else 0
        row[DEPTH] = of.depth
        if first_h1 < 0:
            row[AFTER_H1], row[FROM_H1] = -1, -9
        elif latest_h1 < 0:
            row[AFTER_H1], row[FROM_H1] = 0, -log1p(first_h1 - index)
        else:
            row[AFTER_H1], row[FROM_H1] = 1, log1p(index - latest_h1)
        row[SINCE_HEADING] = log1p(index - max(last, 0))
        row[HEADING_LEVEL] = row[HEADING_LINKED] = 0
        phrases = phrases_above = 0
        if last >= 0:
            row[HEADING_LEVEL] = page.block[last].heading
            row[HEADING_LINKED] = page.block[last].link_share
            phrases = page.block[last].phrases
            if above.size() > 1:
                phrases_above = page.block[above[above.size() - 2]].phrases
        for kind in range(kinds):
            # A phrase in the heading one level above that heading counts half.
            row[HEADING_SAYS + kind] = (
                1 if phrases >> <uint64_t>kind & 1 else 0.5 * (phrases_above >> <uint64_t>kind & 1)
            )
        after_phrases = row + HEADING_SAYS + kinds
        path = &paths[of.path]
        after_phrases[FIRST_OF_PATH] = not path.is_visited
        path.is_visited = True
        after_phrases[PATH_BLOCKS_LOG], after_phrases[PATH_CHAR_SHARE] = log1p(path.blocks), path.chars / page.total
        after_phrases[PATH_LINK_SHARE] = path.linked / some(path.chars)
        after_phrases[PATH_MEAN_CHARS] = log1p(path.chars / path.blocks)
        after_phrases[POSITION_IN_PARENT] = min(page.element[of.holder].position, 30)
        after_phrases[IN_FIRST_LONG_CONTAINER] = (
            all_prose > 0 and page.element[of.holder].parent == first_parent
        )
        after_phrases[H1_BEFORE], after_phrases[LONG_H1_BEFORE] = h1, long_h1
        chars += of.weight
        if of.is_prose:
            prose += of.weight
        row += rows.shape[1]


def fill_page(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write the features of the page into each of *rows*, from a *column* on."""
    cdef float* row = page.start(rows, column, len(PAGE))
    cdef float values[LAST_PAGE]
    cdef Py_ssize_t index
    cdef BlockFacts* of
    cdef double linked = 0, prose = 0
    cdef int h1 = 0
    for index in range(rows.shape[0]):
        of = &page.block[index]
        linked += of.linked
        prose += of.weight if of.is_prose else 0
        h1 += of.heading == 1
    values[PAGE_BLOCKS], values[PAGE_CHARS] = log1p(rows.shape[0]), log1p(page.total)
    values[PAGE_LINK_SHARE], values[PAGE_LONG_SHARE] = linked / page.total, prose / page.total
    values[PAGE_H1] = h1
    for index in range(rows.shape[0]):
        memcpy(row, values, sizeof(values))
        row += rows.shape[1]
