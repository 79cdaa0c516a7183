"""Scores: precision, recall and F1 of sets and of texts."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from contentspider.page.tree.text import tokens


class Score(NamedTuple):
    """Precision, recall and F1, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def score_of(common: float, predicted: float, expected: float) -> Score:
    """Return the score of two sets, given their sizes and the size of their intersection *common*.

    Two empty sets agree: their scores are 1.
    """
    if not predicted and not expected:
        return Score(1.0, 1.0, 1.0)
    if not common:
        return Score(0.0, 0.0, 0.0)
    return Score(common / predicted, common / expected, 2 * common / (predicted + expected))


def text_score(predicted: str, gold: str, optional: str = "") -> Score:
    """Return how well the words of two texts agree, as multisets. Two empty texts agree.

    Words of *optional* count neither for nor against the prediction. Each Chinese, Japanese, Korean
    or Thai character is a word.
    """
    predicted_words, gold_words = Counter(tokens(predicted)), Counter(tokens(gold))
    predicted_words -= (predicted_words - gold_words) & Counter(tokens(optional))
    common = sum((predicted_words & gold_words).values())
    return score_of(common, sum(predicted_words.values()), sum(gold_words.values()))
