# cython: language_level=3
"""A run of text of a page."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8

from libc.string cimport strchr, strncmp

from contentspider.page.tree.tags import CODE, STYLES, is_link

cdef bytes STYLE_BYTES = "".join([style for style in STYLES if len(style) == 1]).encode()
cdef const char* STYLE_CHARS = STYLE_BYTES


@cython.final
@cython.no_gc  # only texts and numbers: the collector need not look at a page's hundreds of them
cdef class Block:
    """One run of text of a page and where it stands.

    *path* is the selector path from ``body`` down: elements joined by ``/``, each
    ``tag#id.class[role]`` with runs of two digits or more written as ``0``; the tag path is the
    same without ids, classes and roles. *container* is the index of the block's element in
    `PageBlocks`.
    *row* numbers the table row that the block stands in, *cell* is its column there, from 1 on, and
    *item* numbers the list item (0: none). A cell covers *colspan* columns and *rowspan* rows.
    *number* is that of an entry of a numbered list (-1: it is none), *quote* numbers the innermost
    quote, *language* names the programming language of a preformatted text, *anchor* is the
    fragment that leads to a heading, and *note* the id of the footnote that the block is of.
    *spans* are ``(start, end, mark)`` ranges of *text*: a link's address, one of `STYLES`, or
    `NOTE` and the id of a footnote.
    *images* are ``(place, address, description, width, height)``: how many characters stand before
    the picture (-1 if it stands before the block, and more than there are if it stands after it);
    width and height are pixels, 0 where the markup does not say. *films* are ``(place, address,
    title)`` of frames and players, whose text is no part of the page.
    """

    def __init__(
        self, str text not None, str path not None, str tag not None, Py_ssize_t container,
        Py_ssize_t link_chars=0, Py_ssize_t links=0, Py_ssize_t bold_chars=0, Py_ssize_t row=0,
        Py_ssize_t item=0, tuple spans not None=(), Py_ssize_t cell=0, tuple images not None=(),
        str language not None="", str anchor not None="", str note not None="",
        Py_ssize_t number=-1, Py_ssize_t quote=0, Py_ssize_t colspan=1, Py_ssize_t rowspan=1,
        tuple films not None=(),
    ):
        self.text, self.path, self.tag, self.container = text, path, tag, container
        self.link_chars, self.links, self.bold_chars = link_chars, links, bold_chars
        self.row, self.item, self.cell = row, item, cell
        self.known_spans, self.images, self.films = spans, images, films
        self.language, self.anchor, self.note = language, anchor, note
        self.number, self.quote, self.colspan, self.rowspan = number, quote, colspan, rowspan

    @property
    def spans(self):
        cdef const Span* span
        cdef const char* marks
        cdef list found
        cdef Py_ssize_t index
        if self.known_spans is None:
            # Made when they are asked for: most links stand in blocks that are not kept.
            found = []
            span = <const Span*>PyBytes_AS_STRING(self.packed_spans)
            marks = PyByteArray_AS_STRING(self.marks)
            for index in range(PyBytes_GET_SIZE(self.packed_spans) // <Py_ssize_t>sizeof(Span)):
                mark = PyUnicode_DecodeUTF8(marks + span[index].at, span[index].length, NULL)
                found.append((span[index].start, span[index].end, mark))
            found.sort()
            self.known_spans = tuple(found)
            self.packed_spans = self.marks = None
        return self.known_spans

    cdef int count_marks(self, double* marks, double* chars) except -1:
        """Write how many *spans* are links or code, and how many characters are code."""
        cdef const Span* span
        cdef const char* mark
        cdef Py_ssize_t index
        marks[0] = chars[0] = 0
        if self.known_spans is not None:
            for start, end, name in self.known_spans:
                marks[0] += name == CODE or is_link(name)
                chars[0] += <Py_ssize_t>(end - start) if name == CODE else 0
            return 0
        span = <const Span*>PyBytes_AS_STRING(self.packed_spans)
        for index in range(PyBytes_GET_SIZE(self.packed_spans) // <Py_ssize_t>sizeof(Span)):
            mark = PyByteArray_AS_STRING(self.marks) + span[index].at
            if span[index].length == 1 and mark[0] == c"`":
                chars[0] += span[index].end - span[index].start
                marks[0] += 1
            else:
                marks[0] += not is_style(mark, span[index].length)
        return 0

    cdef tuple fields(self):
        return (
            self.text, self.path, self.tag, self.container, self.link_chars, self.links,
            self.bold_chars, self.row, self.item, self.spans, self.cell, self.images,
            self.language, self.anchor, self.note, self.number, self.quote, self.colspan,
            self.rowspan, self.films,
        )

    def __eq__(self, other):
        if not isinstance(other, Block):
            return NotImplemented
        return self.fields() == (<Block>other).fields()

    def __repr__(self):
        return f"Block{self.fields()!r}"


cdef bint is_style(const char* mark, int length) noexcept:
    """Tell whether a mark is no link's, as `is_link` does."""
    if length == 1:
        return strchr(STYLE_CHARS, mark[0]) is not NULL
    return length >= 2 and (strncmp(mark, "$$", length) == 0 or strncmp(mark, "[^", 2) == 0)
