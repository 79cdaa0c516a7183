"""The prior: trees that are data, and what they say of blocks."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

from contentspider.ground.errors import StateError
from contentspider.page.features.extractor import FEATURE_NAMES
from contentspider.page.input.page import Page
from contentspider.site.judge import prior as prior_module
from contentspider.site.judge.prior import Prior, Trees
from contentspider_research.training import trees_of
from tests.conftest import ROOT


def stump(name: str, threshold: float, low: float, high: float) -> dict[str, list[float]]:
    """Return a tree that asks for one feature: at most *threshold* gives *low*, else *high*."""
    return {
        "roots": [0],
        "feature": [FEATURE_NAMES.index(name), -1, -1],
        "threshold": [threshold, 0, 0],
        "left": [1, 1, 2],
        "right": [2, 1, 2],
        "value": [0, low, high],
    }


def trees(*stumps: dict[str, list[float]], baseline: float = 0.0) -> Trees:
    tables: dict[str, list[float]] = {name: [] for name in stumps[0]}
    for tree in stumps:
        shift = len(tables["feature"])
        for name, values in tree.items():
            moved = shift if name in ("roots", "left", "right") else 0
            tables[name] += [value + moved for value in values]
    return Trees.from_arrays(
        {name: np.array(values) for name, values in tables.items()}
        | {"baseline": np.array([baseline])}
    )


def rows(**features: float) -> np.ndarray:
    row = np.zeros((1, len(FEATURE_NAMES)), dtype=np.float32)
    for name, value in features.items():
        row[0, FEATURE_NAMES.index(name)] = value
    return row


def constant(score: float) -> Prior:
    """Return a prior that says the same of every block: above 0 that it is content."""
    return Prior(trees(stump(FEATURE_NAMES[0], 0, 0, 0), baseline=score), {})


FIRST, SECOND = FEATURE_NAMES[:2]


@pytest.mark.parametrize(
    ("first", "second", "score"), [(1, 0, -2 - 1), (1.5, 0, 3 - 1), (1, 9, -2 + 4), (9, 9, 3 + 4)]
)
def test_tree_scores_are_summed_through_logistic_function(first, second, score) -> None:
    forest = trees(stump(FIRST, 1, -2, 3), stump(SECOND, 0.5, -1, 4), baseline=0.25)
    found = forest.probabilities(rows(**{FIRST: first, SECOND: second}))
    assert found == pytest.approx([1 / (1 + np.exp(-score - 0.25))], abs=1e-6)
    assert found.dtype == np.float32


def test_trees_are_saved_as_arrays() -> None:
    forest = trees(stump(FIRST, 1, -2, 3), baseline=0.25)
    tables = forest.arrays()
    assert Trees.from_arrays(tables).arrays().keys() == tables.keys()
    assert (tables["baseline"].tolist(), tables["value"].tolist()) == ([0.25], [0, -2, 3])
    for name in tables:
        with pytest.raises(KeyError):
            Trees.from_arrays({other: tables[other] for other in tables if other != name})


def test_scikit_learn_classifier_is_converted_without_loss() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    draw = np.random.default_rng(0)
    points = draw.random((300, 3)).astype(np.float32)
    labels = (points[:, 0] > 0.5) ^ (points[:, 1] > 0.3)
    library = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(points, labels)
    forest = trees_of(library)
    expected = library.predict_proba(points)[:, 1]
    assert forest.probabilities(points) == pytest.approx(expected, abs=1e-5)
    assert len(forest.roots) == 5
    leaf = forest.feature < 0
    assert not forest.threshold[leaf].any()
    assert not forest.value[~leaf].any()
    assert (forest.left[leaf] == np.flatnonzero(leaf)).all()
    assert (forest.right[leaf] == np.flatnonzero(leaf)).all()
    again = Trees.from_arrays(forest.arrays())
    assert (again.probabilities(points) == forest.probabilities(points)).all()


COMMENTS = Prior(trees(stump("own_comment", 0.5, 2, -2)), {"trained_on": ["a"]})


def test_blocks_named_comments_are_also_judged_without_their_names() -> None:
    pages = [Page.from_html(f"<p>Tea {n}</p><p class=comment>Milk</p>") for n in range(2)]
    named, unnamed = COMMENTS.judge(pages)
    likely = 1 / (1 + np.exp(-2))
    assert named == pytest.approx([likely, 1 - likely] * 2, abs=1e-6)
    assert unnamed == pytest.approx([likely] * 4, abs=1e-6)
    named, unnamed = COMMENTS.judge([Page.from_html("<p>Tea</p>")])
    assert named == unnamed == pytest.approx([likely], abs=1e-6)


@pytest.mark.parametrize("pages", [1, 2, 3, 4, 5])
def test_judging_in_batches_equals_judging_at_once(pages, monkeypatch) -> None:
    many = [Page.from_html("<p>a</p>" * (n + 1) + "<p class=comment>b</p>") for n in range(pages)]
    expected = COMMENTS.judge(many)
    monkeypatch.setattr(prior_module, "BATCH", 2)
    np.testing.assert_array_equal(COMMENTS.judge(many), expected)
    assert len(expected[0]) == sum(n + 2 for n in range(pages))


def test_comment_features_cover_comment_forum_and_author_names() -> None:
    names = {FEATURE_NAMES[column] for column in prior_module.COMMENT_COLUMNS}
    said = {f"{where}_{what}" for where in ("says", "heading") for what in ("comment", "posting")}
    assert names == said | {
        f"{where}_{name}"
        for where in ("own", "near", "far")
        for name in ("comment", "forum", "author")
        if f"{where}_{name}" in FEATURE_NAMES
    }


def changed(**head: object) -> bytes:
    with np.load(io.BytesIO(COMMENTS.dump())) as stored:
        arrays = dict(stored)
    text = json.dumps(json.loads(arrays["head"].tobytes()) | head).encode()
    file = io.BytesIO()
    np.savez(file, **arrays | {"head": np.frombuffer(text, dtype=np.uint8)})
    return file.getvalue()


def test_dumped_prior_loads_unchanged(tmp_path) -> None:
    path = tmp_path / "prior.npz"
    path.write_bytes(COMMENTS.dump())
    page = Page.from_html("<p>Tea</p><p class=comment>Milk</p>")
    for again in (Prior.load(COMMENTS.dump()), Prior.from_file(path)):
        assert (again.card, again.digest) == (COMMENTS.card, COMMENTS.digest)
        np.testing.assert_array_equal(again.judge([page]), COMMENTS.judge([page]))
    assert len(COMMENTS.digest) == 12
    assert COMMENTS.digest != Prior(trees(stump("own_comment", 0.5, 2, -3)), {}).digest


def test_model_card_matches_shipped_prior() -> None:
    card = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
    prior = Prior.shipped()
    for fact in (
        f"**Digest**: {prior.digest}.",
        f"**Trees**: {len(prior.trees.roots)},",
        f"**Features of a block**: {len(FEATURE_NAMES)}.",
        f"{prior.card['pages']:,} pages",
    ):
        assert fact in " ".join(card.split()), fact


def test_prior_features_are_matched_by_name() -> None:
    # trained on the features in another order
    column = FEATURE_NAMES.index("own_comment")
    names = list(FEATURE_NAMES)
    names[0], names[column] = names[column], names[0]
    prior = Prior.load(changed(features=names))
    assert prior.trees.feature.tolist() == [0, -1, -1]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ({"schema": 9}, "the prior cannot be used: its schema is 9, not 2; train one with"),
        ({"features": [*FEATURE_NAMES[1:], "taste"]}, "lacks, such as 'taste'; train"),
        ({"features": []}, "the prior cannot be used: index .* train one with"),
    ],
)
def test_incompatible_prior_raises_state_error(head, message) -> None:
    with pytest.raises(StateError, match=message):
        Prior.load(changed(**head))


def test_missing_or_invalid_prior_file_is_named_in_error(tmp_path) -> None:
    path = tmp_path / "prior.npz"
    with pytest.raises(StateError, match=r"prior.npz' cannot be read: No such file .*train-prior"):
        Prior.from_file(path)
    path.write_bytes(b"no archive")
    with pytest.raises(StateError, match=r"the prior '.*prior.npz' cannot be used: .* train one"):
        Prior.from_file(path)
