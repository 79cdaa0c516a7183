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

from contentspider.page.tree.tags import NOTE, PREFORMATTED_TAGS
from contentspider.page.write.lines import Part
from contentspider.page.write.places import cell_of, heading_levels, place_of
from contentspider.page.write.tables import table_at, table_path, table_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.page.tree.resolver import Resolver
    from contentspider.page.write.places import Place

LABEL = re.compile(r"[\w-]{1,20}\Z")
NO_LABEL = re.compile(r"[^\w-]+")


def parts(blocks: Sequence[Block], resolver: Resolver) -> list[Part]:
    """Return the parts of *blocks*, in the same order. *resolver* makes addresses absolute;
    addresses that are neither HTTP nor e-mail are left out.

    The depth of lists grows by at most one from a part to the next, even where the blocks of an
    outer list were not kept. Text after a nested list continues the entry around that list, unless
    a part outside of the entry stood between them.
    """
    blocks = list(blocks)
    outline = Outline(resolver, note_labels(blocks), None)
    outline.add_all(blocks, heading_levels(blocks), 0)
    return outline.parts


class Outline:
    """Collects the parts of a page or of a table cell block by block, and keeps track of the open
    lists. *table* is the path of the cell's table, None for a page.
    """

    def __init__(self, resolver: Resolver, labels: dict[str, str], table: str | None) -> None:
        self.resolver, self.labels, self.table = resolver, labels, table
        self.parts: list[Part] = []
        self.begun_entries: set[int] = set()
        self.begun_notes: set[str] = set()
        # The depth and the number of the open entry of each open list.
        self.lists: list[tuple[int, int]] = []
        self.quotes = 0

    def add_all(self, blocks: list[Block], levels: list[int], table_level: int) -> None:
        """Add *blocks* and their tables. *levels* are their heading levels; *table_level* is how
        many tables are around the page or cell.
        """
        number = 0
        while number < len(blocks):
            block = blocks[number]
            end, level = table_at(blocks, number, table_level) if block.row else (number, 0)
            if end > number:
                self.add_table(blocks[number:end], level)
                number = end
            else:
                self.add(block, levels[number])
                number += 1

    def add_table(self, blocks: list[Block], level: int) -> None:
        """Add the table that consists of *blocks*; *level* is how many tables are around it."""
        table = table_path(blocks[0], level)
        self.lists.clear()
        self.quotes = self._place(table).quotes if table else 0
        part = Part(blocks[0], self.resolver, self.quotes, 0, self.labels)
        part.rows = table_rows(blocks, level)
        for row in part.rows:
            for cell in row.cells:
                cell.parts = self._cell_parts(cell.blocks, table, level + 1)
        self.parts.append(part)

    def _cell_parts(self, blocks: list[Block], table: str, level: int) -> list[Part]:
        block = blocks[0]
        if len(blocks) == 1 and block.path.endswith(("/td", "/th")):  # the common case
            return [Part(block, self.resolver, 0, 0, self.labels)]
        outline = Outline(self.resolver, self.labels, table)
        outline.add_all(blocks, [0] * len(blocks), level)
        return outline.parts

    def _place(self, path: str) -> Place:
        """Return the place of a path, within the cell if the outline is of a cell."""
        return place_of(path if self.table is None else cell_of(path, self.table)[1])

    def add(self, block: Block, level: int) -> None:
        """Add a block outside of tables; *level* is its heading level, 0 for other blocks."""
        place = self._place(block.path)
        if place.quotes != self.quotes or not place.lists or level:
            self.lists.clear()
        self.quotes = place.quotes
        part = Part(block, self.resolver, place.quotes, level, self.labels)
        if not level:
            self._define(part, place)
            if part.definition:
                self.lists.clear()
            elif block.note in self.labels and self.table is None:
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
