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

from contentspider.page.tree.containers import (
    DEFINITION,
    DEFINITIONS,
    DETAILS,
    ITEM,
    LABEL,
    LINES,
    LISTS,
    NOTE,
    SUMMARY,
    TABLE,
    TERM,
)
from contentspider.page.tree.tags import NO_NUMBER, PREFORMATTED_TAGS
from contentspider.page.tree.tags import NOTE as NOTE_MARK
from contentspider.page.write.lines import Frame, Part
from contentspider.page.write.places import heading_levels
from contentspider.page.write.tables import table_at, table_of, table_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block
    from contentspider.page.tree.resolver import Resolver

NOTE_LABEL = re.compile(r"[\w-]{1,20}\Z")
NO_LABEL = re.compile(r"[^\w-]+")
# Kinds of containers that tell the role of a block, rather than hold several.
ROLES = frozenset([TERM, SUMMARY, LABEL])
# Kinds of containers that do not go on after a part outside of them.
ENDING = frozenset([ITEM, DEFINITION, NOTE, DEFINITIONS])


def parts(blocks: Sequence[Block], resolver: Resolver) -> list[Part]:
    """Return the parts of *blocks*, in the same order. *resolver* makes addresses absolute;
    addresses that are neither HTTP nor e-mail are left out.

    An entry of a list without text of its own is left out, so that entries of lists in it are not
    nested deeper than the text is. Text after a nested list continues the entry around that list.
    """
    blocks = list(blocks)
    outline = Outline(resolver, note_labels(blocks), 0)
    outline.add_all(blocks, heading_levels(blocks), 0)
    return outline.parts


class Outline:
    """Collects the parts of a page or of a table cell block by block. *outside* is how many
    containers of the blocks are around the cell, 0 for a page.
    """

    def __init__(self, resolver: Resolver, labels: dict[str, str], outside: int) -> None:
        self.resolver, self.labels, self.outside = resolver, labels, outside
        self.parts: list[Part] = []
        # The entries of lists that have text of their own, with their numbers in their lists.
        self.entries: dict[int, int] = {}
        self.terms: set[int] = set()  # the lists of definitions with a term
        self.begun: set[int] = set()  # the numbers of folded texts with a part
        self.ended: set[int] = set()  # the numbers of entries, definitions and notes that ended
        self.frames: list[Frame] = []  # of the last part

    def add_all(self, blocks: list[Block], levels: list[int], table_level: int) -> None:
        """Add *blocks* and their tables. *levels* are their heading levels; *table_level* is how
        many tables are around the page or cell.
        """
        for block in blocks:
            self._note_entry(block)
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

    def _note_entry(self, block: Block) -> None:
        """Note the innermost list entry around a block: it has text of its own."""
        for kind, number in reversed(block.within):
            if kind == ITEM:
                self.entries.setdefault(number, block.number)
                break

    def add_table(self, blocks: list[Block], level: int) -> None:
        """Add the table that consists of *blocks*; *level* is how many tables are around it."""
        block = blocks[0]
        table = (TABLE, table_of(block, level))
        around = block.within.index(table) if table in block.within else 0
        part = Part(block, self.resolver, 0, "", self.labels)
        part.rows = table_rows(blocks, level)
        for row in part.rows:
            for cell in row.cells:
                cell.parts = self._cell_parts(cell.blocks, around + 1, level + 1)
        self._append(part, self._frames(block, around)[0])

    def _cell_parts(self, blocks: list[Block], outside: int, level: int) -> list[Part]:
        block = blocks[0]
        if len(blocks) == 1 and len(block.within) <= outside:  # the common case
            return [Part(block, self.resolver, 0, "", self.labels)]
        outline = Outline(self.resolver, self.labels, outside)
        outline.add_all(blocks, [0] * len(blocks), level)
        return outline.parts

    def add(self, block: Block, level: int) -> None:
        """Add a block outside of tables; *level* is its heading level, 0 for other blocks."""
        if not block.within:  # the common case
            self._append(Part(block, self.resolver, level, "", self.labels), [])
            return
        label = "" if self.outside else self.labels.get(block.note, "")
        if label and block.text.strip(" []().") == label:
            return  # the block only repeats the marker at the beginning of the note
        frames, role = self._frames(block, len(block.within))
        if role == TERM and not level and self._is_term(block, frames):
            self.terms.add(frames[-1].number)
        elif role == TERM or (role == SUMMARY and not self._is_title(block, frames)):
            role = ""
        if level:
            frames = self._without_lists(frames)
        if not role:
            while frames and frames[-1].kind in LISTS:
                frames.pop()  # text of the list itself
        part = Part(block, self.resolver, level, role, self.labels)
        if label:
            part.drop_marker(label)
        self._append(part, frames)

    def _is_term(self, block: Block, frames: list[Frame]) -> bool:
        """Tell whether the text in a ``dt`` is a term: it stands in a list of definitions."""
        is_in_list = bool(frames) and frames[-1].kind == DEFINITIONS
        return is_in_list and block.tag not in PREFORMATTED_TAGS

    def _is_title(self, block: Block, frames: list[Frame]) -> bool:
        """Tell whether the text in a ``summary`` is the title of its box: it comes first."""
        if not frames or frames[-1].kind != DETAILS or block.tag in PREFORMATTED_TAGS:
            return False
        return frames[-1].number not in self.begun

    def _frames(self, block: Block, end: int) -> tuple[list[Frame], str]:
        """Return the containers around a block that are written, of the first *end*, and the role
        of the block in the innermost one.

        An entry without text of its own is left out, and so is one that has ended before: what
        follows it is a part of the container around. A definition needs a term.
        """
        frames: list[Frame] = []
        for kind, number in block.within[self.outside : end]:
            if kind in ROLES:
                return frames, kind
            if kind == NOTE:
                if self._is_note(block, number):
                    frames = [Frame(kind, number, NO_NUMBER, self.labels[block.note])]
            elif kind in (ITEM, DEFINITION):
                if self._is_written(kind, number, frames):
                    frames.append(Frame(kind, number, self.entries.get(number, NO_NUMBER)))
                else:
                    _leave_list(frames)
            elif kind in LISTS:
                frames += self._entry_before(frames)
                frames.append(Frame(kind, number))
            elif kind != TABLE and not (kind == LINES and _has(frames, LINES)):
                _leave_list(frames)  # this container stands between two entries of a list
                frames.append(Frame(kind, number))
        return frames, ""

    def _entry_before(self, frames: list[Frame]) -> list[Frame]:
        """Return the list entry that a list is written in, if the page has put it directly into
        another list: ``<ul><li>Tea<li>..<ul>``. It is the last entry before, if *frames* ends with
        the outer list and that entry is open; else nothing.
        """
        depth = len(frames)
        if not depth or frames[-1].kind not in LISTS or self.frames[:depth] != frames:
            return []
        return [frame for frame in self.frames[depth : depth + 1] if frame.kind == ITEM]

    def _is_note(self, block: Block, number: int) -> bool:
        """Tell whether a footnote is written: it has a marker, and has not ended."""
        return number not in self.ended and not self.outside and block.note in self.labels

    def _is_written(self, kind: str, number: int, frames: list[Frame]) -> bool:
        if number in self.ended or not frames or frames[-1].kind not in LISTS:
            return False
        if kind == ITEM:
            return number in self.entries and frames[-1].kind != DEFINITIONS
        return frames[-1].number in self.terms

    def _without_lists(self, frames: list[Frame]) -> list[Frame]:
        """Return the containers around a heading, which ends the lists that it stands in."""
        for number, frame in enumerate(frames):
            if frame.kind in LISTS:
                self.ended.update([ended.number for ended in frames[number:]])
                return frames[:number]
        return frames

    def _append(self, part: Part, frames: list[Frame]) -> None:
        part.frames, last = frames, self.frames
        shared, most = 0, min(len(frames), len(last))
        while shared < most and frames[shared] == last[shared]:
            shared += 1
        part.shared = shared
        for frame in last[shared:]:
            if frame.kind in ENDING:
                self.ended.add(frame.number)
                if frame.kind == DEFINITIONS:
                    self.terms.discard(frame.number)
        self.begun.update([frame.number for frame in frames[shared:] if frame.kind == DETAILS])
        self.frames = frames
        self.parts.append(part)


def _leave_list(frames: list[Frame]) -> None:
    """Remove the innermost container if it is a list."""
    if frames and frames[-1].kind in LISTS:
        frames.pop()


def _has(frames: list[Frame], kind: str) -> bool:
    return bool([frame for frame in frames if frame.kind == kind])


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
            note = mark[len(NOTE_MARK) :]
            if mark.startswith(NOTE_MARK) and note in notes:
                labels.setdefault(note, block.text[start:end].strip(" []()"))
    counts = Counter(labels.values())
    return {
        note: label if NOTE_LABEL.match(label) and counts[label] == 1 else NO_LABEL.sub("-", note)
        for note, label in labels.items()
    }
