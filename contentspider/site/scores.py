"""Precision, recall and F1 of extracted text against the text that it should be."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from contentspider.page.tree.text import tokens


class Score(NamedTuple):
    """Precision, recall and F1, each from 0 to 1."""

    precision: float
    recall: float
    f1: float


def score_of(common: float, found: float, wanted: float) -> Score:
    """Return the score of *found* things, *common* of which are *wanted*; two empty sets agree."""
    if not found and not wanted:
        return Score(1.0, 1.0, 1.0)
    if not common:
        return Score(0.0, 0.0, 0.0)
    return Score(common / found, common / wanted, 2 * common / (found + wanted))


def text_score(predicted: str, gold: str, optional: str = "") -> Score:
    """Return how far two texts' multisets of words agree; words of *optional* count neither way.

    Each Chinese, Japanese, Korean or Thai character is a word. Two empty texts agree.
    """
    found, wanted = Counter(tokens(predicted)), Counter(tokens(gold))
    found -= (found - wanted) & Counter(tokens(optional))
    return score_of(sum((found & wanted).values()), sum(found.values()), sum(wanted.values()))
