# cython: language_level=3, annotation_typing=False, infer_types=True
"""Turns blocks into parts: paragraphs, headings, list entries, tables, quotes, definitions and
footnotes. Markdown and HTML are both written from the parts.

This module, the modules that it imports from this folder, `markdown` and `markup` are compiled with
the types in their ``.pxd`` files.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from contentspider.page.tree.resolver import Resolver
from contentspider.page.tree.tags import NOTE, PREFORMATTED_TAGS
from contentspider.page.write.lines import Part
from contentspider.page.write.places import heading_levels, place_of
from contentspider.page.write.tables import table_end, table_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.page.write.places import Place

LABEL = re.compile(r"[\w-]{1,20}\Z")
NO_LABEL = re.compile(r"[^\w-]+")


def parts(blocks: Sequence[Block], base: str) -> list[Part]:
    """Return the parts of *blocks*, in the same order. Relative addresses are resolved with *base*;
    addresses that are neither HTTP nor e-mail are left out.

    The depth of lists grows by at most one from a part to the next, even where the blocks of an
    outer list were not kept. Text after a nested list continues the entry around that list, unless
    a part outside of the entry stood between them.
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
    """Collects the parts of a page block by block, and keeps track of the open lists."""

    def __init__(self, resolver: Resolver, labels: dict[str, str]) -> None:
        self.resolver, self.labels = resolver, labels
        self.parts: list[Part] = []
        self.begun_entries: set[int] = set()
        self.begun_notes: set[str] = set()
        self.lists: list[tuple[int, int]] = []  # of each: its depth on the page, its entry
        self.quotes = 0

    def add_table(self, blocks: list[Block]) -> None:
        """Add the table that consists of *blocks*."""
        table = place_of(blocks[0].path).table
        self.lists.clear()
        self.quotes = place_of(table).quotes if table else 0
        part = Part(blocks[0], self.resolver, self.quotes, 0, self.labels)
        part.rows = table_rows(blocks, self.resolver, self.labels)
        self.parts.append(part)

    def add(self, block: Block, level: int) -> None:
        """Add a block outside of tables; *level* is its heading level, 0 for other blocks."""
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
                    return  # the block only repeats the marker at the beginning of the note
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
    """Return ``dt`` for a term, ``dd`` for a definition, "" for other blocks.

    A definition without a term is a paragraph. Code belongs to a definition only if it continues
    one.
    """
    if block.tag in PREFORMATTED_TAGS:
        return "dd" if place.definition == last_definition == "dd" else ""
    return place.definition if place.definition == "dt" or last_definition else ""


def note_labels(blocks: Sequence[Block]) -> dict[str, str]:
    """Return the labels of footnotes by their ids, for the notes that have both their text and a
    marker among *blocks*. The label is the text of the marker, or the id if two markers have the
    same text.
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
