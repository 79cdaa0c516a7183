"""A page's HTML with the class of Yunis (2016) on the elements of main content."""

from __future__ import annotations

import re
from contextlib import suppress
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from contentspider.page.input.body import as_utf8, parse
from contentspider.page.tree.blocks import read_tree

if TYPE_CHECKING:
    from lxml.etree import _Element

    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.arrays import Bools

# The paper prints the class with one underscore in one place, and with two in another.
MAIN_CLASS = "CEML__MAIN__CONTENT"
STAMP = "data-contentspider-tag"
HEAD = frozenset("html head meta title link base script style".split())
NAME = re.compile(r"<[^\s/>]+")
# Matches one attribute. A single pattern for a whole tag would never end on some tags.
ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)))?"""
)


class _Tags(HTMLParser):
    """Finds the start tags of a page: their offsets, and their texts."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.tags: list[tuple[int, str]] = []
        self._line_offsets = [0, *(match.end() for match in re.finditer("\n", text))]
        with suppress(AssertionError):  # `HTMLParser` raises it for some declarations
            self.feed(text)
            self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Store a start tag. Tags of the head are left out, since they may declare the encoding."""
        if tag in HEAD:
            return
        line, column = self.getpos()
        offset = self._line_offsets[line - 1] + column
        self.tags.append((offset, self.get_starttag_text() or ""))


def add_main_class(body: bytes, page: PageBlocks, main: Bools) -> bytes:
    """Return a page's bytes with `MAIN_CLASS` on each element whose own blocks are all *main*.

    Nothing else changes if the tags can be found in the bytes. Otherwise the page is written in
    UTF-8, as the parser read it.
    """
    for text, encoding in ((body.decode("latin-1"), "latin-1"), (as_utf8(body).decode(), "utf-8")):
        tags = _Tags(text).tags
        if not tags:
            continue
        stamped = _stamp_tags(text, tags)
        elements: list[_Element] = []
        content, _ = read_tree(parse(as_utf8(stamped.encode(encoding))), containers=elements)
        if [block.text for block in content.blocks] == [block.text for block in page.blocks]:
            containers = _main_containers(content, main)
            offsets = {int(elements[container].get(STAMP, "-1")) for container in containers}
            return _add_class(text, offsets, tags).encode(encoding)
    return body


def _main_containers(page: PageBlocks, main: Bools) -> set[int]:
    """Return the containers whose own blocks are all main content."""
    mixed = {
        block.container for block, is_main in zip(page.blocks, main, strict=True) if not is_main
    }
    return {block.container for block in page.blocks} - mixed


def _stamp_tags(text: str, tags: list[tuple[int, str]]) -> str:
    """Return a text with each tag's offset in an attribute of the tag."""
    parts, last = [], 0
    for offset, tag in tags:
        if name := NAME.match(tag):
            end = offset + name.end()
            parts += [text[last:end], f' {STAMP}="{offset}"']
            last = end
    return "".join([*parts, text[last:]])


def _add_class(text: str, offsets: set[int], tags: list[tuple[int, str]]) -> str:
    """Return a text with the class on the tags at some offsets."""
    parts, last = [], 0
    for offset, tag in tags:
        if offset not in offsets:
            continue
        if span := _class_span(tag):
            start, end, is_unquoted = span
            if is_unquoted:  # a space would end the value
                value = f'"{tag[start:end]} {MAIN_CLASS}"'
                parts += [text[last : offset + start], value]
            else:
                parts += [text[last : offset + end], f" {MAIN_CLASS}"]
            last = offset + end
        elif name := NAME.match(tag):
            end = offset + name.end()
            parts += [text[last:end], f' class="{MAIN_CLASS}"']
            last = end
    return "".join([*parts, text[last:]])


def _class_span(tag: str) -> tuple[int, int, bool] | None:
    """Return start and end of the value of a tag's class, and whether the value lacks quotes."""
    name = NAME.match(tag)
    position = name.end() if name else len(tag)
    while attribute := ATTRIBUTE.match(tag, position):
        if attribute[1].lower() == "class" and attribute.lastindex != 1:
            return *attribute.span(attribute.lastindex or 0), attribute.lastindex == 4
        position = attribute.end()
    return None
