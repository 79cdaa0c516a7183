"""C4.5 on cases that can be worked out by hand."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from contentspider_research.classifiers.c45 import C45, best_split, entropy, pessimistic_error

# Fourteen days, nine of them with play (Quinlan, 1986): whether it is humid, whether it is windy.
HUMID_WINDY = [
    (1, 0, False),
    (1, 1, False),
    (1, 0, True),
    (1, 0, True),
    (0, 0, True),
    (0, 1, False),
    (0, 1, True),
    (1, 0, False),
    (0, 0, True),
    (0, 0, True),
    (0, 1, True),
    (1, 1, True),
    (0, 0, True),
    (1, 1, False),
]
DAYS = np.array([row[:2] for row in HUMID_WINDY])
PLAY = np.array([row[2] for row in HUMID_WINDY])


def split(numbers: np.ndarray, labels: np.ndarray) -> tuple[int, float] | None:
    order = np.argsort(numbers.T, axis=1, kind="stable")
    return best_split(np.take_along_axis(numbers.T, order, axis=1), labels[order])


def test_entropy_matches_quinlans_weather_example() -> None:
    assert entropy(np.array([9.0]), np.array([5.0]))[0] == pytest.approx(0.940, abs=0.001)
    # High humidity has 3 of 7, normal has 6 of 7.
    rest = entropy(np.array([3.0, 6.0]), np.array([4.0, 1.0])).mean()
    assert 0.940 - rest == pytest.approx(0.151, abs=0.001)


def test_split_has_largest_gain_ratio() -> None:
    assert split(DAYS, PLAY) == (0, 0.5)  # humidity gains 0.151, wind 0.048


def test_gain_ratio_counts_only_for_splits_with_average_gain() -> None:
    # Sixteen cases, eight of either class. The first column parts six cases of noise from the
    # others: it gains 1 - 10/16 H(2/10) = 0.549, of 0.954 bits, a ratio of 0.575. The second parts
    # eight from eight, with one wrong in each: 1 - H(1/8) = 0.456, of 1 bit, 0.456.
    labels = np.arange(16) >= 8
    first = (np.arange(16) >= 6).astype(float)
    second = labels.astype(float)
    second[[7, 8]] = [1, 0]
    # The third parts two cases off: it gains 1 - 14/16 H(6/14) = 0.138, of 0.544 bits, 0.254.
    third = (np.arange(16) >= 14).astype(float)
    assert split(np.stack([second, third, first], axis=1), labels) == (2, 0.5)
    gain = 1 - 10 / 16 * -(0.2 * log2(0.2) + 0.8 * log2(0.8))
    assert gain == pytest.approx(0.549, abs=0.001)


def test_split_with_gain_below_average_does_not_win_by_ratio() -> None:
    # Two of 64 cases, both content, parted off: little is gained, at a small price in bits. Three
    # columns gain far more each, and have the lower ratio.
    labels = np.arange(64) >= 32
    few = (np.arange(64) >= 62).astype(float)
    wide = labels.astype(float)
    wide[24:32] = 1  # 40 cases, 32 of them content
    gains = [1 - 40 / 64 * float(entropy(np.array([32.0]), np.array([8.0]))[0])]
    assert gains[0] > 0.5
    assert split(np.stack([few, wide], axis=1), labels) == (1, 0.5)


def test_thresholds_lie_between_neighbouring_values() -> None:
    tree = C45().fit(np.array([[1], [2], [2], [5], [7], [9]]), np.arange(6) > 2)
    assert (tree.root.column, tree.root.threshold) == (0, 3.5)
    assert tree.thresholds() == [(0, 3.5)]
    assert tree.predict(np.array([[3.5], [3.6]])).tolist() == [False, True]


def test_adjacent_float32_values_are_separated() -> None:
    low = np.float32(0.1)
    high = np.nextafter(low, np.float32(1))
    numbers = np.array([[low], [low], [high], [high]], dtype=np.float32)
    tree = C45().fit(numbers, np.array([False, False, True, True]))
    assert tree.predict(numbers).tolist() == [False, False, True, True]


def test_every_branch_has_at_least_two_cases() -> None:
    assert split(np.array([[1.0], [2], [3]]), np.array([False, True, True])) is None
    assert split(np.array([[1.0], [1], [1], [2]]), np.array([False] * 3 + [True])) is None


def test_pure_nodes_and_identical_cases_are_leaves() -> None:
    for labels in ([True] * 6, [False] * 6, [True, False] * 3):
        tree = C45().fit(np.ones((6, 2)), np.array(labels))
        assert tree.root.low is None


def test_pessimistic_error_matches_quinlans_values() -> None:
    # His example: leaves of 6, 9 and 1 cases without errors have 0.206, 0.143 and 0.750. Of 16
    # cases with one error he has 0.157, by an approximation of the binomial distribution.
    found = [pessimistic_error(*pair) for pair in ((6, 0), (9, 0), (1, 0), (16, 1))]
    assert found == pytest.approx([0.206, 0.143, 0.750, 0.160], abs=0.001)


def test_subtree_without_fewer_expected_errors_becomes_leaf() -> None:
    # Of 16 cases one is noise; the split that finds it among two gains, yet it fears
    # 14 * 0.094 + 2 * 0.866 errors = 3.05, and the leaf 16 * 0.160 = 2.55.
    numbers = np.array([[0.0]] * 14 + [[1.0]] * 2)
    labels = np.array([True] * 15 + [False])
    assert split(numbers, labels) == (0, 0.5)
    tree = C45().fit(numbers, labels)
    assert tree.root.low is None
    assert tree.predict(numbers).all()
