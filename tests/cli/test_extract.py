"""Extraction of saved pages, with models that are stored or learned from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from contentspider.evaluation.corpora import find_corpora
from contentspider.extract import extract_paths
from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.learn.options import LearningOptions
from contentspider.site.models.model import SiteModel
from contentspider.state.stores.models import ModelStore
from tests.conftest import read_jsonl, run, token_f1
from tests.messages import raises
from tests.site.test_model import HTML
from tests.site.test_prior import constant
from tests.sites import article, prose

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def models(tmp_path: Path) -> Path:
    pages = [Page.from_html(HTML.format(n, prose(n, 1), prose(n, 2)), f"/{n}") for n in "abcd"]
    learner = SiteLearner("example.org", LearningOptions(features=["slots", "scripts"]))
    ModelStore(tmp_path / "models").save(learner.fit(pages))
    return tmp_path / "models"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "example.org"
    folder.mkdir()
    (folder / "one.html").write_text(HTML.format(1, prose(1), prose(2)))
    return folder


@pytest.mark.parametrize("place", ["", "example.org"])
def test_saved_pages_are_extracted_with_stored_model(models: Path, saved: Path, place: str) -> None:
    (item,) = extract_paths([saved], models=models / place)
    assert item["model_version"] == SiteModel.load(models / "example.org").version
    assert item["site"] == "example.org"
    assert item["content"] == f"Page 1\n{prose(1)}\n{prose(2)}"


def test_stored_model_uses_prior_from_options(models: Path, saved: Path) -> None:
    prior = saved.with_name("prior.npz")
    prior.write_bytes(constant(30.0).dump())
    (item,) = extract_paths([saved], LearningOptions(prior_file=str(prior)), models)
    (usual,) = extract_paths([saved], models=models)
    assert len(str(item["content"])) > len(str(usual["content"]))


def test_missing_site_model_error_lists_available_models(models: Path, saved: Path) -> None:
    other = saved.rename(saved.with_name("other.org"))
    with pytest.raises(ContentSpiderError, match=r"no model of 'other\.org'; it has: example\.org"):
        list(extract_paths([other], models=models))
    (item,) = extract_paths([other / "one.html"], models=models / "example.org")
    assert item["site"] == "example.org"


def test_damaged_model_raises_state_error_instead_of_relearning(models: Path, saved: Path) -> None:
    (models / "example.org" / "manifest.json").write_text("{")
    with raises(StateError, "model-manifest"):
        list(extract_paths([saved], models=models))


def test_extract_command_accepts_folder_of_models(models: Path, saved: Path) -> None:
    run("extract", str(saved), "--models", "models", "-o", "out.jsonl", cwd=saved.parent)
    (item,) = read_jsonl(saved.parent / "out.jsonl")
    assert item["model_version"] == SiteModel.load(models / "example.org").version
    done = run("extract", str(saved), "--models", "none", cwd=saved.parent, check=False)
    assert done.returncode == 1
    assert "none has no model of 'example.org'; it has: none." in done.stderr


def test_extract_learns_from_folders_and_files(example_corpus: Path, tmp_path: Path) -> None:
    run("extract", str(example_corpus / "html"), "-o", "out.jsonl", cwd=tmp_path)
    (corpus,) = find_corpora(example_corpus)
    items = {item["url"]: item for item in read_jsonl(tmp_path / "out.jsonl")}
    scores = [token_f1(str(items[page.path]["content"]), page.text) for page in corpus.gold()]
    assert sum(scores) / len(scores) >= 0.97
    (tmp_path / "a.html").write_text(article(1))
    (tmp_path / "empty.html").write_text("")
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "page").write_text("<!-- saved --><!DOCTYPE html>" + article(1))
    (mirror / "page.php").write_text(article(2))
    (mirror / "style.css").write_text("p { color: red }")
    (mirror / "notes.txt").write_text("a < b")
    run("extract", "mirror", "-o", "mirror.jsonl", cwd=tmp_path)
    assert [item["url"] for item in read_jsonl(tmp_path / "mirror.jsonl")] == ["page", "page.php"]
    done = run("extract", "a.html", "empty.html", cwd=tmp_path)
    assert json.loads(done.stdout)["content"].startswith("Page 1\n")
    assert "empty.html has no text" in done.stderr


def examples(folder: Path) -> LearningOptions:
    file = folder / "fields.toml"
    entries = ", ".join(f'{{url = "{name}.html", value = "Page {name}"}}' for name in "ab")
    file.write_text(f'[head]\nexamples = [{entries}]\n[none]\ncss = "h6"\n')
    return LearningOptions(fields=str(file))


def test_own_fields_without_any_value_are_logged(
    saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = examples(saved.parent)
    (item,) = extract_paths([saved], options)
    assert item["fields"] == {}
    assert "head, none" in caplog.text, "one page teaches no places"
    caplog.clear()
    for name in "abcdef":
        (saved / f"{name}.html").write_text(HTML.format(name, prose(name, 1), prose(name, 2)))
    items = list(extract_paths([saved], options))
    assert any(item["fields"] for item in items)
    missing = [line for line in caplog.messages if "no value" in line]
    assert len(missing) == 1
    assert "none" in missing[0]
    assert "head" not in missing[0]


def test_pages_with_texts_and_numbers_are_counted(
    saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = saved.parent / "fields.toml"
    file.write_text('price = {css = ".price", type = "number"}\nmaker = {css = ".maker"}\n')
    for name, shown in (("a", "price>0"), ("b", "maker>Ada"), ("c", "maker>Bob")):
        html = HTML.format(name, prose(name, 1), prose(name, 2)) + f"<p class={shown}</p>"
        (saved / f"{name}.html").write_text(html)
    items = extract_paths([saved], LearningOptions(fields=str(file)))
    values = [item["fields"] for item in items]
    assert values == [{"price": 0.0}, {"maker": "Ada"}, {"maker": "Bob"}, {}]
    assert "no value" not in caplog.text


def test_stored_model_without_the_examples_is_logged(
    models: Path, saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    list(extract_paths([saved], models=models))
    assert "examples" not in caplog.text
    list(extract_paths([saved], examples(saved.parent), models))
    assert "was not learned with the examples" in caplog.text


def test_documents_in_a_folder_of_pages_are_logged(
    saved: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (saved / "tea.pdf").write_bytes(b"%PDF-1.4")
    assert len(list(extract_paths([saved]))) == 1
    assert "tea.pdf" in caplog.text
