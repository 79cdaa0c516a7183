# cython: language_level=3, boundscheck=False, wraparound=False
# distutils: language = c++
"""What is counted in the texts and elements of a page, in one pass each."""

from cython.operator cimport dereference
from libc.stdint cimport uint64_t
from libcpp.algorithm cimport sort
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from contentspider.page._block cimport Block

import numpy as np

from contentspider.page.blocks import BOLD, CODE, PREFORMATTED_TAGS
from contentspider.page.text import SENTENCE_END

# The share of digits in a longer text is that of its beginning.
HEAD_CHARS = 2_000
# Of many hints the first say most; of a long text the beginning does.
MAX_HINTS, MAX_CHARS = 4, 1_000

# What is counted of each block, see `count_blocks`.
COUNTS = (
    "chars weight words link_chars links bold_chars code_chars marks row item container repeats sample"
    " punctuation commas digits upper separators questions ends_sentence ends_colon starts_upper"
    " starts_digit"
).split()

cdef enum:  # their numbers
    CHARS, WEIGHT, WORDS, LINK_CHARS, LINKS, BOLD_CHARS, CODE_CHARS, MARKS
    IN_ROW, IN_ITEM, CONTAINER, REPEATS
    SAMPLE, PUNCTUATION, COMMAS, DIGITS, UPPER, SEPARATORS, QUESTIONS, ENDS_SENTENCE, ENDS_COLON
    STARTS_UPPER, STARTS_DIGIT, ALL

cdef enum Kind:
    IS_PUNCTUATION = 1
    IS_COMMA = 2
    IS_UPPER = 4
    IS_SEPARATOR = 8
    IS_QUESTION = 16

cdef unsigned char[0x10000] KINDS  # of characters


def _set_kinds():
    for chars, kind in (
        (",.;:!?،؛。，、；：！？", IS_PUNCTUATION),
        (",，、", IS_COMMA),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", IS_UPPER),
        ("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ", IS_UPPER),
        ("АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁ", IS_UPPER),
        ("|»«›‹•·→←>/", IS_SEPARATOR),
        ("?？", IS_QUESTION),
    ):
        for char in chars:
            KINDS[ord(char)] |= kind


_set_kinds()


cdef inline bint is_wide(Py_UCS4 char) noexcept:
    return 0x2E80 <= char <= 0x9FFF or 0xAC00 <= char <= 0xD7AF or 0xF900 <= char <= 0xFAFF


cdef inline bint is_unspaced(Py_UCS4 char) noexcept:
    """Tell whether *char* is a token of its own, as `contentspider.page.text.TOKEN` says."""
    return char >= 0x0E00 and (
        char <= 0x0E7F
        or 0x3040 <= char <= 0x30FF
        or 0x3400 <= char <= 0x9FFF
        or 0xAC00 <= char <= 0xD7AF
        or 0xF900 <= char <= 0xFAFF
    )


def count_blocks(list blocks not None):
    """Return an array with a row for each of `COUNTS`, a column a block.

    *weight* is the length in characters of a spaced script, *marks* are links and code, *row* and
    *item* tell whether the block stands in one, *repeats* how many other blocks of the page have
    its text; *sample* is the length of the beginning in which punctuation and the like are counted.
    """
    cdef Py_ssize_t number, count = len(blocks)
    counts = np.zeros((ALL, count))
    cdef double[:, ::1] into = counts
    cdef dict times = {}
    cdef Block block
    cdef tuple span
    for number in range(count):
        block = blocks[number]
        times[block.text] = times.get(block.text, -1) + 1
    for number in range(count):
        block = blocks[number]
        into[LINK_CHARS, number] = block.link_chars
        into[LINKS, number] = block.links
        into[BOLD_CHARS, number] = block.bold_chars
        into[IN_ROW, number] = block.row > 0
        into[IN_ITEM, number] = block.item > 0
        into[CONTAINER, number] = block.container
        into[REPEATS, number] = times[block.text]
        for span in block.spans:
            if span[2] != BOLD:
                into[MARKS, number] += 1
            if span[2] == CODE:
                into[CODE_CHARS, number] += <Py_ssize_t>span[1] - <Py_ssize_t>span[0]
        if block.tag in PREFORMATTED_TAGS:
            into[CODE_CHARS, number] = len(block.text)
        count_text(block.text, number, into)
    return counts


cdef int count_text(str text, Py_ssize_t number, double[:, ::1] into) except -1:
    cdef Py_ssize_t size = len(text), sample = min(size, <Py_ssize_t>HEAD_CHARS)
    cdef Py_ssize_t index, words = 1, weight = size
    cdef Py_ssize_t punctuation = 0, commas = 0, digits = 0
    cdef Py_ssize_t upper = 0, separators = 0, questions = 0
    cdef Py_UCS4 char
    cdef int kind
    for index in range(size):
        char = text[index]
        if char == u" ":
            words += 1
            continue
        if is_wide(char):
            weight += 2
        if index >= sample:
            continue
        kind = KINDS[char] if char < 0x10000 else 0
        if kind:
            punctuation += kind & IS_PUNCTUATION
            commas += kind & IS_COMMA != 0
            upper += kind & IS_UPPER != 0
            separators += kind & IS_SEPARATOR != 0
            questions += kind & IS_QUESTION != 0
        elif char.isdecimal():
            digits += 1
    into[CHARS, number], into[WEIGHT, number], into[WORDS, number] = size, weight, words
    into[SAMPLE, number], into[PUNCTUATION, number] = sample, punctuation
    into[COMMAS, number], into[DIGITS, number], into[UPPER, number] = commas, digits, upper
    into[SEPARATORS, number], into[QUESTIONS, number] = separators, questions
    char = text[size - 1]
    into[ENDS_SENTENCE, number] = char in SENTENCE_END
    into[ENDS_COLON, number] = char == u":" or char == u"："
    char = text[0]
    into[STARTS_UPPER, number] = char.isupper()
    into[STARTS_DIGIT, number] = char.isdigit()
    return 0


def sum_elements(
    list parents not None, const double[::1] holders, const double[:, ::1] values
):
    """Return for each element the sums of *values* (a row each) over the blocks in it, at whatever
    depth, and the first and the last of these blocks: two rows more.

    *holders* are the elements that hold the blocks; of those that hold none the first is the number
    of blocks, and the last -1.
    """
    cdef Py_ssize_t size = len(parents), rows = values.shape[0], blocks = holders.shape[0]
    sums = np.zeros((rows + 2, size))
    cdef double[:, ::1] into = sums
    cdef Py_ssize_t element, parent, row, number
    for element in range(size):
        into[rows, element], into[rows + 1, element] = blocks, -1
    for number in range(blocks):
        element = <Py_ssize_t>holders[number]
        for row in range(rows):
            into[row, element] += values[row, number]
        into[rows, element] = min(into[rows, element], number)
        into[rows + 1, element] = number
    for element in range(size - 1, 0, -1):  # parents come before their children
        parent = parents[element]
        for row in range(rows):
            into[row, parent] += into[row, element]
        into[rows, parent] = min(into[rows, parent], into[rows, element])
        into[rows + 1, parent] = max(into[rows + 1, parent], into[rows + 1, element])
    return sums


def inside(list parents not None, Py_ssize_t element):
    """Tell for each element whether it is *element* or stands in it."""
    cdef Py_ssize_t child, size = len(parents)
    below = np.zeros(size, dtype=bool)
    cdef unsigned char[::1] into = below.view(np.uint8)
    into[element] = True
    for child in range(element + 1, size):
        into[child] = into[<Py_ssize_t>parents[child]]
    return below


cdef vector[uint64_t] words_of(str text) except *:
    """Return numbers of the words of *text*, as `contentspider.page.text.tokens` makes them: equal
    words have equal numbers (and others hardly ever).
    """
    cdef vector[uint64_t] found
    cdef uint64_t word = 0
    cdef Py_ssize_t index
    cdef Py_UCS4 char
    text = text.lower()
    for index in range(len(text)):
        char = text[index]
        if is_unspaced(char):
            if word:
                found.push_back(word)
                word = 0
            found.push_back(extend(0, char))
        elif char.isalnum():
            word = extend(word, char)
        elif word:
            found.push_back(word)
            word = 0
    if word:
        found.push_back(word)
    return found


cdef inline uint64_t extend(uint64_t word, Py_UCS4 char) noexcept:
    word = (word ^ <uint64_t>char) * 0x9E3779B97F4A7C15U
    return (word ^ (word >> 29)) | 1


def hint_shares(list blocks not None, titles, descriptions):
    """Return four rows, a column a block: the largest share of the block's words that are in one of
    the *titles*, and of a title's that are in the block; and the same of *descriptions*.
    """
    cdef Py_ssize_t number, count = len(blocks), index, distinct
    shares = np.zeros((4, count))
    cdef double[:, ::1] into = shares
    cdef unordered_map[uint64_t, unsigned int] hints_of  # a bit for each hint that has the word
    cdef unordered_map[uint64_t, unsigned int].iterator found
    cdef vector[Py_ssize_t] sizes
    cdef vector[uint64_t] words
    cdef Py_ssize_t[2 * 4] common
    cdef uint64_t word, latest
    cdef unsigned int bits
    cdef Py_ssize_t kinds = min(len(titles), <Py_ssize_t>MAX_HINTS)
    cdef Block block
    cdef int row
    for text in (*titles[:MAX_HINTS], *descriptions[:MAX_HINTS]):
        bits = 1U << sizes.size()
        sizes.push_back(0)
        words = words_of(text)
        for word in words:
            if not hints_of[word] & bits:
                hints_of[word] |= bits
                sizes[sizes.size() - 1] += 1
    if hints_of.empty():
        return shares
    for number in range(count):
        block = blocks[number]
        for index in range(8):
            common[index] = 0
        distinct = 0
        latest = 0  # no word's number
        words = words_of(block.text[:MAX_CHARS])
        sort(words.begin(), words.end())
        for word in words:
            if word == latest:
                continue
            latest = word
            distinct += 1
            found = hints_of.find(word)
            if found == hints_of.end():
                continue
            bits = dereference(found).second
            for index in range(<Py_ssize_t>sizes.size()):
                common[index] += bits >> index & 1
        for index in range(<Py_ssize_t>sizes.size()):
            if common[index]:
                row = 0 if index < kinds else 2
                into[row, number] = max(into[row, number], common[index] / <double>distinct)
                into[row + 1, number] = max(
                    into[row + 1, number], common[index] / <double>sizes[index]
                )
    return shares
