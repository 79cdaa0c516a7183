"""The registry of feature sets for the classifier of a site; ``slots`` is the default.

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
    from contentspider.site.judge.slots import SlotTable

Features = list[list[tuple[str, ...]]]
SLOTS = "slots"


class FeatureSet(NamedTuple):
    """A function that returns the features of a page's blocks, one list per block.

    If *needs_attributes*, pages must be read with the attributes of their markup.
    """

    features: Callable[[PageBlocks, SlotTable], Features]
    needs_attributes: bool = False


# The default set has no `FeatureSet`: `SiteFeatures` uses a compiled class with a cache.
FEATURE_SETS: PlugIns[FeatureSet] = PlugIns(
    "contentspider.feature_sets", {SLOTS: "contentspider.site.judge.rows:SlotFeatures"}
)


def parse_feature_sets(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of feature sets without duplicates, the default set first.

    Raises ValueError if *names* is empty, or one of them is unknown.
    """
    unique_names = dict.fromkeys(sorted(names, key=lambda name: name != SLOTS))
    if not unique_names:
        raise ValueError(f"the list of feature sets is empty; use {SLOTS!r}")
    try:
        for name in unique_names:
            FEATURE_SETS.check(name)
    except LookupError as error:
        raise ValueError(f"feature set {error}") from error
    return tuple(unique_names)


def needs_attributes(names: Sequence[str]) -> bool:
    """Tell whether one of the feature sets needs pages with the attributes of their markup."""
    return any(FEATURE_SETS.load(name).needs_attributes for name in names if name != SLOTS)


class SiteFeatures:
    """Makes the rows of a site's blocks by the feature sets *names*.

    *table* maps paths to the site's slots. *noise_texts* are the keys of its boilerplate texts.
    """

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
            for row, block_features in zip(rows, features(page, self.table), strict=True):
                if block_features:
                    key = tuple(block_features)
                    row.append(self._groups.setdefault(key, Group(key)))
        return rows
