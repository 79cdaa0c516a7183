"""The feature matrix of a page: all groups of features side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features.columns import fill
from contentspider.page.features.containers import (
    LEVEL,
    LEVELS,
    TRUNK,
    ContainerFacts,
    TrunkFacts,
    levels,
)
from contentspider.page.features.neighbours import (
    HINT,
    OFFSET,
    OFFSETS,
    WINDOW,
    HintFacts,
    NeighbourFacts,
    OffsetFacts,
)
from contentspider.page.features.positions import PAGE, POSITION, PageFacts, PositionFacts
from contentspider.page.features.texts import TEXT, TextRows
from contentspider.page.names import PATH_FEATURES, PathNames

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.blocks import PageBlocks
    from contentspider.page.features.columns import Floats
    from contentspider.page.hints import Hints

FEATURE_NAMES: list[str] = [
    *TEXT,
    *POSITION,
    *PAGE,
    *(f"{name}_{level}" for level in LEVELS for name in LEVEL),
    *TRUNK,
    *(f"{name}_{offset:+d}" for offset in OFFSETS for name in OFFSET),
    *WINDOW,
    *HINT,
    *PATH_FEATURES,
]


def _parts(rows: Floats) -> Callable[[int], Floats]:
    """Return a function that gives the next so many columns of *rows*, from the first on."""
    start = 0

    def part(width: int) -> Floats:
        nonlocal start
        start += width
        return rows[:, start - width : start]

    return part


class FeatureExtractor:
    """Computes the feature matrix of pages; keeps what it knows of the paths and texts it has met.

    One extractor serves one site: its cache grows with the site's template, not with its pages.
    """

    def __init__(self) -> None:
        self._names = PathNames()
        self._texts = TextRows()

    def features(self, page: PageBlocks, hints: Hints) -> Floats:
        """Return one row of `FEATURE_NAMES` for each block of the page, as float32."""
        rows = np.empty((len(page.blocks), len(FEATURE_NAMES)), dtype=np.float32)
        if not page.blocks:
            return rows
        parts = _parts(rows)
        text = parts(len(TEXT))
        self._texts.fill(text, page.blocks)
        of = PageFacts(page, text)
        fill(parts(len(POSITION)), POSITION, PositionFacts(of))
        fill(parts(len(PAGE)), PAGE, of)
        sums = ContainerFacts(of)
        for level in levels(sums):
            fill(parts(len(LEVEL)), LEVEL, level)
        fill(parts(len(TRUNK)), TRUNK, TrunkFacts(sums))
        near = NeighbourFacts(of)
        for offset in OFFSETS:
            fill(parts(len(OFFSET)), OFFSET, OffsetFacts(near, offset))
        fill(parts(len(WINDOW)), WINDOW, of)
        fill(parts(len(HINT)), HINT, HintFacts(page.blocks, hints))
        names = parts(len(PATH_FEATURES))
        for number, block in enumerate(page.blocks):
            names[number] = self._names.row(block.path)
        return rows
