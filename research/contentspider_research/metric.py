"""Precision, recall and F1 of extracted content: by word (token) and by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rapidfuzz.distance import Levenshtein

from contentspider.page.tree.text import tokens
from contentspider.site.scores import Score, score_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def edit_score(predicted: str, gold: str) -> float:
    """Return 1 less the words' edit distance over the longer text's words, from 0 to 1: unlike
    `text_score` it asks for their order. Two empty texts agree.
    """
    return Levenshtein.normalized_similarity(tokens(predicted), tokens(gold))


def block_score(kept: NDArray[np.bool_], labels: NDArray[np.bool_]) -> Score:
    """Return how far the kept blocks are those of *labels*, each block counting once."""
    return score_of(float((kept & labels).sum()), float(kept.sum()), float(labels.sum()))


def measures(matrix: NDArray[np.floating[Any]]) -> tuple[float, float, float, float]:
    """Return precision, recall, F1 and accuracy of counts ``[[true noise, wrong content], [missed
    content, true content]]``.
    """
    (noise, wrong), (missed, content) = matrix.tolist()
    total = noise + wrong + missed + content
    accuracy = (noise + content) / total if total else 1.0
    return *score_of(content, wrong + content, missed + content), accuracy
