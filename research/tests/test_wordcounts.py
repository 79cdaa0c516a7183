"""The six word features, exact, by our blocks and by the paper's."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from random import Random
from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider_research.features.wordcounts import CELLS, LAYOUT, count_unit_words, count_words

if TYPE_CHECKING:
    from contentspider.page.tree.blocks import PageBlocks

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


def test_adjoining_links_are_words_of_their_own() -> None:
    html = "<p><a href=/>Tea</a><a href=/>Green tea</a>cups<a href=/>Mugs</a></p>"
    (count,) = count_words(Page.from_html(html).content)
    assert (count.words, count.links, count.linked, count.page_words) == (5, 3, 4, 5)
    assert (count.words_per_link, count.link_ratio) == (4 / 3, 4 / 5)


def test_link_around_whole_preformatted_text_has_its_words() -> None:
    html = "<pre><a href=/>one two</a></pre><pre>one <a href=/>two</a></pre>"
    counts = count_words(Page.from_html(html).content)
    assert [count[:3] for count in counts] == [(2, 1, 2), (2, 1, 0)]


PICTURES = (
    "<body><a href=/home><img src=l.png></a><div>one <a href=/1>two</a><a href=/2><img src=a.png>"
    "</a><a name=x></a><p><a href=/3></a></p><section><a href=/4><i></i></a></section>"
    "<div><a href=/5><img src=b.png></a></div></div><table><tr><td><a href=/6>three</a></table>"
)


@pytest.mark.parametrize(("tags", "links"), [(CELLS, [4, 1]), (LAYOUT, [3, 1])])
def test_links_without_text_count_in_paper_blocks(tags, links) -> None:
    # /5 is in a block without words of its own, /4 too where sections are blocks.
    page = Page.from_html(PICTURES, attributes=True).content
    assert [count.links for count in count_unit_words(page, tags).values()] == links
    assert [count.links for count in count_unit_words(without_tree(page), tags).values()] == [1, 1]


def without_tree(page: PageBlocks) -> PageBlocks:
    return replace(page, around=[])


class Links(HTMLParser):
    """Counts the addresses of links in each ``div``, without those in its own ``div`` elements."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "div":
            self.open.append(str(dict(attrs)["id"]))
        self.links[self.open[-1]] += tag == "a" and "href" in dict(attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag == "div":
            self.open.pop()


def test_links_equal_those_of_another_parser_on_generated_pages() -> None:
    random = Random(56)
    inner = ["<a href=/></a>", "<a href=/>w</a>", "<a name=n></a>", "<p><a href=/><i></i></a></p>"]

    def div(name: str, depth: int) -> str:
        parts = random.choices([*inner, "word "], k=random.randint(0, 6))
        parts += [div(f"{name}{letter}", depth - 1) for letter in "xyz" if depth]
        random.shuffle(parts)
        return f"<div id={name}>{''.join(parts)}</div>"

    html = div("d", 3)
    reference = Links()
    reference.feed(html)
    page = Page.from_html(html, attributes=True).content
    counted = count_unit_words(page, CELLS)
    assert len(counted) > 20
    for unit, count in counted.items():
        assert count.links == reference.links[page.paths[unit].rpartition("#")[2]]
        assert count.link_ratio <= 1


def test_page_without_text_has_no_unit_counts() -> None:
    assert count_unit_words(Page.from_html("").content, CELLS) == {}
