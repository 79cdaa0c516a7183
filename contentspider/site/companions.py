"""Blocks that are content if others are: footnotes with a marker in the content, titles of boxes
and tabs whose text is, terms and their definitions, headings and labels within the content.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from contentspider.page.tree.containers import (
    CITATION,
    DEFINITION,
    DEFINITIONS,
    DETAILS,
    PANEL,
    TERM,
)
from contentspider.page.tree.tags import NOTE
from contentspider.page.tree.text import is_word_char

if TYPE_CHECKING:
    from contentspider.page.tree.blocks import Block, PageBlocks
    from contentspider.site.arrays import Bools

# A page with more notes has the small print of a product, or a list of sources. Such notes are
# judged like other blocks.
MAX_NOTES = 20
TITLED = frozenset([DEFINITIONS, TERM, DEFINITION, DETAILS, PANEL, CITATION])
# A longer text is not a title, nor a definition that is kept only for its term.
MAX_TITLE_CHARS = 120
LABELLING = frozenset(["h2", "h3", "h4", "h5", "h6"])
COLONS = (":", "\uff1a")


class Group(NamedTuple):
    """The numbers of the blocks of a title or a term and of the blocks of its text, and the numbers
    of its definitions.
    """

    titles: list[int]
    texts: list[int]
    definitions: set[int]


def with_footnotes(blocks: list[Block], kept: Bools) -> Bools:
    """Return *kept*, extended by the footnotes whose markers stand in kept blocks.

    *kept* tells for each of *blocks* whether the block is content. On a page with more than
    `MAX_NOTES` notes it is returned as it is.
    """
    numbers = [number for number, block in enumerate(blocks) if block.note and not kept[number]]
    if not numbers or len({block.note for block in blocks if block.note}) > MAX_NOTES:
        return kept
    targets = {
        mark[len(NOTE) :]
        for block, is_kept in zip(blocks, kept.tolist(), strict=True)
        if is_kept
        for _, _, mark in block.spans
        if mark.startswith(NOTE)
    }
    kept = kept.copy()
    kept[[number for number in numbers if blocks[number].note in targets]] = True
    return kept


def with_titles(blocks: list[Block], kept: Bools) -> Bools:
    """Return *kept*, extended by titles whose text is kept: titles of boxes, folded texts and tabs,
    and labels of citations.

    A term is kept with its definition, and a short definition with its term. A term with several
    definitions does not keep them: forums show the facts about an author in this way.
    """
    groups = _groups(blocks)
    if not groups:
        return kept
    is_kept = kept.tolist()
    for titles, texts, definitions in reversed(groups):
        if any(is_kept[number] for number in texts):
            missing = titles
        elif len(definitions) <= 1 and any(is_kept[number] for number in titles):
            size = sum(len(blocks[number].text) for number in texts)
            is_short = size <= MAX_TITLE_CHARS
            missing = [number for number in texts if is_short and _has_words(blocks[number])]
        else:
            missing = []
        for number in missing:
            is_kept[number] = True
    return np.array(is_kept, dtype=bool)


def with_labels(content: PageBlocks, kept: Bools) -> Bools:
    """Return *kept*, extended by headings and labels that end with a colon, between kept texts of
    the same element: each page of a site may have *Example 1:* in its content.
    """
    kept = kept.copy()
    for number in (np.flatnonzero(kept[:-2] & ~kept[1:-1] & kept[2:]) + 1).tolist():
        before, block, after = content.blocks[number - 1 : number + 2]
        if block.links or len(block.text) > MAX_TITLE_CHARS:
            continue
        if block.tag in LABELLING or block.text.endswith(COLONS):
            kept[number] = _is_beside(content, block, before) and _is_beside(content, block, after)
    return kept


def _is_beside(content: PageBlocks, block: Block, other: Block) -> bool:
    """Tell whether another block stands in the element around a block, at any depth."""
    around = content.parents[block.container]
    container = other.container
    while container > around:
        container = content.parents[container]
    return container == around and other.container != block.container


def _has_words(block: Block) -> bool:
    """Tell whether a block has words to read, unlike the cross that closes a box."""
    return block.tag != "button" and any(map(is_word_char, block.text))


def _groups(blocks: list[Block]) -> list[Group]:
    """Return the titles and terms among *blocks*, each with its text."""
    boxes: dict[tuple[str, int], Group] = {}
    entries: dict[int, list[Group]] = {}  # by the number of their list
    telling: dict[tuple[tuple[str, int], ...], list[tuple[str, int]]] = {(): []}
    for number, block in enumerate(blocks):
        containers = telling.get(block.within)
        if containers is None:
            containers = telling[block.within] = list(filter(_is_telling, block.within))
        around = 0  # the number of the list of definitions around
        for container in containers:
            kind = container[0]
            if kind == DEFINITIONS:
                around = container[1]
            elif kind in (TERM, DEFINITION):
                _add_to_entry(entries.setdefault(around, []), container, number)
            else:
                titles, texts, _ = boxes.setdefault(container, Group([], [], set()))
                is_title = not titles and len(block.text) <= MAX_TITLE_CHARS
                (titles if is_title else texts).append(number)
    return [*boxes.values(), *(entry for found in entries.values() for entry in found)]


def _is_telling(container: tuple[str, int]) -> bool:
    """Tell whether a container of `Block.within` may have a title, or is of a term."""
    kind = container[0]
    return kind in TITLED or kind.isupper()


def _add_to_entry(entries: list[Group], container: tuple[str, int], number: int) -> None:
    """Add a block, whose *container* is a term or a definition, to the last of the *entries* of a
    list of definitions, or to a new one.
    """
    if container[0] == DEFINITION:
        if entries:
            entries[-1].texts.append(number)
            entries[-1].definitions.add(container[1])
    elif entries and not entries[-1].texts:
        entries[-1].titles.append(number)
    else:
        entries.append(Group([number], [], set()))
