"""What a notebook meets: public names, attributes of results, and errors that say what to give."""

from __future__ import annotations

import gzip
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import contentspider
from contentspider import Page, SiteLearner, SiteModel, extract_html
from contentspider.archive.columns import extract_lists
from contentspider.cli import main
from contentspider.ground.encodings import PackedError
from contentspider.ground.errors import NotHTMLError

if TYPE_CHECKING:
    from collections.abc import Callable


def zstd_module() -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


HTML = (
    "<title>Tea</title><meta name=author content='Ann Lee'>"
    "<meta property=article:published_time content=2024-05-06>"
    "<nav><a href=/>Home &amp; all</a></nav>"
    "<p>Tea is made of leaves &amp; water, and is drunk all over the world by many people.</p>"
)


def test_dir_of_package_has_its_public_names() -> None:
    assert {"Page", "SiteLearner", "extract_html"} <= set(dir(contentspider))
    assert dir(contentspider) == sorted(contentspider.__all__)


@pytest.mark.parametrize(
    "pages", [["<p>Tea"], [b"<p>Tea"], [Path("tea.html")], [SimpleNamespace(content=b"<p>Tea")]]
)
def test_site_is_learned_from_pages_only(pages: list[Page]) -> None:
    with pytest.raises(TypeError, match="Page"):
        SiteLearner("e.org").fit(pages)
    model = SiteLearner("e.org").fit([Page.from_html(HTML, "https://e.org/tea")])
    with pytest.raises(TypeError, match="Page"):
        model.extract(pages[0])
    with pytest.raises(TypeError, match="address"):
        Page.from_html(HTML, 3)  # type: ignore[arg-type]


def test_page_is_read_from_text_or_bytes_only(tmp_path: Path) -> None:
    file = tmp_path / "tea.html"
    file.write_text(HTML)
    with pytest.raises(TypeError):
        extract_html(file)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        extract_html(str(file))
    assert extract_html("Tea\0 \ud800" + "a" * 5_000).page.content.blocks
    assert extract_html(file.read_bytes()).text == extract_html(HTML).text


def test_items_of_a_notebook_are_written_to_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    items = [extract_html(HTML).to_dict(), extract_html("<p>Tea").to_dict()]
    file = tmp_path / "items.parquet"
    pandas.DataFrame(items).to_parquet(file)
    assert pandas.read_parquet(file)["content"].str.contains("leaves").tolist() == [True, False]
    assert [item["fields"] for item in items] == [None, None]


def test_model_explains_a_block_in_words() -> None:
    pages = [Page.from_html(HTML.replace("Tea", f"Tea {number}")) for number in range(6)]
    model = SiteLearner("e.org").fit(pages)
    why = model.explain(pages[0], 1)
    assert why.is_kept and "decided by" in str(why) and why.reasons
    assert [weight for _, weight in model.weights(pages[0], 1)]


@pytest.mark.parametrize(
    "body",
    [b"%PDF-1.4\n1 0 obj", bytes(range(256)) * 4, b'{"a": 1}', b"<rss version=2>"],
)
def test_bytes_that_are_no_html_are_an_error(body: bytes) -> None:
    for read in (Page.from_html, extract_html):
        with pytest.raises(NotHTMLError) as raised:
            read(body)
        assert ("read_document" in str(raised.value)) == body.startswith(b"%PDF")
    assert Page.from_html(b" ").content.blocks == []


def test_extraction_has_dates_and_authors_and_shows_what_it_keeps() -> None:
    extraction = extract_html(HTML, "https://e.org/tea")
    fields = extraction.to_dict()
    assert extraction.published_at == fields["published_at"] == "2024-05-06"
    assert extraction.authors == fields["author"] == ["Ann Lee"]
    shown = extraction._repr_html_()
    assert "leaves &amp; water" in shown and "Home &amp; all" in shown
    assert shown.count("<p") == len(extraction.page.content.blocks)
    assert shown.count("✓") == extraction.kept.sum() == 1, "code hosts take the colours away"
    alone = extraction.page._repr_html_()
    assert alone.count("<p") == shown.count("<p") and "✓" not in alone


def test_model_shows_its_slots_by_score() -> None:
    pages = [Page.from_html(HTML.replace("Tea", f"Tea {n}"), f"https://e.org/{n}") for n in "abcd"]
    model = SiteLearner("e.org").fit(pages)
    shown = model._repr_html_()
    assert shown.count("<tr") == len(model.summary) == 2
    assert shown.index("body/p") < shown.index("body/nav"), "the content is first"
    assert "leaves &amp; water" in shown and shown.count("█") > 5


def test_long_page_says_how_much_it_does_not_show() -> None:
    page = Page.from_html("<p>Tea" * 305)
    assert page._repr_html_().count("<p") == 301 and "5 more blocks" in page._repr_html_()


NAMES = ["/saved/a.html", "pages/a.html", "a.html.gz", "https://example.org/", "file:///a", "C:\\a"]


@pytest.mark.parametrize("name", NAMES)
def test_text_that_is_a_name_is_an_error_and_such_a_body_is_a_page(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for read in (Page.from_html, extract_html):
        with pytest.raises(NotHTMLError):
            read(name)
    assert [block.text for block in Page.from_html(name.encode()).content.blocks] == [name]
    (tmp_path / "Tea").touch()
    monkeypatch.chdir(tmp_path)
    assert [block.text for block in Page.from_html("Tea").content.blocks] == ["Tea"]


@pytest.mark.parametrize("text", ['{"a": 1}', '[{"a": 1}]', '{"a": 1}\n{"a": 2}\n'])
def test_text_that_is_no_page_is_an_error_at_each_entry(text: str, tmp_path: Path) -> None:
    for html in (text, text.encode()):
        for read in (Page.from_html, extract_html):
            with pytest.raises(NotHTMLError):
                read(html)
    (error,) = extract_lists(["https://e.org/"], [text])["error"]
    assert "NotHTMLError" in error
    (tmp_path / "page.html").write_text(text)
    assert main(["extract", str(tmp_path / "page.html")]) == 1


@pytest.mark.parametrize("text", ["", "Tea", "Tea/coffee", "see https://e.org/", "{tea}", "a.b.c"])
def test_text_without_tags_is_a_page(text: str) -> None:
    assert extract_html(text).page.content.blocks or not text
    assert Page.from_html(text.encode()).url == ""


@pytest.mark.parametrize("pack", [gzip.compress, zstd_module().compress])
def test_packed_bytes_are_unpacked_in_python(pack: Callable[[bytes], bytes]) -> None:
    assert extract_html(pack(HTML.encode())).text == extract_html(HTML).text
    with pytest.raises(PackedError):
        Page.from_html(pack(b"a" * 13_000_000))


def test_bytes_of_any_kind_are_a_page() -> None:
    for kind in (bytearray, memoryview):
        assert extract_html(kind(HTML.encode())).text == extract_html(HTML).text


@pytest.mark.parametrize("site", [Path("x"), None, 5, [Page.from_html(HTML)]])
def test_learner_takes_the_name_of_a_site_only(site: str) -> None:
    with pytest.raises(TypeError):
        SiteLearner(site)


def test_wrong_arguments_of_python_are_told_in_a_sentence() -> None:
    page = Page.from_html(HTML)
    with pytest.raises(TypeError, match="several"):
        SiteLearner("e.org").fit(page)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="LearningOptions"):
        SiteLearner("e.org", {"labels": "votes"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Overrides"):
        Page.from_html(HTML, overrides="drop = []")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="FieldsFile"):
        Page.from_html(HTML, fields_file="a.toml")  # type: ignore[arg-type]
    model = SiteLearner("e.org").fit([page])
    assert model.explain(page, "MADE of  leaves").text == model.explain(page, 1).text
    with pytest.raises(ValueError):
        model.explain(page, "coffee")


def test_pages_extractions_and_models_are_equal_by_value(tmp_path: Path) -> None:
    page, other = Page.from_html(HTML, "/a"), Page.from_html(HTML.replace("Tea", "Cocoa"), "/b")
    model = SiteLearner("e.org").fit([page])
    extraction = model.extract(page)
    assert extraction == pickle.loads(pickle.dumps(extraction))  # noqa: S301
    assert extraction != model.extract(other)
    assert extraction != 3
    assert len({page, pickle.loads(pickle.dumps(page)), other}) == 2  # noqa: S301
    assert len({extraction, pickle.loads(pickle.dumps(extraction))}) == 1  # noqa: S301
    model.save(tmp_path / "m")
    loaded = SiteModel.load(tmp_path / "m")
    assert model == loaded
    assert len({model, loaded}) == 1
    assert model != SiteLearner("e.org").fit([page, other])
    assert model != SiteLearner("f.org").fit([page])
    assert model != 3
