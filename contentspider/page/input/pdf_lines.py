"""Reads the lines of PDF files, with their place and their font, by PDFium."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pypdfium2 import PdfPage

HYPHEN = "\x02"  # PDFium's sign for a hyphen at the end of a line, instead of a line break
LINE_END = re.compile("\r\n|\n|\x02")
BOLD_NAME = re.compile(rb"bold|black|heavy|demi|-bd|cmbx|cmb\d|sfbx|\.b(?:$|,)", re.IGNORECASE)
FIXED_NAME = re.compile(rb"mono|courier|typewriter|consol|cmtt|cmsltt|sftt|ectt", re.IGNORECASE)
SPACES = re.compile(r"(?<=\S)\s+(?=\S)")
GAP = 1.5  # between the cells of a row, in sizes of the font; justified lines have smaller ones
WIDE = 0.43  # a line with gaps is wider than this for each character, in sizes of the font
FORCED_BOLD = 1 << 18  # a flag of fonts
# Ligatures, and letters whose accent is a character of its own before them, as in old TeX files.
LIGATURE = re.compile("[\ufb00-\ufb06]")
LOOSE_ACCENT = re.compile(r"(?<=[^\W\d_])([¨´ˇ˚])\s?(?=[A-Za-zı])([A-Za-zı])")
ACCENTS = {"¨": "\u0308", "´": "\u0301", "ˇ": "\u030c", "˚": "\u030a"}


class Cell(NamedTuple):
    """A part of a line between wide gaps: its text, and its ends in points."""

    text: str
    left: float
    right: float


class Line(NamedTuple):
    """A line of a page: its text, its box in points (the origin is the lower left corner of the
    page), the *size* of its font in points, whether all of it is bold, and whether a hyphen at its
    end was left out of the text. *cells* are its parts between wide gaps; a line of code has none.
    """

    text: str
    page: int
    left: float
    right: float
    base: float
    size: float
    is_bold: bool
    has_hyphen: bool = False
    cells: tuple[Cell, ...] = ()


def read_lines(page: PdfPage, number: int) -> Iterator[Line]:
    """Yield the lines of a page, which is the *number*-th, in the order of the file."""
    text_page = page.get_textpage()
    try:
        reader = _Reader(text_page.raw, number)
        text = reader.text(text_page.count_chars())
        start = 0
        for end in LINE_END.finditer(text):
            yield from reader.line(text, start, end.start(), end[0] == HYPHEN)
            start = end.end()
        yield from reader.line(text, start, len(text), has_hyphen=False)
    finally:
        text_page.close()


class _Reader:
    """Reads the characters of a page. Their numbers are their places in `text`."""

    def __init__(self, text_page: object, page: int) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium, self._text_page, self._page = pdfium, text_page, page
        self._buffers = [ctypes.c_double() for _ in range(4)]

    def text(self, size: int) -> str:
        """Return the page's characters, one for each number."""
        get, page = self._pdfium.FPDFText_GetUnicode, self._text_page
        return "".join(map(chr, (get(page, index) for index in range(size))))

    def line(self, text: str, start: int, end: int, has_hyphen: bool) -> Iterator[Line]:
        """Yield the line between two characters, unless it is empty."""
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        shown = _clean(text[start:end])
        if not shown:
            return
        # In texts from right to left, the first character is at the right.
        boxes = [self._box(index) for index in (start, end - 1)]
        left, right = min(box[0] for box in boxes), max(box[1] for box in boxes)
        middle = (start + end) // 2
        while text[middle].isspace():  # PDFium adds spaces, which have no font
            middle += 1
        places = (start, middle, end - 1)
        sizes, bold, fixed = zip(*(self._font(index) for index in places), strict=True)
        size = sorted(sizes)[len(sizes) // 2]
        # The numbers of lines of code may have another font.
        cells: tuple[Cell, ...] = ()
        if not all(fixed[1:]):
            cells = (Cell(shown, left, right),)
            if right - left > WIDE * size * len(shown):
                cells = tuple(self._cells(text, start, end, size))
        yield Line(
            *(shown, self._page, left, right, boxes[0][2], size, all(bold), has_hyphen, cells)
        )

    def _cells(self, text: str, start: int, end: int, size: float) -> Iterator[Cell]:
        """Yield the parts of a line between wide gaps."""
        begin, left = start, self._sides(start)[0]
        for space in SPACES.finditer(text, start, end):
            right, following = self._sides(space.start() - 1)[1], self._sides(space.end())[0]
            if following - right > GAP * size:
                yield Cell(_clean(text[begin : space.start()]), left, right)
                begin, left = space.end(), following
        yield Cell(_clean(text[begin:end]), left, self._sides(end - 1)[1])

    def _sides(self, index: int) -> tuple[float, float]:
        """Return the left and the right end of a character."""
        self._pdfium.FPDFText_GetCharBox(self._text_page, index, *self._buffers)
        return self._buffers[0].value, self._buffers[1].value

    def _box(self, index: int) -> tuple[float, float, float]:
        """Return the left and the right end and the base line of a character."""
        left, right = self._sides(index)
        x, y = ctypes.c_double(), ctypes.c_double()
        self._pdfium.FPDFText_GetCharOrigin(self._text_page, index, x, y)
        return left, right, y.value

    def _font(self, index: int) -> tuple[float, bool, bool]:
        """Return the size of a character's font on the page, whether it is bold, and whether all
        its characters have the same width.
        """
        matrix = self._pdfium.FS_MATRIX()
        self._pdfium.FPDFText_GetMatrix(self._text_page, index, matrix)
        size = self._pdfium.FPDFText_GetFontSize(self._text_page, index)
        size *= math.hypot(matrix.c, matrix.d) or 1.0
        name, flags = ctypes.create_string_buffer(200), ctypes.c_int()
        self._pdfium.FPDFText_GetFontInfo(self._text_page, index, name, len(name), flags)
        is_bold = bool(flags.value & FORCED_BOLD) or BOLD_NAME.search(name.value) is not None
        return round(2 * size) / 2, is_bold, FIXED_NAME.search(name.value) is not None


def _clean(text: str) -> str:
    """Return the text of a line with single spaces, without control characters and ligatures."""
    if not text.isascii():
        # Characters beyond the first plane are two surrogates.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        text = LIGATURE.sub(lambda match: unicodedata.normalize("NFKD", match[0]), text)
        text = LOOSE_ACCENT.sub(_with_accent, text)
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _with_accent(match: re.Match[str]) -> str:
    letter = "i" if match[2] == "ı" else match[2]
    return unicodedata.normalize("NFC", letter + ACCENTS[match[1]])
