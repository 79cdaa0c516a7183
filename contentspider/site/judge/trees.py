"""Boosted trees that are stored as plain arrays, so that loading them cannot run code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from contentspider.site.judge._forest import Forest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

TABLES = {
    "roots": np.int32,
    "feature": np.int16,
    "threshold": np.float32,
    "left": np.int32,
    "right": np.int32,
    "value": np.float32,
}


@dataclass(frozen=True, slots=True)
class Trees:
    """A binary classifier that consists of boosted trees.

    A row falls into one leaf of each tree. Its probability is the logistic function of the sum of
    these leaves' values and *baseline*.

    The nodes of all trees are in one table; the other arrays have one entry per node. *roots* has
    the number of each tree's first node. A node with *feature* -1 is a leaf with *value*. Any other
    node sends a row to the node *left* if the row's feature is at most *threshold*, and otherwise
    to the node *right*.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: NDArray[np.float32]
    baseline: float
    _forest: Forest = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        forest = Forest(*(np.ascontiguousarray(getattr(self, name)) for name in TABLES))
        object.__setattr__(self, "_forest", forest)

    @classmethod
    def mean(cls, forests: Sequence[Trees]) -> Trees:
        """Return trees whose log odds are the mean of the log odds of all *forests*."""
        tables: list[dict[str, Any]] = [trees.arrays() for trees in forests]
        first = 0
        for table in tables:
            for name in ("roots", "left", "right"):
                table[name] = table[name] + first
            table["value"] = table["value"] / len(forests)
            first += len(table["feature"])
        joined = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
        return cls.from_arrays(joined | {"baseline": joined["baseline"].mean(keepdims=True)})

    def probabilities(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the probability of the positive class for each row, from 0 to 1."""
        scores = np.full(len(rows), self.baseline)
        self._forest.add_values(np.ascontiguousarray(rows), scores)
        return np.asarray(1 / (1 + np.exp(-scores)), dtype=np.float32)

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the tables by name, for `from_arrays`."""
        tables = {name: getattr(self, name) for name in TABLES}
        return tables | {"baseline": np.array([self.baseline])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> Trees:
        """Return the trees of tables from `arrays`; damaged tables raise KeyError or ValueError."""
        tables = {name: np.asarray(arrays[name], dtype=kind) for name, kind in TABLES.items()}
        return cls(**tables, baseline=float(np.asarray(arrays["baseline"])[0]))
