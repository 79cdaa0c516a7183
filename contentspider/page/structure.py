"""What blocks are beside their text: paragraphs, headings, entries of lists, tables, quotes; and
what stands in their lines. Markdown and HTML are both written from it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin, urlsplit

from contentspider.page.blocks import PREFORMATTED_TAGS
from contentspider.page.names import step_tag

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from contentspider.page.blocks import Block

HEADING_TAGS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
CELL_TAGS = frozenset(["td", "th"])
LIST_TAGS = frozenset(["ul", "ol", "menu", "dir"])

# A cell with more than this holds a part of the page: the table is there for its layout.
MAX_CELL_BLOCKS, MAX_CELL_CHARS = 6, 1_000
# So many cells without text between two of a row are written; more are those of another table.
MAX_GAP = 12

LINK_SCHEMES = frozenset(["http", "https", "mailto"])
# A link around many blocks is written in each of them.
MAX_ADDRESS_CHARS = 2_000
# What browsers leave out of addresses; a scheme must not hide behind it.
SIMPLE_LINK = re.compile(r"https?://[a-z0-9.-]+(?:/[!$-~]*)?\Z")
SIMPLE_PATH = re.compile(r"/(?!/)(?:[!$-.0-~]|/(?!\.))*\Z")
LEFT_OUT = dict.fromkeys((9, 10, 13))
BLANK = "".join(map(chr, range(33)))


class Place(NamedTuple):
    """What a path says: quotes around it, lists inside of these, and its table (its path)."""

    quotes: int
    lists: int
    ordered: bool
    table: str


@lru_cache(maxsize=10_000)
def place_of(path: str) -> Place:
    """Return what the tags of a path say."""
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
    return Place(quotes, max(1, len(lists)) if in_item else 0, lists[-1:] == ["ol"], table)


@dataclass(slots=True)
class Part:
    """A paragraph, heading or preformatted block, or a table.

    *quotes* is how many quotes are around it and *depth* how many lists; *begins* tells that it
    begins an entry of the innermost one, which is numbered if *ordered*. *rows* has the blocks of
    each cell of each row, if it is a table.
    """

    block: Block
    quotes: int = 0
    depth: int = 0
    ordered: bool = False
    begins: bool = False
    rows: list[list[list[Block]]] = field(default_factory=list)


def parts(blocks: Sequence[Block]) -> Iterator[Part]:
    """Yield the parts that *blocks* are, in their order.

    Lists are counted as they come out: the depth grows by one at most from a part to the next, and
    an entry goes on after a list in it, unless something else stood between.
    """
    seen: set[int] = set()  # entries that have begun
    lists: list[tuple[int, int]] = []  # depth in the page, and the entry, of each open list
    quotes = 0
    for (row_table, in_row), run in groupby(blocks, _table_of):
        members = list(run)
        if in_row and (rows := _rows(members)):
            lists.clear()
            quotes = place_of(row_table).quotes if row_table else 0
            yield Part(members[0], quotes, rows=rows)
            continue
        for block in members:
            place = place_of(block.path)
            if place.quotes != quotes or not place.lists or block.tag in HEADING_TAGS:
                lists.clear()
            quotes = place.quotes
            part = Part(block, quotes)
            if place.lists and block.item and block.tag not in HEADING_TAGS:
                while lists and lists[-1][0] > place.lists:
                    lists.pop()
                part.begins = block.item not in seen and block.tag not in PREFORMATTED_TAGS
                if part.begins:
                    seen.add(block.item)
                    if lists and lists[-1][0] == place.lists:
                        lists.pop()
                    lists.append((place.lists, block.item))
                elif not lists or lists[-1][1] != block.item:
                    lists.clear()
                part.depth, part.ordered = len(lists), place.ordered
            yield part


def _table_of(block: Block) -> tuple[str, bool]:
    return (place_of(block.path).table, True) if block.row else ("", False)


def _rows(blocks: list[Block]) -> list[list[list[Block]]]:
    """Return the cells of a table's rows; none if it is there for the layout."""
    rows: list[list[list[Block]]] = []
    row = cell = 0
    for block in blocks:
        if block.tag in HEADING_TAGS or block.tag in PREFORMATTED_TAGS:
            return []
        if block.row != row:
            rows.append([[block]])
        elif block.cell != cell:
            gap = block.cell - cell - 1
            rows[-1] += [[] for _ in range(gap if 0 < gap <= MAX_GAP else 0)]
            rows[-1].append([block])
        else:
            members = rows[-1][-1]
            members.append(block)
            if (
                len(members) > MAX_CELL_BLOCKS
                or sum(len(member.text) for member in members) > MAX_CELL_CHARS
            ):
                return []
        row, cell = block.row, block.cell
    return rows if max(map(len, rows)) > 1 else []


class Image(NamedTuple):
    """A picture in a line."""

    address: str
    description: str


@dataclass(slots=True)
class Marked:
    """What stands in a line under a mark: texts, pictures and further marks."""

    mark: str
    end: int
    children: list[str | Image | Marked] = field(default_factory=list)

    def text(self) -> str:
        """Return the text, without marks and pictures."""
        return "".join(
            child if isinstance(child, str) else child.text() if isinstance(child, Marked) else ""
            for child in self.children
        )


def line_of(block: Block) -> list[str | Image | Marked]:
    """Return the block's text with its marks, the outer around the inner, and its pictures."""
    text = block.text
    top = Marked("", len(text))
    if not block.spans and not block.images:
        return [text]
    at = 0
    if not block.images:  # most lines have a few links, and none in another
        for start, end, mark in block.spans:
            if start < at:
                top.children.clear()
                break
            _add_text(top, text[at:start])
            top.children.append(Marked(mark, end, [text[start:end]]))
            at = end
        else:
            _add_text(top, text[at:])
            return top.children
    stack = [top]
    at = 0
    spans = sorted(set(block.spans), key=lambda span: (span[0], -span[1], span[2]))
    entries: list[tuple[int, int, tuple[int, str] | Image]] = [
        (start, 1, (end, mark)) for start, end, mark in spans
    ]
    entries += [
        (place, 0, Image(address, description))
        for place, address, description in block.images
        if 0 <= place <= len(text)
    ]
    entries.sort(key=lambda entry: entry[:2])  # it is stable: outer marks stay before inner ones
    for start, _, entry in [*entries, (len(text), 2, Image("", ""))]:
        while start >= stack[-1].end and len(stack) > 1:
            ended = stack.pop()
            _add_text(ended, text[at : ended.end])
            at = ended.end
        _add_text(stack[-1], text[at:start])
        at = start
        if not isinstance(entry, Image):
            end, mark = entry
            marked = Marked(mark, min(end, stack[-1].end))
            stack[-1].children.append(marked)
            stack.append(marked)
        elif entry.address:
            stack[-1].children.append(entry)
    return top.children


def _add_text(marked: Marked, text: str) -> None:
    if text:
        marked.children.append(text)


def images_beside(block: Block, after: bool) -> list[Image]:
    """Return the pictures that stand alone before or *after* the block."""
    if not block.images:
        return []
    return [
        Image(address, description)
        for place, address, description in block.images
        if (place > len(block.text) if after else place < 0)
    ]


def resolve(base: str, address: str) -> str:
    """Return where *address* leads from the page at *base*; "" if that is not the web or mail, or
    far too long.

    Without an absolute *base* (a file's path) relative addresses stay as they are.
    """
    if len(address) > MAX_ADDRESS_CHARS:
        return ""
    if SIMPLE_LINK.match(address):  # most are, and the rest of this costs ten times as much
        return address
    address = address.strip(BLANK).translate(LEFT_OUT)
    is_absolute = base.startswith(("http:", "https:"))
    if is_absolute and SIMPLE_PATH.match(address):
        return _origin(base) + address
    try:
        whole = urljoin(base, address) if is_absolute else address
        scheme = urlsplit(whole).scheme.lower()
    except ValueError:  # half an address of IPv6
        return ""
    return whole if scheme in LINK_SCHEMES or not scheme else ""


@lru_cache(maxsize=100)
def _origin(base: str) -> str:
    return urljoin(base, "/")[:-1]
