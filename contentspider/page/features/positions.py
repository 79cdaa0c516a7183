"""Features of where a block stands on its page, and of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features.texts import PHRASE
from contentspider.page.names import HEADINGS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.blocks import PageBlocks
    from contentspider.page.features.columns import Column, Group
    from contentspider.page.features.texts import TextFacts

    Numbers = NDArray[np.float64] | NDArray[np.int64]

# Unlinked text of this length is prose rather than a label.
PROSE_CHARS = 80


class PageFacts:
    """A page, what is known of its blocks' *text*, and what follows from that.

    *weight* is the length of each block, *links* how much of it is linked, in characters of a
    spaced script; *is_prose* tells which are long and unlinked, *heading* the level of those that
    are headings, *total* the length of the page. *paths* number the selector paths of the blocks,
    *holders* are the elements that they stand in.
    """

    def __init__(self, page: PageBlocks, text: TextFacts) -> None:
        self.page = page
        self.blocks = page.blocks
        self.count = len(page.blocks)
        self.index = np.arange(self.count)
        self.text = text
        self.weight = text.counts["weight"]
        self.links = text.link_share * self.weight
        self.is_prose = (self.weight - self.links >= PROSE_CHARS) & (text.link_share < 0.5)
        self.heading = np.array([HEADINGS.get(block.tag, 0) for block in page.blocks])
        self.total = max(self.weight.sum(), 1.0)
        ids: dict[str, int] = {}
        self.paths = np.array([ids.setdefault(block.path, len(ids)) for block in page.blocks])
        self.holders = text.counts["container"].astype(np.int64)
        self.depth = np.array([path.count("/") for path in ids])[self.paths]


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
        # The last heading up to each block, -1 where there is none.
        self.last = np.maximum.accumulate(np.where(of.heading > 0, of.index, -1))
        # The heading above that one, of a higher level.
        self.upper = self._upper_headings()
        self.first_of_path = np.unique(of.paths, return_index=True)[1]
        self.path_blocks, self.path_chars, self.path_links = (
            np.bincount(of.paths, weights)[of.paths] for weights in (None, of.weight, of.links)
        )

    def _upper_headings(self) -> NDArray[np.int64]:
        upper = np.full(self.of.count, -1)
        above: list[tuple[int, int]] = []
        for number in np.flatnonzero(self.of.heading).tolist():
            level = self.of.heading[number]
            while above and above[-1][0] >= level:
                above.pop()
            upper[number] = above[-1][1] if above else -1
            above.append((level, number))
        return np.where(self.last >= 0, upper[self.last], -1)

    def heading_says(self, phrase: int) -> Column:
        """Tell whether the heading above each block says so; half if the one above that does."""
        said = self.of.text.said[phrase]
        return np.maximum(
            self.of_heading(said), 0.5 * np.where(self.upper >= 0, said[self.upper], 0)
        )

    def of_heading(self, values: Numbers) -> Column:
        """Return what *values* has for the last heading up to each block, 0 without."""
        return np.where(self.last >= 0, values[self.last], 0)

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
        parents = np.array(of.page.parents)[of.holders]
        return np.asarray(parents == parents[np.argmax(of.is_prose)])

    def mark_first(self) -> Column:
        """Tell which block is the first of its path."""
        marks = np.zeros(self.of.count)
        marks[self.first_of_path] = 1
        return marks


def _before(weight: Numbers) -> Column:
    """Return the share of the *weight* that stands before each block, 0 if there is none."""
    total = weight.sum()
    return np.asarray((np.cumsum(weight) - weight) / total) if total else np.zeros_like(weight)


POSITION: Group[PositionFacts] = {
    "index_share": lambda at: at.of.index / at.of.count,
    "index_log": lambda at: np.log1p(at.of.index),
    "from_end_log": lambda at: np.log1p(at.of.count - 1 - at.of.index),
    "chars_before": lambda at: (np.cumsum(at.of.weight) - at.of.weight) / at.of.total,
    "long_before": lambda at: at.prose_before,
    "depth": lambda at: at.of.depth,
    "after_h1": lambda at: at.of.index >= at.h1[0] if len(at.h1) else -1,
    "from_h1": PositionFacts.from_h1,
    "since_heading": lambda at: np.log1p(at.of.index - np.maximum(at.last, 0)),
    "heading_level": lambda at: at.of_heading(at.of.heading),
    "heading_linked": lambda at: at.of_heading(at.of.text.link_share),
    **{
        f"heading_{name}": lambda at, number=number: at.heading_says(number)  # type: ignore[misc]
        for name, number in PHRASE.items()
    },
    "first_of_path": PositionFacts.mark_first,
    "path_blocks_log": lambda at: np.log1p(at.path_blocks),
    "path_char_share": lambda at: at.path_chars / at.of.total,
    "path_link_share": lambda at: at.path_links / np.maximum(at.path_chars, 1),
    "path_mean_chars": lambda at: np.log1p(at.path_chars / at.path_blocks),
    "position_in_parent": lambda at: np.minimum(np.array(at.of.page.positions)[at.of.holders], 30),
    "in_first_long_container": PositionFacts.beside_prose,
    "h1_before": lambda at: np.cumsum(at.of.heading == 1),
    "long_h1_before": lambda at: np.cumsum(
        (at.of.heading == 1) & (np.asarray(at.prose_before) > 0)
    ),
}
