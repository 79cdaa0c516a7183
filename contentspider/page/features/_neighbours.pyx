# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Features of the blocks before and after a block, and of its words in the page's hints."""

from cython.operator cimport dereference
from libc.stdint cimport uint64_t
from libcpp.algorithm cimport sort
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from contentspider.page.tree._block cimport Block
from contentspider.page.features._facts cimport BlockFacts, PageFacts, some

from contentspider.page.tree.text import TOKENS

OFFSETS = (-2, -1, 1, 2)
cdef int[4] OFFSETS_OF = OFFSETS
OFFSET = "log_chars link_share same_path heading ends_sentence".split()

cdef enum:  # the columns of OFFSET
    LOG_CHARS, LINK_SHARE, SAME_PATH, HEADING, ENDS_SENTENCE, LAST_OFFSET

# The numbers of blocks before and after a block that make its windows.
cdef Py_ssize_t NEAR = 5, FAR = 20
WINDOW = "window_chars window_links window_sentence wide_chars wide_links".split()

cdef enum:
    WINDOW_CHARS, WINDOW_LINKS, WINDOW_SENTENCE, WIDE_CHARS, WIDE_LINKS, LAST_WINDOW

# The largest share of the block's words that one of the page's titles contains, the largest share of
# a title's words that the block contains, and both shares for the descriptions.
HINT = "in_title of_title in_description of_description".split()

cdef enum:
    IN_TITLE, OF_TITLE, IN_DESCRIPTION, OF_DESCRIPTION, LAST_HINT

# Only the first hints and the beginning of a text are compared, which are the most informative.
cdef enum:
    MAX_HINTS = 4
    MAX_CHARS = 1_000

cdef struct Sums:  # over all blocks before a block
    double weight, linked, log_chars, ends_sentence


def fill_offsets(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write the features of the blocks at `OFFSETS` into *rows*, from *column* on; -1 beyond the ends
    of the page.
    """
    cdef float* row = page.start(rows, column, len(OFFSETS) * LAST_OFFSET)
    cdef float* into
    cdef BlockFacts* of
    cdef Py_ssize_t number, other, index, count = rows.shape[0]
    cdef int offset
    for number in range(count):
        into = row
        for offset in OFFSETS_OF:
            other = number + offset
            if 0 <= other < count:
                of = &page.block[other]
                into[LOG_CHARS], into[LINK_SHARE], into[HEADING] = (
                    of.log_chars, of.link_share, of.heading
                )
                into[SAME_PATH] = of.path == page.block[number].path
                into[ENDS_SENTENCE] = of.ends_sentence
            else:
                for index in range(LAST_OFFSET):
                    into[index] = -1
                # -1 if the page is too short for a block at this offset from any block.
                into[SAME_PATH] = -1 if abs(offset) >= count else 0
            into += LAST_OFFSET
        row += rows.shape[1]


def fill_windows(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write the means over the windows around each block into *rows*, from *column* on."""
    cdef float* row = page.start(rows, column, LAST_WINDOW)
    cdef vector[Sums] sums
    cdef Sums sum = Sums(weight=0, linked=0, log_chars=0, ends_sentence=0)
    cdef Py_ssize_t number, low, high, count = rows.shape[0]
    cdef BlockFacts* of
    sums.reserve(count + 1)
    sums.push_back(sum)
    for number in range(count):
        of = &page.block[number]
        sum.weight += of.weight
        sum.linked += of.linked
        sum.log_chars += of.log_chars
        sum.ends_sentence += of.ends_sentence
        sums.push_back(sum)
    for number in range(count):
        low, high = max(number - NEAR, 0), min(number + NEAR + 1, count)
        row[WINDOW_CHARS] = (sums[high].log_chars - sums[low].log_chars) / (high - low)
        row[WINDOW_LINKS] = linked_share(&sums[low], &sums[high], high - low)
        row[WINDOW_SENTENCE] = (sums[high].ends_sentence - sums[low].ends_sentence) / (high - low)
        low, high = max(number - FAR, 0), min(number + FAR + 1, count)
        row[WIDE_CHARS] = (sums[high].log_chars - sums[low].log_chars) / (high - low)
        row[WIDE_LINKS] = linked_share(&sums[low], &sums[high], high - low)
        row += rows.shape[1]


cdef inline double linked_share(const Sums* low, const Sums* high, double blocks) noexcept:
    return (high.linked - low.linked) / blocks / some((high.weight - low.weight) / blocks)


cdef inline bint is_unspaced(Py_UCS4 char) noexcept:
    """Tell whether *char* is a token of its own, as `contentspider.page.tree.text.UNSPACED` says."""
    return char >= 0x0E00 and (
        char <= 0x0EFF
        or 0x1000 <= char <= 0x109F
        or 0x1780 <= char <= 0x17FF
        or 0x3040 <= char <= 0x30FF
        or 0x3400 <= char <= 0x9FFF
        or 0xA9E0 <= char <= 0xA9FF
        or 0xAA60 <= char <= 0xAA7F
        or 0xAC00 <= char <= 0xD7AF
        or 0xF900 <= char <= 0xFAFF
    )


cdef unsigned char[128] LOWER  # the lower case of ASCII letters and digits; 0 for other characters


cdef set_lower():
    cdef Py_UCS4 char
    cdef int code
    for code in range(128):
        char = <Py_UCS4>code
        LOWER[code] = (code | 0x20 if u"A" <= char <= u"Z" else code) if char.isalnum() else 0


set_lower()


cdef int find_words(str text, vector[uint64_t]& words) except -1:
    """Write the hashes of the words of *text* into *words*, with words as in
    `contentspider.page.tree.text.tokens`. Different words hardly ever have the same hash.
    """
    cdef uint64_t word = 0
    cdef Py_ssize_t index, size
    cdef Py_UCS4 char
    words.clear()
    if not text.isascii():
        text = text.lower()
    size = len(text)
    for index in range(size):
        char = text[index]
        if char < 128:
            char = LOWER[char]
            if char:
                word = extend(word, char)
                continue
        elif is_unspaced(char):
            if word:
                words.push_back(word)
                word = 0
            words.push_back(extend(0, char))
            continue
        elif char.isalnum():
            word = extend(word, char)
            continue
        elif TOKENS[<int>char] != " ":  # a mark, or a character that is ignored within a word
            if TOKENS[<int>char]:
                word = extend(word, char)
            continue
        if word:
            words.push_back(word)
            word = 0
    if word:
        words.push_back(word)
    return 0


cdef inline uint64_t extend(uint64_t word, Py_UCS4 char) noexcept:
    word = (word ^ <uint64_t>char) * 0x9E3779B97F4A7C15U
    return (word ^ (word >> 29)) | 1


cdef class HintWords:
    """The words of a page's titles and descriptions."""

    cdef unordered_map[uint64_t, unsigned int] hints_of  # a bit for each hint that has the word
    cdef uint64_t[16] filter  # a Bloom filter of the words, since most words of a text are in no hint
    cdef vector[Py_ssize_t] sizes  # the number of different words of each hint
    cdef Py_ssize_t titles

    def __cinit__(self, titles, descriptions):
        cdef vector[uint64_t] words
        cdef uint64_t word
        cdef unsigned int bit
        cdef int index
        for index in range(16):
            self.filter[index] = 0
        self.titles = min(len(titles), <Py_ssize_t>MAX_HINTS)
        for text in (*titles[:MAX_HINTS], *descriptions[:MAX_HINTS]):
            bit = 1U << self.sizes.size()
            self.sizes.push_back(0)
            find_words(text, words)
            for word in words:
                self.filter[word >> 60] |= <uint64_t>1 << (word >> 54 & 63)
                if not self.hints_of[word] & bit:
                    self.hints_of[word] |= bit
                    self.sizes[self.sizes.size() - 1] += 1

    cdef bint may_have(self, uint64_t word) noexcept:
        return self.filter[word >> 60] >> (word >> 54 & 63) & 1

    cdef int share(self, vector[uint64_t]& words, float* into) except -1:
        """Write the features `HINT` of a text with *words* into *into*. Sorts *words*."""
        cdef unordered_map[uint64_t, unsigned int].iterator entry
        cdef Py_ssize_t[2 * MAX_HINTS] common
        cdef Py_ssize_t index, distinct = 0
        cdef uint64_t word, latest = 0  # not the hash of a word
        cdef double share
        cdef float* of
        cdef unsigned int bits
        cdef bint shares = False
        for index in range(LAST_HINT):
            into[index] = 0
        for word in words:
            shares = shares or (
                self.may_have(word) and self.hints_of.find(word) != self.hints_of.end()
            )
        if not shares:
            return 0
        for index in range(2 * MAX_HINTS):
            common[index] = 0
        sort(words.begin(), words.end())
        for word in words:
            if word == latest:
                continue
            latest = word
            distinct += 1
            if not self.may_have(word):
                continue
            entry = self.hints_of.find(word)
            if entry == self.hints_of.end():
                continue
            bits = dereference(entry).second
            for index in range(<Py_ssize_t>self.sizes.size()):
                common[index] += bits >> index & 1
        for index in range(<Py_ssize_t>self.sizes.size()):
            if common[index]:
                of = into + (IN_TITLE if index < self.titles else IN_DESCRIPTION)
                of[0] = max(of[0], <float>(common[index] / <double>distinct))
                of[1] = max(of[1], <float>(common[index] / <double>self.sizes[index]))
        return 0


def fill_hints(
    PageFacts page not None, titles, descriptions, float[:, ::1] rows, Py_ssize_t column
):
    """Write the features of the blocks' words in the page's hints into *rows*, from *column* on."""
    cdef float* row = page.start(rows, column, LAST_HINT)
    cdef HintWords hints = HintWords.__new__(HintWords, titles, descriptions)
    cdef vector[uint64_t] words
    cdef Py_ssize_t number
    cdef Block block
    cdef str text
    for number in range(rows.shape[0]):
        block = page.blocks[number]
        text = block.text
        find_words(text if len(text) <= MAX_CHARS else text[:MAX_CHARS], words)
        hints.share(words, row)
        row += rows.shape[1]
