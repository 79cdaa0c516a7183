"""Precision, recall and F1 of extracted content: by word (token) and by block."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rapidfuzz.distance import Levenshtein

from contentspider.page.text import tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Score(NamedTuple):
    """Precision, recall and F1, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def _score(common: float, found: float, wanted: float) -> Score:
    if not found and not wanted:
        return Score(1.0, 1.0, 1.0)
    if not common:
        return Score(0.0, 0.0, 0.0)
    return Score(common / found, common / wanted, 2 * common / (found + wanted))


def text_score(predicted: str, gold: str, optional: str = "") -> Score:
    """Return how far two texts' multisets of words agree; words of *optional* are neither asked for
    nor held against.

    Each Chinese, Japanese, Korean or Thai character is a word. Two empty texts agree.
    """
    found, wanted = Counter(tokens(predicted)), Counter(tokens(gold))
    found -= (found - wanted) & Counter(tokens(optional))
    return _score(sum((found & wanted).values()), sum(found.values()), sum(wanted.values()))


def edit_score(predicted: str, gold: str) -> float:
    """Return 1 less the words' edit distance over the longer text's words, from 0 to 1: unlike
    `text_score` it asks for their order. Two empty texts agree.
    """
    return Levenshtein.normalized_similarity(tokens(predicted), tokens(gold))


def block_score(kept: NDArray[np.bool_], labels: NDArray[np.bool_]) -> Score:
    """Return how far the kept blocks are those of *labels*, each block counting once."""
    return _score(float((kept & labels).sum()), float(kept.sum()), float(labels.sum()))


def measures(matrix: NDArray[np.floating[Any]]) -> tuple[float, float, float, float]:
    """Return precision, recall, F1 and accuracy of counts ``[[true noise, wrong content], [missed
    content, true content]]``.
    """
    (noise, wrong), (missed, content) = matrix.tolist()
    total = noise + wrong + missed + content
    accuracy = (noise + content) / total if total else 1.0
    return *_score(content, wrong + content, missed + content), accuracy
