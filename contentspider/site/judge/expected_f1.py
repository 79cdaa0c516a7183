"""The choice of blocks with the highest expected F1, for a single page that the prior is unsure of.

And two more operations on probabilities: moving their threshold, and averaging two judges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# If the best choice's expected F1 is at least this, the prior's probabilities are not changed
# (research/NOTES.md).
SURE_F1 = 0.7
# If no block of a page is this probable, no block is kept: even the best choice would be wrong.
MIN_PROBABILITY = 0.3


def maximise_expected_f1(
    probabilities: NDArray[np.float32], chars: NDArray[np.floating[Any]]
) -> NDArray[np.float32]:
    """Shift the *probabilities* of a page's blocks so that the best choice of blocks is above 0.5.

    The best choice is the one with the highest expected F1. The result is *probabilities* itself,
    unchanged, if the expected F1 of the best choice is at least `SURE_F1`, or if no block reaches
    `MIN_PROBABILITY`.

    *chars* are the blocks' lengths. The expected F1 of a choice is twice its expected content,
    divided by the sum of its length and the page's expected content. The best choice consists of
    all blocks that are more probable than half of its own expected F1.

    >>> maximise_expected_f1(np.array([0.4, 0.3, 0.01]), np.array([100.0, 100.0, 100.0])) > 0.5
    array([ True,  True, False])
    >>> maximise_expected_f1(np.array([0.9, 0.4]), np.array([100.0, 10.0])) > 0.5
    array([ True, False])
    """
    if probabilities.max(initial=0) < MIN_PROBABILITY:
        return probabilities
    order = np.argsort(-probabilities, kind="stable")
    content = np.cumsum((probabilities * chars)[order])
    best = float((2 * content / (np.cumsum(chars[order]) + content[-1])).max())
    if best >= SURE_F1:
        return probabilities
    return move_threshold(probabilities, best / 2)


def move_threshold(probabilities: NDArray[np.float32], threshold: float) -> NDArray[np.float32]:
    """Scale the odds of *probabilities* so that a probability of *threshold* becomes 0.5."""
    clipped = probabilities.clip(1e-4, 1 - 1e-4)
    odds = clipped / (1 - clipped) * (1 - threshold) / threshold
    return np.asarray(odds / (1 + odds), dtype=np.float32)


def mean_of_odds(
    first: NDArray[np.float32], second: NDArray[np.float32], weight: float
) -> NDArray[np.float32]:
    """Average the probabilities of two judges by their log odds; *second* counts *weight* times.

    >>> mean_of_odds(np.array([0.9, 0.6]), np.array([0.1, 0.1]), 0.5).round(2)
    array([0.68, 0.39], dtype=float32)
    """
    # Probabilities of 0 and 1 have infinite odds.
    first, second = np.clip(first, 1e-6, 1 - 1e-6), np.clip(second, 1e-6, 1 - 1e-6)
    odds = (first / (1 - first) * (second / (1 - second)) ** weight) ** (1 / (1 + weight))
    return np.asarray(odds / (1 + odds), dtype=np.float32)
