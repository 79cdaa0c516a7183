"""What a model decides itself, and what it leaves to the prior."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider import LearningOptions, Page, Prior, SiteLearner, SiteModel
from contentspider.site.judge.svm import LinearSVM
from contentspider.site.vote.objections import Objection
from tests.site.test_prior import constant
from tests.sites import prose


def article(number: int, box: str = "div class=text") -> Page:
    name = box.partition(" ")[0]
    return Page.from_html(
        f"<title>Story {number}</title><nav><a href=/>Home</a> <a href=/a>About</a></nav><{box}>"
        f"<h1>Story {number}</h1><p>{prose(number, 1)}</p><p>{prose(number, 2)}</p></{name}>"
        "<footer>© 2024</footer>",
        f"/{number}",
    )


def test_learner_returns_labels_changed_by_custom_objection() -> None:
    pages = [article(number) for number in range(20)]
    wrong = pages[3].content.blocks[-2].text

    def evidence(site, prior):
        texts = [block.text for page in site.contents for block in page.blocks]
        return np.array([text == wrong for text in texts])

    learner = SiteLearner(objections=[Objection("one", 20.0, evidence)])
    model, sample, labels = learner.learn(pages)
    assert sorted(page.url for page in sample) == sorted(page.url for page in pages)
    place = [page.url for page in sample].index("/3")
    texts = [block.text for block in sample[place].content.blocks]
    assert [len(found) for found in labels] == [len(page.content.blocks) for page in sample]
    assert labels[place][texts.index(wrong)] < 0.5 < labels[place][texts.index(prose(3, 1))]
    # The SVM knows places: one paragraph of forty at the same place is like the others.
    assert wrong in model.extract(pages[3]).text


def test_model_of_one_page_leaves_other_pages_to_prior() -> None:
    page, other = article(1), article(2)
    made = SiteLearner().fit([page])
    model = SiteModel.parse(made.manifest(), made.dump_weights())
    assert model.classifier.dump()["weights"] == []
    for asked in (page, other):
        extraction = model.extract(asked)
        assert extraction.by_prior
        assert [block.tag for block in extraction.blocks] == ["h1", "p", "p"]
    expected, _ = Prior.shipped().judge_page(other)
    np.testing.assert_array_equal(model.probabilities(other), expected)


@pytest.mark.parametrize("pages", [1, 3])
def test_model_uses_prior_its_site_was_learned_with(pages, tmp_path) -> None:
    file = tmp_path / "prior.npz"
    file.write_bytes(constant(-4.0).dump())
    known = [article(number) for number in range(pages)]
    by_file = SiteLearner(options=LearningOptions(prior_file=str(file))).fit(known)
    given = SiteLearner(prior=constant(-4.0)).fit(known)
    for model in (by_file, given):
        assert model.judge is not None
        assert model.prior == model.judge.digest == constant(-4.0).digest
    expected = given.probabilities(article(9))
    np.testing.assert_array_equal(by_file.probabilities(article(9)), expected)
    shipped = SiteLearner().fit(known)
    assert shipped.judge is Prior.shipped()
    assert shipped.probabilities(article(9)).max() > 0.6 > expected.max()


def strange(number: int) -> Page:
    return article(number, "section class=story")


def deciding(model: SiteModel, probability: float) -> SiteModel:
    """Return the model with a classifier that gives each block this probability."""
    model.classifier = LinearSVM({}, float(np.log(probability / (1 - probability)) / 3))
    return model


@pytest.mark.parametrize("pages", [3, 20, 21])
def test_model_of_few_pages_is_combined_with_prior(pages) -> None:
    model = deciding(SiteLearner().fit([article(number) for number in range(pages)]), 0.8)
    new = article(99)
    alone, _ = Prior.shipped().judge_page(new)
    # The log odds of 0.8 count as the model's pages, the prior's as three.
    both = (4**pages * (alone / (1 - alone)) ** 3) ** (1 / (pages + 3))
    both /= 1 + both
    expected = both if pages < 21 else np.full(len(alone), 0.8)
    assert model.probabilities(new) == pytest.approx(expected, abs=1e-4)
    assert model.extract(new).by_prior == (pages < 21)


def test_empty_extraction_at_unknown_places_falls_back_to_prior() -> None:
    model = deciding(SiteLearner().fit([article(number) for number in range(21)]), 0.2)
    extraction = model.extract(strange(9))
    assert extraction.by_prior
    assert [block.tag for block in extraction.blocks] == ["h1", "p", "p"]
    assert extraction.confidence <= 0.5
    # What is empty where everything is known is a listing, or the like.
    assert not model.extract(article(99)).by_prior
    # What is kept is kept.
    assert not deciding(model, 0.8).extract(strange(9)).by_prior


def test_paper_labels_use_no_prior() -> None:
    pages = [article(number) for number in range(3)]
    for count in (1, 3):
        model = SiteLearner(options=LearningOptions(labels="paper")).fit(pages[:count])
        assert not model.extract(article(9, "section")).by_prior


def test_label_that_each_page_repeats_within_its_content_is_content() -> None:
    def task(number: int) -> Page:
        examples = "".join(
            f"<p><strong>Example {which}</strong>:</p><pre>sow({which * number})</pre>"
            for which in (1, 2)
        )
        return Page.from_html(
            f"<title>Task {number}</title><nav><a href=/>Home</a></nav><article>"
            f"<h1>Task {number}</h1><p>{prose(number, 1)}</p>{examples}<p>{prose(number, 2)}</p>"
            "</article><footer>© 2024 All rights reserved</footer>",
            f"/{number}",
        )

    pages = [task(number) for number in range(20)]
    markdown = SiteLearner("e.example").fit(pages).extract(pages[3]).markdown
    assert "**Example 1**:\n\n```\nsow(3)\n```\n\n**Example 2**:" in markdown
    assert "©" not in markdown
