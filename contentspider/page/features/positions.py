"""Features of where a block stands on its page, and of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features.texts import TEXT
from contentspider.page.names import HEADINGS

if TYPE_CHECKING:
    from contentspider.page.blocks import PageBlocks
    from contentspider.page.features.columns import Column, Floats, Group

# Unlinked text of this length is prose rather than a label.
PROSE_CHARS = 80
TEXT_COLUMN = {name: column for column, name in enumerate(TEXT)}


class PageFacts:
    """A page and its blocks' text features (*text*, one row a block), and what follows from them.

    *weight* is the length of each block, *links* how much of it is linked, in characters of a
    spaced script; *is_prose* tells which are long and unlinked, *heading* the level of those that
    are headings, *total* the length of the page.
    """

    def __init__(self, page: PageBlocks, text: Floats) -> None:
        self.page = page
        self.blocks = page.blocks
        self.count = len(page.blocks)
        self.index = np.arange(self.count)
        self.log_chars = text[:, TEXT_COLUMN["log_chars"]]
        self.link_share = text[:, TEXT_COLUMN["link_share"]]
        self.ends_sentence = text[:, TEXT_COLUMN["ends_sentence"]]
        self.says_related = text[:, TEXT_COLUMN["says_related"]].tolist()
        self.says_comment = text[:, TEXT_COLUMN["says_comment"]].tolist()
        self.weight = np.expm1(self.log_chars)
        self.links = self.link_share * self.weight
        self.is_prose = (self.weight - self.links >= PROSE_CHARS) & (self.link_share < 0.5)
        self.heading = np.array(
            [HEADINGS.get(block.tag, 0) for block in page.blocks], dtype=np.float32
        )
        self.total = max(self.weight.sum(), 1.0)


PAGE: Group[PageFacts] = {
    "page_blocks": lambda of: np.log1p(of.count),
    "page_chars": lambda of: np.log1p(of.weight.sum()),
    "page_link_share": lambda of: of.links.sum() / of.weight.sum(),
    "page_long_share": lambda of: of.weight[of.is_prose].sum() / of.weight.sum(),
    "page_h1": lambda of: (of.heading == 1).sum(),
}


class PositionFacts:
    """Where the blocks of a page stand: after which headings, and among which of the same path."""

    def __init__(self, of: PageFacts) -> None:
        self.of = of
        self.h1 = np.flatnonzero(of.heading == 1)
        self.prose_before = _before(np.where(of.is_prose, of.weight, 0))
        self._read_headings()
        self._read_paths()

    def _read_headings(self) -> None:
        """Tell for each block the last heading up to it, its level, and what it says."""
        of = self.of
        since, level, related, comment = 0, 0.0, 0.0, 0.0
        found = []
        for number, heading in enumerate(of.heading.tolist()):
            if heading:
                since, level = 0, heading
                related, comment = of.says_related[number], of.says_comment[number]
            found.append((since, level, related, comment))
            since += 1
        self.since, self.level, self.related, self.comment = zip(*found, strict=True)

    def _read_paths(self) -> None:
        """Sum up the blocks of each selector path."""
        of = self.of
        members: dict[str, list[int]] = {}
        for number, block in enumerate(of.blocks):
            members.setdefault(block.path, []).append(number)
        self.first_of_path = [same[0] for same in members.values()]
        self.path_blocks, self.path_chars, self.path_links = (
            np.empty(of.count, dtype=np.float32) for _ in range(3)
        )
        for same in members.values():
            self.path_blocks[same] = len(same)
            self.path_chars[same] = of.weight[same].sum()
            self.path_links[same] = of.links[same].sum()

    def from_h1(self) -> Column:
        """Return how far each block is behind the last ``h1``, or before the first; -9 without."""
        if not len(self.h1):
            return -9
        last = np.searchsorted(self.h1, self.of.index, side="right") - 1
        distance = self.of.index - self.h1[np.maximum(last, 0)]
        return np.asarray(np.sign(distance) * np.log1p(np.abs(distance)))

    def beside_prose(self) -> Column:
        """Tell which blocks have the parent that the page's first prose has."""
        of = self.of
        if not of.is_prose.any():
            return 0
        parents = [of.page.parents[block.container] for block in of.blocks]
        first = parents[int(np.argmax(of.is_prose))]
        return [parent == first for parent in parents]

    def mark_first(self) -> Column:
        """Tell which block is the first of its path."""
        marks = np.zeros(self.of.count)
        marks[self.first_of_path] = 1
        return marks


def _before(weight: Floats) -> Column:
    """Return the share of the *weight* that stands before each block, 0 if there is none."""
    total = weight.sum()
    return np.asarray((np.cumsum(weight) - weight) / total) if total else np.zeros_like(weight)


POSITION: Group[PositionFacts] = {
    "index_share": lambda at: at.of.index / at.of.count,
    "index_log": lambda at: np.log1p(at.of.index),
    "from_end_log": lambda at: np.log1p(at.of.count - 1 - at.of.index),
    "chars_before": lambda at: (np.cumsum(at.of.weight) - at.of.weight) / at.of.total,
    "long_before": lambda at: at.prose_before,
    "depth": lambda at: [block.path.count("/") for block in at.of.blocks],
    "after_h1": lambda at: at.of.index >= at.h1[0] if len(at.h1) else -1,
    "from_h1": PositionFacts.from_h1,
    "since_heading": lambda at: np.log1p(at.since),
    "heading_level": lambda at: at.level,
    "heading_related": lambda at: at.related,
    "heading_comment": lambda at: at.comment,
    "first_of_path": PositionFacts.mark_first,
    "path_blocks_log": lambda at: np.log1p(at.path_blocks.astype(np.float64)),
    "path_char_share": lambda at: at.path_chars / at.of.total,
    "path_link_share": lambda at: at.path_links / np.maximum(at.path_chars, 1),
    "path_mean_chars": lambda at: np.log1p(at.path_chars / at.path_blocks),
    "position_in_parent": lambda at: [
        min(at.of.page.positions[block.container], 30) for block in at.of.blocks
    ],
    "in_first_long_container": PositionFacts.beside_prose,
    "h1_before": lambda at: np.cumsum(at.of.heading == 1),
    "long_h1_before": lambda at: np.cumsum(
        (at.of.heading == 1) & (np.asarray(at.prose_before) > 0)
    ),
}
