"""Others' gold as corpora."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from researching import run

from contentspider.evaluation.corpora import find_corpora
from contentspider.ground.errors import ContentSpiderError
from contentspider_research.dataset.imported import import_gold
from contentspider_research.dataset.sources import find_sources
from tests.conftest import read_jsonl

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "Tea is made of leaves, of hot water, and of time."


@pytest.mark.parametrize("name", ["CEML__MAIN__CONTENT", "CEML_MAIN_CONTENT"])
def test_pages_annotated_by_class_are_imported(tmp_path: Path, name: str) -> None:
    source = tmp_path / "annotated-pages" / "a"
    source.mkdir(parents=True)
    html = f"<nav>Menu</nav><div class='x {name}'><p class=\"{name}\">{TEXT} <b>So.</b></p>Ad</div>"
    (source / "1.html").write_text(html)
    (source / "robots.txt").write_text("User-agent: *")
    (source / "2.html").write_text("<p>Nobody has said anything of this")
    run("import", "annotated-pages", "tea", cwd=tmp_path)
    assert read_jsonl(tmp_path / "tea" / "gold.jsonl") == [
        {"path": "a/1.html", "text": f"{TEXT} So.\nAd"}
    ]
    copied = (tmp_path / "tea" / "html" / "a" / "1.html").read_text()
    assert copied == f"<nav>Menu</nav><div class='x'><p>{TEXT} <b>So.</b></p>Ad</div>"
    [corpus] = find_corpora(tmp_path / "tea")
    assert not corpus.is_collection
    [source_] = find_sources(tmp_path / "tea")
    assert source_.gold["a/1.html"].text.startswith(TEXT)


def test_l3s_gold_is_imported(tmp_path: Path) -> None:
    source = tmp_path / "L3S-GN1"
    page = (
        "<span>Menu</span><h1>{1}Title</span></h1><p>{2}One{end} two</span></p>"
        "<p>{3}More</span></p>"
        "<div>{4}Related</span><div>{5}A comment</span></div>{0}x</span></div>"
    )
    kinds = {f"{n}": f"<span class='x-nc-sel{n} y'>" for n in range(6)}
    annotated, original = page, page.replace("</span>", "").replace("<span>", "")
    for number, span in kinds.items():
        annotated = annotated.replace(f"{{{number}}}", span)
        original = original.replace(f"{{{number}}}", "")
    for name, html in (("annotated", annotated), ("original", original)):
        (source / name).mkdir(parents=True)
        (source / name / "u.html").write_text(html.replace("{end}", "</span>" * (name[0] == "a")))
    assert import_gold(source, tmp_path / "l3s") == 1
    [row] = read_jsonl(tmp_path / "l3s" / "gold.jsonl")
    assert row["text"].split() == ["Title", "One", "More"]
    assert str(row["optional_text"]).split() == ["Related", "A", "comment"]
    assert "x-nc-sel" not in (tmp_path / "l3s" / "html" / "u.html").read_text()
    [corpus] = find_corpora(tmp_path / "l3s")
    assert corpus.is_collection


def test_annotated_pages_of_l3s_are_enough(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / "L3S-GN1"
    (source / "annotated").mkdir(parents=True)
    html = f"<p>Menu</p><p class='lead'><span class='x-nc-sel2 y'>{TEXT}</span> Ad</p>"
    (source / "annotated" / "u.html").write_text(html)
    assert import_gold(source, tmp_path / "l3s") == 1
    assert read_jsonl(tmp_path / "l3s" / "gold.jsonl") == [{"path": "u.html", "text": TEXT}]
    copied = (tmp_path / "l3s" / "html" / "u.html").read_text()
    assert copied == html.replace("x-nc-sel2", "")
    # With original/ a page that is not there is left out, and said.
    (source / "original").mkdir()
    (source / "annotated" / "v.html").write_text(html)
    (source / "original" / "v.html").write_text(f"<p>Menu</p><p>{TEXT} Ad</p>")
    assert import_gold(source, tmp_path / "other") == 1
    assert "u.html" in caplog.text


def test_cleaneval_gold_is_imported(tmp_path: Path) -> None:
    for name in ("finalrun-input", "GoldStandard"):
        (tmp_path / "ce" / name).mkdir(parents=True)
    html = '<text id="1" title="Tea" encoding="iso-8859-1"><html><p>Café, milk and more.</p></text>'
    (tmp_path / "ce" / "finalrun-input" / "1.html").write_bytes(html.encode("latin-1"))
    (tmp_path / "ce" / "finalrun-input" / "2.html").write_text("<p>without a text")
    gold = "URL: http://e.org/\n\n<h>Tea\n\n<p>Café, and\n<l>more"
    (tmp_path / "ce" / "GoldStandard" / "1.txt").write_text(gold)
    assert import_gold(tmp_path / "ce", tmp_path / "out") == 1
    [row] = read_jsonl(tmp_path / "out" / "gold.jsonl")
    assert row == {"path": "finalrun-input/1.html", "text": "Tea\nCafé, and\nmore"}
    copied = (tmp_path / "out" / "html" / "finalrun-input" / "1.html").read_text("utf-8")
    assert copied == "<html><p>Café, milk and more.</p>"
    run("evaluate", "out", "-o", "predicted.jsonl", cwd=tmp_path)
    [predicted] = read_jsonl(tmp_path / "predicted.jsonl")
    assert "Café" in str(predicted["text"])


def test_folder_without_gold_raises_error(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<p>Tea")
    with pytest.raises(ContentSpiderError, match="has no pages with gold"):
        import_gold(tmp_path, tmp_path / "out")
