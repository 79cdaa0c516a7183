# cython: language_level=3, annotation_typing=False, infer_types=True
"""What blocks are beside their text: paragraphs, headings, entries of lists, tables, quotes; and
what stands in their lines. Markdown and HTML are both written from it.

This module, `markdown` and `markup` are compiled, with the types in their ``.pxd`` files.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from contentspider.ground.addresses import MAX_ADDRESS_CHARS, NO_PARTS, join, split_address
from contentspider.page.tree.tags import BOLD, CODE, PREFORMATTED_TAGS
from contentspider.page.words.names import HEADINGS, step_tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.blocks import Block

    Line: TypeAlias = list["str | Image | Marked"]

CELL_TAGS = frozenset(["td", "th"])
LIST_TAGS = frozenset(["ul", "ol", "menu", "dir"])

# A cell with more than this holds a part of the page: the table is there for its layout.
MAX_CELL_BLOCKS, MAX_CELL_CHARS = 6, 1_000
# So many cells without text between two of a row are written; more are those of another table.
MAX_GAP = 12

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
    """What a path says: quotes around it, lists inside of these, and its table (its path)."""

    def __init__(self, quotes: int, lists: int, ordered: bool, table: str) -> None:
        self.quotes, self.lists, self.ordered, self.table = quotes, lists, ordered, table


# In no list, quote or table.
NOWHERE = Place(0, 0, False, "")


@lru_cache(maxsize=1_000)  # the same few are asked for again and again
def place_of(path: str) -> Place:
    """Return what the tags of a path say."""
    rooted = "/" + path
    if "/li" not in rooted and "/tr" not in rooted and "/blockquote" not in rooted:
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
    return Place(quotes, max(1, len(lists)) if in_item else 0, lists[-1:] == ["ol"], table)


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


class Part:
    """A paragraph, heading or preformatted block, or a table.

    *line* is the block's text with its marks and pictures; None if there is only text. The pictures
    *before* and *after* the block stand alone. *quotes* is how many quotes are around it and
    *depth* how many lists; *begins* tells that it begins an entry of the innermost one, which is
    numbered if *ordered*. *rows* has the parts in each cell of each row, if it is a table.
    """

    def __init__(self, block: Block, resolver: Resolver, quotes: int = 0) -> None:
        self.block, self.quotes = block, quotes
        self.depth = 0
        self.ordered = self.begins = False
        self.rows: list[list[list[Part]]] | None = None
        self.line: Line | None = None
        self.before: list[Image] | None = None
        self.after: list[Image] | None = None
        pictures = _pictures(block, resolver) if block.images or block.films else None
        if pictures:
            end = len(block.text)
            self.before = [image for place, image in pictures if place < 0]
            self.after = [image for place, image in pictures if place > end]
        if block.spans or pictures:
            self.line = _line(block, resolver, pictures)


def parts(blocks: Sequence[Block], base: str) -> list[Part]:
    """Return the parts that *blocks* are, in their order; addresses are resolved by *base*, and
    those of other schemes than HTTP and mail left out.

    Lists are counted as they come out: the depth grows by one at most from a part to the next, and
    an entry goes on after a list in it, unless something else stood between.
    """
    blocks = list(blocks)
    resolver = Resolver(base)
    found: list[Part] = []
    seen: set[int] = set()  # entries that have begun
    lists: list[tuple[int, int]] = []  # depth in the page, and the entry, of each open list
    quotes = run_end = 0
    number = 0
    while number < len(blocks):
        block = blocks[number]
        place = place_of(block.path)
        if block.row and number >= run_end:
            run_end = number + 1
            while (
                run_end < len(blocks)
                and blocks[run_end].row
                and place_of(blocks[run_end].path).table == place.table
            ):
                run_end += 1
            if rows := _rows(blocks[number:run_end], resolver):
                lists.clear()
                quotes = place_of(place.table).quotes if place.table else 0
                part = Part(block, resolver, quotes)
                part.rows = rows
                found.append(part)
                number = run_end
                continue
        number += 1
        is_heading = block.tag in HEADINGS
        if lists and (place.quotes != quotes or not place.lists or is_heading):
            lists.clear()
        quotes = place.quotes
        part = Part(block, resolver, quotes)
        if place.lists and block.item and not is_heading:
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
        found.append(part)
    return found


def _rows(blocks: list[Block], resolver: Resolver) -> list[list[list[Part]]]:
    """Return the cells of a table's rows; none if it is there for the layout."""
    rows: list[list[list[Part]]] = []
    row = cell = 0
    if _is_layout(blocks):
        return rows
    for block in blocks:
        if block.row != row:
            rows.append([[]])
        elif block.cell != cell:
            gap = block.cell - cell - 1
            rows[-1] += [[] for _ in range(1 + (gap if 0 < gap <= MAX_GAP else 0))]
        rows[-1][-1].append(Part(block, resolver))
        row, cell = block.row, block.cell
    return rows


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


def _line(block: Block, resolver: Resolver, pictures: list[tuple[int, Image]] | None) -> Line:
    """Return the block's text with its marks, the outer around the inner, and its pictures."""
    text = block.text
    top = Marked("", "", len(text), [])
    at = 0
    if not pictures:  # most lines have a few links, and none in another
        children = top.children
        for start, end, mark in block.spans:
            if start < at:
                children.clear()
                break
            if at < start:
                children.append(text[at:start])
            target = "" if mark in (CODE, BOLD) else resolver.resolve(mark)
            children.append(Marked(mark, target, end, [text[start:end]]))
            at = end
        else:
            if at < len(text):
                children.append(text[at:])
            return children
    stack = [top]
    at = 0
    spans = sorted(set(block.spans), key=_outer_first)
    entries: list[tuple[int, int, tuple[int, str] | Image]] = [
        (start, 1, (end, mark)) for start, end, mark in spans
    ]
    entries += [(place, 0, image) for place, image in pictures or () if 0 <= place <= len(text)]
    entries.sort(key=itemgetter(0, 1))  # it is stable: outer marks stay before inner ones
    for start, _, entry in [*entries, (len(text), 2, Image("", ""))]:
        while start >= stack[-1].end and len(stack) > 1:
            ended = stack.pop()
            _add_text(ended, text[at : ended.end])
            at = ended.end
        _add_text(stack[-1], text[at:start])
        at = start
        if not isinstance(entry, Image):
            end, mark = entry
            target = "" if mark in (CODE, BOLD) else resolver.resolve(mark)
            marked = Marked(mark, target, min(end, stack[-1].end), [])
            stack[-1].children.append(marked)
            stack.append(marked)
        elif entry.address:
            stack[-1].children.append(entry)
            if entry.is_film and text[at : at + 1].strip():
                stack[-1].children.append(" ")  # its title is a text, which would be one with this
    return top.children


def _outer_first(span: tuple[int, int, str]) -> tuple[int, int, str]:
    start, end, mark = span
    return start, -end, mark


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
