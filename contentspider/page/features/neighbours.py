"""Features of the blocks before and after a block, and of what it shares with the page's hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.text import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.page.blocks import Block
    from contentspider.page.features.columns import Column, Floats, Group
    from contentspider.page.features.positions import PageFacts
    from contentspider.page.hints import Hints

OFFSETS = (-2, -1, 1, 2)
NEAR, WIDE = 5, 20  # blocks before and after in the two windows
# Of many hints the first say most; of a long text the beginning does.
MAX_HINTS, MAX_CHARS = 4, 1_000


class NeighbourFacts:
    """A page, and a number for the selector path of each of its blocks."""

    def __init__(self, of: PageFacts) -> None:
        self.of = of
        ids: dict[str, int] = {}
        self.paths = np.array(
            [ids.setdefault(block.path, len(ids)) for block in of.blocks], dtype=np.float32
        )


class OffsetFacts:
    """The blocks so many places after (or before) each block of a page."""

    def __init__(self, near: NeighbourFacts, offset: int) -> None:
        self.near = near
        self.offset = offset

    def of(self, values: Floats) -> Floats:
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
        paths = self.near.paths
        return -1 if abs(self.offset) >= len(paths) else self.of(paths) == paths


OFFSET: Group[OffsetFacts] = {
    "log_chars": lambda at: at.of(at.near.of.log_chars),
    "link_share": lambda at: at.of(at.near.of.link_share),
    "same_path": OffsetFacts.same_path,
    "heading": lambda at: at.of(at.near.of.heading),
    "ends_sentence": lambda at: at.of(at.near.of.ends_sentence),
}


def _mean(values: Floats, reach: int) -> Floats:
    """Return the mean over the *reach* blocks before and after each."""
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    index = np.arange(len(values))
    low, high = np.maximum(index - reach, 0), np.minimum(index + reach + 1, len(values))
    return np.asarray((sums[high] - sums[low]) / (high - low), dtype=np.float32)


def _link_share(of: PageFacts, reach: int) -> Column:
    return _mean(of.links, reach) / np.maximum(_mean(of.weight, reach), 1)


WINDOW: Group[PageFacts] = {
    "window_chars": lambda of: _mean(of.log_chars, NEAR),
    "window_links": lambda of: _link_share(of, NEAR),
    "window_sentence": lambda of: _mean(of.ends_sentence, NEAR),
    "wide_chars": lambda of: _mean(of.log_chars, WIDE),
    "wide_links": lambda of: _link_share(of, WIDE),
}


class HintFacts:
    """What each block shares with the page's titles and descriptions."""

    def __init__(self, blocks: Sequence[Block], hints: Hints) -> None:
        titles, descriptions = (
            [set(tokens(text)) for text in texts[:MAX_HINTS]]
            for texts in (hints.titles, hints.descriptions)
        )
        self.in_title, self.of_title = [0.0] * len(blocks), [0.0] * len(blocks)
        self.in_description, self.of_description = [0.0] * len(blocks), [0.0] * len(blocks)
        if not titles and not descriptions:
            return
        for number, block in enumerate(blocks):
            words = set(tokens(block.text[:MAX_CHARS]))
            if words:
                self.in_title[number], self.of_title[number] = _shares(words, titles)
                self.in_description[number], self.of_description[number] = _shares(
                    words, descriptions
                )


def _shares(words: set[str], hints: list[set[str]]) -> tuple[float, float]:
    """Return the largest share of the *words* that are in a hint, and of a hint that is in them."""
    of_words = of_hint = 0.0
    for hint in hints:
        common = len(words & hint)
        if common:
            of_words = max(of_words, common / len(words))
            of_hint = max(of_hint, common / len(hint))
    return of_words, of_hint


HINT: Group[HintFacts] = {
    "in_title": lambda shares: shares.in_title,
    "of_title": lambda shares: shares.of_title,
    "in_description": lambda shares: shares.in_description,
    "of_description": lambda shares: shares.of_description,
}
