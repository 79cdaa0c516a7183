"""Models, pages and extractions in pickles, as multiprocessing, Spark and Ray send them."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from contentspider import Extraction, LearningOptions, Page, Prior, SiteLearner, SiteModel
from contentspider.ground import pickles
from contentspider.ground.errors import StateError
from tests.sites import prose

HTML = (
    "<html lang=en><title>Page {0}</title><nav><a href=/>Home</a> <a href=/a>About us</a></nav><div"
    " class=text><h1>Page {0}</h1><p class=day>{3} May 2024</p><p>{1}</p><p>{2}</p></div>"
    '<footer>© 2024</footer><script type="application/ld+json">{4}</script>'
)


def page(number: int) -> Page:
    day = number + 1
    stated = f'{{"@type": "Article", "datePublished": "2024-05-{day:02}"}}' if number < 10 else "{}"
    html = HTML.format(number, prose(number, 1), prose(number, 2), day, stated)
    return Page.from_html(html, f"https://example.org/{number}")


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    return [page(number) for number in range(24)]


@pytest.fixture(scope="module")
def model(pages: list[Page]) -> SiteModel:
    return SiteLearner("example.org").fit(pages)


def fields(extraction: Extraction) -> dict[str, object]:
    return {name: value for name, value in extraction.to_dict().items() if name != "crawled_at"}


def extract_all(model: SiteModel, pages: list[Page]) -> list[Extraction]:
    return [model.extract(page) for page in pages]


def learn(learner: SiteLearner, pages: list[Page]) -> SiteModel:
    return learner.fit(pages)


def test_model_pages_and_extractions_are_the_same_in_a_spawned_process(
    model: SiteModel, pages: list[Page]
) -> None:
    expected = extract_all(model, pages)
    assert expected[20].to_dict()["published_at"] == "2024-05-21", "a learned place is read"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        found = pool.submit(extract_all, model, pages).result()
        again = pool.submit(learn, SiteLearner("example.org"), pages).result()
    assert again.version == model.version
    for one, other in zip(found, expected, strict=True):
        assert fields(one) == fields(other)
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
        np.testing.assert_array_equal(one.kept, other.kept)
    assert [one.page for one in found] == pages


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickled_model_is_its_stored_form(model: SiteModel, protocol: int) -> None:
    stored = pickle.dumps(model, protocol)
    assert len(stored) < 2 * len(model.to_bytes()) + 500
    again = pickle.loads(stored)  # noqa: S301 - our own
    assert again.manifest() == model.manifest()
    assert again.judge is Prior.shipped(), "the shipped prior is not in the pickle"


def test_pickle_of_another_version_is_named(
    model: SiteModel, pages: list[Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickles, "VERSION", pickles.VERSION + 1)
    others = [pickle.dumps(one) for one in (model, pages[0], model.extract(pages[0]))]
    others.append(pickle.dumps(SiteLearner("example.org")))
    monkeypatch.undo()
    for other in others:
        with pytest.raises(StateError) as raised:
            pickle.loads(other)  # noqa: S301 - our own
        assert raised.value.code == "pickle-version"


def test_damaged_bytes_of_a_model_raise_error(model: SiteModel) -> None:
    data = model.to_bytes()
    assert SiteModel.from_bytes(data).version == model.version
    for damaged in (data[:-20], b"", b"x" * 50):
        with pytest.raises(StateError):
            SiteModel.from_bytes(damaged)


def test_learner_keeps_options_and_prior() -> None:
    options = LearningOptions(labels="paper", features=["slots", "tags"], keep_teasers=True)
    again = pickle.loads(pickle.dumps(SiteLearner("e.org", options, Prior.shipped())))  # noqa: S301
    assert (again.site, again.options) == ("e.org", options)
    assert again.prior is Prior.shipped()
    assert again.voters == SiteLearner().voters and again.objections == SiteLearner().objections
