"""A page's own bytes with the class of Yunis (2016) added to the elements that are main content."""

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

# Printed with one underscore and with two: the second is written.
MAIN_CLASS = "CEML__MAIN__CONTENT"
STAMP = "data-contentspider-tag"
HEAD = frozenset("html head meta title link base script style".split())
NAME = re.compile(r"<[^\s/>]+")
# One after the other: a pattern of a whole tag takes for ever on some.
ATTRIBUTE = re.compile(
    r"""[\s/]*([^\s/>=][^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"'][^\s>]*)))?"""
)


class _Tags(HTMLParser):
    """Finds where the start tags of a page are: their begin, and their text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[int, str]] = []
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        with suppress(AssertionError):  # of odd declarations
            self.feed(text)
            self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Keep where a start tag is, but for those that the encoding is read from."""
        if tag in HEAD:
            return
        line, column = self.getpos()
        self.found.append((self._lines[line - 1] + column, self.get_starttag_text() or ""))


def mark(body: bytes, page: PageBlocks, main: Bools) -> bytes:
    """Return a page's bytes with `MAIN_CLASS` added to each element all of whose own blocks are
    *main*; nothing else changes. A page whose tags cannot be told apart in its bytes is written in
    UTF-8, as it was parsed.
    """
    for text, encoding in ((body.decode("latin-1"), "latin-1"), (as_utf8(body).decode(), "utf-8")):
        if not (tags := _Tags(text).found):
            continue
        stamped = _stamped(text, tags)
        elements: list[_Element] = []
        content, _ = read_tree(parse(as_utf8(stamped.encode(encoding))), containers=elements)
        if [block.text for block in content.blocks] == [block.text for block in page.blocks]:
            chosen = _containers(content, main)
            places = {int(elements[at].get(STAMP, "-1")) for at in chosen}
            return _with_class(text, places, tags).encode(encoding)
    return body


def _containers(page: PageBlocks, main: Bools) -> set[int]:
    """Return the elements all of whose own blocks are main."""
    mixed = {
        block.container for block, is_main in zip(page.blocks, main, strict=True) if not is_main
    }
    return {block.container for block in page.blocks} - mixed


def _stamped(text: str, tags: list[tuple[int, str]]) -> str:
    """Return a text in which each tag says where it begins."""
    parts, last = [], 0
    for at, tag in tags:
        if name := NAME.match(tag):
            end = at + name.end()
            parts += [text[last:end], f' {STAMP}="{at}"']
            last = end
    return "".join([*parts, text[last:]])


def _with_class(text: str, places: set[int], tags: list[tuple[int, str]]) -> str:
    """Return a text with the class added to the tags at some places."""
    parts, last = [], 0
    for at, tag in tags:
        if at not in places:
            continue
        if place := _class_in(tag):
            start, end, is_bare = place
            if is_bare:  # it would end at the space
                value = f'"{tag[start:end]} {MAIN_CLASS}"'
                parts += [text[last : at + start], value]
            else:
                parts += [text[last : at + end], f" {MAIN_CLASS}"]
            last = at + end
        elif name := NAME.match(tag):
            end = at + name.end()
            parts += [text[last:end], f' class="{MAIN_CLASS}"']
            last = end
    return "".join([*parts, text[last:]])


def _class_in(tag: str) -> tuple[int, int, bool] | None:
    """Return where the value of a tag's first class is, and whether it is without quotes."""
    name = NAME.match(tag)
    at = name.end() if name else len(tag)
    while found := ATTRIBUTE.match(tag, at):
        if found[1].lower() == "class" and found.lastindex != 1:
            return *found.span(found.lastindex or 0), found.lastindex == 4
        at = found.end()
    return None
