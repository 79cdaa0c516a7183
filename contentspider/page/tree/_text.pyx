# cython: language_level=3, wraparound=False
# distutils: language = c++
"""The run of text that a walk is reading: it is cleaned while it grows, and has marks."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint32_t
from libc.string cimport strlen
from lxml.includes.tree cimport XML_CDATA_SECTION_NODE, XML_TEXT_NODE, XML_XINCLUDE_END
from lxml.includes.tree cimport XML_XINCLUDE_START, xmlNode

from contentspider.page.tree._block cimport Block, Span
from contentspider.page.tree._elements cimport Elements, MarkText

from contentspider.page.tree.tags import LOWERED, RAISED
from contentspider.page.tree.text import joins_lines


cdef extern from "Python.h":
    bint Py_UNICODE_ISSPACE(Py_UCS4 character)


# The number of nested elements whose text is marked; usual pages nest two. Each block has all marks
# that are open around it, so thousands of nested elements would fill the memory.
cdef size_t MAX_OPEN_MARKS = 8


@cython.final
cdef class Run:
    """The run of text that is being read. It is cleaned unless it is *preformatted*.

    *parts* is the number of its text nodes that are not empty, *end* its number of characters so
    far, *breaks* the number of ``<br>`` at its end, and *marks* are the closed marks in it.
    """

    cdef int add_texts(self, xmlNode* node) except -1:
        """Add the adjacent text nodes from *node* on, unless the run *is_muted*."""
        cdef Part part = new_part()
        cdef bytes text
        if self.is_muted:
            return 0
        while node is not NULL:
            if node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE:
                if node.content is not NULL:
                    if self.is_raised or self.is_lowered:
                        signs = RAISED if self.is_raised else LOWERED
                        text = (<const char*>node.content).decode().translate(signs).encode()
                        self.extend(&part, text)
                    else:
                        self.extend(&part, <const char*>node.content)
            elif node.type != XML_XINCLUDE_START and node.type != XML_XINCLUDE_END:
                break
            node = node.next
        return self.end_part(&part)

    cdef int add(self, const char* text) except -1:
        """Add a text that does not come from a node."""
        cdef Part part = new_part()
        self.extend(&part, text)
        return self.end_part(&part)

    cdef int end_line(self) except -1:
        """End the current line of a preformatted run, unless it is empty."""
        if self.used and self.text[self.used - 1] != c"\n":
            self.add(b"\n")
        return 0

    cdef int add_break(self, Elements elements) except -1:
        """Add a space with a mark that makes it a line break."""
        cdef Mark mark
        mark.mark, mark.part = elements.line_break, self.parts
        mark.start, mark.end = self.end, self.end + 1
        self.marks.push_back(mark)
        self.space_is_break = True
        return self.add(b" ")

    cdef int keep_space(self) except -1:
        """Keep the white space between a marked text, such as a link, and the link that begins here:
        two links are no words of one line, even if they are Chinese.
        """
        if self.pending_space and not self.marks.empty() and self.marks.back().end == self.end:
            self.space_is_break = True
        return 0

    cdef int break_line(self, Elements elements) except -1:
        """End the current line, unless it is empty."""
        if self.used and not self.preformatted and not self.breaks:
            self.breaks = 1
            self.add_break(elements)
        return 0

    cdef Py_UCS4 last_char(self) except? 0:
        """Return the last character of the text, a space if white space follows it, or 0."""
        if self.pending_space:
            return u" "
        return char_before(self.text.data() + self.used) if self.used else 0

    cdef str read(self):
        """Return the text so far."""
        return PyUnicode_DecodeUTF8(self.text.data(), self.used, NULL)

    cdef int clear(self) except -1:
        """Drop the text and its closed marks. Open marks continue in the next run."""
        cdef size_t i
        self.used = self.parts = self.end = 0
        self.pending_space = self.part_ended_with_space = False
        self.space_has_newline = self.space_is_break = False
        self.marks.clear()
        for i in range(self.open_marks.size()):
            self.open_marks[i].part = self.open_marks[i].start = 0
        return 0

    cdef bint open_mark(self, Py_ssize_t number) except -1:
        """Mark the text that follows until `close_mark`. Return False if too many marks are open; then
        `close_mark` must not be called.
        """
        cdef Mark mark
        if number == 0 or self.open_marks.size() >= MAX_OPEN_MARKS:
            return False
        mark.mark = number
        mark.part = self.parts
        mark.start = mark.end = self.end
        self.open_marks.push_back(mark)
        return True

    cdef int close_mark(self) except -1:
        """Close the mark that was opened last; drop it if no text follows it."""
        cdef Mark mark = self.open_marks.back()
        self.open_marks.pop_back()
        if mark.part < self.parts:
            mark.end = self.end
            self.marks.push_back(mark)
        return 0

    cdef int close_marks(self, str text, Elements elements) except -1:
        """Turn all marks of the run into character ranges of *text*, the result of `read`.

        Open marks end with the run. Marks without text, and line breaks at the ends of the text,
        are dropped.
        """
        cdef Py_ssize_t start, end
        cdef Mark mark
        cdef size_t i, kept = 0
        for i in range(self.open_marks.size()):
            mark = self.open_marks[self.open_marks.size() - 1 - i]
            if mark.part < self.parts:
                mark.end = self.end
                self.marks.push_back(mark)
        for mark in self.marks:
            start, end = mark.start, min(mark.end, len(text))
            if mark.mark == elements.line_break:
                if start == 0 or end == len(text) or text[start] != u" ":
                    continue
            elif start < end and text[start] == u" ":
                start += 1
            if start < end:
                mark.start, mark.end = start, end
                self.marks[kept] = mark
                kept += 1
        self.marks.resize(kept)
        return 0

    cdef bint has_code(self, Elements elements) noexcept:
        """Tell whether a part of the text is marked as code."""
        cdef Mark mark
        for mark in self.marks:
            if elements.mark_texts[mark.mark].is_code:
                return True
        return False

    cdef int give_spans(self, Block block, Elements elements) except -1:
        """Set the spans of the *block* with this run's text, and the counts of its links and of its
        bold characters. Preformatted text only gets the counts.

        A link within a link counts as part of it, and so does bold text within bold text. Marks are
        in the order of their ends: backwards, a mark comes before those within it.
        """
        cdef Mark mark
        cdef MarkText* text
        cdef Span* span
        cdef Py_ssize_t linked_from = self.end + 1, bold_from = self.end + 1
        cdef size_t i
        block.packed_spans = PyBytes_FromStringAndSize(NULL, self.marks.size() * sizeof(Span))
        span = <Span*>PyBytes_AS_STRING(block.packed_spans)
        for i in range(self.marks.size()):
            mark = self.marks[self.marks.size() - 1 - i]
            text = &elements.mark_texts[mark.mark]
            if text.is_bold and mark.start < bold_from:
                bold_from = mark.start
                block.bold_chars += mark.end - mark.start
            elif text.is_link and mark.start < linked_from:
                linked_from = mark.start
                block.link_chars += mark.end - mark.start
                block.links += 1
            span.start, span.end = <int>mark.start, <int>mark.end
            span.at, span.length = text.at, text.length
            span += 1
        if self.preformatted:
            block.packed_spans = None
        else:
            block.known_spans, block.marks = None, elements.marks
        return 0

    cdef int end_part(self, Part* part) except -1:
        """Add the length of a part to the run, with the space between the two."""
        if part.empty:
            return 0
        self.parts += 1
        if self.preformatted:
            self.end += part.length
        elif part.length:
            if (
                self.end
                and not part.is_joined
                and (self.part_ended_with_space or part.starts_with_space)
            ):
                self.end += 1
            self.end += part.length
            self.part_ended_with_space = part.ends_with_space
        else:
            self.part_ended_with_space = True
        if not part.blank:
            self.breaks = 0
        return 0

    cdef int extend(self, Part* part, const char* source) except -1:
        """Add *source*, and count its characters in *part*. It is cleaned as by `clean_text`, but line
        breaks between Chinese or Japanese characters are no spaces.
        """
        cdef const unsigned char* at = <const unsigned char*>source
        cdef size_t needed = self.used + strlen(source) + 1  # and the space before it
        cdef bint preformatted = self.preformatted
        cdef bint pending = self.pending_space, part_pending = part.pending_space, space = False
        cdef Py_ssize_t length = part.length
        cdef bint blank = part.blank
        cdef char* start
        cdef char* to
        cdef uint32_t character
        cdef int size, i
        if at[0] == 0:
            return 0
        if needed > self.text.size():
            self.text.resize(2 * needed)
        start = self.text.data()
        to = start + self.used
        while at[0]:
            character = at[0]
            size = 1
            if character < 0x80:
                space = character == c" " or 9 <= character <= 13 or 0x1C <= character <= 0x1F
            else:
                size = decode(at, &character)
                if size == 0:
                    PyUnicode_DecodeUTF8(source, strlen(source), NULL)  # raises
                    raise ValueError("the text is not UTF-8")
                space = Py_UNICODE_ISSPACE(character)
            if part.empty:
                part.empty = False
                part.starts_with_space = space
            if not space:
                blank = False
            if preformatted:
                length += 1
            elif space:
                pending = part_pending = True
                while at[0] == c" " or at[0] == c"\n":  # a fast loop for indentation
                    if at[0] == c"\n":
                        self.space_has_newline = True
                    at += 1
                    size = 0
                at += size
                continue
            elif character in (0xAD, 0x200B, 0x2060, 0xFEFF):  # as in `text.INVISIBLE`
                at += size
                continue
            else:
                if pending and to != start:
                    if (
                        size > 2
                        and self.space_has_newline
                        and not self.space_is_break
                        and joins_lines(char_before(to), <Py_UCS4>character)
                    ):
                        # Between Chinese or Japanese characters a line break is no space.
                        part.is_joined = length == 0
                        part_pending = False
                    else:
                        to[0] = c" "
                        to += 1
                if pending:
                    self.space_has_newline = self.space_is_break = False
                if part_pending and length:
                    length += 1
                pending = part_pending = False
                length += 1
                if size == 1:  # a fast loop for the rest of a word in ASCII
                    while c" " < at[1] < 0x7F:
                        to[0] = at[0]
                        to += 1
                        at += 1
                        length += 1
            for i in range(size):
                to[i] = at[i]
            to += size
            at += size
        self.used = to - start
        self.pending_space = pending
        part.pending_space = part_pending
        part.length = length
        part.blank = blank
        part.ends_with_space = space
        return 0


cdef Part new_part() noexcept:
    return Part(
        length=0, empty=True, blank=True, starts_with_space=False, ends_with_space=False,
        pending_space=False, is_joined=False,
    )


cdef Py_UCS4 char_before(const char* end) noexcept:
    """Return the character that ends before a place in UTF-8 that is not the beginning."""
    cdef uint32_t character
    end -= 1
    if not end[0] & 0x80:
        return <Py_UCS4>(<unsigned char>end[0])
    while end[0] & 0xC0 == 0x80:
        end -= 1
    decode(<const unsigned char*>end, &character)
    return <Py_UCS4>character


cdef int decode(const unsigned char* at, uint32_t* character) noexcept:
    """Decode one UTF-8 character beyond ASCII, and return its size in bytes; 0 if it is invalid. A
    NUL byte ends the text.
    """
    cdef int size, i
    cdef uint32_t least, value
    if 0xC2 <= at[0] < 0xE0:
        size, least, value = 2, 0x80, at[0] & 0x1F
    elif 0xE0 <= at[0] < 0xF0:
        size, least, value = 3, 0x800, at[0] & 0x0F
    elif 0xF0 <= at[0] < 0xF5:
        size, least, value = 4, 0x10000, at[0] & 0x07
    else:
        return 0
    for i in range(1, size):
        if at[i] & 0xC0 != 0x80:
            return 0
        value = value << 6 | at[i] & 0x3F
    if value < least or value > 0x10FFFF or 0xD800 <= value < 0xE000:
        return 0
    character[0] = value
    return size
