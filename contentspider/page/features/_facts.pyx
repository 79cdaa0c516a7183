# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# distutils: language = c++
"""Counts of a page's blocks and elements, which all groups of features are computed from, and the
features of a block's own text: length, links, punctuation, phrases.
"""

from libc.math cimport log1p
from libc.stdint cimport uint64_t

from contentspider.page.tree._block cimport Block
from contentspider.page.words._phrases cimport Phrases

import re

from contentspider.page.tree.text import SENTENCE_END
from contentspider.page.tree.tags import PREFORMATTED_TAGS
from contentspider.page.words.names import HEADINGS
from contentspider.page.words.phrases import NOISE_PHRASES, PHRASE_MATCHER

# Unlinked text of at least this length is prose, not a label.
cdef double PROSE_CHARS = 80

cdef frozenset PREFORMATTED = PREFORMATTED_TAGS


cdef class PageFacts:
    """The blocks of a page in reading order and its elements in document order, with counts.

    See `contentspider.page.tree.blocks.PageBlocks`.
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
        """Count all blocks; *levels* has the levels of headings by tag."""
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
            block.count_marks(&facts.marks, &facts.code_chars)
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
        """Sum the counts of the blocks in each element."""
        cdef Py_ssize_t index, number, size = self.element.size(), blocks = self.block.size()
        cdef ElementFacts* element
        cdef ElementFacts* above
        cdef BlockFacts* block
        for index in range(size):
            element = &self.element[index]
            element.parent, element.position = self.parents[index], positions[index]
            if not (0 <= element.parent < index if index else element.parent == -1):
                raise ValueError("the index of a parent is not before that of its element")
            element.chars = element.linked = element.prose = element.number = 0
            element.first, element.last = <int>blocks, -1
        for number in range(blocks):
            block = &self.block[number]
            if not 0 <= block.holder < size:
                raise ValueError("a block is in an element that does not exist")
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
        """Return the address of *column* in the first of *rows*; raises ValueError if the matrix has
        another number of rows, or no room for *width* features.
        """
        if rows.shape[0] != <Py_ssize_t>self.block.size() or not 0 <= column <= rows.shape[1] - width:
            raise ValueError("the matrix does not have the shape for these features")
        return &rows[0, column]


# Characters are counted in the first HEAD_CHARS characters of a text.
cdef Py_ssize_t HEAD_CHARS = 2_000
# Phrases are searched in the first SAYS_WITHIN characters of texts shorter than SAYS_CHARS, since
# boilerplate is short and begins with its phrase.
cdef Py_ssize_t SAYS_WITHIN = 80, SAYS_CHARS = 400

DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[:.]\d\d\b|\b\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}\b")
PRICE = re.compile(
    r"[$€£¥₹₽₩]\s?\d|\d\s?(?:[$€£¥₹₽₩]|(?:usd|eur|gbp|kr|zł|руб|chf|円|元|원)\b)", re.IGNORECASE
)
cdef object FIND_DATE = DATE.search, FIND_PRICE = PRICE.search
cdef str CURRENCIES = "$€£¥₹₽₩"
# The first letters of the names of currencies. The Kelvin sign is one of them, since a pattern that
# ignores case matches it with a k.
cdef str CURRENCY_LETTERS = "uUeEgGkK\u212azZрРcC円元원"

TEXT = [
    *(
        "log_chars log_words link_share links word_chars punctuation commas ends_sentence"
        " digit_share upper_share starts_upper date price code_share separators ends_colon question"
        " bold_share starts_digit url spans in_row in_item repeats_on_page"
    ).split(),
    *(f"says_{name}" for name in NOISE_PHRASES),
]

cdef enum:  # the columns of TEXT
    LOG_CHARS, LOG_WORDS, LINK_SHARE, LINKS, WORD_CHARS, PUNCTUATION, COMMAS, ENDS_SENTENCE
    DIGIT_SHARE, UPPER_SHARE, STARTS_UPPER, DATES, PRICES, CODE_SHARE, SEPARATORS, ENDS_COLON
    QUESTION, BOLD_SHARE, STARTS_DIGIT, URL, SPANS, IN_ROW, IN_ITEM, REPEATS_ON_PAGE, SAYS

cdef enum Kind:
    IS_PUNCTUATION = 1
    IS_COMMA = 2
    IS_UPPER = 4
    IS_SEPARATOR = 8
    IS_QUESTION = 16
    IS_DIGIT = 32
    IS_WIDE = 64  # as informative as three characters of a script with spaces
    IS_SPACE = 128

cdef unsigned char[0x10000] KINDS  # the kinds of each character
cdef Phrases PHRASES = PHRASE_MATCHER
cdef str ENDS = "".join(SENTENCE_END)


cdef set_kinds():
    cdef Py_UCS4 char
    cdef int code
    for code in range(0x10000):
        char = <Py_UCS4>code
        KINDS[code] = IS_DIGIT if char.isdecimal() else 0
        if 0x2E80 <= code <= 0x9FFF or 0xAC00 <= code <= 0xD7AF or 0xF900 <= code <= 0xFAFF:
            KINDS[code] |= IS_WIDE
    for chars, kind in (
        (" ", IS_SPACE),
        (",.;:!?،؛。，、；：！？", IS_PUNCTUATION),
        (",，、", IS_COMMA),
        ("ABCDEFGHIJKLMNOPQRSTUVWXYZ", IS_UPPER),
        ("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ", IS_UPPER),
        ("АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁ", IS_UPPER),
        ("|»«›‹•·→←>/", IS_SEPARATOR),
        ("?？", IS_QUESTION),
    ):
        for each in chars:
            KINDS[ord(each)] |= <int>kind


set_kinds()


cdef inline int kind_of(Py_UCS4 char) noexcept:
    if char < 0x10000:
        return KINDS[char]
    return IS_DIGIT if char.isdecimal() else 0


cdef int count_text(str text, BlockFacts* into) except -1:
    """Write the counts of a block's *text* into *into*."""
    cdef Py_ssize_t size = len(text), sample = min(size, HEAD_CHARS)
    cdef Py_ssize_t index, words = 1, wide = 0
    cdef int punctuation = 0, commas = 0, digits = 0, upper = 0, separators = 0, questions = 0
    cdef Py_UCS4 char
    cdef int kind
    if size == 0:
        raise ValueError("a block is empty")
    for index in range(sample):
        kind = kind_of(text[index])
        if kind:
            if kind == IS_SPACE:
                words += 1
                continue
            wide += kind & IS_WIDE != 0
            punctuation += kind & IS_PUNCTUATION
            commas += kind & IS_COMMA != 0
            upper += kind & IS_UPPER != 0
            separators += kind & IS_SEPARATOR != 0
            questions += kind & IS_QUESTION != 0
            digits += kind & IS_DIGIT != 0
    for index in range(sample, size):
        kind = kind_of(text[index])
        if kind:
            words += kind & IS_SPACE != 0
            wide += kind & IS_WIDE != 0
    into.chars, into.weight, into.words, into.sample = size, size + 2 * wide, words, sample
    into.punctuation, into.commas, into.digits, into.upper = punctuation, commas, digits, upper
    into.separators, into.questions = separators, questions
    into.log_chars = log1p(into.weight)
    char = text[size - 1]
    into.ends_sentence = char in ENDS
    into.ends_colon = char == u":" or char == u"："
    char = text[0]
    into.starts_upper, into.starts_digit = char.isupper(), char.isdigit()
    head = text if size <= HEAD_CHARS else text[:HEAD_CHARS]
    into.has_url = u"http" in head or u"www." in head
    into.date = into.price = 0
    if digits:
        if may_have_date(text, sample) and FIND_DATE(text, 0, HEAD_CHARS):
            into.date = 1 / (1 + size / 100.0)
        if may_have_price(text, sample) and FIND_PRICE(text, 0, HEAD_CHARS):
            into.price = 1 / (1 + size / 100.0)
    into.phrases = PHRASES.kinds_in(text[:SAYS_WITHIN].lower()) if size < SAYS_CHARS else 0
    return 0


cdef bint may_have_date(str text, Py_ssize_t size) noexcept:
    """Tell whether the beginning of *text* may have a `DATE`. The pattern takes twenty times as long."""
    cdef Py_ssize_t start = 0, end
    cdef Py_UCS4 char
    while start < size:
        if not kind_of(text[start]) & IS_DIGIT:
            start += 1
            continue
        end = start + 1
        while end < size and kind_of(text[end]) & IS_DIGIT:
            end += 1
        if end - start == 4:
            if text[start] == u"1" or text[start] == u"2":
                return True
        elif end - start <= 2 and end + 1 < size and kind_of(text[end + 1]) & IS_DIGIT:
            char = text[end]
            if char == u":" or char == u"." or char == u"/" or char == u"-":
                return True
        start = end
    return False


cdef bint may_have_price(str text, Py_ssize_t size) noexcept:
    """Tell quickly whether the beginning of *text* may have a `PRICE`, as `may_have_date` does."""
    cdef Py_ssize_t index
    cdef Py_UCS4 char
    cdef bint after_digit = False, after_space = False  # after_space: after a digit and white space
    for index in range(size):
        char = text[index]
        if (char >= 0x80 or char == u"$") and char in CURRENCIES:
            return True
        if (after_digit or after_space) and char in CURRENCY_LETTERS:
            return True
        after_space = after_digit and char.isspace()
        after_digit = kind_of(char) & IS_DIGIT != 0
    return False


def fill_texts(PageFacts page not None, float[:, ::1] rows, Py_ssize_t column):
    """Write the features of the blocks' texts into *rows*, from a *column* on."""
    cdef float* row = page.start(rows, column, len(TEXT))
    cdef BlockFacts* of
    cdef Py_ssize_t number, kind, kinds = len(TEXT) - SAYS
    for number in range(rows.shape[0]):
        of = &page.block[number]
        row[LOG_CHARS], row[LOG_WORDS] = of.log_chars, log1p(of.words)
        row[LINK_SHARE], row[LINKS] = of.link_share, log1p(of.links)
        row[WORD_CHARS] = of.chars / of.words
        row[PUNCTUATION], row[COMMAS] = of.punctuation / of.sample, of.commas / of.sample
        row[ENDS_SENTENCE] = of.ends_sentence
        row[DIGIT_SHARE], row[UPPER_SHARE] = of.digits / of.sample, of.upper / of.sample
        row[STARTS_UPPER], row[DATES], row[PRICES] = of.starts_upper, of.date, of.price
        row[CODE_SHARE], row[SEPARATORS] = of.code_chars / of.chars, of.separators / of.sample
        row[ENDS_COLON], row[QUESTION] = of.ends_colon, of.questions > 0
        row[BOLD_SHARE], row[STARTS_DIGIT] = of.bold_chars / of.chars, of.starts_digit
        row[URL], row[SPANS] = of.has_url, of.marks / of.words
        row[IN_ROW], row[IN_ITEM] = of.in_row, of.in_item
        row[REPEATS_ON_PAGE] = min(of.repeats, 5)
        for kind in range(kinds):
            row[SAYS + kind] = of.phrases >> <uint64_t>kind & 1
        row += rows.shape[1]
