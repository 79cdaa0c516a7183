"""Features of the elements around a block, and of those that hold most of the page's prose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
        size = len(parents)
        holders = np.array([block.container for block in of.blocks])
        chars, linked, number, prose = (np.zeros(size) for _ in range(4))
        np.add.at(chars, holders, of.weight)
        np.add.at(linked, holders, of.links)
        np.add.at(number, holders, 1)
        np.add.at(prose, holders, np.where(of.is_prose, of.weight, 0))
        first = np.full(size, of.count, dtype=np.int64)
        np.minimum.at(first, holders, of.index)
        last = np.full(size, -1, dtype=np.int64)
        np.maximum.at(last, holders, of.index)
        for element in range(size - 1, 0, -1):  # parents come before their children
            parent = parents[element]
            chars[parent] += chars[element]
            linked[parent] += linked[element]
            number[parent] += number[element]
            prose[parent] += prose[element]
            first[parent] = min(first[parent], first[element])
            last[parent] = max(last[parent], last[element])
        self.holders, self.chars, self.linked, self.number = holders, chars, linked, number
        self.prose, self.first, self.last = prose, first, last
        self.total = max(chars[0], 1.0)
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
        parents = self.of.page.parents
        below = np.zeros(len(parents), dtype=bool)
        below[element] = True
        for child in range(element + 1, len(parents)):
            below[child] = below[parents[child]]
        return np.asarray(below[self.holders])


class LevelFacts:
    """The element so many levels above each block (*at*, its index)."""

    def __init__(self, sums: ContainerFacts, at: NDArray[np.int64]) -> None:
        self.sums = sums
        self.at = at
        self.chars = sums.chars[at]
        self.some_chars = np.maximum(self.chars, 1)


LEVEL: Group[LevelFacts] = {
    "char_share": lambda up: up.chars / up.sums.total,
    "link_share": lambda up: up.sums.linked[up.at] / up.some_chars,
    "blocks": lambda up: np.log1p(up.sums.number[up.at]),
    "mean_chars": lambda up: np.log1p(up.chars / np.maximum(up.sums.number[up.at], 1)),
    "long_share": lambda up: up.sums.prose[up.at] / up.some_chars,
    "position": lambda up: (
        (up.sums.of.index - up.sums.first[up.at])
        / np.maximum(up.sums.last[up.at] - up.sums.first[up.at], 1)
    ),
    "sibling": lambda up: np.minimum(up.sums.positions[up.at], 20),
}


def levels(sums: ContainerFacts) -> list[LevelFacts]:
    """Return the elements at each of `LEVELS` above the blocks; above the first there is itself."""
    found = []
    at = sums.holders
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
    "trunk_depth": lambda in_: [b.path.count("/") - in_.depth for b in in_.sums.of.blocks],
    "trunk_share": lambda in_: in_.sums.chars[in_.trunk] / in_.sums.total,
    "trunk_before": lambda in_: np.log1p(in_.before()),
    "trunk_after": lambda in_: np.log1p(in_.after()),
    "trunk_link_share": lambda in_: in_.sums.linked[in_.trunk] / max(in_.sums.chars[in_.trunk], 1),
    "in_stem": lambda in_: in_.sums.inside(in_.stem),
    "stem_share": lambda in_: in_.sums.chars[in_.stem] / in_.sums.total,
}
