"""Headers that announce noise, and the sections that they rule."""

from __future__ import annotations

import pytest

from contentspider.page.input.page import Page
from contentspider_research.features.announced import HEADERS, announces_noise, noise_sections


@pytest.mark.parametrize("header", HEADERS)
def test_each_noise_header_is_recognized(header) -> None:
    text = header.replace("[site]", "Tea Weekly")
    for written in (text, text.upper() + ":", f"“{text.replace(chr(39), '’')}”"):
        assert announces_noise(written)
        assert announces_noise(written, ["tea weekly"])
        assert announces_noise(written, ["milk"]) == ("[site]" not in header)
    assert not announces_noise(f"{text} and all that one could want to know of them")
    assert not announces_noise(f"Not {text}")


def test_noise_header_list_has_sixty_entries() -> None:
    assert len(set(HEADERS)) == 60
    assert not announces_noise("More from")


def levels(html: str) -> dict[str, int]:
    page = Page.from_html(html).content
    return {
        block.text: level for block, level in zip(page.blocks, noise_sections(page), strict=True)
    }


@pytest.mark.parametrize(
    "section",
    [
        "<h3>Related</h3><ul><li>b<li>c</ul>",
        "<div><h3>Related</h3><ul><li>b<li>c</ul></div>",
        "<div><div><h3>Related</h3></div><div><p>b</p><div>c</div></div></div>",
        "<div><h3>Related</h3></div><ul><li>b<li>c</ul>",
        "<section><div><div><h3>Related</h3></div></div><p>b</p><h4>Milk</h4><p>c</p></section>",
    ],
)
def test_noise_header_marks_its_section_however_nested(section) -> None:
    found = levels(f"<main><h1>T</h1><p>a</p>{section}<h2>More</h2><p>d</p></main>")
    assert {text for text, level in found.items() if level} - {"Milk"} == {"b", "c"}
    assert found["b"] == 3
    assert not found["Related"]


def test_noise_section_in_box_ends_with_box() -> None:
    found = levels("<p>a</p><div><h3>Related</h3><p>b</p></div><p>c</p>")
    assert found == {"a": 0, "Related": 0, "b": 3, "c": 0}


def test_noise_section_continues_until_higher_heading() -> None:
    many = "".join(f"<p>{number}</p>" for number in range(40))
    found = levels(f"<p>a</p><h2>Related</h2>{many}<h3>Milk</h3><p>b</p><h1>Tea</h1><p>c</p>")
    assert sum(level == 2 for level in found.values()) == 42
    assert found["c"] == found["a"] == 0


def test_noise_header_may_span_lines_and_nest_in_other_section() -> None:
    html = "<p>a</p><h2>You<br><br>May Like</h2><p>b</p><h3>See also</h3><p>c</p><h2>Tea</h2>d"
    found = list(levels(html).items())
    assert found[:4] == [("a", 0), ("You", 0), ("May Like", 0), ("b", 2)]
    assert found[4:] == [("See also", 2), ("c", 3), ("Tea", 0), ("d", 0)]


def test_page_without_noise_headers_has_no_noise_sections() -> None:
    assert levels("<p>Related</p><p>a</p>") == {"Related": 0, "a": 0}
    assert levels("") == {}
    assert levels("<h2>Related</h2>") == {"Related": 0}
