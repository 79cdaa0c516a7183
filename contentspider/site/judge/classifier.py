"""The protocol of a site's classifier, and the registry of classifiers by name.

A classifier learns from the rows of a site's blocks (`contentspider.site.judge.rows`). Other
packages add classifiers with an entry point of the group ``contentspider.classifiers``
(docs/extending.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.plugins import PlugIns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix
    from typing_extensions import Self

    from contentspider.site.judge.rows import Feature, Group, Row


class UnfitError(ContentSpiderError):
    """A classifier did not learn from its rows."""

    code = "unfit"


def matrix_of(rows: Sequence[Row]) -> tuple[csr_matrix, list[Feature]]:
    """Return *rows* as a sparse matrix, and the features of its columns.

    The matrix has a row for each of *rows*, a column for each feature that occurs, and the entry 1
    where a row has a feature.
    """
    # Imported here, since filtering does not need SciPy.
    from scipy.sparse import csr_matrix

    column_of: dict[Feature, int] = {}
    columns_of_group: dict[Group, list[int]] = {}
    indices: list[int] = []
    ends = [0]
    for row in rows:
        for group in row:
            columns = columns_of_group.get(group)
            if columns is None:
                columns = [column_of.setdefault(feature, len(column_of)) for feature in group]
                columns_of_group[group] = columns
            indices += columns
        ends.append(len(indices))
    # liblinear takes only 32-bit indices.
    layout = np.asarray(indices, dtype=np.int32), np.asarray(ends, dtype=np.int32)
    matrix = csr_matrix((np.ones(len(indices)), *layout), shape=(len(rows), len(column_of)))
    # A feature that two groups of a row have counts twice, as it does when rows are weighed.
    # Separate entries for it would let liblinear diverge.
    matrix.sum_duplicates()
    return matrix, list(column_of)


class Classifier(Protocol):
    """Gives each block a probability of being content.

    Only `fit` may import libraries for training: filtering pages must not load them.
    """

    @classmethod
    def fit(
        cls, rows: Sequence[Row], labels: NDArray[np.bool_], weights: NDArray[np.floating[Any]]
    ) -> Self:
        """Return a classifier trained on *rows*.

        *rows* may be empty, and all *labels* may be equal. *weights* says how much each row counts.
        Raises `UnfitError` if it cannot learn from them.
        """

    def decide(self, rows: list[Row]) -> NDArray[np.float32]:
        """Return for each row the probability that it is content, from 0 to 1."""

    def explain(self, row: Row) -> list[tuple[Feature, float]]:
        """Return the features of a row and their weights, the strongest first.

        A weight above 0 speaks for content, one below 0 against it.
        """

    def dump(self) -> dict[str, Any]:
        """Return the classifier as JSON values, for `load`."""

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> Self:
        """Return the classifier of a record from `dump`.

        For a damaged record it raises ValueError, LookupError, TypeError or another error of
        `contentspider.ground.errors.DAMAGE`.
        """


CLASSIFIERS: PlugIns[type[Classifier]] = PlugIns(
    "contentspider.classifiers", {"svm": "contentspider.site.judge.svm:LinearSVM"}
)
