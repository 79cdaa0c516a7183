"""A classifier by principal components (Neha and Thomas, 2016): a case is of the class whose main
directions leave least of it unsaid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.floating[Any]]
    Labels = NDArray[np.bool_]

# So much less than it is said of numbers that never differ.
STILL = 1e-6


class ClassComponents:
    """Of each class the mean and the directions that span it, of scaled numbers: as many as have
    *share* of its variance, or the first one (None). What is left of a case is divided by what is
    left of the class's own cases in the mean if *divided*.

    >>> numbers = np.array([[-2.0, 0], [2, 0], [9, 7], [9, 11.0]])
    >>> classes = ClassComponents().fit(numbers, np.array([False, False, True, True]))
    >>> classes.predict(np.array([[5.0, 1], [8, 20.0]])).tolist()
    [False, True]
    """

    def __init__(self, share: float | None = None, divided: bool = False) -> None:
        self.share = share
        self.divided = divided

    def fit(self, numbers: Matrix, labels: Labels) -> ClassComponents:
        """Learn both classes."""
        numbers = np.asarray(numbers, dtype=float)
        self._mean, deviation = numbers.mean(axis=0), numbers.std(axis=0)
        self._scale = np.where(deviation > STILL, deviation, 1.0)
        scaled = (numbers - self._mean) / self._scale
        self._classes = [self._components(scaled[labels == wanted]) for wanted in (False, True)]
        return self

    def _components(self, cases: Matrix) -> tuple[Matrix, Matrix, float]:
        """Return a class's mean, the directions that span it, and what its cases are divided by.

        The directions are of the centred cases themselves: of few cases the covariance is singular.
        """
        mean = cases.mean(axis=0)
        _, sizes, directions = np.linalg.svd(cases - mean, full_matrices=False)
        shares = np.cumsum(sizes**2) / max(float((sizes**2).sum()), STILL)
        count = 1 if self.share is None else int(np.searchsorted(shares, self.share)) + 1
        span = directions[:count]
        left = float(_left(cases, mean, span).mean()) if self.divided else 1.0
        return mean, span, max(left, STILL)

    def predict(self, numbers: Matrix) -> Labels:
        """Tell which cases are nearer to what content spans."""
        scaled = (np.asarray(numbers, dtype=float) - self._mean) / self._scale
        noise, content = (_left(scaled, mean, span) / left for mean, span, left in self._classes)
        return np.asarray(content < noise, dtype=bool)


def _left(cases: Matrix, mean: Matrix, span: Matrix) -> Matrix:
    """Return the squared distance of cases from what a class spans."""
    centred = cases - mean
    return np.asarray((centred**2).sum(axis=1) - ((centred @ span.T) ** 2).sum(axis=1))


class ComponentsLDA:
    """A linear discriminant of the first thirty principal components of all cases."""

    COUNT = 30

    def fit(self, numbers: Matrix, labels: Labels) -> ComponentsLDA:
        """Learn components and discriminant."""
        count = min(self.COUNT, *np.shape(numbers))
        self._pipeline = make_pipeline(
            StandardScaler(), PCA(count, random_state=0), LinearDiscriminantAnalysis()
        )
        self._pipeline.fit(np.asarray(numbers, dtype=float), labels)
        return self

    def predict(self, numbers: Matrix) -> Labels:
        """Tell which cases are content."""
        return np.asarray(self._pipeline.predict(numbers) if len(numbers) else [], dtype=bool)
