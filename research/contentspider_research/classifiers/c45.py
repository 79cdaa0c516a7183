"""C4.5 (Quinlan, 1993): a decision tree by gain ratio, pruned by its pessimistic error.

Splits are binary, on a number's threshold; a name is a number that is 0 or 1. Of pruning the
replacement of a subtree by a leaf is built, its raising is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Matrix = NDArray[np.floating[Any]]

# Quinlan's defaults.
MIN_CASES = 2
CONFIDENCE = 0.25
# Of a gain that is but the error of sums nothing is learned.
LEAST_GAIN = 1e-9
# Quinlan's program lets a leaf be worse than its subtree by so many cases.
LENIENCY = 0.1


@dataclass(slots=True)
class Node:
    """A node and the cases of both classes that it was learned from; cases at or below the
    *threshold* of its *column* go *low*. A leaf has no column (-1).
    """

    content: int
    noise: int
    column: int = -1
    threshold: float = 0.0
    low: Node | None = None
    high: Node | None = None

    @property
    def errors(self) -> float:
        """Return the errors to be expected of it as a leaf: the upper limit of the binomial
        distribution of those that it makes.
        """
        cases, wrong = self.content + self.noise, min(self.content, self.noise)
        return cases * pessimistic_error(cases, wrong)


def pessimistic_error(cases: int, wrong: int) -> float:
    """Return the share of errors that *wrong* of *cases* lets fear at `CONFIDENCE`.

    >>> round(pessimistic_error(6, 0), 3), round(pessimistic_error(9, 0), 3)
    (0.206, 0.143)
    """
    if wrong >= cases:
        return 1.0
    return float(betaincinv(wrong + 1, cases - wrong, 1 - CONFIDENCE))


def entropy(content: Matrix, noise: Matrix) -> Matrix:
    """Return the entropy, in bits, of nodes with so many cases of each class; 0 if pure or empty.

    >>> entropy(np.array([9.0, 4.0]), np.array([5.0, 0.0])).round(3).tolist()
    [0.94, 0.0]
    """
    total = np.maximum(content + noise, 1)
    found = np.zeros_like(total)
    for share in (content / total, noise / total):
        found -= share * np.log2(np.where(share > 0, share, 1))
    return found


class C45:
    """A tree over a matrix of numbers, a row a case, and whether each case is content.

    >>> humidity = np.array([[65], [70], [70], [75], [80], [85], [90], [95]])
    >>> play = np.array([True, True, True, True, True, False, False, False])
    >>> tree = C45().fit(humidity, play)
    >>> tree.root.threshold, tree.predict(np.array([[82], [83]])).tolist()
    (82.5, [True, False])
    """

    def __init__(self) -> None:
        self.root = Node(0, 0)

    def fit(self, numbers: Matrix, labels: NDArray[np.bool_]) -> C45:
        """Learn the tree."""
        self.root = _grow(np.asarray(numbers, dtype=float), np.asarray(labels, dtype=bool))
        _prune(self.root)
        return self

    def predict(self, numbers: Matrix) -> NDArray[np.bool_]:
        """Tell which cases are content; of a leaf with as many of either they are not."""
        # Between neighbours among the floats of a shorter type there is none of that type.
        numbers = np.asarray(numbers, dtype=float)
        found = np.zeros(len(numbers), dtype=bool)
        waiting = [(self.root, np.arange(len(numbers)))]
        while waiting:
            node, cases = waiting.pop()
            if node.low is None or node.high is None:
                found[cases] = node.content > node.noise
            else:
                is_low = numbers[cases, node.column] <= node.threshold
                waiting += [(node.low, cases[is_low]), (node.high, cases[~is_low])]
        return found

    def thresholds(self) -> list[tuple[int, float]]:
        """Return the columns and thresholds that the tree asks for, each once, in order."""
        found, waiting = set(), [self.root]
        while waiting:
            node = waiting.pop()
            if node.low is not None and node.high is not None:
                found.add((node.column, node.threshold))
                waiting += [node.low, node.high]
        return sorted(found)


def best_split(ordered: Matrix, labels: NDArray[np.bool_]) -> tuple[int, float] | None:
    """Return the column and threshold of a node's split; None if there is nothing to gain.

    *ordered* are its cases' values, a row a column, each in order, and *labels* whether the case
    that each value is of is content. Of each column the threshold with the largest gain counts; of
    those that gain the mean of all at least, the one with the largest gain ratio.
    """
    cases = labels.shape[1]
    total = int(labels[0].sum())
    if total in (0, cases) or cases < 2 * MIN_CASES:
        return None
    # Entropies of so many cases, times their number, are sums of k log k.
    amounts = np.arange(cases + 1, dtype=np.int32)
    weighed = amounts * np.log2(np.maximum(amounts, 1))
    below = amounts[1:-1]
    low = np.cumsum(labels[:, :-1], axis=1, dtype=np.int32)
    gain = weighed[low]
    for part in (below - low, total - low, (cases - total) - (below - low)):
        gain += weighed[part]
    gain -= weighed[below] + weighed[cases - below]
    gain += weighed[cases] - weighed[total] - weighed[cases - total]
    gain /= cases
    gain[:, : MIN_CASES - 1] = 0
    gain[:, cases - MIN_CASES :] = 0
    gain[ordered[:, :-1] == ordered[:, 1:]] = 0
    at = gain.argmax(axis=1)
    gains = gain[np.arange(len(gain)), at]
    columns = np.flatnonzero(gains > LEAST_GAIN)
    if not len(columns):
        return None
    at, gains = at[columns], gains[columns]
    below = below.astype(float)
    ratios = gains / entropy(below[at], cases - below[at])
    ratios[gains < gains.mean() - LEAST_GAIN] = 0
    best = int(ratios.argmax())
    column, place = int(columns[best]), int(at[best])
    left, right = float(ordered[column, place]), float(ordered[column, place + 1])
    middle = (left + right) / 2
    return column, middle if left < middle < right else left  # neighbours among floats


def _grow(numbers: Matrix, labels: NDArray[np.bool_]) -> Node:
    """Return the tree as it is before pruning; without recursion, since its depth is the data's."""
    root = Node(int(labels.sum()), int((~labels).sum()))
    values = np.ascontiguousarray(numbers.T)
    # The cases in the order of each column, which is sorted once: parts of it stay in order.
    waiting = [(root, np.argsort(values, axis=1, kind="stable").astype(np.int32))]
    while waiting:
        node, order = waiting.pop()
        split = best_split(np.take_along_axis(values, order, axis=1), labels[order])
        if split:
            node.column, node.threshold = split
            is_low = (values[node.column] <= node.threshold)[order]
            children = []
            for part in (order[is_low], order[~is_low]):
                part = part.reshape(len(order), -1)
                content = int(labels[part[0]].sum())
                children.append(Node(content, part.shape[1] - content))
                waiting.append((children[-1], part))
            node.low, node.high = children
    return root


def _prune(root: Node) -> None:
    """Make a leaf of each node of whose subtree no fewer errors are to be expected."""
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += [child for child in (node.low, node.high) if child]
    expected: dict[int, float] = {}
    for node in reversed(order):  # children before their parents
        errors = node.errors
        if node.low and node.high:
            subtree = expected[id(node.low)] + expected[id(node.high)]
            if errors <= subtree + LENIENCY:
                node.column, node.low, node.high = -1, None, None
            else:
                errors = subtree
        expected[id(node)] = errors
