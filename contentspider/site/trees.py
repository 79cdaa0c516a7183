"""Boosted trees as plain arrays: a scikit-learn classifier that is data, not code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from sklearn.ensemble import HistGradientBoostingClassifier

# Rows that are walked down all trees at once: the work arrays stay in the processor's cache.
CHUNK = 128
TABLES = ("roots", "feature", "threshold", "left", "right", "value")


@dataclass(frozen=True, slots=True)
class Trees:
    """A binary classifier: the sum of the leaves that a row falls into, through the logistic
    function.

    The nodes of all trees stand in one table. *roots* has the first node of each tree; a node with
    *feature* -1 is a leaf with *value*, any other sends a row to *left* if its feature is at most
    *threshold*, else to *right*.

    >>> nodes = {"feature": [0, -1, -1], "threshold": [5, 0, 0], "left": [1, 1, 2], "right": [2, 1, 2]}
    >>> tables = {"roots": np.zeros(1, int), "value": np.array([0.0, -2.0, 2.0]), "baseline": [0.0]}
    >>> trees = Trees.from_arrays(tables | {name: np.array(table) for name, table in nodes.items()})
    >>> trees.probabilities(np.array([[3.0], [8.0]], dtype=np.float32)).round(2)
    array([0.12, 0.88], dtype=float32)
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]
    baseline: float

    @classmethod
    def from_classifier(cls, classifier: HistGradientBoostingClassifier) -> Trees:
        """Copy the trees of a fitted binary classifier on numeric features without missing
        values.
        """
        tables = [predictors[0].nodes for predictors in classifier._predictors]
        offsets = np.cumsum([0] + [len(table) for table in tables])
        nodes = np.concatenate(tables)
        shift = np.repeat(offsets[:-1], [len(table) for table in tables])
        leaf = nodes["is_leaf"].astype(bool)
        own = np.arange(len(nodes))
        return cls(
            roots=offsets[:-1].astype(np.int32),
            feature=np.where(leaf, -1, nodes["feature_idx"]).astype(np.int16),
            threshold=np.where(leaf, 0, nodes["num_threshold"]).astype(np.float32),
            left=np.where(leaf, own, nodes["left"] + shift).astype(np.int32),
            right=np.where(leaf, own, nodes["right"] + shift).astype(np.int32),
            value=np.where(leaf, nodes["value"], 0).astype(np.float32),
            baseline=float(classifier._baseline_prediction.ravel()[0]),
        )

    def probabilities(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability of the positive class for each row, from 0 to 1."""
        result = np.empty(len(rows), dtype=np.float32)
        for start in range(0, len(rows), CHUNK):
            result[start : start + CHUNK] = self._chunk(rows[start : start + CHUNK])
        return result

    def _chunk(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        count, width = rows.shape
        flat = np.ascontiguousarray(rows, dtype=np.float32).ravel()
        trees = len(self.roots)
        # One entry for each row in each tree; those that reached a leaf leave the walk.
        nodes = np.tile(self.roots, count)
        base = np.repeat(np.arange(count, dtype=np.int64) * width, trees)
        active = np.arange(len(nodes))
        current = nodes
        while len(active):
            feature = self.feature[current]
            goes_left = flat[base + feature] <= self.threshold[current]
            current = np.where(goes_left, self.left[current], self.right[current])
            nodes[active] = current
            inner = self.feature[current] >= 0
            active, current, base = active[inner], current[inner], base[inner]
        scores = self.baseline + self.value[nodes].reshape(count, trees).sum(
            axis=1, dtype=np.float64
        )
        return np.asarray(1 / (1 + np.exp(-scores)), dtype=np.float32)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the tables to save, by name."""
        return {name: getattr(self, name) for name in TABLES} | {
            "baseline": np.array([self.baseline])
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Trees:
        """Return what `arrays` described; a missing or malformed table raises KeyError or
        ValueError.
        """
        found = {name: np.asarray(arrays[name]) for name in TABLES}
        own = np.arange(len(found["feature"]))
        for name in ("left", "right"):
            # Children stand behind their parents: a walk always ends, whatever the file says.
            ahead = (found[name] > own) | (found["feature"] < 0)
            if not ahead.all() or (found[name] >= len(own)).any():
                raise ValueError(f"the trees' {name!r} table is malformed")
        return cls(**found, baseline=float(np.asarray(arrays["baseline"])[0]))
