"""The model of a site as people use it from Python: saved, loaded, asked, printed."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

import contentspider
from contentspider import Extraction, LearningOptions, Page, Prior, SiteLearner, SiteModel
from contentspider.crawl.base.items import ContentItem
from contentspider.evaluation.corpora import find_corpora
from contentspider.ground.errors import StateError
from contentspider.ground.extras import MissingExtraError
from contentspider.state.stores.models import ModelStore
from tests.conftest import token_f1
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

HTML = (
    "<html lang=en><title>Page {0}</title><nav><a href=/>Home</a> <a href=/a>About us</a></nav><div"
    " class=text><h1>Page {0}</h1><p>{1}</p><p>{2}</p></div><footer>© 2024</footer>"
)


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    return [
        Page.from_html(HTML.format(n, prose(n, 1), prose(n, 2)), f"https://example.org/{n}")
        for n in range(12)
    ]


@pytest.fixture(scope="module")
def model(pages: list[Page]) -> SiteModel:
    return SiteLearner("example.org").fit(pages)


def test_saved_model_is_loaded_by_path(model: SiteModel, pages: list[Page], tmp_path: Path) -> None:
    folder = model.save(str(tmp_path / "new" / "example.org"))
    for again in (SiteModel.load(str(folder)), ModelStore(tmp_path / "new").read("example.org")):
        assert again.version == model.version
        assert again.manifest() == model.manifest()
        for page in pages:
            first, second = again.extract(page), model.extract(page)
            np.testing.assert_array_equal(first.probabilities, second.probabilities)
            assert first.confidence == second.confidence


def test_missing_or_damaged_model_raises_error(model: SiteModel, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere holds no model"):
        SiteModel.load(tmp_path / "nowhere")
    folder = model.save(tmp_path / "m")
    (weights,) = folder.glob("generations/1/weights.json.gz")
    weights.write_bytes(weights.read_bytes()[:-1] + b" ")
    with pytest.raises(StateError, match="the digest differs"):
        SiteModel.load(folder)


def test_model_of_earlier_schema_is_rejected(model: SiteModel, tmp_path: Path) -> None:
    manifest = model.manifest() | {"schema": 2}
    with pytest.raises(StateError, match="its schema is 2"):
        SiteModel.parse(manifest, model.dump_weights())


def test_failed_save_keeps_previous_model(
    model: SiteModel, pages: list[Page], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model.save(tmp_path / "m")
    other = SiteLearner("example.org").fit(pages[:3])

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        other.save(folder)
    assert SiteModel.load(folder).version == model.version != other.version
    assert not list(folder.glob(".*"))


def test_extraction_dict_contains_item_fields(model: SiteModel, pages: list[Page]) -> None:
    extraction = model.extract(pages[3])
    fields = extraction.to_dict()
    assert set(fields) <= set(ContentItem.__dataclass_fields__)
    assert json.loads(json.dumps(fields)) == fields
    assert fields["title"] == extraction.title == "Page 3"
    assert fields["language"] == extraction.language == "en"
    assert fields["content"] == extraction.text
    assert fields["site"] == "example.org"
    assert fields["model_version"] == model.version
    assert extraction.probabilities.shape == extraction.kept.shape == (5,)
    assert ((extraction.probabilities > 0.5) == extraction.kept).all()
    assert 0.8 < extraction.confidence <= 1


def test_page_without_blocks_extracts_empty_text(model: SiteModel) -> None:
    extraction = model.extract(Page.from_html(""))
    assert (extraction.text, extraction.confidence, len(extraction.probabilities)) == ("", 0.0, 0)


def test_blocks_at_unknown_places_count_half_in_confidence(model: SiteModel) -> None:
    html = f"<section class=new><p>{prose(1)}</p></section>"
    page = Page.from_html(html)
    sure = float(np.maximum(p := model.probabilities(page), 1 - p)[0])
    assert model.extract(page).confidence == pytest.approx(sure / 2, abs=1e-4)


def test_explanation_names_features_by_weight(model: SiteModel, pages: list[Page]) -> None:
    reasons = model.weights(pages[0], len(pages[0].content.blocks) - 2)
    assert [abs(weight) for _, weight in reasons] == sorted(
        (abs(weight) for _, weight in reasons), reverse=True
    )
    assert any("div.text" in feature for feature, weight in reasons if weight > 0)


def test_repr_is_one_short_line(model: SiteModel, pages: list[Page]) -> None:
    for thing in (model, pages[0], pages[0].content, model.extract(pages[0])):
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 120
    assert "3 of 5 blocks kept" in repr(model.extract(pages[0]))


def test_public_names_are_importable_lazily() -> None:
    names = {"Addon", "ContentItem", "Extraction", "LearningOptions", "Overrides", "Page", "Prior"}
    names |= {"SiteLearner", "SiteModel", "TaggedBlock", "TaggedPage"}
    names |= {"bind", "extract_html", "links", "page_of"}
    names |= {"extract_column", "learn_column", "sample_column"}
    assert set(contentspider.__all__) == set(contentspider._HOMES) == names
    for name in contentspider._HOMES:
        assert getattr(contentspider, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Crawler'"):
        contentspider.Crawler  # noqa: B018
    assert {Extraction, LearningOptions, Prior}


def test_template_missing_from_sample_is_judged_by_prior(example_corpus: Path) -> None:
    (corpus,) = find_corpora(example_corpus)
    gold = {page.path: page.text for page in corpus.gold()}
    recipes = [path for path in gold if path.startswith("recipes/")]
    assert recipes
    pages = {page.url: page for page in corpus.pages()}
    model = SiteLearner("example").fit(
        page for url, page in pages.items() if not url.startswith("recipes/")
    )
    for path in recipes:
        extraction = model.extract(pages[path])
        assert extraction.by_prior
        assert token_f1(extraction.text, gold[path]) > 0.95


def test_decisions_and_slots_are_tables(model: SiteModel, pages: list[Page]) -> None:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    extraction = model.extract(pages[0])
    frame, table = extraction.to_pandas(), extraction.to_arrow()
    assert isinstance(frame, pandas.DataFrame) and isinstance(table, arrow.Table)
    assert frame["kept"].tolist() == table["kept"].to_pylist() == extraction.kept.tolist()
    assert frame["text"].tolist() == [block.text for block in pages[0].content.blocks]
    assert frame["probability"].tolist() == pytest.approx(extraction.probabilities.tolist())
    assert model.to_pandas()["slot"].tolist() == [slot.slot for slot in model.summary]
    assert model.to_arrow().num_rows == len(model.summary)


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_arrow", "pyarrow")])
def test_table_without_its_package_is_an_error_that_names_what_to_install(
    method: str, package: str, model: SiteModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match="pip install"):
        getattr(model, method)()
