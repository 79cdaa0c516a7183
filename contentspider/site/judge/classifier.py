"""The protocol of a site's classifier, and those that are known by name.

A classifier learns from the rows of a site's blocks (`contentspider.site.judge.rows`). A package
adds its own with an entry point of the group ``contentspider.classifiers`` (docs/extending.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from contentspider.ground.plugins import PlugIns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix
    from typing_extensions import Self

    from contentspider.site.judge.rows import Feature, Group, Row


def matrix_of(rows: Sequence[Row]) -> tuple[csr_matrix, list[Feature]]:
    """Return *rows* as a sparse matrix, 1 where a row has a feature; and the columns' features."""
    # Imported here: filtering needs no SciPy.
    from scipy.sparse import csr_matrix

    number: dict[Feature, int] = {}
    of_group: dict[Group, list[int]] = {}
    indices: list[int] = []
    ends = [0]
    for row in rows:
        for group in row:
            columns = of_group.get(group)
            if columns is None:
                columns = [number.setdefault(feature, len(number)) for feature in group]
                of_group[group] = columns
            indices += columns
        ends.append(len(indices))
    # liblinear takes 32-bit indices only.
    places = np.asarray(indices, dtype=np.int32), np.asarray(ends, dtype=np.int32)
    matrix = csr_matrix((np.ones(len(indices)), *places), shape=(len(rows), len(number)))
    return matrix, list(number)


class Classifier(Protocol):
    """Tells how probably a block is content; only `fit` may load libraries of learning."""

    @classmethod
    def fit(
        cls, rows: Sequence[Row], labels: NDArray[np.bool_], weights: NDArray[np.floating[Any]]
    ) -> Self:
        """Return a classifier of *rows*, which may be none, and of one label only."""

    def decide(self, rows: list[Row]) -> NDArray[np.float32]:
        """Return for each row the probability that it is content, from 0 to 1."""

    def explain(self, row: Row) -> list[tuple[Feature, float]]:
        """Return what speaks for content (above 0) and against it (below), strongest first."""

    def dump(self) -> dict[str, Any]:
        """Return what `load` needs, as JSON values."""

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> Self:
        """Return what `dump` described; raises ValueError, LookupError, TypeError and such."""


CLASSIFIERS: PlugIns[type[Classifier]] = PlugIns(
    "contentspider.classifiers", {"svm": "contentspider.site.judge.svm:LinearSVM"}
)
