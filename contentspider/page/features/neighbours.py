"""Features of the blocks before and after a block, and of what it shares with the page's hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features._counts import hint_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.features.columns import Column, Group
    from contentspider.page.features.positions import PageFacts
    from contentspider.page.hints import Hints

    Numbers = NDArray[np.float64] | NDArray[np.int64]

OFFSETS = (-2, -1, 1, 2)


class OffsetFacts:
    """The blocks so many places after (or before) each block of a page."""

    def __init__(self, page: PageFacts, offset: int) -> None:
        self.page = page
        self.offset = offset

    def of(self, values: Numbers) -> Numbers:
        """Return *values* of the block so many places on; -1 beyond the ends of the page."""
        result = np.full_like(values, -1)
        if abs(self.offset) >= len(values):
            return result
        if self.offset > 0:
            result[: -self.offset] = values[self.offset :]
        else:
            result[-self.offset :] = values[: self.offset]
        return result

    def same_path(self) -> Column:
        """Tell which blocks have the path of that neighbour; -1 on pages too short to have one."""
        paths = self.page.paths
        return -1 if abs(self.offset) >= len(paths) else self.of(paths) == paths


OFFSET: Group[OffsetFacts] = {
    "log_chars": lambda at: at.of(at.page.text.log_chars),
    "link_share": lambda at: at.of(at.page.text.link_share),
    "same_path": OffsetFacts.same_path,
    "heading": lambda at: at.of(at.page.heading),
    "ends_sentence": lambda at: at.of(at.page.text.counts["ends_sentence"]),
}


class WindowFacts:
    """The *reach* blocks before and after each block of a page, and itself."""

    def __init__(self, page: PageFacts, reach: int) -> None:
        self.page = page
        index = page.index
        self.low, self.high = (
            np.maximum(index - reach, 0),
            np.minimum(index + reach + 1, page.count),
        )
        self.links = self.mean(page.links) / np.maximum(self.mean(page.weight), 1)

    def mean(self, values: Numbers) -> Numbers:
        """Return the mean of *values* over the window of each block."""
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray((sums[self.high] - sums[self.low]) / (self.high - self.low))


NEAR: Group[WindowFacts] = {
    "window_chars": lambda of: of.mean(of.page.text.log_chars),
    "window_links": lambda of: of.links,
    "window_sentence": lambda of: of.mean(of.page.text.counts["ends_sentence"]),
}
WIDE: Group[WindowFacts] = {
    "wide_chars": lambda of: of.mean(of.page.text.log_chars),
    "wide_links": lambda of: of.links,
}
WINDOWS = ((NEAR, 5), (WIDE, 20))  # blocks before and after


class HintFacts:
    """What each block shares with the page's titles and descriptions: the largest share of its
    words that are in one of them, and of one's words that are in the block.
    """

    def __init__(self, page: PageFacts, hints: Hints) -> None:
        self.in_title, self.of_title, self.in_description, self.of_description = hint_shares(
            page.blocks, hints.titles, hints.descriptions
        )


HINT: Group[HintFacts] = {
    "in_title": lambda shares: shares.in_title,
    "of_title": lambda shares: shares.of_title,
    "in_description": lambda shares: shares.in_description,
    "of_description": lambda shares: shares.of_description,
}
