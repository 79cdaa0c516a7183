"""What a model remembers of the pages that it was learned from, and what it leaves to the prior."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider import LearningOptions, Page, Prior, SiteLearner, SiteModel
from contentspider.ground.errors import StateError
from contentspider.page.blocks import Block, PageBlocks
from contentspider.site.judge.svm import LinearSVM
from contentspider.site.models.memory import outline_key, pack, page_key, unpack
from contentspider.site.vote.blocks import gather
from contentspider.site.vote.objections import Objection
from tests.sites import prose
from tests.test_prior import constant


def article(number: int, box: str = "div class=text") -> Page:
    name = box.partition(" ")[0]
    return Page.from_html(
        f"<title>Story {number}</title><nav><a href=/>Home</a> <a href=/a>About</a></nav><{box}>"
        f"<h1>Story {number}</h1><p>{prose(number, 1)}</p><p>{prose(number, 2)}</p></{name}>"
        "<footer>© 2024</footer>",
        f"/{number}",
    )


def test_a_page_that_was_learned_from_is_as_it_was_labelled() -> None:
    # One paragraph of forty that stand at the same place is none: a linear classifier forgets it.
    pages = [article(number) for number in range(20)]
    wrong = pages[3].content.blocks[-2].text

    def evidence(site, prior):
        texts = [block.text for page in site.contents for block in page.blocks]
        return np.array([text == wrong for text in texts])

    learner = SiteLearner(objections=[Objection("one", 20.0, evidence)])
    model = SiteModel.parse((made := learner.fit(pages)).manifest(), made.dump_weights())
    assert wrong not in model.extract(pages[3]).text
    assert prose(3, 1) in model.extract(pages[3]).text
    site = gather([page.content for page in pages], [page.hints for page in pages])
    labels = learner.label(pages, site).probabilities
    kept = np.concatenate([model.extract(page).kept for page in pages])
    np.testing.assert_array_equal(kept, labels >= 0.5)
    changed = Page.from_html("<p>New", "/3")
    assert page_key(changed.content) not in model.decided


def test_a_model_of_one_page_has_no_classifier_and_leaves_other_pages_to_the_prior() -> None:
    page, other = article(1), article(2)
    made = SiteLearner().fit([page])
    model = SiteModel.parse(made.manifest(), made.dump_weights())
    assert model.classifier.dump()["weights"] == []
    for asked, by_prior in ((page, False), (other, True)):
        extraction = model.extract(asked)
        assert extraction.by_prior == by_prior
        assert [block.tag for block in extraction.blocks] == ["h1", "p", "p"]
    expected, _ = Prior.shipped().judge_page(other)
    np.testing.assert_array_equal(model.probabilities(other), expected)


@pytest.mark.parametrize("pages", [1, 3])
def test_a_model_asks_the_prior_that_its_site_was_learned_by(pages, tmp_path) -> None:
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
def test_a_model_of_few_pages_asks_the_prior_too(pages) -> None:
    model = deciding(SiteLearner().fit([article(number) for number in range(pages)]), 0.8)
    new = article(99)
    alone, _ = Prior.shipped().judge_page(new)
    # The log odds of 0.8 count as the model's pages, the prior's as three.
    both = (4**pages * (alone / (1 - alone)) ** 3) ** (1 / (pages + 3))
    both /= 1 + both
    expected = both if pages < 21 else np.full(len(alone), 0.8)
    assert model.probabilities(new) == pytest.approx(expected, abs=1e-4)
    assert model.extract(new).by_prior == (pages < 21)


def test_a_page_of_unknown_places_that_would_come_out_empty_is_judged_by_itself() -> None:
    model = deciding(SiteLearner().fit([article(number) for number in range(21)]), 0.2)
    extraction = model.extract(strange(9))
    assert extraction.by_prior
    assert [block.tag for block in extraction.blocks] == ["h1", "p", "p"]
    assert extraction.confidence <= 0.5
    # What is empty where everything is known is a listing, or the like.
    assert not model.extract(article(99)).by_prior
    # What is kept is kept.
    assert not deciding(model, 0.8).extract(strange(9)).by_prior


def test_the_papers_labels_remember_nothing() -> None:
    pages = [article(number) for number in range(3)]
    for count in (1, 3):
        model = SiteLearner(options=LearningOptions(labels="paper")).fit(pages[:count])
        assert not model.decided
        assert not model.extract(article(9, "section")).by_prior


def test_levels_keep_what_is_content() -> None:
    values = np.linspace(0, 1, 1001, dtype=np.float32)
    again = unpack(pack(values))
    assert ((again > 0.5) == (values >= 0.5)).all()
    assert np.abs(again - values).max() < 0.0501


def test_a_damaged_memory_is_refused() -> None:
    model = SiteLearner().fit([article(1)])
    model.decided = {key: "x" * len(found) for key, found in model.decided.items()}
    with pytest.raises(StateError, match="digits"):
        SiteModel.parse(model.manifest(), model.dump_weights())


def test_a_pages_key_is_that_of_its_paths_and_texts_and_never_changes() -> None:
    def key(*blocks: tuple[str, str]) -> str:
        return page_key(PageBlocks([Block(text, path, "p", 0, 0) for path, text in blocks]))

    # models on disk hold it
    assert key(("body/h1", "Tea"), ("body/p", "Green")) == "2c1e786419210c179590b20f"
    page = Page.from_html("<title>Other</title><h1>Tea</h1><p>Green")
    assert page_key(page.content) == "2c1e786419210c179590b20f"
    assert len({key(("p", "a")), key(("p", "b")), key(("h2", "a")), key()}) == 4
    assert key(("p", "\ud800")) != key(("p", "?"))


def test_what_is_unpacked_is_of_the_type_of_probabilities() -> None:
    assert unpack("09").dtype == unpack("").dtype == np.float32
    for damaged in ("0x", "-1", "\u0663"):
        with pytest.raises(ValueError, match="digits"):
            unpack(damaged)


def test_a_page_with_texts_as_long_as_a_known_ones_is_another() -> None:
    one, other = (Page.from_html(f"<p>Tea {word}", "/") for word in ("leaf", "pots"))
    assert outline_key(one.content) == outline_key(other.content)
    assert page_key(one.content) != page_key(other.content)
    assert page_key(one.content).startswith(outline_key(one.content))
