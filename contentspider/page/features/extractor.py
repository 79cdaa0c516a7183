"""The feature matrix of a page: all groups of features side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features import _containers, _neighbours, _positions, _units
from contentspider.page.features.facts import _texts
from contentspider.page.features.facts._facts import PageFacts
from contentspider.page.words.names import PATH_FEATURES, NameRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.about.hints import Hints
    from contentspider.page.blocks import PageBlocks

LANDMARKS = _containers.LANDMARKS
GROUPS: dict[str, list[str]] = {
    "text": _texts.TEXT,
    "position": _positions.POSITION,
    "page": _positions.PAGE,
    "levels": [f"{name}_{at}" for at in _containers.LEVELS for name in _containers.ELEMENT],
    "trunk": _containers.TRUNK,
    "offsets": [f"{name}_{at:+d}" for at in _neighbours.OFFSETS for name in _neighbours.OFFSET],
    "windows": _neighbours.WINDOW,
    "hints": _neighbours.HINT,
    "path": PATH_FEATURES,
    **{tag: [f"{tag}_{name}" for name in _containers.LANDMARK] for tag in LANDMARKS},
    "units": [f"{unit}_{name}" for unit in ("inner", "outer") for name in _units.UNIT],
}
# What writes the groups that depend on the blocks and elements alone.
WRITERS = {
    "text": _texts.fill_texts,
    "position": _positions.fill_positions,
    "page": _positions.fill_page,
    "levels": _containers.fill_levels,
    "trunk": _containers.fill_trunk,
    "offsets": _neighbours.fill_offsets,
    "windows": _neighbours.fill_windows,
    "units": _units.fill_units,
}
FEATURE_NAMES: list[str] = [name for names in GROUPS.values() for name in names]
# The column in which each group begins.
STARTS = dict(zip(GROUPS, np.cumsum([0, *map(len, GROUPS.values())]).tolist(), strict=False))


class FeatureExtractor:
    """Computes the feature matrix of pages; keeps what it knows of the paths that it has met.

    One extractor serves one site: its cache grows with the site's template, not with its pages.
    """

    def __init__(self) -> None:
        self._names = NameRows()

    def features(self, page: PageBlocks, hints: Hints) -> NDArray[np.float32]:
        """Return one row of `FEATURE_NAMES` for each block of the page, as float32."""
        blocks = page.blocks
        rows = np.empty((len(blocks), len(FEATURE_NAMES)), dtype=np.float32)
        if not blocks:
            return rows
        facts = PageFacts(page)
        for group, write in WRITERS.items():
            write(facts, rows, STARTS[group])
        _neighbours.fill_hints(facts, hints.titles, hints.descriptions, rows, STARTS["hints"])
        start = STARTS["path"]
        self._names.fill(rows[:, start : start + len(PATH_FEATURES)], blocks)
        for tag in LANDMARKS:
            _containers.fill_landmarks(facts, rows, STARTS[tag], tag)
        return rows
