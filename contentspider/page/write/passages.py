"""Passages for retrieval: pieces of a page's Markdown, each with the headings above it.

A page is cut at its headings. Long sections are cut further, and short pieces are joined with their
neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from hashlib import sha256
from itertools import chain, groupby
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.page.tree.blocks import Block
from contentspider.page.tree.containers import (
    DEFINITION,
    DETAILS,
    ITEM,
    LISTS,
    SUMMARY,
    TABLE,
    TERM,
)
from contentspider.page.tree.resolver import Resolver
from contentspider.page.tree.tags import FORMULAS_AS_TEXT, PREFORMATTED_TAGS
from contentspider.page.words.names import step_tag
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.output import to_text
from contentspider.page.write.places import heading_levels, innermost_box
from contentspider.page.write.structure import parts
from contentspider.page.write.tables import cell_at, table_at, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    # Blocks that stay together: a paragraph, a table, a term and its definition.
    Unit: TypeAlias = list[Block]
    Span: TypeAlias = tuple[int, int, str]

# A longer heading is treated as a paragraph: headings are repeated in each passage below them.
MAX_HEADING_CHARS = 200
# A piece shorter than this share of the size limit is joined with a neighbour.
LEAST_SHARE = 0.2
# The headings take at most this share of the size limit; outer headings are left out first.
MAX_PATH_SHARE = 0.5
# If link addresses leave less room for the text than this many characters, links are left out.
LEAST_TEXT = 20
# A table that is cut repeats its header in each piece, if the header takes at most this share.
MAX_HEADER_SHARE = 0.3
# A piece that takes this share of the room is not made any larger.
FULL_SHARE = 0.9
# A sentence ends at a full stop before a space, unless a lower-case letter follows ("e.g. tea").
# In scripts without spaces it ends at any full stop.
SENTENCE_END = re.compile(
    r"[.!?…؟।]{1,4}[\"”»'’)\]]{0,4}\s(?!\s*[a-zß-öø-ÿа-я])|[。！？｡]{1,4}[”」』）》]{0,4}"
)
SPACE = re.compile(r"\s+")
NEWLINES = re.compile(r"\n+")
# A cut looks back over at most this many combining marks, so that a letter keeps its accents.
MAX_MARKS = 10
WRITTEN = (
    "text path tag container row item spans cell images films language anchor note number within"
    " colspan rowspan table outer numbering begins_list"
).split()


class Section(NamedTuple):
    """The *blocks* between two headings, and the *headings* above them, outermost first.

    A heading without text below it is a section of its own, with the heading as its block.
    """

    headings: tuple[Block, ...]
    blocks: list[Block]

    @property
    def anchor(self) -> str:
        """The fragment of the section's address. If the section has none, it is the fragment of the
        nearest heading above, or "" for the top of the page.
        """
        anchors = (block.anchor for block in (self.blocks[0], *reversed(self.headings)))
        return next(filter(None, anchors), "")


class Passage(NamedTuple):
    """A piece of a page.

    *key* is a hash of the text and the headings, 12 hexadecimal digits. It is unique on the page
    and stays the same in later crawls if the text and the headings do. *heading_path* has the
    headings above the piece, outermost first. *anchor* is the fragment of its address, "" for the
    page. *markdown* is the piece as Markdown. *text* is its plain text below a line with its
    headings.
    """

    key: str
    heading_path: tuple[str, ...]
    anchor: str
    markdown: str
    text: str


class _Piece(NamedTuple):
    """A passage in the making: its blocks, the headings above, its Markdown and its anchor."""

    headings: tuple[Block, ...]
    blocks: list[Block]
    markdown: str
    anchor: str


class _Marks(NamedTuple):
    """The spans, images and films of a block, as `Block` stores them; *spans* are sorted."""

    spans: Sequence[Span]
    images: Sequence[tuple[Any, ...]]
    films: Sequence[tuple[Any, ...]]


NO_MARKS = _Marks((), (), ())


def to_passages(blocks: Sequence[Block], base: str, max_chars: int) -> list[Passage]:
    """Return the passages of *blocks*, the content of a page, in order. Every word of the page is
    in a text or a heading path. Relative addresses are resolved with *base*.

    The text and the Markdown of a passage have at most *max_chars* characters each. A passage
    begins at each heading. A longer section is cut between its blocks. A block that is too long by
    itself is cut between rows or lines, else between sentences, else between words, else anywhere.
    Pieces below the same heading are joined if one is shorter than a fifth of *max_chars*. Equal
    sections and equal passages are returned once.
    """
    writer = _Writer(base, max_chars)
    unique: dict[tuple[tuple[str, ...], str], Section] = {}
    for section in sections(blocks):
        unique.setdefault((_path(section.headings), to_text(section.blocks)), section)
    pieces = [piece for section in unique.values() for piece in writer.pieces(section)]
    for depth in range(max((len(piece.headings) for piece in pieces), default=0), -1, -1):
        pieces = writer.join(pieces, depth)
    passages: dict[str, Passage] = {}
    for piece in pieces:
        path, text = _path(piece.headings), to_text(piece.blocks)
        key = sha256("\n".join([*path, "", text]).encode("utf-8", "replace")).hexdigest()[:12]
        title = writer.title(piece.headings)
        whole = f"{title}\n{text}" if title else text
        passages.setdefault(key, Passage(key, path, piece.anchor, piece.markdown, whole))
    return list(passages.values())


def sections(blocks: Sequence[Block]) -> Iterator[Section]:
    """Yield the sections of a page's content, in order. Layout tables are read as paragraphs.

    The title of folded text is a heading of that text. A heading in a box or in folded text
    ends where this does.
    """
    outline = _Sections()
    blocks = _without_layout(blocks)
    for level, block in zip(heading_levels(blocks), blocks, strict=True):
        yield from outline.add(level, block)
    yield from outline.end()


class _Sections:
    """Cuts a page at its headings. *above* has the open headings: their levels, the numbers of the
    innermost boxes around them (0: none), and their blocks.
    """

    def __init__(self) -> None:
        self.above: list[tuple[int, int, Block]] = []
        self.texts: list[Block] = []
        self.is_bare = False  # true until a block stands below the last heading

    def add(self, level: int, block: Block) -> Iterator[Section]:
        """Add a block; yield the section that ends before it."""
        boxes = [number for kind, number in block.within if kind == DETAILS or kind.isupper()]
        if self.above and self.above[-1][1] not in (0, *boxes):
            yield from self.end()
            while self.above and self.above[-1][1] not in (0, *boxes):
                self.above.pop()
        if innermost_box(block)[0] == SUMMARY:
            level = min(6, 1 + max((above for above, *_ in self.above), default=1))
        if not level or len(block.text) > MAX_HEADING_CHARS:
            self.texts.append(block)
            self.is_bare = False
            return
        yield from self.end(level)
        self.is_bare = True
        while self.above and self.above[-1][0] >= level:
            self.above.pop()
        self.above.append((level, boxes[-1] if boxes else 0, block))

    def end(self, level: int = 0) -> Iterator[Section]:
        """Yield the open section, which ends, before a heading of a *level*."""
        headings = tuple(block for _, _, block in self.above)
        if self.texts:
            yield Section(headings, self.texts)
        elif self.is_bare and level <= self.above[-1][0]:
            yield Section(headings[:-1], [headings[-1]])
        self.texts, self.is_bare = [], False


def _without_layout(blocks: Sequence[Block]) -> list[Block]:
    """Return *blocks*, with no row and cell for blocks of layout tables.

    Otherwise a few blocks cut out of a layout table could look like a data table.
    """
    plain: list[Block] = []
    while len(plain) < len(blocks):
        block = blocks[len(plain)]
        end, level = table_at(blocks, len(plain)) if block.row else (len(plain), 0)
        if end > len(plain):
            table = blocks[len(plain) : end]
            if level:
                table = [_replaced(each, outer=each.outer[level:]) for each in table]
            plain += table
        else:
            plain.append(_replaced(block, row=0, cell=0) if block.row else block)
    return plain


class _Writer:
    """Cuts and joins the pieces of a page. Sizes are characters of Markdown."""

    def __init__(self, base: str, max_chars: int) -> None:
        self._resolver, self._max_chars = Resolver(base), max_chars
        self._least = int(max_chars * LEAST_SHARE)
        # Characters of Markdown per character of text, in the slice that was written last.
        self._density = 1.0
        # The Markdown of slices that were tried, by the number of their object, which they keep.
        self._tried: dict[int, tuple[Block, str]] = {}

    def markdown(self, blocks: Sequence[Block]) -> str:
        if len(blocks) == 1 and (tried := self._tried.get(id(blocks[0]))):
            return tried[1]
        return write_markdown(parts(blocks, self._resolver))

    def size(self, blocks: Sequence[Block]) -> int:
        return self._noted(len(self.markdown(blocks)), blocks)

    def _noted(self, size: int, blocks: Sequence[Block]) -> int:
        """Return the size of blocks after noting their density."""
        self._density = max(1.0, size / _chars(blocks))
        return size

    def title(self, headings: Sequence[Block]) -> str:
        """Return the line of headings at the beginning of a passage's text."""
        path = list(_path(headings))
        while len(title := " > ".join(path)) > self._max_chars * MAX_PATH_SHARE:
            del path[0]
        return title

    def room(self, headings: Sequence[Block]) -> int:
        """Return the size limit of a piece below *headings*."""
        title = self.title(headings)
        return self._max_chars - (len(title) + 1 if title else 0)

    def pieces(self, section: Section) -> Iterator[_Piece]:
        """Yield the pieces of a section, each as large as possible; the last two share their blocks
        evenly if the last one would be short.
        """
        room = self.room(section.headings)
        markdown = self.markdown(section.blocks) if _chars(section.blocks) <= room else ""
        if 0 < len(markdown) <= room:
            yield _Piece(section.headings, section.blocks, markdown, section.anchor)
            return
        item_numbers: set[int] = set()  # list entries that began in an earlier piece
        for group in self._groups(_units(section.blocks, self._least), room):
            blocks = [
                _paragraph(block) if block.item in item_numbers else block for block in _flat(group)
            ]
            item_numbers.update(block.item for block in blocks if block.item)
            yield _Piece(section.headings, blocks, self.markdown(blocks), section.anchor)

    def _groups(self, units: list[Unit], room: int) -> list[list[Unit]]:
        """Return *units*, cut where they are too large, in groups that fit into *room*."""
        groups: list[list[Unit]] = []
        start = 0
        while start < len(units):
            count = self._most(units, start, room)
            if not count:
                units[start : start + 1] = smaller = list(self._smaller(units[start], room))
                if len(smaller) > 1:
                    continue
                count = 1  # the unit cannot be cut any further
            groups.append(units[start : start + count])
            start += count
        if len(groups) > 1 and self.size(_flat(groups[-1])) < self._least:
            self._balance(*groups[-2:])
        return groups

    def _balance(self, first: list[Unit], last: list[Unit]) -> None:
        """Move units from the end of *first* to *last*, as long as *first* stays the larger."""
        while len(first) > 1:
            if self.size(first[-1] + _flat(last)) > self.size(_flat(first[:-1])):
                return
            last.insert(0, first.pop())

    def join(self, pieces: list[_Piece], depth: int) -> list[_Piece]:
        """Return *pieces* after joining short ones with the next piece, else with the previous one.

        Two pieces are joined only if the first *depth* headings above them are the same and both
        fit into one passage.
        """
        forward: list[_Piece] = []
        for piece in pieces:
            is_short = bool(forward) and len(forward[-1].markdown) < self._least
            both = self._joined(forward[-1], piece, depth) if is_short else None
            if both:
                forward[-1] = both
            else:
                forward.append(piece)
        joined: list[_Piece] = []
        for piece in forward:
            is_short = bool(joined) and len(piece.markdown) < self._least
            both = self._joined(joined[-1], piece, depth) if is_short else None
            if both:
                joined[-1] = both
            else:
                joined.append(piece)
        return joined

    def _joined(self, first: _Piece, second: _Piece, depth: int) -> _Piece | None:
        """Return one piece made of two below the *depth* headings that they share.

        None if they share fewer headings, if more than one further heading stands above either, or
        if the piece would be too large.
        """
        above, below = first.headings[:depth], first.headings[depth:]
        other_above, other_below = second.headings[:depth], second.headings[depth:]
        if max(len(below), len(other_below)) > 1 or not _same(above, other_above):
            return None
        if len(above) < depth or (below and _same(below, other_below)):
            return None
        room = self.room(above)
        if len(first.markdown) + len(second.markdown) > room:
            return None
        blocks = [*below, *first.blocks, *other_below, *second.blocks]
        markdown = self.markdown(blocks)
        return _Piece(above, blocks, markdown, first.anchor) if len(markdown) <= room else None

    def _most(
        self, units: Sequence[Unit], start: int, room: int, header: Sequence[Block] = ()
    ) -> int:
        """Return how many *units* from *start* on fit into *room* below a *header*."""
        # Markdown is at least as long as the text, so the text gives an upper bound.
        most = guess = 1
        chars = _chars(units[start])
        while start + most < len(units) and chars + _chars(units[start + most]) <= room:
            chars += _chars(units[start + most])
            most += 1
            guess += chars * self._density <= room
        if chars > room + len(units[start]):
            return 0

        def size(count: int) -> int:
            return self.size([*header, *_flat(units[start : start + count])])

        return _largest(most, size, room, guess)

    def _smaller(self, unit: Unit, room: int) -> Iterator[Unit]:
        """Yield the smaller units of a unit that is too large: tables, groups of rows, slices."""
        runs, rows = _parts(unit, _table_of), _parts(unit, _row_of)
        if len(runs) > 1:
            yield from runs
            return
        if _table_of(unit[0]) and len(rows) > 1:
            yield from self._rows(rows, room)
            return
        for block in unit:
            paragraph = _paragraph(block) if block.row else block
            was_tried = len(unit) == 1 and paragraph is block
            if not was_tried and self.size([paragraph]) <= room:
                yield [paragraph]
            else:
                yield from ([slice_] for slice_ in self._slices(paragraph, room))

    def _rows(self, rows: list[list[Block]], room: int) -> Iterator[Unit]:
        """Yield the pieces of a table, cut between rows, each with the header.

        A single row may be too large. Cells that span rows on both sides of a cut are repeated
        after it.
        """
        header: list[Block] = []
        if (
            _is_header(rows[0])
            and self.size(rows[0]) <= room * MAX_HEADER_SHARE
            and all(self.size(rows[0] + row) <= room for row in rows)
        ):
            header = rows.pop(0)
        start = 0
        reaching: list[Block] = []
        while start < len(rows):
            number = _row_of(rows[start][0])
            reaching = [block for block in reaching if block.row + block.rowspan > number]
            rows[start] = _with_cells(rows[start], reaching)
            count = max(1, self._most(rows, start, room, header))
            unit = _flat(rows[start : start + count])
            reaching = [block for block in unit if block.rowspan > 1 and not block.outer]
            yield [*header, *unit]
            start += count

    def _slices(self, block: Block, room: int) -> Iterator[Block]:
        """Yield the slices of a block. Links whose addresses would take almost all of the room are
        left out, and so are quotes and lists around the block that would take it.
        """
        text = block.text
        if len(self.markdown([_slice(block, NO_MARKS, 0, min(LEAST_TEXT, len(text)))])) > room:
            block = _replaced(block, path=block.path.rpartition("/")[2], within=())
        waiting = sorted(block.spans, reverse=True)
        spans: list[Span] = []
        start = 0
        while start < len(text):
            most = min(room, len(text) - start)
            spans = [span for span in spans if span[1] > start]
            while waiting and waiting[-1][0] < start + most:
                spans.append(waiting.pop())
            marks = _Marks(spans, block.images, block.films)
            count, slices = self._fitting(block, marks, start, most, room)
            if count < min(most, LEAST_TEXT):
                marks = NO_MARKS
                count, slices = self._fitting(block, marks, start, most, room)
            chars_left = len(text) - start - count
            if 0 < chars_left < self._least:
                count = (count + chars_left) // 2
            end = _end(block, start, start + max(1, count))
            # A link or formula is not cut if it begins in the second half of the slice.
            begun = marks.spans[: bisect_left(marks.spans, (end,))]
            cut_spans = (first for first, last, _ in begun if end < last)
            end = min((first for first in cut_spans if first > (start + end) // 2), default=end)
            if end in slices:
                tried = slices[end]
                self._tried[id(tried[0])] = tried
                yield tried[0]
            else:
                yield _slice(block, marks, start, end)
            start = end

    def _fitting(
        self, block: Block, marks: _Marks, start: int, most: int, room: int
    ) -> tuple[int, dict[int, tuple[Block, str]]]:
        """Return how many characters from *start* on, up to *most*, fit into *room* as a slice, and
        the slices that were tried, with their Markdown, by their end.
        """
        slices: dict[int, tuple[Block, str]] = {}

        def size(count: int) -> int:
            end = _end(block, start, start + count)
            if end not in slices:
                slice_ = _slice(block, marks, start, end)
                slices[end] = slice_, self.markdown([slice_])
            return self._noted(len(slices[end][1]), [slices[end][0]])

        guess = most if self._density == 1 else int(room * (1 + FULL_SHARE) / 2 / self._density)
        return _largest(most, size, room, guess), slices


def _largest(most: int, size: Callable[[int], int], room: int, guess: int) -> int:
    """Return the largest number up to *most* whose *size* is within *room*, or a smaller one whose
    size takes `FULL_SHARE` of the room.

    Each trial writes Markdown, so few numbers are tried, from *guess* on.
    """
    fits, too_many = 0, most + 1
    number = max(1, min(guess, most))
    step = 1
    while too_many - fits > 1:
        written = size(number)
        if fits < number and written <= room:
            fits = number
            if written >= room * FULL_SHARE:
                break
            number += step
        else:
            too_many = number
            number = min(number - step, number * room // written)
        step *= 2
        if not fits < number < too_many:
            number = (fits + too_many) // 2
    return fits


def _units(blocks: Sequence[Block], least: int) -> list[Unit]:
    """Return *blocks* in units. A unit of fewer than *least* characters is joined with the next
    unit if it introduces that unit.
    """
    units: list[Unit] = []
    for table, run in groupby(blocks, key=_table_of):
        for unit in [list(run)] if table else [[block] for block in run]:
            if units and _leads(units[-1]) and _chars(units[-1]) < least:
                units[-1] = units[-1] + unit
            else:
                units.append(unit)
    return units


def _parts(unit: Unit, key: Callable[[Block], object]) -> list[Unit]:
    """Return the runs of blocks of a unit that have the same *key*."""
    return [list(run) for _, run in groupby(unit, key=key)]


def _same(headings: Sequence[Block], others: Sequence[Block]) -> bool:
    return len(headings) == len(others) and all(map(is_, headings, others))


def _path(headings: Sequence[Block]) -> tuple[str, ...]:
    return tuple(heading.text for heading in headings)


def _flat(units: Sequence[Unit]) -> list[Block]:
    return list(chain.from_iterable(units))


def _chars(blocks: Sequence[Block]) -> int:
    return sum(len(block.text) + 1 for block in blocks)


def _table_of(block: Block) -> int | str:
    return table_of(block, 0) or ""


def _row_of(block: Block) -> int:
    return cell_at(block, 0)[0]


def _is_header(row: Sequence[Block]) -> bool:
    return all(
        not {"th", "thead"}.isdisjoint(map(step_tag, block.path.split("/"))) for block in row
    )


def _leads(unit: Unit) -> bool:
    """Tell whether a unit introduces the next: it is a term, or ends with a colon."""
    return unit[-1].tag == "dt" or unit[-1].text.endswith((":", "："))


def _with_cells(row: list[Block], reaching: Sequence[Block]) -> list[Block]:
    """Return the first row after a cut, with the cells of earlier rows that span it."""
    number = _row_of(row[0])
    cells = [
        _replaced(block, row=number, rowspan=block.row + block.rowspan - number)
        for block in reaching
    ]
    return sorted([*cells, *row], key=lambda block: cell_at(block, 0)[1])


def _replaced(block: Block, **changes: Any) -> Block:
    """Return a copy of a block with *changes*; it has the attributes that the writers read."""
    return Block(**{name: getattr(block, name) for name in WRITTEN} | changes)


def _paragraph(block: Block) -> Block:
    """Return a copy of a block that is in no table cell and begins no list entry."""
    return _replaced(block, row=0, cell=0, item=0, within=_without_entries(block))


def _without_entries(block: Block) -> tuple[tuple[str, int], ...]:
    """Return the containers around a block except lists, tables and their entries."""
    return tuple(
        (kind, number)
        for kind, number in block.within
        if kind not in LISTS and kind not in (ITEM, TERM, DEFINITION, TABLE)
    )


def _slice(block: Block, marks: _Marks, start: int, end: int) -> Block:
    """Return the part of a block between two places, with its marks. Only the first part of a block
    may begin a list entry.
    """
    text = block.text[start:end]
    text = text.rstrip("\n") if block.tag in PREFORMATTED_TAGS else text.rstrip()
    count = bisect_left(marks.spans, (start + len(text),))
    spans = tuple(
        (max(first - start, 0), min(last - start, len(text)), mark)
        for first, last, mark in marks.spans[:count]
        if last > start
        # Each part of a formula that is cut would have its whole LaTeX.
        and ((start <= first and last <= end) or not mark.startswith(FORMULAS_AS_TEXT))
    )
    images, films = (
        tuple(
            (place - start if place >= 0 else place, *rest)
            for place, *rest in entries
            if (start <= place or start == 0) and (place < end or end == len(block.text))
        )
        for entries in (marks.images, marks.films)
    )
    slice_values = {"text": text, "spans": spans, "images": images, "films": films}
    item = block.item if start == 0 else 0
    within = block.within if start == 0 else _without_entries(block)
    return _replaced(block, **slice_values, item=item, within=within, row=0, cell=0)


def _end(block: Block, start: int, stop: int) -> int:
    """Return where the next slice begins, after a slice from *start* to *stop* at the latest."""
    text = block.text
    if stop >= len(text):
        return len(text)
    is_code = block.tag in PREFORMATTED_TAGS
    find_end = _line_end if is_code else _sentence_end
    end = find_end(text, start, stop) or _word_end(text, start, stop)
    # The next slice must not begin with space: it could consist of nothing else.
    space = (NEWLINES if is_code else SPACE).match(text, end)
    return space.end() if space else end


def _line_end(text: str, start: int, stop: int) -> int:
    """Return where the last line ends, preferably before an empty line; 0 if no line ends."""
    empty_line = text.rfind("\n\n", start + 1, stop + 2)
    if empty_line > (start + stop) // 2:
        return empty_line
    return max(text.rfind("\n", start + 1, stop + 1), 0)


def _sentence_end(text: str, start: int, stop: int) -> int:
    """Return where the last paragraph or sentence ends; 0 if neither ends."""
    paragraph = text.rfind("\n", start + 1, stop + 1)
    half = (start + stop) // 2
    if paragraph > half:
        return paragraph
    ends = (sentence.end() for sentence in SENTENCE_END.finditer(text, start, stop))
    return max(paragraph, max(ends, default=0), 0)


def _word_end(text: str, start: int, stop: int) -> int:
    """Return where the last word ends; where the last letter ends if there is only one word."""
    if text[stop].isspace():
        return stop
    for end in range(stop, start, -1):
        if text[end - 1].isspace():
            return end
    # Keep accents and vowel signs with their letter.
    for end in range(stop, max(start, stop - MAX_MARKS), -1):
        if not unicodedata.category(text[end]).startswith("M"):
            return end
    return stop
