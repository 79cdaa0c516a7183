"""Own texts in the Markdown that pages offer."""

from __future__ import annotations

import pytest

from contentspider.site.own.readers.markdown import plain_lines
from contentspider.site.own.readers.versions import Markdown
from tests.owntexts import MARKDOWN


def test_markdown_is_converted_to_plain_lines() -> None:
    (text,) = Markdown().read(MARKDOWN.encode(), "https://e.org/tea.md", "text/markdown")
    assert text.text.splitlines() == [
        "Tea",
        "Tea is made of leaves, hot water and time, see https://e.org/x.",
        "Two lines",
        "Quoted a * b * c text*",
        '# no heading x = "*a*"',
        "first more of it",
        "second",
        "Kind",
        "Price",
        "black",
        "2 €",
        "See there, 2 * 3 * 4, snake_case_name and bold.",
    ]
    assert (text.url, text.title) == ("https://e.org/tea", "Tea and leaves")
    assert (text.author, text.published_at) == (("Ada Byron",), "2024-03-01")


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("", []),
        ("```\nnever closed\nat all", ["never closed at all"]),
        ("````\n```\nin it\n```\n````\nafter", ["``` in it ```", "after"]),
        ("``` `code` ``` in text", ["``` code ``` in text"]),
        ("#hashtag\n#\n# C#", ["#hashtag", "", "C#"]),
        ("***all***, *open, __a__ b_c_d, ~~gone~~", ["all, *open, a b_c_d, gone"]),
        ("[![x](y)](z)[text](/a_(b) 'c')", ["text"]),
        ("- \n- a\n\n  b\n+ c", ["a", "  b", "c"]),
        ("a | b", ["a | b"]),
    ],
)
def test_malformed_markdown_is_converted_to_lines(markdown: str, expected: list[str]) -> None:
    assert list(plain_lines(markdown)) == expected


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("https://e.org/tea.md", "https://e.org/tea"),
        ("https://e.org/tea.html.md?v=1", "https://e.org/tea.html?v=1"),
        ("https://e.org/docs/index.md", "https://e.org/docs/"),
        ("https://e.org/docs/index.html.md", "https://e.org/docs/"),
        ("https://e.org/tea", "https://e.org/tea"),
    ],
)
def test_url_of_page_is_derived_from_markdown_url(address: str, page: str) -> None:
    (text,) = Markdown().read(b"# Tea\n\nx", address, "text/markdown; charset=utf-8")
    assert (text.url, text.title, text.text) == (page, "Tea", "Tea\nx")


def test_non_markdown_responses_have_no_text() -> None:
    read = Markdown().read
    assert read(b"text", "https://e.org/tea", "text/plain") == []
    assert read(b"text", "http://[x/tea.md") == []
    assert read(b"<!DOCTYPE html><title>Not found</title>", "https://e.org/tea.md") == []
    assert read(b"\x1f\x8b\x08\0\0\0\0\0\2\3", "https://e.org/tea.md") == []
    assert read(b"\n \n", "https://e.org/tea.md") == []
    assert read("café au lait".encode("cp1252"), "https://e.org/tea.md")[0].text == "café au lait"
