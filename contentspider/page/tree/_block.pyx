# cython: language_level=3
"""The block: a run of text of a page with its position and marks."""

cimport cython
from cpython.bytearray cimport PyByteArray_AS_STRING
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8

from libc.string cimport strchr, strncmp

from contentspider.page.tree.tags import CODE, NO_NUMBER, STYLES, is_link

cdef bytes STYLE_BYTES = "".join([style for style in STYLES if len(style) == 1]).encode()
cdef const char* STYLE_CHARS = STYLE_BYTES


@cython.final
@cython.no_gc  # a block has only texts and numbers, so the garbage collector can skip it
cdef class Block:
    """One run of text of a page and its position in the page.

    *path* is the selector path from ``body`` down: elements joined by ``/``, each written as
    ``tag#id.class[role]``, with ``0`` for each number of two or more digits. The tag path is the
    same without ids, classes and roles. *container* is the index of the block's element in
    `PageBlocks`.
    *row* is the number of the block's table row on the page, *cell* its column in that row from 1
    on, and *item* the number of its list item (0: the block is not in a table or list). A cell
    covers *colspan* columns and *rowspan* rows. *table* is the number of the table on the page.
    *outer* has ``(table, row, cell, colspan, rowspan)`` of each cell around this table, outermost
    first. *number* is the number of an entry in a numbered
    list (`NO_NUMBER`: none), and *numbering* the ``type`` of the list ("a", "A", "i", "I" or
    ""), followed by "-" if it is reversed. *begins_list* tells that the entry is the first of a
    list right after another one. *within* has the kind and the number of each container around the
    block, outermost first; see `containers`. *language* is the programming language of a
    preformatted text. *anchor* is the fragment that links to a heading. *note* is the id of the
    footnote that the block belongs to.
    *spans* are ``(start, end, mark)`` ranges of *text*. A mark is the address of a link, one of
    `STYLES`, one of `FORMULAS_AS_TEXT` followed by LaTeX, or `NOTE` followed by the id of a
    footnote.
    *images* are ``(place, address, description, width, height)``. *place* is the number of
    characters before the image: -1 if the image is before the block, more than the length of *text*
    if it is after the block. Width and height are in pixels, 0 if the markup has none. *films* are
    ``(place, address, title)`` of frames and players, whose own text is not part of the page.
    """

    def __init__(
        self, str text not None, str path not None, str tag not None, Py_ssize_t container,
        Py_ssize_t link_chars=0, Py_ssize_t links=0, Py_ssize_t bold_chars=0, Py_ssize_t row=0,
        Py_ssize_t item=0, tuple spans not None=(), Py_ssize_t cell=0, tuple images not None=(),
        str language not None="", str anchor not None="", str note not None="",
        Py_ssize_t number=NO_NUMBER, tuple within not None=(), Py_ssize_t colspan=1,
        Py_ssize_t rowspan=1, tuple films not None=(), Py_ssize_t table=0, tuple outer not None=(),
        str numbering not None="", bint begins_list=False,
    ):
        self.text, self.path, self.tag, self.container = text, path, tag, container
        self.link_chars, self.links, self.bold_chars = link_chars, links, bold_chars
        self.row, self.item, self.cell = row, item, cell
        self.known_spans, self.images, self.films = spans, images, films
        self.language, self.anchor, self.note = language, anchor, note
        self.number, self.within, self.colspan, self.rowspan = number, within, colspan, rowspan
        self.table, self.outer = table, outer
        self.numbering, self.begins_list = numbering, begins_list

    @property
    def spans(self):
        cdef const Span* span
        cdef const char* marks
        cdef list spans
        cdef Py_ssize_t index
        if self.known_spans is None:
            # Unpacked at first access, because most links are in blocks that are not kept.
            spans = []
            span = <const Span*>PyBytes_AS_STRING(self.packed_spans)
            marks = PyByteArray_AS_STRING(self.marks)
            for index in range(PyBytes_GET_SIZE(self.packed_spans) // <Py_ssize_t>sizeof(Span)):
                mark = PyUnicode_DecodeUTF8(marks + span[index].at, span[index].length, NULL)
                spans.append((span[index].start, span[index].end, mark))
            spans.sort()
            self.known_spans = tuple(spans)
            self.packed_spans = self.marks = None
        return self.known_spans

    cdef int count_marks(self, double* marks, double* chars) except -1:
        """Write the number of *spans* that are links or code to *marks*, and the number of
        characters that are code to *chars*.
        """
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
            self.language, self.anchor, self.note, self.number, self.within, self.colspan,
            self.rowspan, self.films, self.table, self.outer, self.numbering, self.begins_list,
        )

    def __eq__(self, other):
        if not isinstance(other, Block):
            return NotImplemented
        return self.fields() == (<Block>other).fields()

    def __repr__(self):
        return f"Block{self.fields()!r}"


cdef bint is_style(const char* mark, int length) noexcept:
    """Tell whether a mark is a style or a footnote, not the address of a link; see `is_link`."""
    if length == 1:
        return strchr(STYLE_CHARS, mark[0]) is not NULL
    if length < 2:
        return False
    if strncmp(mark, "$ ", 2) == 0 or strncmp(mark, "[^", 2) == 0:
        return True
    return strncmp(mark, "$$", 2) == 0 and (length == 2 or mark[2] == c" ")
