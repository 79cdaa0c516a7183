"""Classifiers of the papers, over a matrix of numbers, to be compared; none is in production."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from contentspider_research.classifiers.c45 import C45
from contentspider_research.classifiers.pca import ClassComponents, ComponentsLDA

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Matrix = NDArray[np.floating[Any]]
    Labels = NDArray[np.bool_]


class NumberClassifier(Protocol):
    """What learns from a matrix, a row a case, which cases are content, and tells of others."""

    def fit(self, numbers: Matrix, labels: Labels) -> object:
        """Learn; both classes must be among the labels."""

    def predict(self, numbers: Matrix) -> Labels:
        """Tell which cases are content."""


class EntropyTree:
    """scikit-learn's tree by entropy: the largest gain splits, and it is pruned by its size alone.

    Beside C4.5 it says what gain ratio and pessimistic pruning bring.
    """

    def __init__(self) -> None:
        self._tree = DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=2, max_leaf_nodes=200, random_state=0
        )

    def fit(self, numbers: Matrix, labels: Labels) -> EntropyTree:
        """Learn the tree."""
        self._tree.fit(numbers, labels)
        return self

    def predict(self, numbers: Matrix) -> Labels:
        """Tell which cases are content."""
        return np.asarray(self._tree.predict(numbers) if len(numbers) else [], dtype=bool)


class NormalBayes:
    """Naive Bayes, each number normal in a class; of ``log(1 + x)``, since counts are skewed.

    Below 0 the logarithm is that of the amount, with the sign.

    >>> bayes = NormalBayes().fit(np.array([[1], [2], [50], [90]]), np.arange(4) > 1)
    >>> bayes.predict(np.array([[3], [40]])).tolist()
    [False, True]
    """

    # Added to each variance, as a share of the largest: a number that is the same in a class
    # leaves room for others.
    SMOOTHING = 1e-9

    def fit(self, numbers: Matrix, labels: Labels) -> NormalBayes:
        """Learn mean and variance of each number in each class, and how many cases a class has."""
        logs = _log(numbers)
        room = self.SMOOTHING * max(float(logs.var(axis=0).max()), self.SMOOTHING)
        self._classes = [
            (
                np.log((labels == wanted).mean()),
                logs[labels == wanted].mean(axis=0),
                logs[labels == wanted].var(axis=0) + room,
            )
            for wanted in (False, True)
        ]
        return self

    def predict(self, numbers: Matrix) -> Labels:
        """Tell which cases are content."""
        logs = _log(numbers)
        noise, content = (
            share - ((logs - mean) ** 2 / (2 * variance) + np.log(variance) / 2).sum(axis=1)
            for share, mean, variance in self._classes
        )
        return np.asarray(content > noise, dtype=bool)


def _log(numbers: Matrix) -> Matrix:
    amounts = np.asarray(numbers, dtype=float)
    return np.asarray(np.sign(amounts) * np.log1p(np.abs(amounts)))


class ThresholdBayes:
    """Naive Bayes, each number by the interval that it falls in between the thresholds that a C4.5
    tree of the same cases asks for; one more case is counted in each interval.

    >>> bayes = ThresholdBayes().fit(np.array([[1], [2], [50], [90]]), np.arange(4) > 1)
    >>> bayes.predict(np.array([[3], [40]])).tolist()
    [False, True]
    """

    def fit(self, numbers: Matrix, labels: Labels) -> ThresholdBayes:
        """Learn how often each interval occurs in each class."""
        cuts: dict[int, list[float]] = {}
        for column, threshold in C45().fit(numbers, labels).thresholds():
            cuts.setdefault(column, []).append(threshold)
        self._columns = []
        counts = np.array([(~labels).sum(), labels.sum()])
        self._share = float(np.log(counts[1] / counts[0]))
        for column, thresholds in cuts.items():
            interval = np.searchsorted(thresholds, numbers[:, column])
            size = len(thresholds) + 1
            noise, content = (
                (np.bincount(interval[labels == wanted], minlength=size) + 1) / (count + size)
                for wanted, count in zip((False, True), counts, strict=True)
            )
            self._columns.append((column, thresholds, np.log(content / noise)))
        return self

    def predict(self, numbers: Matrix) -> Labels:
        """Tell which cases are content."""
        odds = np.full(len(numbers), self._share)
        for column, thresholds, of_interval in self._columns:
            odds += of_interval[np.searchsorted(thresholds, numbers[:, column])]
        return odds > 0


CLASSIFIERS: dict[str, Callable[[], NumberClassifier]] = {
    "C4.5": C45,
    "entropy tree": EntropyTree,
    "naive Bayes, normal": NormalBayes,
    "naive Bayes, thresholds": ThresholdBayes,
}

# How much of a class its directions are to span, the source does not say.
COMPONENTS: dict[str, Callable[[], NumberClassifier]] = {
    "PCA, one direction": ClassComponents,
    **{
        f"PCA, {share:.0%} of the variance": partial(ClassComponents, share)
        for share in (0.5, 0.8, 0.9, 0.95, 0.99)
    },
    "PCA, 90% of the variance, residuals divided": partial(ClassComponents, 0.9, divided=True),
    "PCA to 30 and LDA": ComponentsLDA,
}
