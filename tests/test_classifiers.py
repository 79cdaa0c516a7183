"""Classifiers that are compared: each learns what its kind can, and none falls over."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.evaluation.classifiers import CLASSIFIERS, NormalBayes, ThresholdBayes

# Classes that overlap a little, one number of either sign, one that says nothing.
DRAW = np.random.default_rng(0)
LABELS = np.arange(400) % 4 == 0
NUMBERS = np.stack(
    [
        np.where(LABELS, DRAW.poisson(60, 400), DRAW.poisson(8, 400)),
        np.where(LABELS, DRAW.normal(-3, 1, 400), DRAW.normal(3, 1, 400)),
        DRAW.normal(0, 1, 400),
    ],
    axis=1,
)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_each_tells_classes_apart(name: str) -> None:
    classifier = CLASSIFIERS[name]()
    classifier.fit(NUMBERS[:200], LABELS[:200])
    assert (classifier.predict(NUMBERS[200:]) == LABELS[200:]).mean() > 0.95
    assert classifier.predict(NUMBERS[:0]).shape == (0,)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_numbers_without_variance_say_nothing(name: str) -> None:
    classifier = CLASSIFIERS[name]()
    classifier.fit(np.ones((8, 3)), np.arange(8) == 0)
    assert not classifier.predict(np.ones((2, 3))).any()


def test_normal_bayes_counts_how_often_a_class_is() -> None:
    numbers = np.array([[0.0], [2.0]] * 20 + [[2.0], [4.0]] * 2)
    bayes = NormalBayes().fit(np.expm1(numbers), np.arange(44) >= 40)
    # Halfway by the densities alone is 2; noise is ten times as frequent.
    assert bayes.predict(np.expm1([[2.1], [4.0]])).tolist() == [False, True]


def test_threshold_bayes_asks_what_c45_asks() -> None:
    numbers = np.array([[1.0], [2], [3], [7], [8], [9]])
    bayes = ThresholdBayes().fit(numbers, np.array([False] * 3 + [True] * 3))
    assert bayes.predict(np.array([[4.9], [5.1]])).tolist() == [False, True]
