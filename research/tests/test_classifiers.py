"""Classifiers that are compared: each learns what its kind can, and none falls over."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider_research.classifiers.matrix import (
    CLASSIFIERS,
    COMPONENTS,
    NormalBayes,
    ThresholdBayes,
)
from contentspider_research.classifiers.pca import ClassComponents

# Classes that overlap a little: one number of either sign, one that says nothing.
DRAW = np.random.default_rng(0)
LABELS = np.arange(400) % 4 == 0
NUMBERS = np.stack(
    [
        np.where(LABELS, DRAW.poisson(60, 400), DRAW.poisson(8, 400)),
        np.where(LABELS, DRAW.normal(-3, 1, 400), DRAW.normal(3, 1, 400)),
        DRAW.normal(0, 1, 400),
        # Enough besides for 99 % of the variance to leave something.
        *DRAW.normal(np.where(LABELS, -3, 3), 1, (200, 400)),
    ],
    axis=1,
)


EVERY = CLASSIFIERS | COMPONENTS


@pytest.mark.parametrize("name", EVERY)
def test_each_classifier_separates_classes(name: str) -> None:
    classifier = EVERY[name]()
    classifier.fit(NUMBERS[:200], LABELS[:200])
    assert (classifier.predict(NUMBERS[200:]) == LABELS[200:]).mean() > 0.9
    assert classifier.predict(NUMBERS[:0]).shape == (0,)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_features_without_variance_decide_nothing(name: str) -> None:
    classifier = CLASSIFIERS[name]()
    classifier.fit(np.ones((8, 3)), np.arange(8) == 0)
    assert not classifier.predict(np.ones((2, 3))).any()


def test_normal_bayes_uses_class_frequencies() -> None:
    numbers = np.array([[0.0], [2.0]] * 20 + [[2.0], [4.0]] * 2)
    bayes = NormalBayes().fit(np.expm1(numbers), np.arange(44) >= 40)
    # Halfway by the densities alone is 2; noise is ten times as frequent.
    assert bayes.predict(np.expm1([[2.1], [4.0]])).tolist() == [False, True]


def test_threshold_bayes_uses_c45_thresholds() -> None:
    numbers = np.array([[1.0], [2], [3], [7], [8], [9]])
    bayes = ThresholdBayes().fit(numbers, np.array([False] * 3 + [True] * 3))
    assert bayes.predict(np.array([[4.9], [5.1]])).tolist() == [False, True]


def test_class_components_assign_case_to_class_spanning_it() -> None:
    # Noise lies along the first axis, content along the second one, ten above it.
    line = np.linspace(-5, 5, 11)
    noise, content = (
        np.stack([line, 0 * line, 0 * line], axis=1),
        np.stack([0 * line, line, 0 * line + 10], axis=1),
    )
    numbers, labels = np.concatenate([noise, content]), np.arange(22) >= 11
    cases = np.array([[40.0, 0, 1], [0, 40, 9], [0, 40, 1]])
    assert ClassComponents().fit(numbers, labels).predict(cases).tolist() == [False, True, True]
    # All directions span everything: of each class nothing is left, however far it is.
    every = ClassComponents(share=1.0).fit(numbers, labels)
    assert every.predict(noise).tolist() == [False] * 11


def test_divided_class_components_scale_residual_by_class_residual() -> None:
    draw = np.random.default_rng(1)
    tight, wide = draw.normal(0, 0.1, (200, 4)), draw.normal([4, 0, 0, 0], 3, (200, 4))
    numbers, labels = np.concatenate([tight, wide]), np.arange(400) >= 200
    case = np.array([[1.5, 0.0, 0.0, 0.0]])  # nearer to the tight mean, too far for it
    assert not ClassComponents().fit(numbers, labels).predict(case)[0]
    assert ClassComponents(divided=True).fit(numbers, labels).predict(case)[0]


def test_few_cases_of_class_are_still_classified() -> None:
    numbers = np.random.default_rng(2).normal(0, 1, (12, 30))
    numbers[:2] += 20
    for classifier in (ClassComponents(0.9), ClassComponents()):
        assert (
            classifier.fit(numbers, np.arange(12) < 2).predict(numbers).tolist()
            == [True] * 2 + [False] * 10
        )
