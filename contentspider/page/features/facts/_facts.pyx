# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""What is known of a page's blocks and elements, and what all groups of features are made of."""

from contentspider.page.block._block cimport Block
from contentspider.page.features.facts._texts cimport count_text

from contentspider.page.blocks import BOLD, CODE, PREFORMATTED_TAGS
from contentspider.page.words.names import HEADINGS

# Unlinked text of this length is prose rather than a label.
cdef double PROSE_CHARS = 80

cdef char BOLD_MARK = ord(BOLD), CODE_MARK = ord(CODE)
cdef frozenset PREFORMATTED = PREFORMATTED_TAGS


cdef class PageFacts:
    """The blocks of a page in reading order and its elements in document order (see
    `contentspider.page.blocks.PageBlocks`), with what is counted in them.
    """

    def __init__(self, page):
        self.blocks, self.parents, self.tags, self.paths = (
            page.blocks, page.parents, page.tags, page.paths
        )
        self.block.resize(len(self.blocks))
        self.element.resize(len(self.parents))
        self.count_blocks(HEADINGS)
        self.sum_elements(page.positions)

    cdef int count_blocks(self, dict levels) except -1:
        cdef Py_ssize_t number, first, count = len(self.blocks)
        cdef dict firsts = {}, numbers = {}  # of texts and of paths
        cdef vector[int] same  # the first block with the text
        cdef vector[int] depths  # of paths
        cdef Block block
        cdef BlockFacts* facts
        cdef object level
        self.total = 0
        for number in range(count):
            block = self.blocks[number]
            facts = &self.block[number]
            first = firsts.setdefault(block.text, number)
            same.push_back(<int>first)
            facts.repeats = 0
            if first == number:
                count_text(block.text, facts)
            else:
                facts[0] = self.block[first]
                self.block[first].repeats += 1
            facts.link_chars, facts.links = block.link_chars, block.links
            facts.bold_chars = block.bold_chars
            facts.in_row, facts.in_item = block.row > 0, block.item > 0
            facts.holder = <int>block.container
            block.count_marks(BOLD_MARK, CODE_MARK, &facts.marks, &facts.code_chars)
            if block.tag in PREFORMATTED:
                facts.code_chars = facts.chars
            level = levels.get(block.tag)
            facts.heading = 0 if level is None else level
            facts.link_share = facts.link_chars / facts.chars
            facts.linked = facts.link_share * facts.weight
            facts.is_prose = facts.weight - facts.linked >= PROSE_CHARS and facts.link_share < 0.5
            self.total += facts.weight
            facts.path = numbers.setdefault(block.path, len(numbers))
            if facts.path == <int>depths.size():
                depths.push_back(slashes(block.path))
            facts.depth = depths[facts.path]
        self.distinct_paths = depths.size()
        self.total = some(self.total)
        for number in range(count):
            self.block[number].repeats = self.block[same[number]].repeats
        return 0

    cdef int sum_elements(self, list positions) except -1:
        cdef Py_ssize_t index, number, size = self.element.size(), blocks = self.block.size()
        cdef ElementFacts* element
        cdef ElementFacts* above
        cdef BlockFacts* block
        for index in range(size):
            element = &self.element[index]
            element.parent, element.position = self.parents[index], positions[index]
            if not (0 <= element.parent < index if index else element.parent == -1):
                raise ValueError("an element stands before its parent")
            element.chars = element.linked = element.prose = element.number = 0
            element.first, element.last = <int>blocks, -1
        for number in range(blocks):
            block = &self.block[number]
            if not 0 <= block.holder < size:
                raise ValueError("a block stands in an element that is not there")
            element = &self.element[block.holder]
            element.chars += block.weight
            element.linked += block.linked
            element.prose += block.weight if block.is_prose else 0
            element.number += 1
            element.first = min(element.first, <int>number)
            element.last = <int>number
        for index in range(size - 1, 0, -1):  # parents come before their children
            element = &self.element[index]
            above = &self.element[element.parent]
            above.chars += element.chars
            above.linked += element.linked
            above.prose += element.prose
            above.number += element.number
            above.first = min(above.first, element.first)
            above.last = max(above.last, element.last)
        return 0

    cdef float* start(self, float[:, ::1] rows, Py_ssize_t column, Py_ssize_t width) except NULL:
        """Return where in the first of *rows* a group of *width* features begins that is to be
        written from *column* on.
        """
        if rows.shape[0] != <Py_ssize_t>self.block.size() or not 0 <= column <= rows.shape[1] - width:
            raise ValueError("the rows do not suit")
        return &rows[0, column]
