"""The default classifier of a site: a linear SVM, with one readable weight per feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.site.judge.classifier import UnfitError, matrix_of
from contentspider.site.judge.rows import weigh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from contentspider.site.judge.rows import Feature, Row

# A penalty below 1 smooths labels that differ within a slot. The F1 hardly changes from 0.1 to 3.
PENALTY = 0.3
MAX_WEIGHT = 1e6  # the weights of real sites are below 10
# The slope of the logistic function from margins to probabilities: a margin of 1 becomes 0.95.
STEEPNESS = 3.0


class LinearSVM:
    """A linear SVM over features.

    *weights* has the weight of each feature whose weight is not 0. The margin of a row is
    *intercept* plus the weights of its features.

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
        """Return an SVM trained on *rows*.

        The classes are balanced, since most blocks are boilerplate (Zhou and Mashuq, section 3.4).
        If all labels are equal, or no row has a feature, the SVM gives every block the most
        frequent label. Raises `UnfitError` if a weight is not finite.
        """
        if labels.all() or not labels.any():
            return cls._constant(labels)
        matrix, features = matrix_of(rows)
        if not matrix.nnz:
            return cls._constant(labels)
        # Imported here: filtering does not need its 100 MB.
        from sklearn.svm import LinearSVC

        svm = LinearSVC(
            C=PENALTY, class_weight="balanced", dual=True, random_state=0, max_iter=5_000, tol=1e-2
        )
        svm.fit(matrix, labels, sample_weight=weights / weights.mean())
        if not (np.isfinite(svm.coef_).all() and np.isfinite(svm.intercept_).all()):
            raise UnfitError("the SVM did not converge: it has weights that are no numbers")
        feature_weights = {
            feature: round(weight, 5)
            for feature, weight in zip(features, svm.coef_.ravel().tolist(), strict=True)
            if abs(weight) > 1e-4
        }
        return cls(feature_weights, round(float(svm.intercept_[0]), 5))

    @classmethod
    def _constant(cls, labels: NDArray[np.bool_]) -> LinearSVM:
        """Return an SVM that gives every block the most frequent of *labels*."""
        is_content = bool(len(labels)) and labels.mean() > 0.5
        return cls({}, 1.0 if is_content else -1.0)

    def margins(self, rows: list[Row]) -> NDArray[np.float32]:
        """Return the margin of each row; rows with a margin above 0 are content."""
        return np.array(weigh(rows, self.weights, self.intercept), dtype=np.float32)

    def decide(self, rows: list[Row]) -> NDArray[np.float32]:
        """Return for each row the probability that it is content: the logistic of its margin."""
        return np.asarray(1 / (1 + np.exp(-STEEPNESS * self.margins(rows))), dtype=np.float32)

    def explain(self, row: Row) -> list[tuple[Feature, float]]:
        """Return the features of a row that have a weight, with the weight, the heaviest first."""
        weighted = [
            (feature, self.weights[feature])
            for group in row
            for feature in group
            if feature in self.weights
        ]
        return sorted(weighted, key=lambda entry: -abs(entry[1]))

    def dump(self) -> dict[str, Any]:
        """Return ``intercept``, and ``weights``: a list of ``[family, value ..., weight]``."""
        weights = [[*feature, weight] for feature, weight in sorted(self.weights.items())]
        return {"intercept": self.intercept, "weights": weights}

    @classmethod
    def load(cls, record: Mapping[str, Any]) -> LinearSVM:
        """Return the SVM of a record from `dump`; see `Classifier.load` for the errors."""
        weights = {
            tuple(map(str, feature)): float(weight) for *feature, weight in record["weights"]
        }
        intercept = float(record["intercept"])
        # Sums of larger weights can overflow; a comparison with NaN is false.
        if not all(abs(weight) < MAX_WEIGHT for weight in (intercept, *weights.values())):
            raise ValueError(f"it has a weight that is not a number below {MAX_WEIGHT:g}")
        return cls(weights, intercept)
