"""Reads PDF files as headings, paragraphs and lists."""

from __future__ import annotations

import re
import time
from collections import Counter
from dataclasses import dataclass, field
from html import escape
from itertools import groupby, takewhile
from typing import TYPE_CHECKING

from contentspider.page.input.pdf import MAX_CHARS, SENTENCE_END
from contentspider.page.input.pdf_lines import GAP, Cell, Line, read_lines
from contentspider.page.input.properties import Properties, is_generic_title, known_author

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_PAGES = 2_000
# A line is a running head or foot if a page near it has the same line, except for numbers, at the
# same height, and if it is one of the outermost lines of both.
NEAR_PAGES = 2
EDGE_LINES = 3
SAME_HEIGHT = SAME_LEFT = 3.0  # points
NUMBER = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
PAGE_NUMBER = re.compile(r"\W*(?:\d{1,4}|[ivxlc]{1,7})\W*", re.IGNORECASE)
# Distances, in sizes of the font: between lines of a paragraph at most; of an indent at least.
LEADING = 1.75
INDENT = 0.8
SAME_LINE = 0.4
MORE_LEADING = 1.35  # a gap so much larger than the one before it ends a paragraph
# A line of less than these shares of its column ends a paragraph if it ends a sentence, or if the
# next line begins with a capital or a number (rows of a table, an address).
SHORT, VERY_SHORT = 0.85, 0.6
# A heading is larger than the body's text, or bold and short.
LARGER = 1.12
MAX_HEADING_CHARS, MAX_BOLD_CHARS = 250, 120
MAX_HEADING_LINES = 4
MAX_LEVEL = 6
MAX_TITLE_CHARS = 300
# "1. First step" begins an entry, and the line before it is short or an entry, too.
NUMBERED = re.compile(r"(?:\d{1,3}|[a-z])[.)]\s+\S")
# The end of an entry in a table of contents: dots and the number of a page. Four dots are enough:
# a search for all of them takes the square of their number. In a bold entry, both the heading's
# number and the page's.
LEADER = re.compile(r"(?:\s?\.){4}\s{0,9}\w{1,5}$")
NUMBERED_ENTRY = re.compile(r"[\dA-Z]{1,3}(?:\.\d+)*\.?\s.*\s\d{1,4}")
BULLET = re.compile(r"[•◦▪‣●○■□▸►∙·–—]\s+(?=\S)|[•◦▪‣●■▸►](?=\w)")
COUNTED = re.compile(r"(\d{1,3})[.)]\s+(?=\S)")
# Fewer lines with gaps are no table: a formula with its number, a heading with a date.
LEAST_ROWS, MAX_ROWS = 3, 1_000
# A line that ends within an address, or between the numbers of a range.
IN_ADDRESS = re.compile(r"(?:https?://|www\.)\S+$", re.IGNORECASE)
NUMBER_END = re.compile(r"(?<![\w-])\d+[-–]?$")
WORD_END = re.compile(r"[\w-]*$")
WORD_BEGINNING = re.compile(r"\w*")
WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


@dataclass
class PdfText:
    """The content of a PDF file as HTML, its properties, and the number of pages that were not
    read, because they are damaged or reading takes too long.
    """

    html: str
    properties: Properties
    pages_left_out: int


@dataclass
class _Block:
    """Lines of one paragraph or heading, and their *text*."""

    lines: list[Line]
    text: str = ""
    gap: float = field(default=0.0)  # between its last two lines

    @property
    def last(self) -> Line:
        return self.lines[-1]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of a row; lines after its first one belong to the last cell."""
        cells = self.lines[0].cells
        if len(cells) < 2 or len(self.lines) == 1:
            return cells
        first = " ".join(cell.text for cell in cells[:-1])
        return *cells[:-1], cells[-1]._replace(text=self.text.removeprefix(first).strip())

    @property
    def size(self) -> float:
        """The size of its longest line: a note may begin with a raised number."""
        return max(self.lines, key=lambda line: len(line.text)).size


def read_pdf(body: bytes, seconds: float) -> PdfText:
    """Return the content of a PDF file, of the pages that are read in some *seconds* of processor
    time. Raises `pypdfium2.PdfiumError` for a file that is damaged or encrypted.
    """
    import pypdfium2

    end = time.process_time() + seconds
    lines: list[Line] = []
    chars = left_out = 0
    with pypdfium2.PdfDocument(body) as document:
        for number in range(min(len(document), MAX_PAGES)):
            if time.process_time() > end:
                left_out += len(document) - number
                break
            if chars >= MAX_CHARS:
                break
            try:
                page = document[number]
            except pypdfium2.PdfiumError:  # this page is damaged
                left_out += 1
                continue
            found = list(read_lines(page, number))
            page.close()
            chars += sum(len(line.text) for line in found)
            lines += found
        stated = document.get_metadata_dict()
    blocks = _blocks(_without_running(lines))
    body_size = _main_size((block.size, block.text) for block in blocks)
    title = stated.get("Title", "").replace("\0", "").strip()
    if is_generic_title(title):
        title = _shown_title(blocks, body_size)
    author = stated.get("Author", "").replace("\0", "").strip()
    properties = Properties(
        title, known_author(author), stated.get("Keywords", "").replace("\0", "")
    )
    return PdfText(_html(blocks, body_size), properties, left_out)


def _without_running(lines: Sequence[Line]) -> list[Line]:
    """Return the lines without running heads and feet and page numbers."""
    edges = {
        number: _edge_lines(list(page)) for number, page in groupby(lines, lambda line: line.page)
    }
    running: set[Line] = set()
    for number, edge in edges.items():
        others = range(number - NEAR_PAGES, number + NEAR_PAGES + 1)
        near = [line for other in others if other != number for line in edges.get(other, ())]
        running.update(line for line in edge if any(_is_repeated(line, other) for other in near))
        if len(edges) > 1:
            outermost = (edge[0], edge[-1])
            running.update(line for line in outermost if PAGE_NUMBER.fullmatch(line.text))
    return [line for line in lines if line not in running]


def _edge_lines(page: list[Line]) -> list[Line]:
    """Return the outermost lines of a page, from its head to its foot."""
    by_height = sorted(page, key=lambda line: -line.base)
    return list(dict.fromkeys((*by_height[:EDGE_LINES], *by_height[-EDGE_LINES:])))


def _is_repeated(line: Line, other: Line) -> bool:
    """Tell whether a line on another page differs only in its numbers, and has the same height."""
    if abs(line.base - other.base) > SAME_HEIGHT:
        return False
    return NUMBER.sub("#", line.text) == NUMBER.sub("#", other.text)


def _blocks(lines: Sequence[Line]) -> list[_Block]:
    """Return the lines as blocks, with their texts joined."""
    words = Counter(word.lower() for line in lines for word in WORDS.findall(line.text))
    columns = _columns(lines)
    large = LARGER * _main_size((line.size, line.text) for line in lines)
    blocks: list[_Block] = []
    for line in _with_rows(lines):
        block = blocks[-1] if blocks else None
        if block is None or not _continues(block, line, columns, large):
            blocks.append(_Block([line], line.text))
            continue
        if not _is_same_line(block.last, line):
            block.gap = block.last.base - line.base
        block.text = _joined(block, line, words)
        block.lines.append(line)
    return blocks


def _with_rows(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines; the cells of a row that are lines of their own become one."""
    last: Line | None = None
    for line in lines:
        if last and _is_same_line(last, line) and line.left - last.right > GAP * line.size:
            text, is_bold = f"{last.text} {line.text}", last.is_bold and line.is_bold
            cells = last.cells + line.cells
            last = line._replace(text=text, left=last.left, is_bold=is_bold, cells=cells)
            continue
        if last:
            yield last
        last = line
    if last:
        yield last


def _columns(lines: Iterable[Line]) -> dict[tuple[int, int], float]:
    """Return the right end of each column, by the page and the column's left end."""
    columns: dict[tuple[int, int], float] = {}
    for line in lines:
        key = _column(line)
        columns[key] = max(columns.get(key, 0.0), line.right)
    return columns


def _column(line: Line) -> tuple[int, int]:
    return line.page, int(line.left // 40)


def _continues(
    block: _Block, line: Line, columns: dict[tuple[int, int], float], large: float
) -> bool:
    """Tell whether a line belongs to the paragraph or heading before it. A heading's font has a
    *large* size.
    """
    last = block.last
    if _is_same_line(last, line):
        return True
    if abs(line.size - block.size) > 0.6 or BULLET.match(line.text) or LEADER.search(last.text):
        return False
    cells = block.lines[0].cells
    if len(cells) > 1 and len(line.cells) > 1:
        return False  # the next row of a table
    if line.page != last.page or line.base > last.base:  # the next page or column
        return last.has_hyphen or (line.text[0].islower() and not _ends_sentence(last))
    if _is_apart(block, line):
        return False
    if last.has_hyphen or (len(cells) > 1 and abs(line.left - cells[-1].left) < SAME_LEFT):
        return True
    width = columns[_column(last)] - last.left
    return not (_changes_weight(block, line) or _ends_paragraph(block, line, width, large))


def _is_apart(block: _Block, line: Line) -> bool:
    """Tell whether the gap before a line is larger than those between the lines of a paragraph."""
    gap = block.last.base - line.base
    return gap > LEADING * block.last.size or (block.gap > 0 and gap > MORE_LEADING * block.gap)


def _changes_weight(block: _Block, line: Line) -> bool:
    """Tell whether a bold heading ends before a line, or may begin with it."""
    if block.last.is_bold:
        return not line.is_bold and _all_bold(block)
    return line.is_bold and _ends_sentence(block.last)


def _ends_paragraph(block: _Block, line: Line, width: float, large: float) -> bool:
    """Tell whether a paragraph ends before a line: its last line is short in its column, which has
    a *width*, or the next one begins an entry or is indented.
    """
    last = block.last
    length = last.right - last.left
    is_short, is_end = length < SHORT * width, _ends_sentence(last)
    if is_short and is_end:
        return True
    if NUMBERED.match(line.text) and (is_short or NUMBERED.match(block.text)):
        return True
    if length < VERY_SHORT * width and not line.text[0].islower():
        return last.size < large and not _all_bold(block)
    is_indented = line.left - last.left > INDENT * line.size
    return is_indented and (is_short or is_end) and not BULLET.match(block.text)


def _ends_sentence(line: Line) -> bool:
    return SENTENCE_END.search(line.text) is not None


def _is_same_line(last: Line, line: Line) -> bool:
    """Tell whether a line is the rest of the one before it: words after a raised number."""
    distance = abs(last.base - line.base)
    is_beside = line.left > last.left and line.page == last.page
    return is_beside and distance < SAME_LINE * max(last.size, line.size)


def _all_bold(block: _Block) -> bool:
    return all(line.is_bold for line in block.lines)


def _joined(block: _Block, line: Line, words: Counter[str]) -> str:
    """Return the text of a block with a line after it. A hyphen at a line's end is left out, unless
    the next word begins with a capital, or the word has another hyphen, or the document has the
    word with its hyphen, but not without it; or it is one of an address or of a range of numbers.
    """
    text = block.text
    has_hyphen = block.last.has_hyphen or text.endswith("-")
    if has_hyphen and IN_ADDRESS.search(text):
        return f"{text.removesuffix('-')}-{line.text}"
    if NUMBER_END.search(text) and line.text[0].isdigit() and (has_hyphen or text[-1] == "–"):
        return f"{text}{'' if text[-1] in '-–' else '-'}{line.text}"
    if not (block.last.has_hyphen or (has_hyphen and text[-2:-1].isalpha())):
        return f"{text} {line.text}"
    text = text.removesuffix("-")
    begin = WORD_END.search(text)
    end = WORD_BEGINNING.match(line.text)
    left, right = begin[0] if begin else "", end[0] if end else ""
    if not right:
        return f"{text}- {line.text}"
    whole, parted = f"{left}{right}".lower(), f"{left}-{right}".lower()
    keeps = "-" in left or not right[0].islower() or (words[parted] > 0 and words[whole] == 0)
    return f"{text}-{line.text}" if keeps else text + line.text


def _main_size(texts: Iterable[tuple[float, str]]) -> float:
    """Return the size of the font of most text, in points."""
    sizes: Counter[float] = Counter()
    for size, text in texts:
        sizes[size] += len(text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _is_contents_entry(text: str) -> bool:
    """Tell whether a line is an entry of a table of contents, with the number of its page."""
    return bool(LEADER.search(text) or NUMBERED_ENTRY.fullmatch(text))


def _is_heading(block: _Block, body_size: float) -> bool:
    text = block.text
    if len(block.lines) > MAX_HEADING_LINES or sum(map(str.isalpha, text)) < 2:
        return False
    if BULLET.match(text) or _is_contents_entry(text):
        return False
    if block.size >= LARGER * body_size:
        is_prose = len(text) > MAX_BOLD_CHARS and SENTENCE_END.search(text)
        return len(text) <= MAX_HEADING_CHARS and not is_prose
    is_name = text[0].isupper() or text[0].isdigit()
    is_short = len(text) <= MAX_BOLD_CHARS and text[-1] not in ".,;:"
    return _all_bold(block) and block.size >= 0.9 * body_size and is_name and is_short


def _shown_title(blocks: Sequence[_Block], body_size: float) -> str:
    """Return the heading in the largest font on the first page, "" if the page has none."""
    headings = [
        block
        for block in blocks
        if block.lines[0].page == blocks[0].lines[0].page
        and block.size >= LARGER * body_size
        and _is_heading(block, body_size)
    ]
    if not headings:
        return ""
    return max(headings, key=lambda block: block.size).text[:MAX_TITLE_CHARS]


def _html(blocks: Sequence[_Block], body_size: float) -> str:
    """Return the blocks as HTML. The levels of headings follow the sizes of their fonts."""
    headings = {id(block) for block in blocks if _is_heading(block, body_size)}
    sizes = sorted({max(block.size, body_size) for block in blocks if id(block) in headings})[::-1]
    levels = {size: min(level, MAX_LEVEL) for level, size in enumerate(sizes, 1)}
    parts: list[str] = []
    number = 0
    while number < len(blocks):
        block = blocks[number]
        rest = blocks[number : number + MAX_ROWS]
        if rows := _table(rest):
            has_head = _all_bold(rows[0]) and not _all_bold(rows[1])
            parts += ["<table>", _row(rows[0], "th" if has_head else "td")]
            parts += [*(_row(row, "td") for row in rows[1:]), "</table>"]
            number += len(rows)
        elif bullets := list(takewhile(lambda block: BULLET.match(block.text), rest)):
            parts += ["<ul>", *(_entry(entry, BULLET) for entry in bullets), "</ul>"]
            number += len(bullets)
        elif id(block) not in headings and (entries := _numbered(rest)):
            start = block.text.partition(".")[0].partition(")")[0]
            parts += [f"<ol start={start}>", *(_entry(one, COUNTED) for one in entries), "</ol>"]
            number += len(entries)
        else:
            level = levels.get(max(block.size, body_size), 0) if id(block) in headings else 0
            tag = f"h{level}" if level else "p"
            parts.append(f"<{tag}>{escape(block.text)}</{tag}>")
            number += 1
    return "".join(parts)


def _entry(block: _Block, mark: re.Pattern[str]) -> str:
    return f"<li>{escape(mark.sub('', block.text, count=1))}</li>"


def _row(row: _Block, tag: str) -> str:
    cells = "".join(f"<{tag}>{escape(cell.text)}</{tag}>" for cell in row.cells)
    return f"<tr>{cells}</tr>"


def _numbered(blocks: Sequence[_Block]) -> Sequence[_Block]:
    """Return the entries of a numbered list that the first block begins, none for a single one."""
    first = COUNTED.match(blocks[0].text)
    if first is None:
        return ()
    count = 1
    for block in blocks[1:]:
        entry = COUNTED.match(block.text)
        if entry is None or int(entry[1]) != int(first[1]) + count:
            break
        count += 1
    return blocks[:count] if count > 1 else ()


def _table(blocks: Sequence[_Block]) -> Sequence[_Block]:
    """Return the rows of a table that the first block begins, none for fewer than `LEAST_ROWS`."""
    first, text, count = blocks[0].cells, blocks[0].text, 1
    is_entry = BULLET.match(text) or COUNTED.match(text) or _is_contents_entry(text)
    if len(first) < 2 or is_entry:
        return ()
    while count < len(blocks) and _is_aligned(first, blocks[count].cells):
        if blocks[count].lines[0].page != blocks[0].lines[0].page:
            break
        count += 1
    return blocks[:count] if count >= LEAST_ROWS else ()


def _is_aligned(first: Sequence[Cell], cells: Sequence[Cell]) -> bool:
    """Tell whether the cells of two rows stand below each other."""
    return len(first) == len(cells) and all(
        above.left <= below.right and below.left <= above.right
        for above, below in zip(first, cells, strict=True)
    )
