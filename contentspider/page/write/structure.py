# cython: language_level=3, annotation_typing=False, infer_types=True
"""What blocks are beside their text: paragraphs, headings, entries of lists, tables, quotes; and
what stands in their lines. Markdown and HTML are both written from it.

This module, `markdown` and `markup` are compiled, with the types in their ``.pxd`` files.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from contentspider.ground.addresses import MAX_ADDRESS_CHARS, NO_PARTS, join, split_address
from contentspider.page.tree.tags import CODE, FORMULA, NOTE, PREFORMATTED_TAGS, STYLES, is_link
from contentspider.page.words.names import HEADINGS, step_tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.blocks import Block

    Line: TypeAlias = list["str | Image | Marked"]

CELL_TAGS = frozenset(["td", "th"])
LIST_TAGS = frozenset(["ul", "ol", "menu", "dir"])

# A cell with more than this holds a part of the page: the table is there for its layout.
MAX_CELL_BLOCKS, MAX_CELL_CHARS = 6, 1_000
# Cells that cover others are repeated until a table has so many times its characters.
MAX_REPEATED = 10
MAX_REPEATED_CHARS = 100  # of a cell; a longer one is a text
MAX_CELLS = 200_000  # of a table that is laid out
LABEL = re.compile(r"[\w-]{1,20}\Z")
NO_LABEL = re.compile(r"[^\w-]+")
# Only a path with one of these says anything.
TELLING = re.compile(r"/(?:li|tr|blockquote|h[1-6]|d[td]|summary)(?![a-z])|\[heading\]")
SUMMARY_LEVEL = 9  # stands for one below the last heading's

LINK_SCHEMES = frozenset(["http", "https", "mailto"])
# What browsers leave out of addresses; a scheme must not hide behind it.
SIMPLE_LINK = re.compile(r"https?://[a-z0-9.-]+(?:/[!$-~]*)?\Z")
SIMPLE_PATH = re.compile(r"/(?!/)(?:[!$-.0-~]|/(?!\.))*\Z")
# Addresses that only stand behind that of the page's folder, or the page's own.
NAME = r"[\w%+,=@!$&'()*~-][\w%+,=@!$&'()*.~-]*"
SIMPLE_NAME = re.compile(
    rf"((?:\.\.?/)*){NAME}(?:/{NAME})*/?(?:\?[!$-~]+)?(?:#[!-~]+)?\Z", re.ASCII
)
SIMPLE_FRAGMENT = re.compile(r"#[!-~]+\Z")
LEFT_OUT = dict.fromkeys((9, 10, 13))
BLANK = "".join(map(chr, range(33)))


class Place:
    """What a path says: quotes around it, lists inside of these, its table (its path), the level of
    the heading that it is in (0: none), and whether it is a term (``dt``) or a definition (``dd``).
    """

    def __init__(
        self, quotes: int, lists: int, ordered: bool, table: str, level: int, definition: str
    ) -> None:
        self.quotes, self.lists, self.ordered, self.table = quotes, lists, ordered, table
        self.level, self.definition = level, definition


# In no list, quote, table or heading.
NOWHERE = Place(0, 0, False, "", 0, "")


@lru_cache(maxsize=1_000)  # the same few are asked for again and again
def place_of(path: str) -> Place:
    """Return what the tags of a path say."""
    if not TELLING.search("/" + path):
        return NOWHERE
    steps = path.split("/")
    tags = [step_tag(step) for step in steps]
    quotes = tags.count("blockquote")
    inside = tags[len(tags) - tags[::-1].index("blockquote") :] if quotes else tags
    lists = [tag for tag in inside if tag in LIST_TAGS]
    in_item = "li" in inside
    table = ""
    if "tr" in tags:
        above = tags[: len(tags) - 1 - tags[::-1].index("tr")]
        if "table" in above:
            table = "/".join(steps[: len(above) - above[::-1].index("table")])
    definition = next((tag for tag in reversed(tags) if tag in ("dt", "dd", "li", "td")), "")
    return Place(
        quotes,
        max(1, len(lists)) if in_item else 0,
        lists[-1:] == ["ol"],
        table,
        _level(tags, steps[-1]),
        definition if definition in ("dt", "dd") else "",
    )


def _level(tags: list[str], last_step: str) -> int:
    for tag in reversed(tags):
        if tag in HEADINGS:
            return HEADINGS[tag]
        if tag in CELL_TAGS or tag == "li":
            break
    if "[heading]" in last_step:
        return 2
    return SUMMARY_LEVEL if tags[-1] == "summary" else 0


def heading_levels(blocks: Sequence[Block]) -> list[int]:
    """Return the level of the heading that each block is, from 1 to 6; 0 if it is none.

    What is within ``h1`` to ``h6`` is one, what has the role of one, and the ``summary`` of details
    (one level below the heading before it).
    """
    levels: list[int] = []
    last = 1
    for block in blocks:
        level = HEADINGS.get(block.tag) or place_of(block.path).level
        if level == SUMMARY_LEVEL:
            level = min(last + 1, 6)
        elif level:
            last = level
        levels.append(level)
    return levels


class Image(NamedTuple):
    """A picture, or a film that a link leads to, and where it is."""

    address: str
    description: str
    is_film: bool = False


class Marked:
    """What stands under a mark: texts, pictures, marks; *target* is where it leads, if it may."""

    def __init__(self, mark: str, target: str, end: int, children: Line) -> None:
        self.mark, self.target, self.end, self.children = mark, target, end, children

    def text(self) -> str:
        """Return the text, without marks and pictures."""
        found: list[str] = []
        for child in self.children:
            if isinstance(child, Marked):
                found.append(child.text())
            elif isinstance(child, str):
                found.append(child)
        return "".join(found)


class Cell:
    """A cell of a table: its parts, the column that it begins in (from 0 on), how many columns and
    rows it covers, and whether it is a header.
    """

    def __init__(self, column: int, block: Block | None) -> None:
        self.column = column
        self.parts: list[Part] = []
        self.colspan = self.rowspan = 1
        self.is_header = False
        if block is not None:
            self.colspan, self.rowspan = block.colspan, block.rowspan
            self.is_header = _is_header(block.path)


class Row:
    """A row of a table: its number on the page, and the cells that begin in it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.cells: list[Cell] = []


class Part:
    """A paragraph, heading or preformatted block, or a table.

    *line* is the block's text with its marks and pictures; None if there is only text. The pictures
    *before* and *after* the block stand alone. *level* is that of a heading (0: it is none),
    *quotes* is how many quotes are around it and *depth* how many lists; *begins* tells that it
    begins an entry of the innermost one, which is numbered if *ordered*. *definition* is ``dt`` or
    ``dd``, *label* that of the footnote that it is of; it begins these if *begins_text*. *labels*
    has the labels of the page's footnotes by their ids. *rows* has the rows of a table.
    """

    def __init__(
        self, block: Block, resolver: Resolver, quotes: int, level: int, labels: dict[str, str]
    ) -> None:
        self.block, self.quotes, self.level, self.labels = block, quotes, level, labels
        self.depth = 0
        self.ordered = self.begins = self.begins_text = False
        self.definition = self.label = ""
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


def parts(blocks: Sequence[Block], base: str) -> list[Part]:
    """Return the parts that *blocks* are, in their order; addresses are resolved by *base*, and
    those of other schemes than HTTP and mail left out.

    Lists are counted as they come out: the depth grows by one at most from a part to the next, and
    an entry goes on after a list in it, unless something else stood between.
    """
    blocks = list(blocks)
    levels = heading_levels(blocks)
    outline = Outline(Resolver(base), note_labels(blocks))
    number = 0
    while number < len(blocks):
        block = blocks[number]
        end = table_end(blocks, number) if block.row else number
        if end > number:
            outline.add_table(blocks[number:end])
            number = end
        else:
            outline.add(block, levels[number])
            number += 1
    return outline.parts


class Outline:
    """The parts of a page as its blocks are read, with the lists that are open."""

    def __init__(self, resolver: Resolver, labels: dict[str, str]) -> None:
        self.resolver, self.labels = resolver, labels
        self.parts: list[Part] = []
        self.begun_entries: set[int] = set()
        self.begun_notes: set[str] = set()
        self.lists: list[tuple[int, int]] = []  # the depth in the page, and the entry, of each
        self.quotes = 0

    def add_table(self, blocks: list[Block]) -> None:
        """Add the table that *blocks* are."""
        table = place_of(blocks[0].path).table
        self.lists.clear()
        self.quotes = place_of(table).quotes if table else 0
        part = Part(blocks[0], self.resolver, self.quotes, 0, self.labels)
        part.rows = table_rows(blocks, self.resolver, self.labels)
        self.parts.append(part)

    def add(self, block: Block, level: int) -> None:
        """Add a block in no table; *level* is that of a heading, 0 if it is none."""
        place = place_of(block.path)
        if place.quotes != self.quotes or not place.lists or level:
            self.lists.clear()
        self.quotes = place.quotes
        part = Part(block, self.resolver, place.quotes, level, self.labels)
        if not level:
            self._define(part, place)
            if part.definition:
                self.lists.clear()
            elif block.note in self.labels:
                if block.text.strip(" []().") == self.labels[block.note]:
                    return  # the marker again, at the beginning of its note
                self._annotate(part)
            elif place.lists and block.item:
                self._enlist(part, place)
        self.parts.append(part)

    def _define(self, part: Part, place: Place) -> None:
        last = self.parts[-1] if self.parts else part
        last_definition = last.definition if last.quotes == part.quotes else ""
        part.definition = _definition(part.block, place, last_definition)
        is_next = last_definition != part.definition
        part.begins_text = part.block.tag == part.definition or is_next

    def _annotate(self, part: Part) -> None:
        self.lists.clear()
        part.label = self.labels[part.block.note]
        part.begins_text = part.block.note not in self.begun_notes
        self.begun_notes.add(part.block.note)

    def _enlist(self, part: Part, place: Place) -> None:
        item = part.block.item
        lists = self.lists
        while lists and lists[-1][0] > place.lists:
            lists.pop()
        part.begins = item not in self.begun_entries and part.block.tag not in PREFORMATTED_TAGS
        if part.begins:
            self.begun_entries.add(item)
            if lists and lists[-1][0] == place.lists:
                lists.pop()
            lists.append((place.lists, item))
        elif not lists or lists[-1][1] != item:
            lists.clear()
        part.depth, part.ordered = len(lists), place.ordered


def _definition(block: Block, place: Place, last_definition: str) -> str:
    """Return whether a block is a term or of a definition; "": neither. A definition without a term
    is a paragraph, and so is code but within a definition that has begun.
    """
    if block.tag in PREFORMATTED_TAGS:
        return "dd" if place.definition == last_definition == "dd" else ""
    return place.definition if place.definition == "dt" or last_definition else ""


def note_labels(blocks: Sequence[Block]) -> dict[str, str]:
    """Return the labels of the footnotes among *blocks* that have a marker there, by their ids:
    what the marker shows, or the id where two show the same.
    """
    notes = {block.note for block in blocks if block.note}
    labels: dict[str, str] = {}
    if notes:
        marked = [(block, span) for block in blocks for span in block.spans]
        for block, (start, end, mark) in marked:
            note = mark[len(NOTE) :]
            if mark.startswith(NOTE) and note in notes:
                labels.setdefault(note, block.text[start:end].strip(" []()"))
    counts = Counter(labels.values())
    return {
        note: label if LABEL.match(label) and counts[label] == 1 else NO_LABEL.sub("-", note)
        for note, label in labels.items()
    }


def table_end(blocks: Sequence[Block], start: int) -> int:
    """Return the number behind the last block of the table that begins with a block; *start* itself
    if the table is there for the layout.
    """
    table = place_of(blocks[start].path).table
    if start and blocks[start - 1].row and place_of(blocks[start - 1].path).table == table:
        return start  # the rest of a table for the layout
    end = start + 1
    while end < len(blocks) and blocks[end].row and place_of(blocks[end].path).table == table:
        end += 1
    return start if _is_layout(list(blocks[start:end])) else end


def table_rows(blocks: Sequence[Block], resolver: Resolver, labels: dict[str, str]) -> list[Row]:
    """Return the rows of the table that *blocks* are."""
    rows: list[Row] = []
    for block in blocks:
        if not rows or block.row != rows[-1].number:
            rows.append(Row(block.row))
        cells = rows[-1].cells
        column = max(block.cell, 1) - 1  # what is in no cell of its row stands in the first
        if not cells or column > cells[-1].column:
            cells.append(Cell(column, block))
        cells[-1].parts.append(Part(block, resolver, 0, 0, labels))
    width = 1 + max([row.cells[-1].column for row in rows])
    for row in rows:
        for cell in row.cells:
            cell.colspan = max(1, min(cell.colspan, width - cell.column))
    return rows


def lay_out(rows: list[Row], repeats_columns: bool) -> list[list[list[Part]]]:
    """Return the parts in each column of each row. A short cell that covers several rows stands in
    each of them, and if *repeats_columns* in all columns that it covers, unless it is a row alone.
    Rows of a table too large to be laid out have the cells that begin in them.
    """
    if is_huge(rows):
        lines = [[cell.parts for cell in row.cells] for row in rows]
        lines[0] += [[]] * (max(map(len, lines)) - len(lines[0]))
        return lines
    width = 1 + max([row.cells[-1].column for row in rows])
    layout = Layout(repeats_columns, MAX_REPEATED * sum([_row_chars(row) for row in rows]))
    laid_out = [layout.line(row) for row in rows]
    return [[line.get(column, []) for column in range(width)] for line in laid_out]


def is_huge(rows: list[Row]) -> bool:
    """Tell whether a table has too many columns and rows to be laid out."""
    return len(rows) * (1 + max([row.cells[-1].column for row in rows])) > MAX_CELLS


class Layout:
    """The cells of a table that reach down into the next rows, by their columns, and how many
    characters may be repeated yet.
    """

    def __init__(self, repeats_columns: bool, chars_left: int) -> None:
        self.repeats_columns, self.chars_left = repeats_columns, chars_left
        self.above: dict[int, tuple[int, Cell]] = {}  # the last row that each reaches, and it

    def line(self, row: Row) -> dict[int, list[Part]]:
        """Return the parts in the columns of a row."""
        line: dict[int, list[Part]] = {}
        for column, (last_row, cell) in list(self.above.items()):
            if row.number > last_row or self.chars_left < 0:
                del self.above[column]
            else:
                line[column] = cell.parts
                self.chars_left -= _chars(cell)
        is_alone = len(row.cells) == 1
        for cell in row.cells:
            line[cell.column] = cell.parts
            if cell.colspan * cell.rowspan > 1 and _chars(cell) <= MAX_REPEATED_CHARS:
                columns = cell.colspan if self.repeats_columns and not is_alone else 1
                self._repeat(cell, columns, row.number, line)
        return line

    def _repeat(self, cell: Cell, columns: int, row: int, line: dict[int, list[Part]]) -> None:
        if self.chars_left < 0:
            return
        for column in range(cell.column, cell.column + columns):
            line[column] = cell.parts
            self.chars_left -= _chars(cell)
            if cell.rowspan > 1:
                self.above[column] = (row + cell.rowspan - 1, cell)


def _row_chars(row: Row) -> int:
    return sum([_chars(cell) for cell in row.cells])


def _chars(cell: Cell) -> int:
    return sum([len(part.block.text) for part in cell.parts])


def _is_header(path: str) -> bool:
    for step in reversed(path.split("/")):
        tag = step_tag(step)
        if tag in CELL_TAGS:
            return tag == "th"
    return False


def _is_layout(blocks: list[Block]) -> bool:
    """Tell whether a table has more in it than text in cells, or no cells beside each other."""
    last = blocks[0]
    members = chars = 0
    width = False
    for block in blocks:
        if block.tag in HEADINGS or block.tag in PREFORMATTED_TAGS:
            return True
        if block.row != last.row or block.cell != last.cell:
            width = width or block.row == last.row
            members = chars = 0
        members += 1
        chars += len(block.text)
        if members > MAX_CELL_BLOCKS or (members > 1 and chars > MAX_CELL_CHARS):
            return True
        last = block
    return not width


def _line(
    block: Block,
    resolver: Resolver,
    pictures: list[tuple[int, Image]] | None,
    labels: dict[str, str],
) -> Line:
    """Return the block's text with its marks, the outer around the inner, and its pictures. Links
    that lead nowhere, links in links, styles in the same, and markers of footnotes that have no
    label are plain text.
    """
    if not pictures:  # most lines have a few links, and none in another
        line = _flat_line(block, resolver, labels)
        if line is not None:
            return line
    builder = LineBuilder(block.text, resolver, labels)
    entries: list[tuple[int, int, tuple[int, str] | Image]] = [
        (start, 1, (end, mark)) for start, end, mark in sorted(set(block.spans), key=_outer_first)
    ]
    entries += [(place, 0, image) for place, image in pictures or ()]
    entries.sort(key=itemgetter(0, 1))  # it is stable: outer marks stay before inner ones
    for start, _, entry in entries:
        if isinstance(entry, Image):
            if 0 <= start <= len(block.text):
                builder.add_picture(start, entry)
        else:
            builder.open(start, *entry)
    builder.go_to(len(block.text))
    return builder.stack[0].children


def _flat_line(block: Block, resolver: Resolver, labels: dict[str, str]) -> Line | None:
    """Return a line without pictures; None if one mark stands in another."""
    text = block.text
    children: Line = []
    at = 0
    for start, end, mark in block.spans:
        if start < at:
            return None
        if at < start:
            children.append(text[at:start])
        target = resolver.resolve(mark) if is_link(mark) else ""
        if target or mark in STYLES or _label(mark, labels):
            children.append(Marked(mark, target, end, [text[start:end]]))
        else:
            children.append(text[start:end])
        at = end
    if at < len(text):
        children.append(text[at:])
    return children


def _label(mark: str, labels: dict[str, str]) -> str:
    """Return the label of the footnote that a mark leads to, "" if it leads to none."""
    return labels.get(mark[len(NOTE) :], "") if mark.startswith(NOTE) else ""


class LineBuilder:
    """A line as its marks and pictures are read: *stack* has the marks that are open."""

    def __init__(self, text: str, resolver: Resolver, labels: dict[str, str]) -> None:
        self.text, self.resolver, self.labels = text, resolver, labels
        self.stack = [Marked("", "", len(text), [])]
        self.at = 0

    def go_to(self, place: int) -> None:
        """Add the text before a place, and close the marks that end there."""
        stack = self.stack
        while place >= stack[-1].end and len(stack) > 1:
            ended = stack.pop()
            _add_text(ended, self.text[self.at : ended.end])
            self.at = ended.end
        _add_text(stack[-1], self.text[self.at : place])
        self.at = place

    def open(self, start: int, end: int, mark: str) -> None:
        """Open a mark, unless it says nothing where it stands."""
        self.go_to(start)
        stack = self.stack
        target = self.resolver.resolve(mark) if is_link(mark) else ""
        if mark in STYLES:
            says_something = mark not in [marked.mark for marked in stack]
        elif target:
            says_something = not self._is_in_link()
        else:
            says_something = bool(_label(mark, self.labels))
        if says_something:
            marked = Marked(mark, target, min(end, stack[-1].end), [])
            stack[-1].children.append(marked)
            stack.append(marked)

    def _is_in_link(self) -> bool:
        return bool([marked for marked in self.stack if marked.target])

    def add_picture(self, place: int, image: Image) -> None:
        """Add a picture or a film; the title of a film in a link is text."""
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
            innermost.children.append(" ")  # its title is a text, which would be one with this


def _outer_first(span: tuple[int, int, str]) -> tuple[int, int, int, str]:
    """Order marks of the same text: footnotes, links, styles, and code within all of them."""
    start, end, mark = span
    if mark.startswith(NOTE):
        rank = 0
    elif is_link(mark):
        rank = 1
    else:
        rank = 3 if mark in (CODE, FORMULA) else 2
    return start, -end, rank, mark


def _add_text(marked: Marked, text: str) -> None:
    if text:
        marked.children.append(text)


def _pictures(block: Block, resolver: Resolver) -> list[tuple[int, Image]]:
    """Return how many characters stand before each picture or film that may be written, and it."""
    entries = [(place, source, text, False) for place, source, text, *_ in block.images]
    entries += [(*film, True) for film in block.films]
    found = []
    for place, source, text, is_film in entries:
        address = resolver.resolve(source)
        if address and not address.lower().startswith("mailto:"):
            found.append((place, Image(address, text, is_film)))
    return found


class Resolver:
    """Resolves a page's addresses by *base*; without an absolute one relative ones stay."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._is_absolute = base.startswith(("http:", "https:")) and bool(join(base, "/"))
        self._joined: dict[str, str] = {}

    def resolve(self, address: str) -> str:
        """Return where *address* leads; "" if that is not the web or mail, or far too long."""
        if len(address) > MAX_ADDRESS_CHARS:
            return ""
        if SIMPLE_LINK.match(address):  # most are, and the rest of this costs ten times as much
            return address
        if address.startswith("javascript:"):
            return ""
        address = address.strip(BLANK).translate(LEFT_OUT)
        if self._is_absolute:
            if SIMPLE_PATH.match(address):
                return self._join("/")[:-1] + address
            if SIMPLE_FRAGMENT.match(address):
                return self._join("#x")[:-2] + address
            if name := SIMPLE_NAME.match(address):
                return self._join(name[1] + "x")[:-1] + address[name.end(1) :]
        whole = join(self._base, address) if self._is_absolute else address
        parts = split_address(whole)
        if parts is NO_PARTS:
            return ""
        scheme = parts.scheme.lower()
        return whole if scheme in LINK_SCHEMES or not scheme else ""

    def _join(self, address: str) -> str:
        if address not in self._joined:
            self._joined[address] = join(self._base, address)
        return self._joined[address]
