"""Passages for retrieval: pieces of a page's Markdown, each with the headings that it stands under.

A page is cut at its headings; sections that are too long are cut further, and those that are too
short are joined with their neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from hashlib import sha256
from itertools import chain, groupby
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, NamedTuple

from contentspider.page.tree.blocks import Block
from contentspider.page.tree.tags import PREFORMATTED_TAGS
from contentspider.page.words.names import step_tag
from contentspider.page.write.markdown import write_markdown
from contentspider.page.write.output import to_text
from contentspider.page.write.places import heading_levels, place_of
from contentspider.page.write.structure import parts
from contentspider.page.write.tables import table_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    # Blocks that no cut parts: a paragraph, a table, a term and what it means.
    Unit: TypeAlias = list[Block]
    Span: TypeAlias = tuple[int, int, str]

# A longer heading is a paragraph that looks like one; it would be repeated in each passage below.
MAX_HEADING_CHARS = 200
# What is shorter than this share of a passage's size is joined with a neighbour.
LEAST_SHARE = 0.2
# The headings above take no more of a passage's text; the outer ones are left out.
MAX_PATH_SHARE = 0.5
# Where the addresses of links leave fewer characters for the text, the text has no links.
LEAST_TEXT = 20
# The first row of a table is repeated where it is cut, unless it takes more than this.
MAX_HEADER_SHARE = 0.3
# A sentence ends where no lower-case letter goes on ("e.g. tea"); where no spaces are written,
# behind its full stop.
SENTENCE_END = re.compile(
    r"[.!?…؟।]{1,4}[\"”»'’)\]]{0,4}\s(?!\s*[a-zß-öø-ÿа-я])|[。！？｡]{1,4}[”」』）》]{0,4}"
)
SPACE = re.compile(r"\s+")
NEWLINES = re.compile(r"\n+")
# A letter with more of them is made to be one.
MAX_MARKS = 10
WRITTEN = (
    "text path tag container row item spans cell images films language anchor note number quote"
    " colspan rowspan"
).split()


class Section(NamedTuple):
    """The *blocks* between two headings, and the *headings* above them, outermost first.

    The blocks of a heading that nothing stands below are itself.
    """

    headings: tuple[Block, ...]
    blocks: list[Block]

    @property
    def anchor(self) -> str:
        """The fragment of the address that leads to the section, or to the nearest above that has
        one; "" if that is the page.
        """
        anchors = (block.anchor for block in (self.blocks[0], *reversed(self.headings)))
        return next(filter(None, anchors), "")


class Passage(NamedTuple):
    """A piece of a page.

    *key* is a hash of its words and headings, 12 hexadecimal digits: no other passage of the page
    has it, and it stays the same as long as they do. *heading_path* has the headings above it,
    outermost first, and *anchor* the fragment of its address ("": the page). *markdown* is the
    piece itself, and *text* its plain text below a line of its headings.
    """

    key: str
    heading_path: tuple[str, ...]
    anchor: str
    markdown: str
    text: str


class _Piece(NamedTuple):
    """What becomes a passage, and its Markdown."""

    headings: tuple[Block, ...]
    blocks: list[Block]
    markdown: str
    anchor: str


class _Marks(NamedTuple):
    """What is in a text: spans, images and films, as blocks have them."""

    spans: Sequence[Span]
    images: Sequence[tuple[Any, ...]]
    films: Sequence[tuple[Any, ...]]


NO_MARKS = _Marks((), (), ())


def to_passages(blocks: Sequence[Block], base: str, max_chars: int) -> list[Passage]:
    """Return the passages of *blocks*, the content of a page, in its order: all of its words are in
    them, in texts or heading paths. Addresses are resolved by *base*.

    Each has at most *max_chars* characters of text, and of Markdown. A new one begins at each
    heading. A longer section is cut between its blocks; a block that is too long by itself between
    rows or lines, else sentences, else words, else anywhere. Neighbours below the same heading are
    joined if one is shorter than a fifth of *max_chars*. What comes twice is written once.
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
    """Yield the sections of a page's content, in its order; tables that are there for the layout
    are paragraphs.
    """
    above: list[tuple[int, Block]] = []
    texts: list[Block] = []
    is_bare = False  # nothing stands below the last heading yet
    blocks = _without_layout(blocks)
    for level, block in zip(heading_levels(blocks), blocks, strict=True):
        if not level or len(block.text) > MAX_HEADING_CHARS:
            texts.append(block)
            continue
        if texts:
            yield Section(_headings(above), texts)
        elif is_bare and level <= above[-1][0]:
            yield Section(_headings(above[:-1]), [above[-1][1]])
        texts, is_bare = [], True
        while above and above[-1][0] >= level:
            above.pop()
        above.append((level, block))
    if texts:
        yield Section(_headings(above), texts)
    elif is_bare:
        yield Section(_headings(above[:-1]), [above[-1][1]])


def _headings(above: Sequence[tuple[int, Block]]) -> tuple[Block, ...]:
    return tuple(block for _, block in above)


def _without_layout(blocks: Sequence[Block]) -> list[Block]:
    """Return *blocks* with those that stand in a table for the layout in none: a few of them would
    look like a table.
    """
    plain: list[Block] = []
    while len(plain) < len(blocks):
        block = blocks[len(plain)]
        end = table_end(blocks, len(plain)) if block.row else len(plain)
        if end > len(plain):
            plain += blocks[len(plain) : end]
        else:
            plain.append(_replaced(block, row=0, cell=0) if block.row else block)
    return plain


class _Writer:
    """Cuts and joins the pieces of a page; sizes are lengths of their Markdown."""

    def __init__(self, base: str, max_chars: int) -> None:
        self._base, self._max_chars = base, max_chars
        self._least = int(max_chars * LEAST_SHARE)

    def markdown(self, blocks: Sequence[Block]) -> str:
        return write_markdown(parts(blocks, self._base))

    def size(self, blocks: Sequence[Block]) -> int:
        return len(self.markdown(blocks))

    def title(self, headings: Sequence[Block]) -> str:
        """Return the line of headings that a passage's text begins with."""
        path = list(_path(headings))
        while len(title := " > ".join(path)) > self._max_chars * MAX_PATH_SHARE:
            del path[0]
        return title

    def room(self, headings: Sequence[Block]) -> int:
        """Return how large a piece below *headings* may be."""
        title = self.title(headings)
        return self._max_chars - (len(title) + 1 if title else 0)

    def pieces(self, section: Section) -> Iterator[_Piece]:
        """Yield the pieces of a section, as large as they may be, the last two balanced."""
        room = self.room(section.headings)
        markdown = self.markdown(section.blocks) if _chars(section.blocks) <= room else ""
        if 0 < len(markdown) <= room:
            yield _Piece(section.headings, section.blocks, markdown, section.anchor)
            return
        units = _units(section.blocks, self._least)
        groups: list[list[Unit]] = []
        start = 0
        while start < len(units):
            count = self._most(units, start, room)
            if not count:
                units[start : start + 1] = smaller = list(self._smaller(units[start], room))
                if len(smaller) > 1:
                    continue
                count = 1  # it is as small as it can be
            groups.append(units[start : start + count])
            start += count
        if len(groups) > 1 and self.size(_flat(groups[-1])) < self._least:
            first, last = groups[-2:]
            while len(first) > 1 and self.size(first[-1] + _flat(last)) <= self.size(
                _flat(first[:-1])
            ):
                last.insert(0, first.pop())
        items: set[int] = set()  # entries of lists that have begun
        for group in groups:
            blocks = [_paragraph(block) if block.item in items else block for block in _flat(group)]
            items.update(block.item for block in blocks if block.item)
            yield _Piece(section.headings, blocks, self.markdown(blocks), section.anchor)

    def join(self, pieces: list[_Piece], depth: int) -> list[_Piece]:
        """Return *pieces* with those joined that are too short and stand below the same *depth*
        headings: with the next if it fits, else with the one before.
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
        """Return two pieces as one below the *depth* headings that they share; None if there are
        others above them, or it would be too large.
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
        """Return how many *units* from *start* fit into *room* below a *header*."""
        most, chars = 1, _chars(units[start])  # Markdown is no shorter than text
        while start + most < len(units) and chars + _chars(units[start + most]) <= room:
            chars += _chars(units[start + most])
            most += 1

        def size(count: int) -> int:
            return self.size([*header, *_flat(units[start : start + count])])

        return _largest(most, size, room)

    def _smaller(self, unit: Unit, room: int) -> Iterator[Unit]:
        """Yield a unit that does not fit in smaller ones."""
        runs = [list(run) for _, run in groupby(unit, key=_table_of)]
        rows = [list(row) for _, row in groupby(unit, key=attrgetter("row"))]
        if len(runs) > 1:
            yield from runs
            return
        if _table_of(unit[0]) and len(rows) > 1:
            yield from self._rows(rows, room)
            return
        for block in unit:
            paragraph = _paragraph(block) if block.row else block
            if self.size([paragraph]) <= room:
                yield [paragraph]
            else:
                yield from ([slice_] for slice_ in self._slices(paragraph, room))

    def _rows(self, rows: list[list[Block]], room: int) -> Iterator[Unit]:
        """Yield a table cut between rows, with its header in each; a row may be too large. Cells
        that cover rows behind a cut are repeated there.
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
            number = rows[start][0].row
            reaching = [block for block in reaching if block.row + block.rowspan > number]
            rows[start] = _with_cells(rows[start], reaching)
            count = max(1, self._most(rows, start, room, header))
            unit = _flat(rows[start : start + count])
            reaching = [block for block in unit if block.rowspan > 1]
            yield [*header, *unit]
            start += count

    def _slices(self, block: Block, room: int) -> Iterator[Block]:
        """Yield a block in slices. Where addresses leave hardly any room for the text, they have no
        links.
        """
        text = block.text
        waiting = sorted(block.spans, reverse=True)
        spans: list[Span] = []
        start = 0
        while start < len(text):
            most = min(room, len(text) - start)
            spans = [span for span in spans if span[1] > start]
            while waiting and waiting[-1][0] < start + most:
                spans.append(waiting.pop())
            marks = _Marks(spans, block.images, block.films)
            count = self._fitting(block, marks, start, most, room)
            if count < min(most, LEAST_TEXT):
                marks = NO_MARKS
                count = self._fitting(block, marks, start, most, room)
            rest = len(text) - start - count
            if 0 < rest < self._least:
                count = (count + rest) // 2
            end = _end(block, start, start + max(1, count))
            # Links and formulas stay whole, unless little would be left before them.
            cut = (first for first, last, _ in marks.spans if first < end < last)
            end = min((first for first in cut if first > (start + end) // 2), default=end)
            yield _slice(block, marks, start, end)
            start = end

    def _fitting(self, block: Block, marks: _Marks, start: int, most: int, room: int) -> int:
        """Return within how many characters from *start* a slice may end, of *most*."""

        def size(count: int) -> int:
            return self.size([_slice(block, marks, start, _end(block, start, start + count))])

        return _largest(most, size, room)


def _largest(most: int, size: Callable[[int], int], room: int) -> int:
    """Return the largest number up to *most* whose *size* fits into *room*; mostly it is that."""
    return most if size(most) <= room else bisect_right(range(1, most), room, key=size)


def _units(blocks: Sequence[Block], least: int) -> list[Unit]:
    """Return *blocks* in units; what leads to the next, and is shorter than *least*, is with it."""
    units: list[Unit] = []
    for table, run in groupby(blocks, key=_table_of):
        for unit in [list(run)] if table else [[block] for block in run]:
            if units and _leads(units[-1]) and _chars(units[-1]) < least:
                units[-1] = units[-1] + unit
            else:
                units.append(unit)
    return units


def _same(headings: Sequence[Block], others: Sequence[Block]) -> bool:
    return len(headings) == len(others) and all(map(is_, headings, others))


def _path(headings: Sequence[Block]) -> tuple[str, ...]:
    return tuple(heading.text for heading in headings)


def _flat(units: Sequence[Unit]) -> list[Block]:
    return list(chain.from_iterable(units))


def _chars(blocks: Sequence[Block]) -> int:
    return sum(len(block.text) + 1 for block in blocks)


def _table_of(block: Block) -> str:
    return place_of(block.path).table if block.row else ""


def _is_header(row: Sequence[Block]) -> bool:
    return all(
        not {"th", "thead"}.isdisjoint(map(step_tag, block.path.split("/"))) for block in row
    )


def _leads(unit: Unit) -> bool:
    """Tell whether a unit says what follows it: a term, or a text with a colon at its end."""
    return unit[-1].tag == "dt" or unit[-1].text.endswith((":", "："))


def _with_cells(row: list[Block], reaching: Sequence[Block]) -> list[Block]:
    """Return the first row of a part of a table with the cells above that reach into it."""
    number = row[0].row
    cells = [
        _replaced(block, row=number, rowspan=block.row + block.rowspan - number)
        for block in reaching
    ]
    return sorted([*cells, *row], key=attrgetter("cell"))


def _replaced(block: Block, **changes: Any) -> Block:
    """Return a block with what writers read of it, but for *changes*."""
    return Block(**{name: getattr(block, name) for name in WRITTEN} | changes)


def _paragraph(block: Block) -> Block:
    """Return a block as one that stands in no table, and begins no entry of a list."""
    return _replaced(block, row=0, cell=0, item=0)


def _slice(block: Block, marks: _Marks, start: int, end: int) -> Block:
    """Return a part of a block with its marks; only the first may begin an entry of a list."""
    text = block.text[start:end]
    text = text.rstrip("\n") if block.tag in PREFORMATTED_TAGS else text.rstrip()
    spans = tuple(
        (max(first - start, 0), min(last - start, len(text)), mark)
        for first, last, mark in marks.spans
        if first < start + len(text) and last > start
    )
    images, films = (
        tuple(
            (place - start if place >= 0 else place, *rest)
            for place, *rest in entries
            if (start <= place or start == 0) and (place < end or end == len(block.text))
        )
        for entries in (marks.images, marks.films)
    )
    item = block.item if start == 0 else 0
    shown = {"text": text, "spans": spans, "images": images, "films": films}
    return _replaced(block, **shown, item=item, row=0, cell=0)


def _end(block: Block, start: int, stop: int) -> int:
    """Return where what follows a slice begins that begins at *start* and ends at *stop* at the
    latest.
    """
    text = block.text
    if stop >= len(text):
        return len(text)
    is_code = block.tag in PREFORMATTED_TAGS
    find_end = _line_end if is_code else _sentence_end
    end = find_end(text, start, stop) or _word_end(text, start, stop)
    # The beginning of the next must be no space, or it could be one alone.
    space = (NEWLINES if is_code else SPACE).match(text, end)
    return space.end() if space else end


def _line_end(text: str, start: int, stop: int) -> int:
    """Return where the last line ends, better before an empty line; 0 if none does."""
    empty = text.rfind("\n\n", start + 1, stop + 2)
    return empty if empty > (start + stop) // 2 else max(text.rfind("\n", start + 1, stop + 1), 0)


def _sentence_end(text: str, start: int, stop: int) -> int:
    """Return where the last paragraph or sentence ends; 0 if none does."""
    paragraph = text.rfind("\n", start + 1, stop + 1)
    half = (start + stop) // 2
    if paragraph > half:
        return paragraph
    ends = (sentence.end() for sentence in SENTENCE_END.finditer(text, start, stop))
    return max(paragraph, max(ends, default=0), 0)


def _word_end(text: str, start: int, stop: int) -> int:
    """Return where the last word ends, or the last letter if there is one word."""
    if text[stop].isspace():
        return stop
    for end in range(stop, start, -1):
        if text[end - 1].isspace():
            return end
    # Accents and vowel signs stay with their letter.
    for end in range(stop, max(start, stop - MAX_MARKS), -1):
        if not unicodedata.category(text[end]).startswith("M"):
            return end
    return stop
