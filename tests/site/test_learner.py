"""What the learner makes of labels: which pages and texts it takes, and what the model is told."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from contentspider.page.input.page import Page
from contentspider.site.judge.classifier import CLASSIFIERS
from contentspider.site.judge.prior import Prior
from contentspider.site.judge.rows import text_key
from contentspider.site.learn import learner as learner_module
from contentspider.site.learn import sampling
from contentspider.site.learn.learner import (
    SiteLabels,
    SiteLearner,
    _noise_texts,
    _summary,
    label_by_votes,
)
from contentspider.site.learn.options import LearningOptions, OptionError
from contentspider.site.sample import sample_order
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.labels import LABELS
from contentspider.site.vote.votes import vote
from tests.messages import raises, wording
from tests.sites import site_of


class Probe:
    """A classifier that shows what it is trained on, and takes every other block for content."""

    seen: ClassVar[list[tuple[list, np.ndarray, np.ndarray]]] = []

    @classmethod
    def fit(cls, rows, labels, weights):
        cls.seen.append((rows, labels, weights))
        return cls()

    def decide(self, rows):
        return np.array([number % 2 for number in range(len(rows))], dtype=np.float32)

    def explain(self, row):
        return []

    def dump(self):
        return {}


class Labelled(SiteLearner):
    """A learner whose labels are given: the same for each page."""

    probabilities = (0.9, 0.5, 0.45, 0.0)

    def label(self, sample, site, own_texts=()):
        found = np.tile(np.array(self.probabilities, dtype=np.float32), len(sample))
        return SiteLabels(found, "a prior")


@pytest.fixture
def probe(monkeypatch):
    monkeypatch.setattr(Probe, "seen", [])
    monkeypatch.setitem(CLASSIFIERS.shipped, "probe", "tests.site.test_learner:Probe")
    return Labelled("example.org", LearningOptions(classifier="probe"))


PAGES = [
    Page.from_html(f"<h1>{'a' * 9}</h1><p>{n}{'b' * 99}</p><p>{n}{'c' * 35}</p><p>Imprint</p>")
    for n in range(6)
]


def test_block_weight_depends_on_length_and_label_confidence(probe, caplog) -> None:
    caplog.set_level("INFO")
    model = probe.fit(PAGES)
    ((rows, labels, weights),) = Probe.seen
    assert len(rows) == 24
    assert labels.tolist() == [True, True, False, False] * 6
    assert weights == pytest.approx(
        [3 * (0.1 + 0.8), 10 * 0.1, 6 * (0.1 + 0.1), 7**0.5 * (0.1 + 1)] * 6, abs=1e-4
    )
    # by the root of the length; every other block of each page is decided as it is labelled
    agreed = (10 + 6) / (3 + 10 + 6 + 7**0.5)
    assert (
        "6 pages, 24 blocks" + wording("site.learned") + f" {100 * agreed:.2f} %"
    ) in caplog.text
    assert (model.pages, model.prior, model.labels) == (6, "a prior", "votes")
    assert model.noise_texts == {text_key("Imprint")}
    assert model.slots == {"body/h1", "body/p"}


def test_training_blocks_are_limited_by_sampling(probe, monkeypatch) -> None:
    monkeypatch.setattr(learner_module, "MAX_TRAINING_BLOCKS", 10)
    probe.fit(PAGES)
    probe.fit(PAGES)
    (rows, labels, weights), again = Probe.seen
    assert len(rows) == len(labels) == len(weights) == 10
    np.testing.assert_array_equal(weights, again[2])
    # each has its own label and weight
    assert {
        (bool(label), round(float(weight), 3))
        for label, weight in zip(labels, weights, strict=True)
    } <= {
        (True, 2.7),
        (True, 1.0),
        (False, 1.2),
        (False, 2.91),
    }


def test_recurring_boilerplate_texts_are_noise(monkeypatch) -> None:
    bodies = ["<p>Menu</p><p>Often</p>", "<p>Menu</p><p>Often</p>", "<p>Menu</p><p>Once</p>"]
    site = site_of(bodies)

    def noise(*labels: bool) -> frozenset[str]:
        return _noise_texts(site, np.array(labels))

    assert noise(*[False] * 6) == {text_key("Menu"), text_key("Often")}
    assert noise(False, True, False, True, False, False) == {text_key("Menu")}
    # content on half of its pages it is none
    assert noise(False, True, False, False, False, False) == {text_key("Menu")}
    assert noise(True, True, False, True, False, True) == {text_key("Menu")}
    assert noise(*[True] * 6) == frozenset()
    monkeypatch.setattr(learner_module, "MAX_NOISE_TEXTS", 1)
    assert noise(*[False] * 6) == {text_key("Menu")}


def test_model_summary_lists_slots_by_amount_of_text() -> None:
    bodies = [f"<h1>aaaa</h1><p>{'b' * 9}</p>", f"<h1>cccc</h1><p>{'d' * 100}</p>"]
    found = _summary(
        site_of(bodies),
        np.array([0.8, 0.9, 0.4, 0.2], dtype=np.float32),
        np.array([0.5, 1.0, 0.5, 0.4], dtype=np.float32),
    )
    text, heading = found
    assert (text.slot, text.blocks, text.pages, text.example) == ("body/p", 2, 2, "d" * 80)
    assert (heading.slot, heading.blocks, heading.pages) == ("body/h1", 2, 2)
    assert heading.example == "aaaa"
    # by the root of the length: 3 and 10, 2 and 2
    assert (text.probability, heading.probability) == (round((2.7 + 2) / 13, 3), 0.6)
    assert (text.score, heading.score) == (round(7 / 9, 5), round(2 / 9, 5))


@pytest.mark.parametrize(
    ("limit", "least", "size"), [(40, 1, 10), (39, 1, 9), (20, 1, 5), (20, 7, 7), (1, 2, 2)]
)
def test_learning_sample_is_limited_in_blocks(limit, least, size, monkeypatch) -> None:
    monkeypatch.setattr(sampling, "MAX_SAMPLE_BLOCKS", limit)
    monkeypatch.setattr(sampling, "MIN_SAMPLE", least)
    pages = [Page.from_html("<p>a<p>b<p>c<p>d", f"/{number}") for number in range(10)]
    empty = Page.from_html("", "/empty")
    first = sorted(pages, key=lambda page: sample_order(page.url))[:size]
    assert SiteLearner.sample([*pages, empty]) == first


def test_vote_labels_equal_site_vote_over_prior() -> None:
    prior = Prior.shipped()
    site = site_of([f"<h1>{'a' * 9}</h1><p>{n}{'b' * 99}</p>" for n in range(3)])
    sample = [Page.from_html(f"<h1>{'a' * 9}</h1><p>{n}{'b' * 99}</p>") for n in range(3)]
    expected = vote(site, *prior.judge(sample))
    for given in (None, prior):
        np.testing.assert_array_equal(label_by_votes(sample, site, given), expected)
    found = SiteLearner().label(sample, site)
    np.testing.assert_array_equal(found.probabilities, expected)
    assert found.prior == prior.digest


@pytest.mark.parametrize(
    ("values", "is_taken"),
    [([0, 1], True), ([0, 1.1], False), ([-0.1, 1], False), ([0.5], False), ([np.nan, 0], False)],
)
def test_labels_must_contain_one_probability_per_block(values, is_taken, monkeypatch) -> None:
    monkeypatch.setitem(LABELS.shipped, "given", "tests.site.test_learner:given")
    monkeypatch.setattr(given, "values", values, raising=False)
    learner = SiteLearner(options=LearningOptions(labels="given"))
    page = Page.from_html("<h1>Tea</h1><p>Green")
    site = gather([page])
    if is_taken:
        found, digest, quality = learner.label([page], site)
        assert (found.tolist(), found.dtype, digest) == (values, np.float32, "")
        assert quality is None
        return
    with raises(OptionError, "label-shape", "labels='given'", "2 blocks"):
        learner.label([page], site)


def given(sample, site):
    """Label blocks with what a test says."""
    return given.values
