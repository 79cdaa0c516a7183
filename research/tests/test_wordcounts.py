"""The six word features, exact, by our blocks and by the paper's."""

from __future__ import annotations

import pytest

from contentspider.page.input.page import Page
from contentspider_research.features.wordcounts import CELLS, LAYOUT, count_unit_words, count_words

HTML = (
    "<body>a b<div>one two <a href=/x>three-four</a> <b>five</b><section><p>six <a href=/>seven"
    "</a></p><div>eight</div></section>nine</div><table><tr><td>ten <code>x</code><td><a"
    " href=/long>eleven twelve</a></table>"
)


def test_linked_words_are_counted_from_link_text() -> None:
    page = Page.from_html(
        "<p>I <a href=/>incomprehensibilities</a> am <a href=/>a b</a> it"
    ).content
    (count,) = count_words(page)
    assert (count.words, count.links, count.linked, count.page_words) == (6, 2, 3, 6)
    assert (count.density, count.words_per_link, count.link_ratio) == (1, 1.5, 0.5)


def test_block_without_links_or_words_has_zero_counts() -> None:
    (count,) = count_words(Page.from_html("<p>…").content)
    assert (count.words, count.density, count.words_per_link, count.link_ratio) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (CELLS, {"body": (2, 0, 0), "div": (8, 2, 3), "div/section/div": (1, 0, 0)}),
        (
            LAYOUT,
            {
                "body": (2, 0, 0),
                "div": (6, 1, 2),
                "div/section": (2, 1, 1),
                "div/section/div": (1, 0, 0),
            },
        ),
    ],
)
def test_paper_blocks_exclude_nested_blocks(tags, expected) -> None:
    page = Page.from_html(HTML).content
    found = {
        page.paths[unit].removeprefix("body/"): (count.words, count.links, count.linked)
        for unit, count in count_unit_words(page, tags).items()
        if page.tags[unit] != "td"
    }
    assert found == expected
    cells = [
        count for unit, count in count_unit_words(page, tags).items() if page.tags[unit] == "td"
    ]
    assert [count[:3] for count in cells] == [(2, 0, 0), (2, 1, 2)]
    assert {count.page_words for count in cells} == {15}


def test_page_without_text_has_no_unit_counts() -> None:
    assert count_unit_words(Page.from_html("").content, CELLS) == {}
