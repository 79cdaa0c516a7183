"""Feature sets of the per-site classifier, by name; ``slots`` is the default.

Other packages add a `FeatureSet` with an entry point of the group ``contentspider.feature_sets``
(docs/extending.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.plugins import PlugIns
from contentspider.site.judge.rows import MAX_GROUPS, Group, SlotFeatures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from contentspider.page.tree.blocks import PageBlocks
    from contentspider.site.judge.rows import Feature, Row
    from contentspider.site.slots import SlotTable

Features = list[list[tuple[str, ...]]]
SLOTS = "slots"


class FeatureSet(NamedTuple):
    """What gives the features of a page's blocks, and whether it needs the markup's attributes."""

    features: Callable[[PageBlocks, SlotTable], Features]
    needs_attributes: bool = False


# The default is compiled, and is no function of a page (`SiteFeatures`).
FEATURE_SETS: PlugIns[FeatureSet] = PlugIns(
    "contentspider.feature_sets", {SLOTS: "contentspider.site.judge.rows:SlotFeatures"}
)


def parse_feature_sets(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of sets, each once, the default first; an unknown name raises ValueError."""
    wanted = dict.fromkeys(sorted(names, key=lambda name: name != SLOTS))
    if not wanted:
        raise ValueError(f"no feature set is named; use {SLOTS!r}")
    try:
        for name in wanted:
            FEATURE_SETS.check(name)
    except LookupError as error:
        raise ValueError(f"feature set {error}") from error
    return tuple(wanted)


def needs_attributes(names: Sequence[str]) -> bool:
    """Tell whether one of the sets needs pages that were read with their markup's attributes."""
    return any(FEATURE_SETS.load(name).needs_attributes for name in names if name != SLOTS)


class SiteFeatures:
    """The rows of a site's blocks by the sets *names*; *noise_texts* are keys of boilerplate."""

    def __init__(
        self, names: Sequence[str], table: SlotTable, noise_texts: frozenset[str] = frozenset()
    ) -> None:
        self.table = table
        self._slots = SlotFeatures(table, noise_texts) if SLOTS in names else None
        self._sets = [FEATURE_SETS.load(name).features for name in names if name != SLOTS]
        self._groups: dict[tuple[Feature, ...], Group] = {}

    def rows(self, page: PageBlocks) -> list[Row]:
        """Return the row of each block of a page."""
        rows: list[Row] = self._slots.rows(page) if self._slots else [[] for _ in page.blocks]
        if len(self._groups) >= MAX_GROUPS:
            self._groups.clear()
        for features in self._sets:
            for row, found in zip(rows, features(page, self.table), strict=True):
                if found:
                    key = tuple(found)
                    row.append(self._groups.setdefault(key, Group(key)))
        return rows
