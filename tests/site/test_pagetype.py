"""What kind of page a page is."""

from __future__ import annotations

import numpy as np
import pytest

from contentspider.page.input.page import Page
from contentspider.site.pagetype import page_type
from tests.sites import prose

POSTS = [prose("post", number, words=80) for number in range(4)]
SECTIONS = [prose("section", number, words=20) for number in range(4)]


def kind(html: str, keep=lambda block: True) -> str:
    page = Page.from_html(html)
    return page_type(page, np.array([keep(block) for block in page.content.blocks], dtype=bool))


def entries(texts: list[str], count: int = 4, before: str = "") -> str:
    return before + "".join(
        f"<h2><a href=/post/{number}>Post {number}</a></h2>{texts[number] and '<p>'}{texts[number]}"
        for number in range(count)
    )


@pytest.mark.parametrize("href", ["#part-{}", "/guide/page#part-{}"])
def test_documentation_with_self_linking_headings_is_article(href) -> None:
    html = f"<h1>Guide</h1><p>{SECTIONS[0][:100]}</p>" + "".join(
        f"<h2><a href='{href.format(number)}'>Part {number}</a></h2><p>{text}</p>"
        for number, text in enumerate(SECTIONS)
    )
    assert kind(html) == "article"


@pytest.mark.parametrize(("count", "expected"), [(2, "article"), (3, "listing"), (4, "listing")])
def test_three_or_more_whole_posts_are_listing(count, expected) -> None:
    assert kind(entries(POSTS, count)) == expected


def test_index_of_whole_posts_is_listing() -> None:
    # whatever is there that is not kept
    assert kind(f"<h1>Blog</h1>{entries(POSTS)}", lambda block: block.tag != "h1") == "listing"


@pytest.mark.parametrize(
    "before", ["<h1>My links</h1>", "<h1><a href=/links>My links</a></h1>", f"<p>{POSTS[0]}</p>"]
)
def test_article_with_linked_section_headings_is_article(before) -> None:
    assert kind(entries(POSTS, before=before)) == "article"


def test_post_subheadings_must_be_below_level_of_entries() -> None:
    parts = [f"{text}</p><h3>Part</h3><p>{text}" for text in POSTS]
    assert kind(entries(parts)) == "listing"
    assert kind(entries([text.replace("h3", "h2") for text in parts])) == "article"


def test_consecutive_headings_are_not_whole_posts() -> None:
    assert kind(entries(["", "", "", POSTS[0] * 4])) == "article"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        pytest.param(f"<h1>Tea</h1><p>{POSTS[0]}</p>", "article", id="a text"),
        pytest.param(f"<p>{'x' * 40}</p>", "article", id="a short text"),
        pytest.param(f"<p>{'x' * 39}</p>", "other", id="hardly a text"),
        pytest.param("<p>x</p>", "other", id="a word"),
        pytest.param(entries([""], 1, f"<p>{'x' * 40}</p>"), "article", id="it has one link"),
        pytest.param(entries([""] * 2, 2, f"<p>{'x' * 40}</p>"), "other", id="it has two links"),
        pytest.param("", "other", id="nothing"),
        pytest.param(entries(SECTIONS, before="<h1>Blog</h1>"), "listing", id="teasers"),
        pytest.param(entries(SECTIONS, 2, "<h1>Tea</h1>"), "article", id="two links in a text"),
        pytest.param("<li><a href=/>a</a>" * 5, "listing", id="five links"),
        pytest.param("<li><a href=/>a</a>" * 4, "other", id="four links"),
        pytest.param("<form><p>Name</p><p>Age</p></form><p>Help</p>", "form", id="a form"),
        pytest.param("<form><p>Name</p></form><p>Help</p><p>Imprint</p>", "other", id="some form"),
        pytest.param(
            f"<form><p>Name</p></form><p>{POSTS[0]}</p>", "article", id="a text and a form"
        ),
    ],
)
def test_page_type_follows_from_amount_of_text_links_and_form_fields(html, expected) -> None:
    assert kind(html) == expected


@pytest.mark.parametrize(("related", "expected"), [(2, "article"), (5, "listing")])
def test_linked_entries_beside_article_need_hundred_characters_each(related, expected) -> None:
    html = f"<p>{POSTS[0][:300]}</p>" + "".join(
        f"<h3><a href=/{number}>Related {number}</a></h3>" for number in range(related)
    )
    assert kind(html, lambda block: block.tag == "p") == expected


def test_page_type_depends_on_kept_prose() -> None:
    html = f"<p>{POSTS[0]}</p>" + "<li><a href=/>a</a>" * 5
    assert kind(html, lambda block: False) == "listing"
    assert kind(f"<p><a href=/>{POSTS[0]}</a></p>") == "other"


def test_chinese_characters_count_as_three() -> None:
    assert kind(f"<p>{'茶' * 14}</p>") == "article"
    assert kind(f"<p>{'茶' * 13}</p>") == "other"


@pytest.mark.parametrize(
    ("products", "expected"),
    [
        ('{"@type": "Product", "name": "Lamp", "offers": {}}', "article"),
        ('{"@type": "Product", "name": "Lamp"}', "listing"),
    ],
)
def test_page_of_one_product_is_article_despite_related_products(products, expected) -> None:
    script = f'<script type="application/ld+json">[{products}]</script>'
    related = entries(POSTS)
    assert kind(f"{script}<p>It shines.</p>{related}") == expected
