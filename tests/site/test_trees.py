"""Boosted trees as data: they decide as the library does, whatever the rows and the file."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from contentspider.site.judge.prior import Trees
from contentspider_research.training import trees_of

FEATURES = 6


@pytest.fixture(scope="module")
def classifier() -> HistGradientBoostingClassifier:
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(800, FEATURES)).astype(np.float32)
    labels = rows[:, 0] * rows[:, 1] + rows[:, 2] > 0
    return HistGradientBoostingClassifier(max_iter=20, early_stopping=False, random_state=0).fit(
        rows, labels
    )


@pytest.fixture(scope="module")
def trees(classifier) -> Trees:
    return trees_of(classifier)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 200])
@pytest.mark.parametrize("constant", [0, 3, FEATURES])
def test_trees_decide_like_scikit_learn(classifier, trees, count, constant) -> None:
    rows = np.random.default_rng(count).normal(size=(count, FEATURES)).astype(np.float32)
    rows[:, :constant] = rows[:1, :constant]  # what is the same on a whole page
    found = trees.probabilities(rows)
    assert found.dtype == np.float32
    expected = classifier.predict_proba(rows)[:, 1] if count else np.zeros(0)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_value_equal_to_threshold_goes_left() -> None:
    trees = Trees.from_arrays(stump())
    found = trees.probabilities(np.array([[4.9], [5.0], [5.1]], dtype=np.float32))
    assert (found > 0.5).tolist() == [False, False, True]


def test_memory_layout_of_rows_does_not_change_probabilities(trees) -> None:
    rows = np.random.default_rng(1).normal(size=(20, FEATURES)).astype(np.float32)
    found = trees.probabilities(np.asfortranarray(rows))
    np.testing.assert_array_equal(found, trees.probabilities(rows))
    np.testing.assert_array_equal(found[::2], trees.probabilities(rows[::2]))


def test_saved_trees_give_same_probabilities(trees) -> None:
    again = Trees.from_arrays(trees.arrays())
    rows = np.random.default_rng(2).normal(size=(20, FEATURES)).astype(np.float32)
    np.testing.assert_array_equal(again.probabilities(rows), trees.probabilities(rows))


def test_rows_with_too_few_features_raise_value_error(trees) -> None:
    with pytest.raises(ValueError, match="5 features"):
        trees.probabilities(np.zeros((2, FEATURES - 1), dtype=np.float32))


def stump(**changed: list[float]) -> dict[str, np.ndarray]:
    tables = {
        "roots": [0],
        "feature": [0, -1, -1],
        "threshold": [5, 0, 0],
        "left": [1, 1, 2],
        "right": [2, 1, 2],
        "value": [0, -2, 2],
        "baseline": [0],
    }
    return {name: np.array(table) for name, table in (tables | changed).items()}


@pytest.mark.parametrize(
    "changed",
    [
        {"left": [0, 1, 2]},  # to itself
        {"left": [2, 1, 2]},  # two parents' child
        {"right": [3, 1, 2]},
        {"left": [-1, 1, 2]},
        {"roots": [3]},
        {"roots": [-1]},
        {"value": [0, -2]},
        {"threshold": [5, 0, 0, 0]},
    ],
)
def test_malformed_tree_arrays_raise_value_error(changed) -> None:
    with pytest.raises(ValueError, match="malformed"):
        Trees.from_arrays(stump(**changed))
