"""Features of repeated structure: the cards of a listing, the posts of a discussion, rows, entries.

A *unit* is an element that has siblings of its own selector path; together they are a *series*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from contentspider.page.features.columns import Group
    from contentspider.page.features.containers import ContainerFacts

# So many elements of one path in one parent are a series.
MIN_SERIES = 3


class SeriesFacts:
    """The series of a page's elements: for each element its own, and for each block the innermost
    and the outermost unit that it stands in.
    """

    def __init__(self, sums: ContainerFacts) -> None:
        self.sums = sums
        page = sums.of.page
        ids: dict[tuple[int, str], int] = {}
        of_element = np.array(
            [
                ids.setdefault((parent, path), len(ids))
                for parent, path in zip(page.parents, page.paths, strict=True)
            ]
        )
        size = np.bincount(of_element)
        is_unit = (size[of_element] >= MIN_SERIES) & (sums.number > 0)
        inner: list[int] = []
        outer: list[int] = []
        for element, (parent, unit) in enumerate(zip(page.parents, is_unit.tolist(), strict=True)):
            above = parent >= 0
            within = outer[parent] if above else -1
            inner.append(element if unit else inner[parent] if above else -1)
            outer.append(element if unit and within < 0 else within)
        self.of_element = of_element
        self.size = size
        self.chars = np.bincount(of_element, sums.chars)
        self.linked = np.bincount(of_element, sums.linked)
        self.prose = np.bincount(of_element, sums.prose)
        self.number = np.bincount(of_element, sums.number)
        holders = sums.of.holders
        self.inner, self.outer = np.array(inner)[holders], np.array(outer)[holders]


class UnitFacts:
    """One unit for each block of a page (-1: it stands in none)."""

    def __init__(self, series: SeriesFacts, unit: NDArray[Any]) -> None:
        self.series = series
        self.sums = series.sums
        self.unit = unit
        self.none = unit < 0
        self.own = series.of_element[unit]
        self.chars = np.maximum(series.chars[self.own], 1)
        self.unit_chars = np.maximum(self.sums.chars[unit], 1)

    def known(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return *values*, -1 where a block stands in no unit."""
        return np.where(self.none, -1, values)


UNIT: Group[UnitFacts] = {
    "units": lambda of: of.known(np.log1p(of.series.size[of.own])),
    "share": lambda of: of.known(of.series.chars[of.own] / of.sums.total),
    "link_share": lambda of: of.known(of.series.linked[of.own] / of.chars),
    "prose_share": lambda of: of.known(of.series.prose[of.own] / of.chars),
    "mean_chars": lambda of: of.known(np.log1p(of.chars / of.series.size[of.own])),
    "mean_blocks": lambda of: of.known(np.log1p(of.series.number[of.own] / of.series.size[of.own])),
    "chars": lambda of: of.known(np.log1p(of.unit_chars)),
    "own_link_share": lambda of: of.known(of.sums.linked[of.unit] / of.unit_chars),
    "number": lambda of: of.known(np.minimum(of.sums.positions[of.unit], 30)),
    "place": lambda of: of.known(of.sums.of.index - of.sums.first[of.unit]),
    "weight": lambda of: of.known(of.sums.of.weight / of.unit_chars),
}
