"""What a notebook meets: public names, attributes of results, and errors that say what to give."""

from __future__ import annotations

from pathlib import Path

import pytest

import contentspider
from contentspider import Page, SiteLearner, extract_html

HTML = (
    "<title>Tea</title><meta name=author content='Ann Lee'>"
    "<meta property=article:published_time content=2024-05-06>"
    "<nav><a href=/>Home &amp; all</a></nav>"
    "<p>Tea is made of leaves &amp; water, and is drunk all over the world by many people.</p>"
)


def test_dir_of_package_has_its_public_names() -> None:
    assert {"Page", "SiteLearner", "extract_html"} <= set(dir(contentspider))
    assert dir(contentspider) == sorted(contentspider.__all__)


@pytest.mark.parametrize("pages", [["<p>Tea"], [b"<p>Tea"], [Path("tea.html")]])
def test_site_is_learned_from_pages_only(pages: list[Page]) -> None:
    with pytest.raises(TypeError):
        SiteLearner("e.org").fit(pages)


def test_page_is_read_from_text_or_bytes_only(tmp_path: Path) -> None:
    file = tmp_path / "tea.html"
    file.write_text(HTML)
    with pytest.raises(TypeError):
        extract_html(file)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        extract_html(str(file))
    assert extract_html("Tea\0 \ud800" + "a" * 5_000).page.content.blocks
    assert extract_html(file.read_bytes()).text == extract_html(HTML).text


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
