from __future__ import annotations

import pytest

from contentspider.page.about.hints import Hints
from contentspider.page.input.page import Page
from contentspider.site.vote.relevance import own_hints


def hints(html: str) -> Hints:
    return Page.from_html(html).hints


def test_titles_and_descriptions_of_all_kinds() -> None:
    found = hints(
        """<html lang="pt-BR"><head><title> A title </title>
        <meta name="Description" content="first"><meta property="og:title" content="OG">
        <meta property="og:description" content="first">
        <meta name="twitter:description" content="second">
        <link rel="canonical" href="/c">
        <script type="application/ld+json">{"@graph": [{"@type": "WebSite", "name": "Site"},
        {"@type": "Article", "headline": "LD", "description": "third"}]}</script>"""
    )
    assert found == Hints(
        ("A title", "OG", "LD"),
        ("first", "second", "third"),
        "pt-BR",
        "/c",
        ("article",),
    )


@pytest.mark.parametrize(
    ("types", "og_type", "kinds"),
    [
        ('["Article", "https://schema.org/OpinionNewsArticle"]', "", {"news", "article"}),
        ('"BlogPosting"', "website", {"article", "website"}),
        ('"WebPage"', " Article", {"article"}),
        ('"ProductGroup"', "", {"product"}),
        ('"ProductModel"', "og:product", {"product"}),
        ('"CollectionPage"', "product.group", {"listing", "product"}),
        ('"QAPage"', "", {"forum"}),
        ('"FAQPage"', "", {"faq"}),
        ('"Newspaper"', "articles", set()),
        ('"ItemList", "itemListElement": [{"@type": "NewsArticle"}]', "", {"listing"}),
    ],
)
def test_what_a_page_says_that_it_is(types: str, og_type: str, kinds: set[str]) -> None:
    graph = f'{{"@graph": [{{"@type": {types}}}]}}'
    html = f"<title>Tea</title><meta property=og:type content='{og_type}'>"
    found = hints(f"{html}<script type='application/ld+json'>{graph}</script>")
    assert set(found.page_kinds) == kinds


def test_broken_json_ld_is_no_hint() -> None:
    assert hints(
        "<title>x</title><script type='application/ld+json'>{\"headline\": </script><script"
        " type='application/ld+json'>" + "[" * 100_000 + "</script>"
    ) == Hints(("x",))


def test_hints_that_many_pages_share_are_none() -> None:
    pages = [Hints((f"Page {number}",), ("All about tea",)) for number in range(30)]
    assert own_hints(pages)[3] == ["page3"]


def test_a_feed_in_json_ld_gives_no_thousand_hints() -> None:
    products = ",".join(f'{{"@type": "Product", "name": "Tea {number}"}}' for number in range(90))
    feed = f'<script type="application/ld+json">[[{products}], [{products.replace("Tea", "Cup")}]]'
    assert len(hints(f"<title>Shop</title>{feed}</script>").titles) == 100


def test_an_owner_whose_type_is_an_address_is_no_hint() -> None:
    owner = '{"@type": "https://schema.org/Person", "name": "Ada"}'
    html = f'<title>Tea</title><script type="application/ld+json">{owner}</script>'
    assert hints(html).titles == ("Tea",)
