"""Computes the feature matrix of a page: all groups of features side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.about.hints import PAGE_KINDS
from contentspider.page.features._containers import (
    ELEMENT,
    LANDMARK,
    LANDMARKS,
    LEVELS,
    TRUNK,
    fill_landmarks,
    fill_levels,
    fill_trunk,
)
from contentspider.page.features._facts import TEXT, PageFacts, fill_texts
from contentspider.page.features._neighbours import (
    HINT,
    OFFSET,
    OFFSETS,
    WINDOW,
    fill_hints,
    fill_offsets,
    fill_windows,
)
from contentspider.page.features._positions import PAGE, POSITION, fill_page, fill_positions
from contentspider.page.features.links import LINK, fill_links
from contentspider.page.words.names import PATH_FEATURES, NameRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.about.hints import Hints
    from contentspider.page.tree.blocks import PageBlocks

# The kinds that the page declares. All blocks of a page have the same values.
KIND = [f"page_is_{kind}" for kind in PAGE_KINDS]
GROUPS: dict[str, list[str]] = {
    "text": TEXT,
    "position": POSITION,
    "page": PAGE,
    "levels": [f"{name}_{at}" for at in LEVELS for name in ELEMENT],
    "trunk": TRUNK,
    "offsets": [f"{name}_{at:+d}" for at in OFFSETS for name in OFFSET],
    "windows": WINDOW,
    "hints": HINT,
    "path": PATH_FEATURES,
    **{tag: [f"{tag}_{name}" for name in LANDMARK] for tag in LANDMARKS},
    "links": LINK,
    "kind": KIND,
}
# The functions that write the groups which depend on the blocks and elements only.
WRITERS = {
    "text": fill_texts,
    "position": fill_positions,
    "page": fill_page,
    "levels": fill_levels,
    "trunk": fill_trunk,
    "offsets": fill_offsets,
    "windows": fill_windows,
}
FEATURE_NAMES: list[str] = [name for names in GROUPS.values() for name in names]
# The first column of each group.
STARTS = dict(zip(GROUPS, np.cumsum([0, *map(len, GROUPS.values())]).tolist(), strict=False))


class FeatureExtractor:
    """Computes the feature matrices of a site's pages, and caches the features of their paths."""

    def __init__(self) -> None:
        self._names = NameRows()

    def features(self, page: PageBlocks, hints: Hints) -> NDArray[np.float32]:
        """Return a matrix with a row for each block and a column for each of `FEATURE_NAMES`."""
        blocks = page.blocks
        rows = np.empty((len(blocks), len(FEATURE_NAMES)), dtype=np.float32)
        if not blocks:
            return rows
        facts = PageFacts(page)
        for group, write in WRITERS.items():
            write(facts, rows, STARTS[group])
        fill_links(blocks, rows, STARTS["links"])
        fill_hints(facts, hints.titles, hints.descriptions, rows, STARTS["hints"])
        start = STARTS["path"]
        self._names.fill(rows[:, start : start + len(PATH_FEATURES)], blocks)
        rows[:, STARTS["kind"] :] = [kind in hints.page_kinds for kind in PAGE_KINDS]
        for tag in LANDMARKS:
            fill_landmarks(facts, rows, STARTS[tag], tag)
        return rows
