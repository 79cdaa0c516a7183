# cython: language_level=3, annotation_typing=False, infer_types=True
"""The data that Markdown and HTML are written from: parts, tables, and lines with marks and images.

A mark says how a range of a block's text is shown: bold, code, a link (see `tags`).
"""

from __future__ import annotations

import re
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from contentspider.page.tree.tags import (
    CODE,
    LINE_BREAK,
    NO_NUMBER,
    NOTE,
    RAISED_SIGNS,
    STYLES,
    is_formula,
    is_link,
    raised,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.page.tree.resolver import Resolver

    Line: TypeAlias = list["str | Image | Marked"]


# Formulas in a page's text, between the delimiters that MathJax and KaTeX look for. Prices have
# dollar signs, too, so text between two dollar signs is a formula only if `TEX_SIGN` is in it.
TEX = re.compile(
    r"\\\((?P<inline>(?:(?!\\[()]).){1,1000})\\\)"
    r"|\\\[(?P<displayed>(?:(?!\\[\[\]]).){1,1000})\\\]"
    r"|\$\$[^$]{1,1000}\$\$"
    r"|(?<![\w$\\])\$(?=[^\s$])(?P<dollars>[^$\n]{1,500})(?<=\S)\$(?![\w$])"
)
TEX_SIGN = re.compile(r"[\\^_{}=<>\[\]]")


class Image(NamedTuple):
    """A picture, or a film, which is written as a link; its address and description."""

    address: str
    description: str
    is_film: bool = False


class Marked:
    """A marked range: its texts, images and inner marks. *target* is the address of a link, "" for
    other marks; *end* is the place in the block's text where the range ends.
    """

    def __init__(self, mark: str, target: str, end: int, children: Line) -> None:
        self.mark, self.target, self.end, self.children = mark, target, end, children

    def text(self) -> str:
        """Return the text without marks and images."""
        texts: list[str] = []
        for child in self.children:
            if isinstance(child, Marked):
                texts.append(child.text())
            elif isinstance(child, str):
                texts.append(child)
        return "".join(texts)


class Cell:
    """A cell of a table: its blocks and parts, its first column (counted from 0), how many columns
    and rows it spans, and whether it is a header cell.
    """

    def __init__(self, column: int, colspan: int, rowspan: int, is_header: bool) -> None:
        self.column, self.colspan, self.rowspan = column, colspan, rowspan
        self.is_header = is_header
        self.blocks: list[Block] = []
        self.parts: list[Part] = []


class Row:
    """A row of a table: its number, counted over the whole page, and the cells that begin in it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.cells: list[Cell] = []


class Frame(NamedTuple):
    """A container around a part: its kind and number as in `Block.within`, the number of a list
    entry in its list (`NO_NUMBER`: none), and the label of a footnote.
    """

    kind: str
    number: int
    entry: int = NO_NUMBER
    label: str = ""


class Part:
    """A paragraph, heading or preformatted block, or a table.

    *line* is the block's text with its marks and images, None if the text has neither. *before* and
    *after* are images of their own before and after the text. *level* is the heading level, 0 for
    other parts. *frames* are the containers around the part, outermost first; the part before is in
    the first *shared* of them, too. *role* is ``dt`` for a term, ``summary`` for the title of
    folded text, ``label`` for a tab's title, else "". *labels* maps the ids of the page's footnotes
    to labels. *rows* are the rows of a table, None for other parts.
    """

    def __init__(
        self, block: Block, resolver: Resolver, level: int, role: str, labels: dict[str, str]
    ) -> None:
        self.block, self.level, self.role, self.labels = block, level, role, labels
        self.frames: list[Frame] = []
        self.shared = 0
        self.rows: list[Row] | None = None
        self.line: Line | None = None
        self.before: list[Image] | None = None
        self.after: list[Image] | None = None
        pictures = _pictures(block, resolver) if block.images or block.films else None
        if pictures:
            end = len(block.text)
            self.before = [image for place, image in pictures if place < 0]
            self.after = [image for place, image in pictures if place > end]
        if block.spans or pictures:
            self.line = _line(block, resolver, pictures, labels)

    def drop_marker(self, label: str) -> None:
        """Drop the number at the beginning of a footnote, if it is a link back, or raised."""
        first, *rest = self.line or [self.block.text]
        if isinstance(first, str):
            sign = raised(label)
            text = first.removeprefix(sign)  # GitBook: ``<sup>1</sup>. Text``
            if text != first and not text.startswith(tuple(RAISED_SIGNS)):
                self.line = [text.lstrip(" .:])"), *rest]
            return
        if not isinstance(first, Marked) or not first.target or not rest:
            return
        if isinstance(rest[0], str) and first.text().strip(" []()") == label:
            self.line = [rest[0].lstrip(" .:])"), *rest[1:]]


def _spans(block: Block) -> Sequence[tuple[int, int, str]]:
    """Return the marks of a block but the line breaks within formulas, which LaTeX ignores."""
    if "$" not in block.text and "\\" not in block.text:
        return block.spans
    formulas = [
        formula.span()
        for formula in TEX.finditer(block.text)
        if not formula["dollars"] or TEX_SIGN.search(formula["dollars"])
    ]
    return [
        span
        for span in block.spans
        if span[2] != LINE_BREAK
        or not [start for start, end in formulas if start < span[0] and span[1] < end]
    ]


def _line(
    block: Block,
    resolver: Resolver,
    pictures: list[tuple[int, Image]] | None,
    labels: dict[str, str],
) -> Line:
    """Return the block's text with its marks, nested, and its images.

    Some marks are written as plain text: links without a usable address, links inside links, a
    style inside the same style, and markers of footnotes without a label.
    """
    if not pictures:  # most blocks lack nested marks, so that no builder is needed
        line = _flat_line(block, resolver, labels)
        if line is not None:
            return line
    builder = LineBuilder(block.text, resolver, labels)
    spans = _spans(block)
    entries: list[tuple[int, int, tuple[int, str] | Image]] = [
        (start, 1, (end, mark)) for start, end, mark in sorted(set(spans), key=_outer_first)
    ]
    entries += [(place, 0, image) for place, image in pictures or ()]
    entries.sort(key=itemgetter(0, 1))  # a stable sort keeps outer marks before inner ones
    for start, _, entry in entries:
        if isinstance(entry, Image):
            if 0 <= start <= len(block.text):
                builder.add_picture(start, entry)
        else:
            builder.open(start, *entry)
    builder.go_to(len(block.text))
    return builder.stack[0].children


def _flat_line(block: Block, resolver: Resolver, labels: dict[str, str]) -> Line | None:
    """Return the line of a block without images, None if one mark stands inside another."""
    text = block.text
    children: Line = []
    at = 0
    for start, end, mark in _spans(block):
        if start < at:
            return None
        if at < start:
            children.append(text[at:start])
        target = resolver.resolve(mark) if is_link(mark) else ""
        if target or mark in STYLES or is_formula(mark) or _label(mark, labels):
            children.append(Marked(mark, target, end, [text[start:end]]))
        else:
            children.append(text[start:end])
        at = end
    if at < len(text):
        children.append(text[at:])
    return children


def _label(mark: str, labels: dict[str, str]) -> str:
    """Return the label of the footnote that a mark points to, "" if it points to no footnote."""
    return labels.get(mark[len(NOTE) :], "") if mark.startswith(NOTE) else ""


class LineBuilder:
    """Builds a line from marks and images in the order of their places.

    *stack* holds the open marks, the innermost last. The text before the place *at* is already in
    the line.
    """

    def __init__(self, text: str, resolver: Resolver, labels: dict[str, str]) -> None:
        self.text, self.resolver, self.labels = text, resolver, labels
        self.stack = [Marked("", "", len(text), [])]
        self.at = 0

    def go_to(self, place: int) -> None:
        """Add the text up to a place, and close the marks that end before it."""
        stack = self.stack
        while place >= stack[-1].end and len(stack) > 1:
            ended = stack.pop()
            _add_text(ended, self.text[self.at : ended.end])
            self.at = ended.end
        _add_text(stack[-1], self.text[self.at : place])
        self.at = place

    def open(self, start: int, end: int, mark: str) -> None:
        """Open a mark, unless it is written as plain text (see `_line`)."""
        self.go_to(start)
        stack = self.stack
        target = self.resolver.resolve(mark) if is_link(mark) else ""
        if mark in STYLES or is_formula(mark):
            is_written = mark not in [marked.mark for marked in stack]
        elif target:
            is_written = not self._is_in_link()
        else:
            is_written = bool(_label(mark, self.labels))
        if is_written:
            marked = Marked(mark, target, min(end, stack[-1].end), [])
            stack[-1].children.append(marked)
            stack.append(marked)

    def _is_in_link(self) -> bool:
        return bool([marked for marked in self.stack if marked.target])

    def add_picture(self, place: int, image: Image) -> None:
        """Add an image at a place. A film inside a link is written as its title."""
        self.go_to(place)
        innermost = self.stack[-1]
        if not image.is_film:
            innermost.children.append(image)
            return
        if self._is_in_link():
            space = " " if self.text[:place].strip() else ""
            _add_text(innermost, space + image.description)
        else:
            innermost.children.append(image)
        if self.text[place : place + 1].strip():
            innermost.children.append(" ")  # or the film's title would run into the next word


def _outer_first(span: tuple[int, int, str]) -> tuple[int, int, int, str]:
    """Return the sort key of a span, which puts outer spans first.

    If spans mark the same text, footnotes are outside of links, links outside of styles, and styles
    outside of code.
    """
    start, end, mark = span
    if mark.startswith(NOTE):
        rank = 0
    elif is_link(mark):
        rank = 1
    else:
        rank = 3 if mark == CODE or is_formula(mark) else 2
    return start, -end, rank, mark


def _add_text(marked: Marked, text: str) -> None:
    if text:
        marked.children.append(text)


def _pictures(block: Block, resolver: Resolver) -> list[tuple[int, Image]]:
    """Return the images of a block that have a usable address, each with its place in the text."""
    entries = [(place, source, text, False) for place, source, text, *_ in block.images]
    entries += [(*film, True) for film in block.films]
    images = []
    for place, source, text, is_film in entries:
        address = resolver.resolve(source)
        if address and not address.lower().startswith("mailto:"):
            images.append((place, Image(address, text, is_film)))
    return images
