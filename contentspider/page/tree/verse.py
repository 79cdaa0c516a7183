"""Breaks the lines of poems that are in preformatted elements (``pre``), as code is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element

# WordPress, and others
VERSES = frozenset(["wp-block-verse", "verse", "poem"])
MAX_LINES = 10_000  # the further ones are joined


def is_verse(element: _Element) -> bool:
    """Tell whether a ``pre`` has a poem: its class says so, or that of the block around it
    (Asciidoctor).
    """
    if not VERSES.isdisjoint((element.get("class") or "").split()):
        return True
    around = element.getparent()
    return around is not None and "verseblock" in (around.get("class") or "").split()


def break_lines(verse: _Element) -> None:
    """Put a ``br`` in place of each line end in the text of an element."""
    left = MAX_LINES
    for element in list(_elements(verse)):
        is_read = element is verse or element.tag != "pre"
        if is_read and isinstance(element.tag, str) and element.text:
            first, *lines = element.text.split("\n", left)
            element.text = first
            left -= len(lines)
            for line in reversed(lines):
                element.insert(0, _break(verse, line))
        if element is not verse and element.tail:
            first, *lines = element.tail.split("\n", left)
            element.tail = None
            left -= len(lines)
            for line in reversed(lines):
                element.addnext(_break(verse, line))
            element.tail = first


def _elements(verse: _Element) -> Iterator[_Element]:
    """Yield an element and its descendants, except the descendants of a ``pre`` inside it."""
    walker = etree.iterwalk(verse, events=("start", "comment", "pi"))
    for _, element in walker:
        yield element
        if element is not verse and element.tag == "pre":
            walker.skip_subtree()


def _break(verse: _Element, line: str) -> _Element:
    mark = verse.makeelement("br")
    mark.tail = line
    return mark
