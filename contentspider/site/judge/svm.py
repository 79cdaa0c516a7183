"""The default classifier of a site: a linear SVM, which has one readable weight a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.site.judge.classifier import matrix_of
from contentspider.site.judge.rows import weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from contentspider.site.judge.rows import Feature, Row

# Less than 1 smooths labels that differ within a slot; measured flat between 0.1 and 3.
PENALTY = 0.3
MAX_WEIGHT = 1e6  # those of real sites are below 10
STEEPNESS = 3.0  # of the probability over the margin: at a margin of 1 it is 0.95


class LinearSVM:
    """A linear SVM over features; *weights* has those that are not 0, to which *intercept* is
    added.

    >>> from contentspider.site.judge.rows import Group
    >>> links, text = [Group((("links", "3"),))], [Group((("length", "6"),))]
    >>> svm = LinearSVM.fit([links, text], np.array([False, True]), np.ones(2))
    >>> svm.decide([links, text]).round(1)
    array([0.2, 0.8], dtype=float32)
    >>> svm.explain(text)[0][0]
    ('length', '6')
    """

    def __init__(self, weights: dict[Feature, float], intercept: float) -> None:
        self.weights = weights
        self.intercept = intercept

    @classmethod
    def fit(
        cls, rows: Sequence[Row], labels: NDArray[np.bool_], weights: NDArray[np.floating[Any]]
    ) -> LinearSVM:
        """Return an SVM of *rows*, with balanced classes (Zhou and Mashuq, section 3.4), since most
        is boilerplate. With one class or no feature all blocks are of the commonest class.
        """
        if labels.all() or not labels.any() or not (made := matrix_of(rows))[0].nnz:
            return cls({}, 1.0 if len(labels) and labels.mean() > 0.5 else -1.0)
        matrix, features = made
        # Imported here: filtering does not need its 100 MB.
        from sklearn.svm import LinearSVC

        svm = LinearSVC(
            C=PENALTY, class_weight="balanced", dual=True, random_state=0, max_iter=5_000, tol=1e-2
        )
        svm.fit(matrix, labels, sample_weight=weights / weights.mean())
        found = {
            feature: round(weight, 5)
            for feature, weight in zip(features, svm.coef_.ravel().tolist(), strict=True)
            if abs(weight) > 1e-4
        }
        return cls(found, round(float(svm.intercept_[0]), 5))

    def margins(self, rows: list[Row]) -> NDArray[np.float32]:
        """Return how far each row is from the border; above 0 is content."""
        return np.array(weigh(rows, self.weights, self.intercept), dtype=np.float32)

    def decide(self, rows: list[Row]) -> NDArray[np.float32]:
        """Return for each row the probability that it is content: a logistic of its margin."""
        return np.asarray(1 / (1 + np.exp(-STEEPNESS * self.margins(rows))), dtype=np.float32)

    def explain(self, row: Row) -> list[tuple[Feature, float]]:
        """Return the features that have a weight, with it, the heaviest first."""
        found = [
            (feature, self.weights[feature])
            for group in row
            for feature in group
            if feature in self.weights
        ]
        return sorted(found, key=lambda entry: -abs(entry[1]))

    def dump(self) -> dict[str, Any]:
        """Return ``intercept``, and ``weights``: a list of ``[family, value ..., weight]``."""
        weights = [[*feature, weight] for feature, weight in sorted(self.weights.items())]
        return {"intercept": self.intercept, "weights": weights}

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> LinearSVM:
        """Return the SVM that `dump` described; damage raises ValueError and its like."""
        weights = {
            tuple(map(str, feature)): float(weight) for *feature, weight in record["weights"]
        }
        intercept = float(record["intercept"])
        # Sums of larger ones are no numbers.
        if not all(abs(weight) < MAX_WEIGHT for weight in (intercept, *weights.values())):
            raise ValueError("it has weights without bounds")
        return cls(weights, intercept)
