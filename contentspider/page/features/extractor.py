"""The feature matrix of a page: all groups of features side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from contentspider.page.features.columns import fill
from contentspider.page.features.containers import (
    ELEMENT,
    LANDMARK,
    LANDMARKS,
    LEVEL,
    LEVELS,
    TRUNK,
    ContainerFacts,
    LandmarkFacts,
    TrunkFacts,
    levels,
)
from contentspider.page.features.neighbours import (
    HINT,
    OFFSET,
    OFFSETS,
    WINDOWS,
    HintFacts,
    OffsetFacts,
    WindowFacts,
)
from contentspider.page.features.positions import PAGE, POSITION, PageFacts, PositionFacts
from contentspider.page.features.texts import TEXT, SaidTexts, TextFacts
from contentspider.page.features.units import UNIT, SeriesFacts, UnitFacts
from contentspider.page.names import PATH_FEATURES, name_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.blocks import PageBlocks
    from contentspider.page.features.columns import Floats
    from contentspider.page.hints import Hints

FEATURE_NAMES: list[str] = [
    *TEXT,
    *POSITION,
    *PAGE,
    *(f"{name}_{level}" for level in LEVELS for name in (*ELEMENT, *LEVEL)),
    *TRUNK,
    *(f"{name}_{offset:+d}" for offset in OFFSETS for name in OFFSET),
    *(name for group, _ in WINDOWS for name in group),
    *HINT,
    *PATH_FEATURES,
    *(f"{tag}_{name}" for tag in LANDMARKS for name in LANDMARK),
    *(f"{unit}_{name}" for unit in ("inner", "outer") for name in UNIT),
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
        self._names = name_rows()
        self._said = SaidTexts()

    def features(self, page: PageBlocks, hints: Hints) -> Floats:
        """Return one row of `FEATURE_NAMES` for each block of the page, as float32."""
        blocks = page.blocks
        rows = np.empty((len(blocks), len(FEATURE_NAMES)), dtype=np.float32)
        if not blocks:
            return rows
        parts = _parts(rows)
        text = TextFacts(blocks, self._said)
        fill(parts(len(TEXT)), TEXT, text)
        of = PageFacts(page, text)
        fill(parts(len(POSITION)), POSITION, PositionFacts(of))
        fill(parts(len(PAGE)), PAGE, of)
        sums = ContainerFacts(of)
        elements = np.empty((len(page.parents), len(ELEMENT)), dtype=np.float32)
        fill(elements, ELEMENT, sums)
        for level in levels(sums):
            parts(len(ELEMENT))[:] = elements[level.at]
            fill(parts(len(LEVEL)), LEVEL, level)
        fill(parts(len(TRUNK)), TRUNK, TrunkFacts(sums))
        for offset in OFFSETS:
            fill(parts(len(OFFSET)), OFFSET, OffsetFacts(of, offset))
        for group, reach in WINDOWS:
            fill(parts(len(group)), group, WindowFacts(of, reach))
        fill(parts(len(HINT)), HINT, HintFacts(of, hints))
        self._names.fill(parts(len(PATH_FEATURES)), blocks)
        for tag in LANDMARKS:
            fill(parts(len(LANDMARK)), LANDMARK, LandmarkFacts(sums, tag))
        series = SeriesFacts(sums)
        for unit in (series.inner, series.outer):
            fill(parts(len(UNIT)), UNIT, UnitFacts(series, unit))
        return rows
