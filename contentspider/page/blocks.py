"""Blocks of one page: the runs of text between block-level boundaries, in reading order.

A block is the nearest block-level element around a run of text (a paragraph, a cell, a list
item, a bare ``div``). Inline tags are not blocks; two ``<br>`` in a row end one, since pages of the
1990s write their paragraphs that way.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate, chain, count
from typing import TYPE_CHECKING

from lxml.etree import Comment, ElementDefaultClassLookup, Entity, ProcessingInstruction
from lxml.html import HtmlElementClassLookup, HTMLParser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

# Subtrees that hold no readable text; "noscript" repeats what scripts show or asks for JavaScript.
SKIPPED_TAGS = frozenset(
    "script style template noscript noembed noframes title svg math iframe frameset object embed applet canvas audio "
    "video map select datalist textarea input img source track area base link meta param col colgroup "
    "progress meter".split()
)

INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr noindex picture "
    "q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr output o:p".split()
)

# What the text inside an inline element is marked with: links get their address instead.
CODE, BOLD = "`", "*"
MARKS = {"code": CODE, "kbd": CODE, "samp": CODE, "tt": CODE, "b": BOLD, "strong": BOLD}

PREFORMATTED_TAGS = frozenset(["pre", "listing", "xmp", "plaintext"])

# What the walk does with an element, by its tag; an unknown tag is a container's. Of a comment (its tag is a
# function) and of what is skipped only the tail counts.
SKIPPED, INLINE, BREAK, CONTAINER, ROW, ITEM, PREFORMATTED = range(7)
KINDS: dict[object, int] = {
    **dict.fromkeys(SKIPPED_TAGS | {Comment, Entity, ProcessingInstruction}, SKIPPED),
    **dict.fromkeys(INLINE_TAGS, INLINE),
    **dict.fromkeys(PREFORMATTED_TAGS, PREFORMATTED),
    "br": BREAK,
    "tr": ROW,
    "li": ITEM,
}

HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# Soft hyphen, zero-width space, word joiner, byte order mark. ZWNJ and ZWJ stay: Persian needs them.
INVISIBLE = dict.fromkeys([0xAD, 0x200B, 0x2060, 0xFEFF])
# Long numbers name one page ("post-1234"); a single digit may name a part of the template ("column-2").
LONG_NUMBER = re.compile(r"\d{2,}")

MAX_BLOCKS = 20_000
# A path says where in the template a block stands; below this depth it adds nothing but bytes.
MAX_PATH_DEPTH = 60
MAX_STEP_CHARS = 200
MAX_PATH_CHARS = 3_000
# Selector paths kept from page to page: a few MB.
MAX_PLACES = 10_000
MAX_PLACE_KEY_CHARS = 500


@dataclass(slots=True)
class Block:
    """One run of text of a page and where it stands.

    *path* is the selector path from ``body`` down: elements joined by ``/``, each
    ``tag#id.class[role]`` with runs of two digits or more written as ``0``; the tag path is the same without
    ids, classes and roles. *container* is the index of the block's element in `PageBlocks`.
    *row* numbers the table row that the block stands in and *item* the list item (0: none).
    *spans* are ``(start, end, mark)`` ranges of *text*: a link's address, or `CODE`.
    """

    text: str
    path: str
    tag: str
    container: int
    link_chars: int = 0
    links: int = 0
    bold_chars: int = 0
    row: int = 0
    item: int = 0
    spans: tuple[tuple[int, int, str], ...] = ()


@dataclass(slots=True)
class PageBlocks:
    """All blocks of a page with the tree of the elements that contain them.

    *parents*, *tags*, *paths* and *positions* have one entry an element that is not inline, in
    document order: the index of its parent (-1 for the first), its tag, its selector path, and its
    place among the siblings of its tag. *truncated* tells that blocks were left out.
    """

    blocks: list[Block] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    truncated: bool = False


def clean_text(text: str) -> str:
    """Return *text* with white space folded to single spaces and invisible characters removed."""
    text = _flat(text).strip()
    return text if _is_clean(text) else _folded(text)


def _flat(text: str) -> str:
    """Return *text*, as long as it is, with the usual white space as plain spaces."""
    return text.replace("\n", " ").replace("\t", " ").replace("\xa0", " ")


def _is_clean(text: str) -> bool:
    """Tell whether stripped *text* needs no `_folded`; all white space but the plain space is unprintable, as is the invisible."""
    return "  " not in text and text.isprintable()


def _folded(text: str) -> str:
    if text.isprintable():
        while "  " in text:  # every turn halves the longest run of spaces
            text = text.replace("  ", " ")
        return text
    if not text.isascii():
        text = text.translate(INVISIBLE)
    return " ".join(text.split())


def clean_preformatted(text: str) -> str:
    """Return *text* with its lines and indentation, without blank first and last lines."""
    lines = [line.rstrip() for line in text.translate(INVISIBLE).splitlines()]
    while lines and not lines[0]:
        del lines[0]
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines)


def element_key(element: _Element, tag: str) -> str:
    """Return an element's step in a selector path: ``tag#id.class[role]``, long numbers as ``0``."""
    get = element.get
    key = ""
    if value := get("id"):
        key += "#" + "-".join(value.split())
    if value := get("class"):
        key += "." + ".".join(value.split())
    if value := get("role"):
        key += "[" + "-".join(value.split()) + "]"
    if value := get("itemprop"):
        key += "[" + "-".join(value.split()) + "]"
    return tag + LONG_NUMBER.sub("0", key[:MAX_STEP_CHARS].replace("/", "-")) if key else tag[:MAX_STEP_CHARS]


def is_hidden(element: _Element) -> bool:
    """Tell whether an element's own attributes hide it (``hidden``, inline ``display: none``)."""
    hidden = element.get("hidden")
    if hidden is not None and hidden != "until-found" and element.get("role") != "tabpanel":
        return True  # the panels of tabs are hidden in turn, yet all of them are the page's
    style = element.get("style")
    return bool(style and HIDDEN_STYLE.search(style))


# The attributes that `element_key` and `is_hidden` read.
PLACE_ATTRIBUTES = frozenset(["id", "class", "role", "itemprop", "hidden", "style"])
HIDING_ATTRIBUTES = ("style", "hidden")


class _Place:
    """A selector path, and the paths that were met below it, by tag and attributes (`_HIDDEN`: not shown).

    The pages of a site share their template: what an element's attributes say is worked out once, and equal
    paths are one string, whose hash is known. Places are no page's own, so that the walk only reads them.
    """

    __slots__ = ("inside", "path", "tag")

    def __init__(self, path: str, tag: str) -> None:
        self.path = path
        self.tag = tag
        self.inside: dict[tuple[str, ...], _Place] = {}


_HIDDEN = _Place("", "")


class _Places:
    """The places of all pages, as a tree; forgotten when there are too many, since ids may name a page each."""

    def __init__(self) -> None:
        self.tops: dict[str, _Place] = {}
        self.size = 0

    def top(self, path: str, tag: str) -> _Place:
        """Return the place of a page's first element."""
        return self.tops.get(path) or self.tops.setdefault(path, _Place(path, tag))

    def add(self, place: _Place, element: _Element, tag: str, key: tuple[str, ...]) -> _Place:
        """Return the new place of an *element* in *place* (`_HIDDEN` if it is hidden), and keep it as *key*."""
        found = _HIDDEN
        if not is_hidden(element):
            path = place.path
            if len(path) < MAX_PATH_CHARS and path.count("/") < MAX_PATH_DEPTH:
                path = f"{path}/{element_key(element, tag)}"
            found = _Place(path, tag)
        if sum(map(len, key)) <= MAX_PLACE_KEY_CHARS:
            self.size += 1
            if self.size > MAX_PLACES:  # the page at hand keeps its own until it has been read
                self.tops.clear()
                self.size = 0
            place.inside[key] = found
        return found


_places = _Places()
_PLAIN_ELEMENTS = ElementDefaultClassLookup()
_HTML_ELEMENTS = HtmlElementClassLookup()


@contextmanager
def plain_elements(root: _Element) -> Iterator[None]:
    """Let lxml make plain elements of the tree of *root* meanwhile.

    parsel parses with `lxml.html.HTMLParser`, whose elements' classes are chosen by a Python method: that
    takes several times longer than to make the element.
    """
    parser = root.getroottree().parser
    if type(parser) is not HTMLParser:
        yield
        return
    parser.set_element_class_lookup(_PLAIN_ELEMENTS)
    try:
        yield
    finally:
        parser.set_element_class_lookup(_HTML_ELEMENTS)


# A range, of the parts of a run or of its text, and what it is marked with.
_Mark = tuple[int, int, str]
# The container that the walk is in: its place and index, row, item, and whether it is preformatted.
_Frame = tuple[_Place, int, int, int, bool]


class _Walker:
    """The open run of text of a walk, and what it has found so far.

    White space at the beginning of a run is left out of *parts* (but not where it is preformatted), so that
    there is something in *parts* only where there is text.
    """

    def __init__(self, max_blocks: int) -> None:
        self.blocks: list[Block] = []
        self.max_blocks = max_blocks
        self.truncated = False
        self.parts: list[str] = []
        self.open_marks: list[tuple[int, str]] = []  # (first part, mark) of each open inline element
        self.marks: list[_Mark] = []  # (first part, end part, mark) of the closed ones

    def close_mark(self) -> None:
        first, mark = self.open_marks.pop()
        if mark and first < len(self.parts):
            self.marks.append((first, len(self.parts), mark))

    def flush(self, frame: _Frame) -> None:
        """End the open run of text, whose parts are not empty; it becomes a block if there is text in it."""
        parts, marks = self.parts, self.marks
        if self.open_marks:
            size = len(parts)
            marks += [(first, size, mark) for first, mark in self.open_marks if mark and first < size]
            self.open_marks[:] = [(0, mark) for _, mark in self.open_marks]
        raw = parts[0] if len(parts) == 1 else "".join(parts)
        place, container, row, item, preformatted = frame
        clean = False
        if preformatted:
            text = clean_preformatted(raw)
        else:
            flat = _flat(raw)
            text = flat.strip()
            clean = _is_clean(text)
            if not clean:
                text = _folded(text)
        if text:
            if len(self.blocks) >= self.max_blocks:
                self.truncated = True
            elif not marks:
                self.blocks.append(Block(text, place.path, place.tag, container, 0, 0, 0, row, item))
            else:
                if preformatted:
                    ends = list(accumulate(map(len, parts), initial=0))
                elif len(parts) == 1:
                    ends = [0, len(text)]
                elif clean:
                    ends = list(accumulate(map(len, parts), initial=len(flat.lstrip()) - len(flat)))
                else:
                    ends = _cleaned_ends(parts)
                link_chars, links, bold_chars, spans = _mark_text(text, ends, marks, clean)
                if preformatted:
                    spans = ()
                self.blocks.append(Block(text, place.path, place.tag, container, link_chars, links, bold_chars, row, item, spans))
        parts.clear()
        marks.clear()


def _cleaned_ends(parts: list[str]) -> list[int]:
    """Return the length of the cleaned text after none of the *parts*, after the first, and so on."""
    ends = [0]
    space = False
    for part in parts:
        cleaned = clean_text(part)
        end = ends[-1]
        if cleaned:
            end += len(cleaned) + (1 if end and (space or part[0].isspace()) else 0)
            space = part[-1].isspace()
        else:
            space = space or part != ""
        ends.append(end)
    return ends


def _mark_text(text: str, ends: list[int], marks: list[_Mark], spaced: bool) -> tuple[int, int, int, tuple[_Mark, ...]]:
    """Return what *marks*, ranges of parts, are in *text*: its linked characters, links, bold characters, and spans.

    *ends* is where none of the parts, the first, and so on end; *spaced* tells that this may be after a space.
    """
    link_chars = links = bold_chars = 0
    size = len(text)
    spans = []
    for first, last, mark in marks:
        start, end = max(ends[first], 0), min(ends[last], size)
        if start < end and text[start] == " ":
            start += 1
        if spaced and start < end and text[end - 1] == " ":
            end -= 1
        if start >= end:
            continue
        if mark == BOLD:
            bold_chars += end - start
            continue
        if mark != CODE:
            link_chars += end - start
            links += 1
        spans.append((start, end, mark))
    if len(spans) > 1:
        spans.sort()
    return link_chars, links, bold_chars, tuple(spans)


def _skip(elements: Iterator[_Element], pending: int) -> None:
    """Read over *pending* elements and all that is in them."""
    while pending:
        pending += len(next(elements)) - 1


def _top_elements(root: _Element, body: _Element | None) -> Iterator[_Element]:
    """Return all elements of the page in document order, without the one that holds them."""
    if body is None:
        return root.iterdescendants()
    head = root.find("head")
    if head is None:
        return body.iterdescendants()
    # Where <body> is left out, libxml2 takes elements that it does not know (nav, article) for the head's.
    return chain(*(element.iter() for element in head if element.tag not in SKIPPED_TAGS), body.iterdescendants())


def extract_blocks(root: _Element, max_blocks: int = MAX_BLOCKS) -> PageBlocks:
    """Return the blocks of the tree below *root* in reading order.

    It takes time proportional to the number of elements, however deep they are nested (libxml2 itself gives up
    what is nested more than 2,048 levels deep). Blocks after the first *max_blocks* are left out and
    `PageBlocks.truncated` is set.
    """
    with plain_elements(root):
        return _walk(root, max_blocks)


def _walk(root: _Element, max_blocks: int) -> PageBlocks:
    """Read the tree in one flat iteration, the cheapest that lxml has: an element lives for one turn of the loop only.

    How many children of the open element are still to come tells where it ends.
    """
    body = root.find("body") if root.tag == "html" else None
    start = root if body is None else body
    start_tag = start.tag if start is not root else "body"
    place = _places.top(element_key(start, start_tag), start_tag)
    walker = _Walker(max_blocks)
    parts, marks, open_marks, flush = walker.parts, walker.marks, walker.open_marks, walker.flush
    places, parents = [place], [-1]
    rows = items = breaks = 0
    preformatted = start_tag in PREFORMATTED_TAGS
    frame: _Frame = (place, 0, 0, 0, preformatted)
    # What to go on with when an element ends: children to come, its tail, and the outer frame if it is a container.
    stack: list[tuple[int, str | None, _Frame | None]] = []
    left = -1  # the outermost has no end, it counts on downwards
    if (text := start.text) and (preformatted or not text.isspace()):
        parts.append(text)
    kind_of = KINDS.get
    elements = _top_elements(root, body)
    for element in elements:
        tag = element.tag
        kind = kind_of(tag, CONTAINER)
        children = len(element)
        tail = element.tail
        left -= 1
        if kind >= CONTAINER:
            place, container, row, item, preformatted = frame
            key: tuple[str, ...] = (tag,)
            attributes: list[tuple[str, str]] = element.items()  # type: ignore[assignment]  # the stubs allow for bytes
            for attribute in attributes:
                if attribute[0] in PLACE_ATTRIBUTES:
                    key += attribute
            inside = place.inside.get(key) or _places.add(place, element, tag, key)
            if inside is not _HIDDEN:
                if parts:
                    flush(frame)
                stack.append((left, tail, frame))
                left = children
                breaks = 0
                if kind != CONTAINER:
                    if kind == ROW:
                        rows += 1
                        row = rows
                    elif kind == ITEM:
                        items += 1
                        item = items
                    else:
                        preformatted = True
                parents.append(container)
                frame = (inside, len(places), row, item, preformatted)
                places.append(inside)
                if (text := element.text) and (preformatted or not text.isspace()):
                    parts.append(text)
                if children:
                    continue
                left, tail = 0, None
            elif children:
                _skip(elements, children)
        elif kind == INLINE:
            mark = MARKS.get(tag, "")
            attributes = element.items()  # type: ignore[assignment]
            for name, value in attributes:
                if name == "href":
                    if tag == "a":
                        mark = value.strip()
                elif name in HIDING_ATTRIBUTES and is_hidden(element):
                    if children:
                        _skip(elements, children)
                    break
            else:
                first = len(parts)
                if (text := element.text) and (first or preformatted or not text.isspace()):
                    parts.append(text)
                    if breaks and not text.isspace():
                        breaks = 0
                    if mark and not children:
                        marks.append((first, first + 1, mark))
                if children:
                    open_marks.append((first, mark))
                    stack.append((left, tail, None))
                    left = children
                    continue
        else:
            if children:
                _skip(elements, children)
            if kind == BREAK:
                breaks += 1
                if preformatted:
                    parts.append("\n")
                elif parts:
                    if breaks > 1:
                        flush(frame)
                    else:
                        parts.append(" ")
        while True:
            if tail and (parts or preformatted or not tail.isspace()):
                parts.append(tail)
                if breaks and not tail.isspace():
                    breaks = 0
            if left:
                break
            left, tail, outer = stack.pop()
            if outer is None:
                walker.close_mark()
            else:
                if parts:
                    flush(frame)
                frame = outer
                preformatted = outer[4]
                breaks = 0
    if parts:
        flush(frame)
    tags = [place.tag for place in places]
    positions: defaultdict[tuple[int, str], count[int]] = defaultdict(count)
    return PageBlocks(
        blocks=walker.blocks,
        parents=parents,
        tags=tags,
        paths=[place.path for place in places],
        positions=[next(positions[sibling]) for sibling in zip(parents, tags, strict=True)],
        truncated=walker.truncated,
    )
