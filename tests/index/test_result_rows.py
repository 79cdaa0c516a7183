"""The list of results: snippets, sections of pages, and equal pages."""

from __future__ import annotations

import time
from typing import Any

import pytest

from contentspider.index.engine import Hit, Query, Results
from contentspider.index.result_rows import ResultRow, result_rows

GUIDE = """
<h1 id="top">Guide</h1><p>All about the tea house.</p>
<h2 id="green">Green tea</h2><p>Leaves from Uji.</p>
<h3 id="water">Water</h3><p>Seventy degrees for green leaves.</p>
<h2>Cakes</h2><p>Cakes without an address.</p>
<h2 id="with space">Opening hours</h2><table><tr><td>Monday<td>closed for green leaves</table>
"""


def marked(pieces: list[tuple[str, bool]]) -> list[str]:
    return [text for text, is_marked in pieces if is_marked]


def rows(words: str, *records: dict[str, Any], corrected: str = "") -> list[ResultRow]:
    results = Results([Hit(record, 1.0) for record in records], len(records), {}, corrected)
    return result_rows(Query(words), results)


def guide(html: str = GUIDE) -> dict[str, Any]:
    return {
        "id": "g",
        "url": "http://e.org/guide#old",
        "title": "Guide",
        "content": "Green leaves and cakes",
        "more": {"content_html": html},
    }


def section_urls(words: str, html: str = GUIDE) -> list[str]:
    (row,) = rows(words, guide(html))
    return [section.url for section in row.sections]


def test_section_with_most_words_is_shown() -> None:
    (row,) = rows("green degrees", guide())
    (section,) = row.to_dict()["sections"]
    assert section == {
        "url": "http://e.org/guide#water",
        "headings": ["Guide", "Green tea", "Water"],
        "snippet": "Seventy degrees for green leaves.",
    }


def test_headings_do_not_run_into_prose_in_snippets() -> None:
    lines = ["Green tea", "It is hot.", "Black tea?", "Hot, too."]
    record = {"id": "t", "headings": ["# Green tea", "## Black tea?"], "content": "\n".join(lines)}
    (row,) = rows("hot", record)
    assert row.to_dict()["snippet"] == "Green tea · It is hot. Black tea? Hot, too."


def test_two_best_sections_are_shown_with_words_in_headings_first() -> None:
    assert section_urls("tea green") == ["http://e.org/guide#green"]
    assert section_urls("leaves") == ["http://e.org/guide#green", "http://e.org/guide#water"]
    assert section_urls("green") == ["http://e.org/guide#green", "http://e.org/guide#water"]


def test_words_in_tables_belong_to_their_section() -> None:
    assert section_urls("monday closed") == ["http://e.org/guide#with%20space"]


def test_no_section_is_shown_where_the_page_is_the_best_match() -> None:
    assert not section_urls("tea house")  # below the title
    assert not section_urls("cakes")  # a heading without an anchor
    assert not section_urls("zebra")
    assert not section_urls("green", "")
    assert not section_urls("green", "<p>green</p>")


@pytest.mark.parametrize("html", ["<h2 ", "<h2>a", "<", '<h2 id="', "</h2>a", "<p <b>"])
def test_broken_html_takes_little_time(html: str) -> None:
    before = time.process_time()
    rows("a", guide(html * (400_000 // len(html))))
    assert time.process_time() - before < 5


def test_corrected_words_are_marked() -> None:
    (row,) = rows("geren laeves", guide(), corrected="green leaves")
    assert marked(list(row.pieces)) == ["Green", "leaves"]
    assert [section.heading for section in row.sections] == ["Green tea", "Water"]


def test_equal_pages_are_one_result() -> None:
    first, copy = guide(), guide() | {"id": "h", "url": "http://f.org/guide"}
    other = guide() | {"id": "i", "content": "Other text"}
    listed = rows("green", first, other, copy)
    assert [(row.rank, row.id, list(row.also_at)) for row in listed] == [
        (1, "g", ["http://f.org/guide"]),
        (2, "i", []),
    ]


def test_copies_that_items_list_are_addresses_of_results() -> None:
    first = guide() | {"more": {"also_at": ["http://e.org/print"]}}
    listed = ["http://e.org/mobile", str(first["url"])]
    copy = guide() | {"id": "h", "url": "http://f.org/guide", "more": {"also_at": listed}}
    (row,) = rows("green", first, copy)
    assert row.also_at == ["http://f.org/guide", "http://e.org/print", "http://e.org/mobile"]


def test_pages_without_content_are_not_equal() -> None:
    listed = rows("green", {"id": "a", "title": "Tea"}, {"id": "b", "title": "Tea"})
    assert [row.id for row in listed] == ["a", "b"]


def test_search_results_show_title_url_and_snippet() -> None:
    records = [
        {"id": "a", "url": "http://e.org/a", "title": "Of drinks", "content": "Green teas. " * 2},
        {"id": "b", "url": "http://e.org/b", "description": "We walked", "language": "en"},
        {"id": "c"},
    ]
    results = Results([Hit(record, 1.23456) for record in records], 3, {})
    listed = result_rows(Query("tea walking", offset=4), results)
    assert [list(one.to_dict().values())[:9] for one in listed] == [
        [5, 1.2346, "a", "http://e.org/a", "Of drinks", "Green teas. Green teas.", [], [], {}],
        [6, 1.2346, "b", "http://e.org/b", "http://e.org/b", "We walked", [], [], {}],
        [7, 1.2346, "c", "", "", "", [], [], {}],
    ]
    assert [marked(list(one.pieces)) for one in listed] == [["teas", "teas"], ["walked"], []]
    names = ["rank", "score", "id", "url", "title", "snippet", "sections", "also_at", "fields"]
    assert list(listed[0].to_dict()) == [*names, "published_at", "modified_at"]
    assert list(listed[0].to_dict().values())[9:] == ["", ""]
    assert listed[1].record is records[1]
