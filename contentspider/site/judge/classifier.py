"""The protocol of a site's classifier, and those that are known by name.

A classifier learns from the rows of a site's blocks (`contentspider.site.judge.rows`) which are
content, and tells how probably a block is. The linear SVM is the first; a package adds its own with
an entry point of the group ``contentspider.classifiers``, without a change here
(docs/extending.md).
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


class Columns:
    """Numbers for features, in the order in which they are met: the columns of a classifier's
    matrix.

    >>> from contentspider.site.judge.rows import Group
    >>> columns, link = Columns(), Group((("links", "3"),))
    >>> columns.matrix([[link], [link, Group((("length", "6"),))]]).toarray().tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    >>> columns.numbers
    {('links', '3'): 0, ('length', '6'): 1}
    """

    def __init__(self) -> None:
        self.numbers: dict[Feature, int] = {}

    def matrix(self, rows: Sequence[Row]) -> csr_matrix:
        """Return *rows* as a sparse matrix, a row each, 1 where it has a feature; new features get
        new columns.
        """
        # Imported here: who filters with a model that is there needs no SciPy.
        from scipy.sparse import csr_matrix

        number = self.numbers
        of_group: dict[Group, list[int]] = {}
        indices: list[int] = []
        ends = [0]
        for row in rows:
            for group in row:
                columns = of_group.get(group)
                if columns is None:
                    columns = of_group[group] = [
                        number.setdefault(feature, len(number)) for feature in group
                    ]
                indices += columns
            ends.append(len(indices))
        # liblinear takes 32-bit indices only.
        return csr_matrix(
            (
                np.ones(len(indices)),
                np.asarray(indices, dtype=np.int32),
                np.asarray(ends, dtype=np.int32),
            ),
            shape=(len(rows), len(number)),
        )


class Classifier(Protocol):
    """Tells from a block's features how probably it is content.

    All of it but `fit` must do without the libraries of learning: a crawl that only filters does
    not load them.
    """

    @classmethod
    def fit(
        cls, rows: Sequence[Row], labels: NDArray[np.bool_], weights: NDArray[np.floating[Any]]
    ) -> Self:
        """Return a classifier of *rows*, of which *labels* says whether they are content and
        *weights* how much they count. There may be no row, and only one label.
        """

    def decide(self, rows: list[Row]) -> NDArray[np.float32]:
        """Return for each row the probability that it is content, from 0 to 1; above 0.5 is
        kept.
        """

    def explain(self, row: Row) -> list[tuple[Feature, float]]:
        """Return what spoke for content (above 0) and against it (below), the strongest first."""

    def dump(self) -> dict[str, Any]:
        """Return what `load` needs, as values that JSON has."""

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> Self:
        """Return the classifier that `dump` described; a damaged record raises ValueError,
        KeyError, TypeError or AttributeError.
        """


CLASSIFIERS: PlugIns[type[Classifier]] = PlugIns(
    "contentspider.classifiers", {"svm": "contentspider.site.judge.svm:LinearSVM"}
)
