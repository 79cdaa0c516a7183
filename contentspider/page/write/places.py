# cython: language_level=3, annotation_typing=False, infer_types=True
"""What the path of a block says: the quotes and lists around it, its table, the level of its
heading, and whether it is a term or a definition.
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
# Only a path with one of these says anything.
TELLING = re.compile(r"/(?:li|tr|blockquote|h[1-6]|d[td]|summary)(?![a-z])|\[heading\]")
SUMMARY_LEVEL = 9  # stands for one below the last heading's


class Place:
    """What a path says: quotes around it, lists inside of these, its table (its path), the level of
    the heading that it is in (0: none), and whether it is a term (``dt``) or a definition (``dd``).
    """

    def __init__(
        self, quotes: int, lists: int, ordered: bool, table: str, level: int, definition: str
    ) -> None:
        self.quotes, self.lists, self.ordered, self.table = quotes, lists, ordered, table
        self.level, self.definition = level, definition


# In no list, quote, table or heading.
NOWHERE = Place(0, 0, False, "", 0, "")


@lru_cache(maxsize=1_000)  # the same few are asked for again and again
def place_of(path: str) -> Place:
    """Return what the tags of a path say."""
    if not TELLING.search("/" + path):
        return NOWHERE
    steps = path.split("/")
    tags = [step_tag(step) for step in steps]
    quotes = tags.count("blockquote")
    inside = tags[len(tags) - tags[::-1].index("blockquote") :] if quotes else tags
    lists = [tag for tag in inside if tag in LIST_TAGS]
    in_item = "li" in inside
    table = ""
    if "tr" in tags:
        above = tags[: len(tags) - 1 - tags[::-1].index("tr")]
        if "table" in above:
            table = "/".join(steps[: len(above) - above[::-1].index("table")])
    definition = next((tag for tag in reversed(tags) if tag in ("dt", "dd", "li", "td")), "")
    return Place(
        quotes,
        max(1, len(lists)) if in_item else 0,
        lists[-1:] == ["ol"],
        table,
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
    """Return the level of the heading that each block is, from 1 to 6; 0 if it is none.

    What is within ``h1`` to ``h6`` is one, what has the role of one, and the ``summary`` of details
    (one level below the heading before it).
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


def is_header_cell(path: str) -> bool:
    """Tell whether a path leads into a header cell."""
    for step in reversed(path.split("/")):
        tag = step_tag(step)
        if tag in CELL_TAGS:
            return tag == "th"
    return False
