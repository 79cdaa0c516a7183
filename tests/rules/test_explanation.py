"""A model as sentences: ``contentspider models show``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.cli import main
from contentspider.ground.errors import NotEnoughTextError
from contentspider.page.input.page import Page
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.explanation import MAX_SENTENCES, Sentence, explain_model
from contentspider.state.stores.models import ModelStore
from tests.conftest import run, serve
from tests.rules.test_extraction_rules import html
from tests.rules.test_extraction_rules import site as learned
from tests.sites import prose, small_site

if TYPE_CHECKING:
    from pathlib import Path


def test_sentence_is_written_as_readable_text() -> None:
    sentence = Sentence("div.a > p", ("ul", "li.b"), True, 2210, 118, "Tea")
    assert str(sentence) == (
        "in div.a > p, unless in ul or li.b -> content, 2,210 blocks on 118 pages: Tea"
    )
    rest = Sentence("", (), False, 3, 0, "Tea")
    assert str(rest) == "anywhere else -> boilerplate, 3 blocks: Tea"


def test_sentences_agree_with_model_decisions() -> None:
    model, pages = learned(12)
    found = explain_model(model, pages)
    assert found.pages == 12
    assert found.agreement > 0.98
    first = found.sentences[0]
    assert first.is_content
    assert "div.post" in first.inside
    assert first.pages == 12
    assert first.example
    assert len(first.example) <= 60
    order = [sentence.is_content for sentence in found.sentences]
    assert order == sorted(order, reverse=True)
    # Each block is in one sentence.
    blocks = sum(len(page.content.blocks) for page in pages)
    assert sum(sentence.blocks for sentence in found.sentences) == blocks


def test_sentence_names_exceptions_inside_it() -> None:
    # Text of several kinds: a sentence for each would be longer.
    quoted = [html(n).replace("</p><p>", f"</p><ul><li>{prose(n, 3)}</ul><p>") for n in range(12)]
    pages = [Page.from_html(each, f"/{n}") for n, each in enumerate(quoted)]
    model = SiteLearner("e.org").fit(pages)
    sentences = {sentence.inside: sentence for sentence in explain_model(model, pages).sentences}
    (exception,) = sentences["div.post"].outside
    assert exception.startswith("div.related")
    assert sentences[exception].outside == sentences[""].outside == ()


def test_explanation_without_pages_uses_manifest() -> None:
    model, _ = learned(12)
    found = explain_model(model, [Page.from_html("<p>", "/")])
    assert found.pages == 0
    assert found.agreement > 0.95
    assert all(sentence.pages == 0 for sentence in found.sentences)
    assert sum(sentence.blocks for sentence in found.sentences) == sum(
        slot.blocks for slot in model.summary
    )
    model.summary = []
    with pytest.raises(NotEnoughTextError, match=r"^e\.org: "):
        explain_model(model, [])


def test_number_of_sentences_is_limited() -> None:
    bodies = [
        f"<title>{n}</title>"
        + "".join(
            f"<section class=part-{letter}><{'p' if index % 2 else 'li'}>{html(index * 40 + n)}"
            for index, letter in enumerate("abcdefghijklmnopqrst")
        )
        for n in range(6)
    ]
    pages = [Page.from_html(body, f"/{n}") for n, body in enumerate(bodies)]
    found = explain_model(SiteLearner("e.org").fit(pages), pages)
    assert 1 <= len(found.sentences) <= MAX_SENTENCES


def test_models_show_explains_stored_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model, _ = learned(12)
    ModelStore(tmp_path / "models").save(model)
    assert main(["models", "show", "e.org"]) == 0
    _, _, said = capsys.readouterr().out.partition("\nin short (right for ")
    head, *lines = said.partition("\n\n")[0].splitlines()
    assert head.endswith(" of the words, by its manifest)")
    assert 1 <= len(lines) <= MAX_SENTENCES
    assert all(" -> " in line for line in lines)


def test_crawled_model_is_explained_with_pages_of_its_crawl(tmp_path: Path) -> None:
    with serve() as site:
        small_site(site, 8)
        run("crawl", site.url, "-o", "out.jsonl", "--own-site", cwd=tmp_path)
    (name,) = ModelStore(tmp_path / "models").sites()
    said = run("models", "show", name, cwd=tmp_path).stdout
    assert "of the words, by 8 pages of its crawl)" in said
    rules = run("rules", "export", name, "-o", "r.xml", cwd=tmp_path)
    assert "learned from 8 pages; agreement with the model" in rules.stderr
