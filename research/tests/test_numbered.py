"""Pages with numbered names."""

from __future__ import annotations

import re

import pytest

from contentspider.page.input.page import Page
from contentspider_research.numbered import number_names

PAGE = """<title>Thé</title><meta charset="{}">
<main class="text wide"><p id='thé'>Le thé.</p></main>
<div class=text data-name="text">Encore du thé.</div>"""


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_numbered_page_has_text_of_original_in_its_own_encoding(encoding: str) -> None:
    html = PAGE.format(encoding).encode(encoding)
    first, second = (Page.from_html(one) for one in (html, number_names(html)))
    assert [block.text for block in second.content.blocks] == ["Le thé.", "Encore du thé."]
    assert second.hints.titles == first.hints.titles


def test_names_are_numbers_and_equal_names_have_one_number() -> None:
    html = number_names(b"<p class=\"tea cup\" data-id='tea'><p\nclass='tea'><p id=cup>Tea")
    (tea, cup, again, last) = re.findall(rb"b-\d+", html)
    assert (tea, cup) == (again, last)
    assert tea != cup
    assert html.endswith(b">Tea")
    assert b"data-id='tea'" in html
