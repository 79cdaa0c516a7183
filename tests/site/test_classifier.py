"""The default classifier of a site: what it learns, and what it makes of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from contentspider.site.judge.classifier import UnfitError, matrix_of
from contentspider.site.judge.rows import Group
from contentspider.site.judge.svm import LinearSVM

A, B, C = (Group(((name,),)) for name in "abc")


def fit(*examples: tuple[list[Group], bool], weights: list[float] | None = None) -> LinearSVM:
    rows, labels = zip(*examples, strict=True)
    return LinearSVM.fit(
        list(rows), np.array(labels), np.array(weights or [1.0] * len(rows), dtype=float)
    )


def test_svm_separates_two_examples_with_margins_below_one() -> None:
    # the least of a * a + 2 * 0.3 * (1 - a) ** 2
    svm = fit(([A], False), ([B], True))
    assert svm.margins([[A], [B]]) == pytest.approx([-0.375, 0.375], abs=0.005)
    assert svm.margins([]).dtype == svm.decide([[A]]).dtype == np.float32
    assert svm.decide([[A], [B]]) == pytest.approx([0.245, 0.755], abs=0.005)


def test_rare_content_blocks_weigh_as_much_as_frequent_boilerplate() -> None:
    svm = fit(*[([A], False)] * 7, *[([B], False)] * 3, *[([B], True)] * 2)
    assert (svm.decide([[A], [B]]) > 0.5).tolist() == [False, True]


def test_heavier_example_wins_between_contradicting_labels() -> None:
    examples = [([A], False), ([B], True), ([C], True), ([C], False)]
    assert fit(*examples, weights=[1, 1, 4, 1]).decide([[C]])[0] > 0.5
    assert fit(*examples, weights=[1, 1, 1, 4]).decide([[C]])[0] < 0.5


def test_sample_weights_are_relative() -> None:
    examples = [([A], False), ([B], True), ([C], True), ([C], False)]
    weights = [1.0, 2, 3, 1]
    tenfold = fit(*examples, weights=[10 * weight for weight in weights])
    assert tenfold.weights == pytest.approx(fit(*examples, weights=weights).weights, abs=1e-3)


def test_svm_weights_are_rounded_to_five_digits_without_zeros() -> None:
    draw = np.random.default_rng(0)
    groups = [Group(((f"f{number}",),)) for number in range(12)]
    rows = [[groups[number] for number in draw.choice(12, 4, replace=False)] for _ in range(60)]
    svm = fit(*[(row, groups[0] in row or draw.random() < 0.2) for row in rows])
    values = [svm.intercept, *svm.weights.values()]
    assert values == [round(value, 5) for value in values]
    assert all(svm.weights.values())
    assert len(svm.weights) == 12


@pytest.mark.parametrize(
    ("rows", "labels", "is_content"),
    [
        pytest.param([[A], [B]], [True, True], True, id="content only"),
        pytest.param([[A], [B]], [False, False], False, id="boilerplate only"),
        pytest.param([[], [], []], [True, True, False], True, id="no features, most are content"),
        pytest.param([[], []], [True, False], False, id="no features, half are content"),
        pytest.param([], [], False, id="nothing"),
    ],
)
def test_inseparable_blocks_get_majority_label(rows, labels, is_content) -> None:
    svm = LinearSVM.fit(rows, np.array(labels, dtype=bool), np.ones(len(rows)))
    assert svm.weights == {}
    assert svm.margins([[A], []]).tolist() == [1.0 if is_content else -1.0] * 2


def test_explanation_lists_strongest_features_first() -> None:
    svm = LinearSVM({("a",): 0.5, ("b",): -2.0}, 0.25)
    assert svm.explain([A, B, C]) == [(("b",), -2.0), (("a",), 0.5)]
    assert svm.margins([[A, B, C]]).tolist() == [-1.25]


def test_dumped_classifier_loads_unchanged() -> None:
    svm = LinearSVM({("slot", "p"): 0.5, ("length", "4"): -2.0}, 0.25)
    assert svm.dump() == {
        "intercept": 0.25,
        "weights": [["length", "4", -2.0], ["slot", "p", 0.5]],
    }
    again = LinearSVM.load(svm.dump())
    assert (again.weights, again.intercept) == (svm.weights, svm.intercept)


def test_matrix_has_one_column_per_observed_feature() -> None:
    both = Group((("b",),), above=A)
    matrix, features = matrix_of([[both], [B], [], [C], [A]])
    assert matrix.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert features == [("a",), ("b",), ("c",)]
    assert matrix.indices.dtype == matrix.indptr.dtype == np.int32


def test_feature_of_several_groups_of_a_row_is_one_entry() -> None:
    again = Group((("a",), ("b",)))
    matrix, features = matrix_of([[A, again, A], [B]])
    assert features == [("a",), ("b",)]
    assert matrix.nnz == 3
    assert matrix.toarray().tolist() == [[3, 1], [0, 1]]


def test_svm_of_features_in_many_groups_of_a_row_converges() -> None:
    svm = fit(*[([A] * 40 + [B], False), ([B] * 40, True), ([C] * 40, True)] * 20)
    assert np.isfinite([svm.intercept, *svm.weights.values()]).all()
    assert (svm.decide([[A] * 40 + [B], [B] * 40, [C] * 40]) > 0.5).tolist() == [False, True, True]


def test_svm_with_weights_that_are_no_numbers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(self: LinearSVC, *_: object, **__: object) -> None:
        self.coef_, self.intercept_ = np.full((1, 2), np.nan), np.zeros(1)

    monkeypatch.setattr(LinearSVC, "fit", diverge)
    with pytest.raises(UnfitError):
        fit(([A], False), ([B], True))
