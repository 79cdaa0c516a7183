"""Blocks of one page: the runs of text between block-level boundaries, in reading order.

A block is the nearest block-level element around a run of text (a paragraph, a cell, a list
item, a bare ``div``). Inline tags are not blocks; two ``<br>`` in a row end one, since pages of the
1990s write their paragraphs that way.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

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
    *attributes* has the markup attributes of each such element and of the inline ones in it, if they were asked
    for, and *visuals* the computed CSS and the box of each block, if the page was rendered; else they are empty.
    """

    blocks: list[Block] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    truncated: bool = False
    attributes: list[list[tuple[str, str]]] = field(default_factory=list)
    visuals: list[dict[str, str]] = field(default_factory=list)


def clean_text(text: str) -> str:
    """Return *text* with white space folded to single spaces and invisible characters removed."""
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


class _Walker:
    """The open run of text of a walk, and what it has found so far."""

    def __init__(self, max_blocks: int) -> None:
        self.page = PageBlocks()
        self.max_blocks = max_blocks
        self.parts: list[str] = []
        self.open_marks: list[tuple[int, str]] = []  # (first part, mark) of each open inline element
        self.marks: list[tuple[int, int, str]] = []  # (first part, end part, mark) of the closed ones
        self.siblings: dict[tuple[int, str], int] = {}
        self.rows = self.items = 0

    def enter(self, tag: str, key: str, parent: int) -> int:
        """Add a container element and return its index."""
        page = self.page
        path = key
        if parent >= 0:
            path = page.paths[parent]
            if len(path) < MAX_PATH_CHARS and path.count("/") < MAX_PATH_DEPTH:
                path = f"{path}/{key}"
        page.parents.append(parent)
        page.tags.append(tag)
        page.paths.append(path)
        position = self.siblings.get((parent, tag), 0)
        self.siblings[parent, tag] = position + 1
        page.positions.append(position)
        return len(page.parents) - 1

    def close_mark(self) -> None:
        first, mark = self.open_marks.pop()
        if mark and first < len(self.parts):
            self.marks.append((first, len(self.parts), mark))

    def flush(self, container: int, row: int, item: int, preformatted: bool) -> None:
        """End the open run of text; it becomes a block if there is text in it."""
        parts = self.parts
        if not parts:
            return
        raw = "".join(parts)
        text = clean_preformatted(raw) if preformatted else clean_text(raw)
        if text:
            page = self.page
            if len(page.blocks) < self.max_blocks:
                block = Block(text, page.paths[container], page.tags[container], container, row=row, item=item)
                for first, mark in self.open_marks:
                    if mark and first < len(parts):
                        self.marks.append((first, len(parts), mark))
                if self.marks:
                    _mark_block(block, parts, self.marks, preformatted)
                page.blocks.append(block)
            else:
                page.truncated = True
        parts.clear()
        self.marks.clear()
        if self.open_marks:
            self.open_marks = [(0, mark) for _, mark in self.open_marks]


def _mark_block(block: Block, parts: list[str], marks: list[tuple[int, int, str]], preformatted: bool) -> None:
    """Turn ranges of *parts* into ranges of the block's text, in one pass over the parts."""
    ends = [0]  # length of the cleaned text after each part
    if preformatted:
        for part in parts:
            ends.append(ends[-1] + len(part))
    else:
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
    spans = []
    for first, last, mark in marks:
        start, end = ends[first], min(ends[last], len(block.text))
        if start < end and block.text[start] == " ":
            start += 1
        if start >= end:
            continue
        if mark == BOLD:
            block.bold_chars += end - start
            continue
        if mark != CODE:
            block.link_chars += end - start
            block.links += 1
        spans.append((start, end, mark))
    if not preformatted:
        block.spans = tuple(sorted(spans))


def _attributes(element: _Element) -> list[tuple[str, str]]:
    return [(str(name), str(value)[:MAX_STEP_CHARS]) for name, value in element.attrib.items()]


def extract_blocks(root: _Element, max_blocks: int = MAX_BLOCKS, attributes: bool = False) -> PageBlocks:
    """Return the blocks of the tree below *root* in reading order, with the elements' *attributes* if asked for.

    The walk keeps its own stack, so that deep markup does not exhaust Python's (libxml2 itself gives up
    what is nested more than 2,048 levels deep); it takes time proportional to the number of elements. Blocks after the first *max_blocks* are
    left out and `PageBlocks.truncated` is set.
    """
    walker = _Walker(max_blocks)
    body = root.find("body") if root.tag == "html" else None
    start = root if body is None else body
    start_tag = start.tag if isinstance(start.tag, str) and start is not root else "body"
    parts = walker.parts
    container = walker.enter(start_tag, element_key(start, start_tag), -1)
    found = walker.page.attributes
    if attributes:
        found.append(_attributes(start))
    row = item = breaks = 0
    preformatted = start_tag in PREFORMATTED_TAGS
    if start.text:
        parts.append(start.text)
    children: Iterator[_Element] = iter(start)
    if body is not None and (head := root.find("head")) is not None:
        # Where <body> is left out, libxml2 takes elements that it does not know (nav, article) for the head's.
        children = chain((element for element in head if element.tag not in SKIPPED_TAGS), children)
    # What to go on with when an element ends; inline elements restore nothing but their siblings.
    stack: list[tuple[Iterator[_Element], _Element, tuple[int, int, int, bool] | None]] = []
    while True:
        element = next(children, None)
        if element is None:
            if not stack:
                break
            children, element, outer = stack.pop()
            if outer is None:
                walker.close_mark()
            else:
                walker.flush(container, row, item, preformatted)
                container, row, item, preformatted = outer
                breaks = 0
        else:
            tag = element.tag
            if not isinstance(tag, str) or tag in SKIPPED_TAGS:
                pass  # a comment, or nothing to read: only the tail counts
            elif tag == "br":
                breaks += 1
                if preformatted:
                    parts.append("\n")
                elif breaks > 1:
                    walker.flush(container, row, item, preformatted)
                else:
                    parts.append(" ")
            elif not is_hidden(element):
                if tag in INLINE_TAGS:
                    mark = MARKS.get(tag, "")
                    if tag == "a":
                        mark = (element.get("href") or "").strip()
                    if attributes:
                        found[container] += _attributes(element)
                    walker.open_marks.append((len(parts), mark))
                    stack.append((children, element, None))
                else:
                    walker.flush(container, row, item, preformatted)
                    stack.append((children, element, (container, row, item, preformatted)))
                    container = walker.enter(tag, element_key(element, tag), container)
                    if attributes:
                        found.append(_attributes(element))
                    breaks = 0
                    if tag == "tr":
                        walker.rows += 1
                        row = walker.rows
                    elif tag == "li":
                        walker.items += 1
                        item = walker.items
                    elif tag in PREFORMATTED_TAGS:
                        preformatted = True
                if text := element.text:
                    parts.append(text)
                    if breaks and not text.isspace():
                        breaks = 0
                children = iter(element)
                continue
        if tail := element.tail:
            parts.append(tail)
            if breaks and not tail.isspace():
                breaks = 0
    walker.flush(container, row, item, preformatted)
    return walker.page
