"""Which blocks to keep of a single page that the prior is not sure of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# If the best choice's expected F1 is higher, the prior is left alone (research/NOTES.md).
SURE = 0.7
# A page of which every block is less probable has no content: what is best there is still wrong.
NOTHING = 0.3


def best_guess(
    probabilities: NDArray[np.float32], chars: NDArray[np.floating[Any]]
) -> NDArray[np.float32]:
    """Return the *probabilities* of a page's blocks, shifted so that those above 0.5 are the choice
    with the highest expected F1 if that is lower than `SURE` and one of them reaches `NOTHING`.

    *chars* are the blocks' lengths. The expected F1 of a choice is twice its expected content over
    its length and the page's expected content; the best choice is all blocks above half of its F1.

    >>> best_guess(np.array([0.4, 0.3, 0.01]), np.array([100.0, 100.0, 100.0])) > 0.5
    array([ True,  True, False])
    >>> best_guess(np.array([0.9, 0.4]), np.array([100.0, 10.0])) > 0.5
    array([ True, False])
    """
    if probabilities.max(initial=0) < NOTHING:
        return probabilities
    order = np.argsort(-probabilities, kind="stable")
    content = np.cumsum((probabilities * chars)[order])
    best = float((2 * content / (np.cumsum(chars[order]) + content[-1])).max())
    if best >= SURE:
        return probabilities
    return shift(probabilities, best / 2)


def shift(probabilities: NDArray[np.float32], threshold: float) -> NDArray[np.float32]:
    """Return the *probabilities* by other odds: 0.5 where *threshold* was."""
    clipped = probabilities.clip(1e-4, 1 - 1e-4)
    odds = clipped / (1 - clipped) * (1 - threshold) / threshold
    return np.asarray(odds / (1 + odds), dtype=np.float32)


def mean_of_odds(
    first: NDArray[np.float32], second: NDArray[np.float32], weight: float
) -> NDArray[np.float32]:
    """Return the mean of two judges' probabilities by log odds; the second counts *weight* times.

    >>> mean_of_odds(np.array([0.9, 0.6]), np.array([0.1, 0.1]), 0.5).round(2)
    array([0.68, 0.39], dtype=float32)
    """
    # Keep them finite.
    first, second = np.clip(first, 1e-6, 1 - 1e-6), np.clip(second, 1e-6, 1 - 1e-6)
    odds = (first / (1 - first) * (second / (1 - second)) ** weight) ** (1 / (1 + weight))
    return np.asarray(odds / (1 + odds), dtype=np.float32)
