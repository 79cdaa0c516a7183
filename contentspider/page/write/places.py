# cython: language_level=3, annotation_typing=False, infer_types=True
"""Reads a block's tag path: its table and its heading level."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.tree.containers import SUMMARY
from contentspider.page.words.names import HEADINGS, step_tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block

CELL_TAGS = frozenset(["td", "th"])
# `Place` is empty for a path without any of these tags.
TELLING = re.compile(r"/(?:tr|h[1-6])(?![a-z])|\[heading\]")


class Place(NamedTuple):
    """The properties of a path: the paths of the tables around it, outermost first, and its heading
    level (0: no heading).
    """

    tables: tuple[str, ...]
    level: int


# The place of a block outside of tables and headings.
NOWHERE = Place((), 0)


@lru_cache(maxsize=1_000)  # the blocks of a site share few paths
def place_of(path: str) -> Place:
    """Return the place of a block with this path."""
    if not TELLING.search("/" + path):
        return NOWHERE
    steps = path.split("/")
    tags = [step_tag(step) for step in steps]
    above = tags[: len(tags) - 1 - tags[::-1].index("tr")] if "tr" in tags else []
    tables = [number for number, tag in enumerate(above, 1) if tag == "table"]
    return Place(tuple(["/".join(steps[:number]) for number in tables]), _level(tags, steps[-1]))


def _level(tags: list[str], last_step: str) -> int:
    for tag in reversed(tags):
        if tag in HEADINGS:
            return HEADINGS[tag]
        if tag in CELL_TAGS or tag == "li":
            break
    return 2 if "[heading]" in last_step else 0


def heading_levels(blocks: Sequence[Block]) -> list[int]:
    """Return the heading level of each block: 1 to 6, 0 for other blocks than headings.

    Headings are blocks within ``h1`` to ``h6``, and elements with the role ``heading`` (level 2).
    The title of a box or of folded text is none: the text after the box does not stand below it.
    """
    levels: list[int] = []
    boxes: set[int] = set()  # boxes with a title or text
    box_of: dict[tuple[tuple[str, int], ...], tuple[str, int]] = {}
    for block in blocks:
        level = HEADINGS.get(block.tag) or place_of(block.path).level
        if block.within:
            if block.within not in box_of:
                box_of[block.within] = innermost_box(block)
            kind, number = box_of[block.within]
            if kind and (kind == SUMMARY or number not in boxes):
                level = 0
            boxes.add(number)
        levels.append(level)
    return levels


def innermost_box(block: Block) -> tuple[str, int]:
    """Return the kind and number of the innermost box around a block, or of the title of folded
    text that it is; without one, an empty kind.
    """
    for kind, number in reversed(block.within):
        if kind == SUMMARY or kind.isupper():
            return kind, number
    return "", 0


@lru_cache(maxsize=1_000)
def cell_of(path: str, table: str) -> tuple[bool, str]:
    """Return whether a block with this path stands in a header cell of the table with the path
    *table*, and the block's path within the cell ("" for text of the cell itself).
    """
    steps = path[len(table) :].split("/")
    for number, step in enumerate(steps, 1):
        tag = step_tag(step)
        if tag in CELL_TAGS:
            return tag == "th", "/".join(steps[number:])
    return False, ""
