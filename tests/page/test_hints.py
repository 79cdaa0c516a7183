from __future__ import annotations

import json
import random
import time

import pytest

from contentspider.page.about.hints import ONE_PRODUCT, Hints
from contentspider.page.about.jsonld import read_json_ld, strings_at
from contentspider.page.input.page import Page
from contentspider.site.vote.relevance import own_hints
from tests.cpu_time import loop_secs


def hints(html: str) -> Hints:
    return Page.from_html(html).hints


def test_hints_collect_titles_and_descriptions_of_all_kinds() -> None:
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


TEA = '"Product", "name": "Tea"'
BOTH = {"product", ONE_PRODUCT}


@pytest.mark.parametrize(
    ("types", "og_type", "kinds"),
    [
        ('["Article", "https://schema.org/OpinionNewsArticle"]', "", {"news", "article"}),
        ('"BlogPosting"', "website", {"article", "website"}),
        ('"WebPage"', " Article", {"article"}),
        ('"ProductGroup"', "", {"product"}),
        ('"ProductModel"', "og:product", {"product"}),
        (f'{TEA}, "offers": {{}}', "", BOTH),
        (f'{TEA}, "aggregateRating": {{}}', "", {"product"}),
        (f'{TEA}, "sku": "1"}}, {{"@type": {TEA}', "", BOTH),
        (f'{TEA}, "sku": "1"}}, {{"@type": "Product", "name": "Jam"', "", {"product"}),
        (f'{TEA}, "sku": "1"}}, {{"@type": "Product", "name": "Jam"', "product", BOTH),
        (f'{TEA}, "offers": 1}}, {{"@type": "ItemList"', "", {"listing", "product"}),
        ('"Product", "sku": "1"}, {"@type": "Product"', "", {"product"}),
        ('"CollectionPage"', "product.group", {"listing", "product"}),
        ('"QAPage"', "", {"forum"}),
        ('"FAQPage"', "", {"faq"}),
        ('"Newspaper"', "articles", set()),
        ('"ItemList", "itemListElement": [{"@type": "NewsArticle"}]', "", {"listing"}),
    ],
)
def test_page_kinds_are_read_from_json_ld_and_open_graph(
    types: str, og_type: str, kinds: set[str]
) -> None:
    graph = f'{{"@graph": [{{"@type": {types}}}]}}'
    html = f"<title>Tea</title><meta property=og:type content='{og_type}'>"
    found = hints(f"{html}<script type='application/ld+json'>{graph}</script>")
    assert set(found.page_kinds) == kinds


def test_broken_json_ld_gives_no_hints() -> None:
    assert hints(
        "<title>x</title><script type='application/ld+json'>{\"headline\": </script><script"
        " type='application/ld+json'>" + "[" * 100_000 + "</script>"
    ) == Hints(("x",))


def titles_by(script: str) -> tuple[str, ...]:
    """Return the titles of a page that is named x and has a script of JSON-LD."""
    return hints(f"<title>x</title><script type='application/ld+json'>{script}</script>").titles


@pytest.mark.parametrize(
    "script",
    [
        '//<![CDATA[\n{"headline": "Tea"}\n//]]>',
        '/* <![CDATA[ */ {"headline": "Tea"} /* ]]> */',
        '<![CDATA[ [{"headline": "Tea"}] ]]>',
        '\ufeff{"headline": "Tea"}',
        '<!-- {"headline": "Tea"} -->',
        '{"headline": "Tea", "author": ["Ada", ], };',
        '{"headline": "Tea", // "no" \n "url": "https://e.org/a" /* { */ }',
        '{"description": "green\nand black", "headline": "Tea",}',
        '{"@type": "WebSite"}\n{"headline": "Tea"}',
        '{"@type": "WebSite"}, {"headline": "Tea"}',
        r'{"headline": "\Tea", "about": "don\'t \\\\ \"tea\""}',
    ],
)
def test_almost_valid_json_ld_is_read(script: str) -> None:
    assert titles_by(script) == ("x", "Tea")


@pytest.mark.parametrize(
    "script",
    [
        '{"headline": "Tea" "name": "Cup"}',
        '{"headline": "The "best" tea"}',
        '{"headline": "Tea',
        '{"headline": {{ page.title }}}',
        '{"headline": , "a": "b"}',
    ],
)
def test_invalid_json_ld_is_not_guessed(script: str) -> None:
    assert titles_by(script) == ("x",)


@pytest.mark.large
def test_damaged_json_ld_yields_only_strings_it_contains() -> None:
    """Whatever is read of it stands in it, and none of it takes long."""
    draw = random.Random(7)
    whole = json.dumps({"@graph": [{"headline": "Green tea", "name": "Cup", "author": ["Ada"]}]})
    before, started = loop_secs(), time.process_time()
    for _ in range(1_000):
        damaged = list(whole)
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(len(damaged))
            damaged[place : place + draw.randint(0, 3)] = draw.choice(
                ["", '"', ",", "{", "]", "/*"]
            )
        text = "".join(damaged)
        for entry in read_json_ld(text):
            for value in strings_at([entry], "headline", "name", "author"):
                assert value in text
    for unit in ('{"a":', "[", '"', "/*", "{}", '{"a":"b",', "<![CDATA[", " ", ", ", '\\"'):
        read_json_ld(unit * (500_000 // len(unit)))
        read_json_ld('"' + unit * (499_000 // len(unit)) + "\\")
    taken = time.process_time() - started
    # The speed of a shared processor changes meanwhile: the slower loop counts.
    assert taken < 60 * max(before, loop_secs())


def test_hints_shared_by_many_pages_are_ignored() -> None:
    pages = [Hints((f"Page {number}",), ("All about tea",)) for number in range(30)]
    assert own_hints(pages)[3] == ["page3"]


def test_json_ld_feed_gives_limited_number_of_hints() -> None:
    products = ",".join(f'{{"@type": "Product", "name": "Tea {number}"}}' for number in range(90))
    feed = f'<script type="application/ld+json">[[{products}], [{products.replace("Tea", "Cup")}]]'
    assert len(hints(f"<title>Shop</title>{feed}</script>").titles) == 100


def test_person_in_json_ld_gives_no_title() -> None:
    owner = '{"@type": "https://schema.org/Person", "name": "Ada"}'
    html = f'<title>Tea</title><script type="application/ld+json">{owner}</script>'
    assert hints(html).titles == ("Tea",)
