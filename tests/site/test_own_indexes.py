"""Own texts in the search indexes of MkDocs, Hexo and Docusaurus."""

from __future__ import annotations

import pytest

from contentspider.site.own.readers.feeds import Feed
from contentspider.site.own.readers.indexes import SearchIndex
from contentspider.site.own.sources import Announced
from contentspider.site.own.texts import MAX_TEXTS, OwnText
from tests.owntexts import URL, as_json, texts


@pytest.mark.parametrize(
    ("generator", "expected"),
    [
        ("mkdocs-1.5.3, mkdocs-material-9.4.2", ["https://e.org/docs/search/search_index.json"]),
        ("Hexo 6.3.0", ["https://e.org/docs/search.xml"]),
        ("Docusaurus v2.4.1", ["https://e.org/docs/search-index.json"]),
        ("WordPress 6.4", []),
        ("", []),
    ],
)
def test_search_index_url_follows_from_generator(generator: str, expected: list[str]) -> None:
    announced = Announced("https://e.org/docs/", generator=generator)
    assert list(SearchIndex().addresses(announced)) == expected


def test_hexo_search_index_contains_whole_posts() -> None:
    body = """<?xml version="1.0" encoding="utf-8"?><search>
    <entry><title>茶 &amp; Tea</title><link href="/x/"/><url>/2020/%E8%8C%B6/</url>
    <content type="html"><![CDATA[<h2>Leaves</h2><p>Tea is made of leaves.</p>]]></content></entry>
    <entry><title>2</title><link href="/b/"/><content>Plain</content></entry>
    <entry><url>/c/</url><content/></entry><entry><content>No address</content></entry></search>"""
    first, second = SearchIndex().read(body.encode(), "https://e.org/search.xml")
    assert first == OwnText(
        "https://e.org/2020/%E8%8C%B6/",
        "Leaves\nTea is made of leaves.",
        "index https://e.org/search.xml",
        "茶 & Tea",
    )
    assert (second.url, second.text) == ("https://e.org/b/", "Plain")
    assert Feed().read(body.encode(), URL) == []


def mkdocs(*docs: object) -> list[tuple[str, str]]:
    index = {"config": {"lang": ["en"]}, "docs": docs}
    return texts(SearchIndex(), as_json(index), "https://e.org/docs/search/search_index.json")


def section(location: object, title: object, text: object) -> dict[str, object]:
    return {"location": location, "title": title, "text": text}


def test_mkdocs_index_sections_are_joined_into_pages() -> None:
    # Its own plugin writes all of a page, and then its sections once more.
    assert mkdocs(
        section("", "Home", "Welcome Start here. Next Go on."),
        section("#welcome", "Welcome", "Start here."),
        section("#next", "Next", "Go on."),
        section("guide/", "Guide", "Before. Guide How to."),
        section("guide/#guide", "Guide", "How to."),
        section("plain/", "Plain", "No headings here."),
    ) == [
        ("https://e.org/docs/", "Home\nWelcome\nStart here.\nNext\nGo on."),
        ("https://e.org/docs/guide/", "Before.\nGuide\nHow to."),
        ("https://e.org/docs/plain/", "Plain\nNo headings here."),
    ]
    # Material for MkDocs writes each part once, in HTML.
    assert mkdocs(
        section("guide/", "Guide", "<p>How to.</p> <p>Before.</p>"),
        section("guide/#a", "A &amp; B", "<p>First.</p><ul><li>item</li></ul>"),
        section("guide/#b", "Empty", ""),
    ) == [("https://e.org/docs/guide/", "Guide\nHow to.\nBefore.\nA & B\nFirst.\nitem\nEmpty")]


def test_malformed_index_sections_are_skipped() -> None:
    assert mkdocs(
        1,
        {},
        section(None, "x", "x"),
        section(["x"], "x", "x"),
        section("http://[x/", "x", "x"),
        section("#", "", "x"),
        section("a/", 1, {"b": 2}),
        section("b/", None, "b"),
        section("b/#c", "", "b"),
    ) == [("https://e.org/docs/", "x"), ("https://e.org/docs/b/", "b")]
    for odd in ({"docs": {}}, {"docs": None}, {}, [], [1], [{"documents": 1}, {"documents": 2}]):
        assert texts(SearchIndex(), as_json(odd)) == []


def test_large_search_indexes_are_limited() -> None:
    docs = [section(f"{n}/#{part}", "", "x") for n in range(2 * MAX_TEXTS) for part in range(2)]
    assert [text for _, text in mkdocs(*docs)] == ["x\nx"] * MAX_TEXTS


def test_docusaurus_index_titles_and_sections_are_joined() -> None:
    titles = [{"i": 1, "t": "Tea", "u": "/docs/tea", "b": ["Drinks"]}]
    headings = [{"i": 3, "t": "Leaves", "u": "/docs/tea", "h": "#leaves", "p": 1}]
    content = [
        {"i": 2, "t": "Tea is a drink.", "s": "Tea", "u": "/docs/tea", "h": "", "p": 1},
        {"i": 4, "t": "Made of them.", "s": "Leaves", "u": "/docs/tea", "h": "#leaves", "p": 1},
        {"i": 5, "t": "No address.", "s": "x", "u": 7, "p": 1},
    ]
    index = [{"documents": part, "index": {}} for part in (titles, headings, [], [], content)]
    (text,) = SearchIndex().read(as_json(index), "https://e.org/search-index.json")
    assert (text.url, text.title) == ("https://e.org/docs/tea", "Tea")
    assert text.text == "Tea\nTea is a drink.\nLeaves\nMade of them."
    # Earlier versions had three lists, and anchors in addresses.
    content = [{"i": 2, "t": "Tea is a drink.", "u": "/docs/tea#", "p": 1}]
    index = [{"documents": part, "index": {}} for part in (titles, headings, content)]
    assert texts(SearchIndex(), as_json(index)) == [
        ("https://e.org/docs/tea", "Tea\nTea is a drink.")
    ]
