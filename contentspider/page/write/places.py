# cython: language_level=3, annotation_typing=False, infer_types=True
"""Reads a block's tag path: the quotes and lists around the block, its table and its heading level,
and whether the block is a term or a definition.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.page.words.names import HEADINGS, step_tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.tree.blocks import Block

CELL_TAGS = frozenset(["td", "th"])
LIST_TAGS = frozenset(["ul", "ol", "menu", "dir"])
# `Place` is empty for a path without any of these tags.
TELLING = re.compile(r"/(?:li|tr|blockquote|h[1-6]|d[td]|summary)(?![a-z])|\[heading\]")
SUMMARY_LEVEL = 9  # of ``summary``, replaced by one level below the heading before it


class Place:
    """The properties of a path: how many quotes surround it, how many lists surround it within the
    innermost quote, whether the innermost list is numbered, the paths of the tables around it,
    outermost first, its heading level (0: no heading), and ``dt`` for a term, ``dd`` for a
    definition.
    """

    def __init__(
        self,
        quotes: int,
        lists: int,
        ordered: bool,
        tables: tuple[str, ...],
        level: int,
        definition: str,
    ) -> None:
        self.quotes, self.lists, self.ordered, self.tables = quotes, lists, ordered, tables
        self.level, self.definition = level, definition


# The place of a block outside of lists, quotes, tables and headings.
NOWHERE = Place(0, 0, False, (), 0, "")


@lru_cache(maxsize=1_000)  # the blocks of a site share few paths
def place_of(path: str) -> Place:
    """Return the place of a block with this path."""
    if not TELLING.search("/" + path):
        return NOWHERE
    steps = path.split("/")
    tags = [step_tag(step) for step in steps]
    quotes = tags.count("blockquote")
    inside = tags[len(tags) - tags[::-1].index("blockquote") :] if quotes else tags
    lists = [tag for tag in inside if tag in LIST_TAGS]
    in_item = "li" in inside
    above = tags[: len(tags) - 1 - tags[::-1].index("tr")] if "tr" in tags else []
    tables = [number for number, tag in enumerate(above, 1) if tag == "table"]
    definition = next((tag for tag in reversed(tags) if tag in ("dt", "dd", "li", "td")), "")
    return Place(
        quotes,
        max(1, len(lists)) if in_item else 0,
        lists[-1:] == ["ol"],
        tuple(["/".join(steps[:number]) for number in tables]),
        _level(tags, steps[-1]),
        definition if definition in ("dt", "dd") else "",
    )


def _level(tags: list[str], last_step: str) -> int:
    for tag in reversed(tags):
        if tag in HEADINGS:
            return HEADINGS[tag]
        if tag in CELL_TAGS or tag == "li":
            break
    if "[heading]" in last_step:
        return 2
    return SUMMARY_LEVEL if tags[-1] == "summary" else 0


def heading_levels(blocks: Sequence[Block]) -> list[int]:
    """Return the heading level of each block: 1 to 6, 0 for other blocks than headings.

    Headings are blocks within ``h1`` to ``h6``, elements with the role ``heading`` (level 2), and
    the ``summary`` of details (one level below the heading before it).
    """
    levels: list[int] = []
    last = 1
    for block in blocks:
        level = HEADINGS.get(block.tag) or place_of(block.path).level
        if level == SUMMARY_LEVEL:
            level = min(last + 1, 6)
        elif level:
            last = level
        levels.append(level)
    return levels


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
