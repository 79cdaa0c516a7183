"""Features of the elements around a block, and of those that hold most of the page's prose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features._counts import inside, sum_elements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.features.columns import Group
    from contentspider.page.features.positions import PageFacts

# How far above a block the elements are that are looked at; 0 is its own.
LEVELS = (0, 1, 2, 3, 4, 6)
# The trunk is the deepest element with this share of the page's prose; the stem likewise.
TRUNK_SHARE, STEM_SHARE = 0.7, 0.4


class ContainerFacts:
    """Sums over the blocks in each element: characters, those in links and in prose, number, first
    and last block.
    """

    def __init__(self, of: PageFacts) -> None:
        self.of = of
        parents = of.page.parents
        prose = np.where(of.is_prose, of.weight, 0)
        self.chars, self.linked, self.prose, self.number, self.first, self.last = sum_elements(
            parents,
            of.text.counts["container"],
            np.stack([of.weight, of.links, prose, np.ones(of.count)]),
        )
        self.total = max(self.chars[0], 1.0)
        self.some_chars = np.maximum(self.chars, 1)
        self.positions = np.array(of.page.positions)
        self.parents = np.maximum(np.array(parents), 0)

    def deepest_with(self, share: float) -> int:
        """Return the deepest element with this share of the page's prose (text, without prose).

        In document order the last of a chain of ancestors is the deepest.
        """
        mass = self.prose if self.prose[0] else self.chars
        return int(np.flatnonzero(mass >= share * mass[0])[-1])

    def inside(self, element: int) -> NDArray[np.bool_]:
        """Tell which blocks stand in *element*, at whatever depth."""
        return np.asarray(inside(self.of.page.parents, element)[self.of.holders])


# What an element is to all blocks that stand in it.
ELEMENT: Group[ContainerFacts] = {
    "char_share": lambda sums: sums.chars / sums.total,
    "link_share": lambda sums: sums.linked / sums.some_chars,
    "blocks": lambda sums: np.log1p(sums.number),
    "mean_chars": lambda sums: np.log1p(sums.chars / np.maximum(sums.number, 1)),
    "long_share": lambda sums: sums.prose / sums.some_chars,
    "sibling": lambda sums: np.minimum(sums.positions, 20),
}


class LevelFacts:
    """The element so many levels above each block (*at*, its index)."""

    def __init__(self, sums: ContainerFacts, at: NDArray[np.int64]) -> None:
        self.of = sums.of
        self.at = at
        self.first = sums.first[at]
        self.last = sums.last[at]


# Where each block stands in it.
LEVEL: Group[LevelFacts] = {
    "position": lambda up: (up.of.index - up.first) / np.maximum(up.last - up.first, 1),
}


def levels(sums: ContainerFacts) -> list[LevelFacts]:
    """Return the elements at each of `LEVELS` above the blocks; above the first there is itself."""
    found = []
    at = sums.of.holders
    for level in range(max(LEVELS) + 1):
        if level in LEVELS:
            found.append(LevelFacts(sums, at))
        at = sums.parents[at]
    return found


class TrunkFacts:
    """The trunk and the stem of a page, and which blocks stand in them."""

    def __init__(self, sums: ContainerFacts) -> None:
        self.sums = sums
        self.trunk = sums.deepest_with(TRUNK_SHARE)
        self.stem = sums.deepest_with(STEM_SHARE)
        self.depth = sums.of.page.paths[self.trunk].count("/")

    def before(self) -> NDArray[np.int64]:
        """Return how many blocks each stands before the trunk's first, 0 if not before."""
        return np.asarray(np.maximum(self.sums.first[self.trunk] - self.sums.of.index, 0))

    def after(self) -> NDArray[np.int64]:
        """Return how many blocks each stands behind the trunk's last, 0 if not behind."""
        return np.asarray(np.maximum(self.sums.of.index - self.sums.last[self.trunk], 0))


TRUNK: Group[TrunkFacts] = {
    "in_trunk": lambda in_: in_.sums.inside(in_.trunk),
    "trunk_depth": lambda in_: in_.sums.of.depth - in_.depth,
    "trunk_share": lambda in_: in_.sums.chars[in_.trunk] / in_.sums.total,
    "trunk_before": lambda in_: np.log1p(in_.before()),
    "trunk_after": lambda in_: np.log1p(in_.after()),
    "trunk_link_share": lambda in_: in_.sums.linked[in_.trunk] / max(in_.sums.chars[in_.trunk], 1),
    "in_stem": lambda in_: in_.sums.inside(in_.stem),
    "stem_share": lambda in_: in_.sums.chars[in_.stem] / in_.sums.total,
}


# Elements that say that they hold what the page is about; many of them are entries.
LANDMARKS = ("main", "article")


class LandmarkFacts:
    """The innermost element of a tag (or with the role) around each block; -1 for none."""

    def __init__(self, sums: ContainerFacts, tag: str) -> None:
        self.sums = sums
        page = sums.of.page
        role = f"[{tag}]"
        innermost: list[int] = []
        found = []
        for element, parent in enumerate(page.parents):
            if page.tags[element] == tag or page.paths[element].endswith(role):
                found.append(element)
                innermost.append(element)
            else:
                innermost.append(innermost[parent] if parent >= 0 else -1)
        self.count = len(found)
        self.at = np.array(innermost)[sums.of.holders]
        self.inside = self.at >= 0
        self.rank = np.searchsorted(found, self.at, side="right") if found else 0
        self.largest = float(sums.chars[found].max()) if found else 0.0


LANDMARK: Group[LandmarkFacts] = {
    "count": lambda mark: min(mark.count, 50),
    "inside": lambda mark: mark.inside,
    "char_share": lambda mark: np.where(
        mark.inside, mark.sums.chars[mark.at] / mark.sums.total, -1
    ),
    "largest": lambda mark: mark.largest / mark.sums.total,
    "rank": lambda mark: np.minimum(mark.rank, 20),
    "is_largest": lambda mark: np.where(
        mark.inside, mark.sums.chars[mark.at] / max(mark.largest, 1), -1
    ),
}
