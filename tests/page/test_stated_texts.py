"""What a page states of its own text: in its JSON-LD, and in elements that it marks."""

from __future__ import annotations

import json
import zlib

import pytest

from contentspider.ground.errors import StateError
from contentspider.page.about import stated_texts as module
from contentspider.page.about.stated_texts import StatedText, marked_texts, plain_text, stated_texts
from contentspider.page.input.page import Page

TEXT = "one two three four five six seven eight"
OTHER = "nine ten eleven twelve thirteen fourteen fifteen sixteen"


def found(*entries: dict) -> list[tuple[str, str]]:
    return [(text.source, text.text) for text in stated_texts(entries)]


# JSON-LD


@pytest.mark.parametrize("name", ["articleBody", "text", "reviewBody"])
def test_json_ld_body_properties_are_texts_of_page(name) -> None:
    assert found({"@type": "Thing", name: TEXT}) == [(f"json-ld {name}", TEXT)]
    assert found({name: TEXT}) == [(f"json-ld {name}", TEXT)]


@pytest.mark.parametrize("value", [None, 7, [TEXT], {"@value": TEXT}, ""])
def test_json_ld_body_without_text_is_ignored(value) -> None:
    assert found({"articleBody": value}) == []


@pytest.mark.parametrize(
    ("kind", "is_text"),
    [("Product", True), ("JobPosting", True), ("Event", True), ("Article", False), ("", False)],
)
def test_description_is_text_of_products_jobs_and_events(kind, is_text) -> None:
    expected = [("json-ld description", TEXT)] if is_text else []
    assert found({"@type": kind, "description": TEXT}) == expected
    assert found({"@type": ["Thing", kind], "description": TEXT}) == expected


def test_text_of_less_than_eight_words_is_ignored() -> None:
    assert found({"text": "one two three four five six seven"}) == []
    assert found({"text": "绿茶是一种茶叶。"}) == []
    assert found({"text": "绿茶是一种好茶叶"}) == [("json-ld text", "绿茶是一种好茶叶")]


@pytest.mark.parametrize(
    "kind",
    ["Organization", "Person", "WebSite", "BreadcrumbList", "ItemList", "ImageObject", "Comment"],
)
def test_texts_of_organizations_and_similar_objects_are_ignored(kind) -> None:
    foreign = {"@type": kind, "text": TEXT, "mainEntity": {"text": TEXT}}
    assert found(foreign, {"@type": "Article", "about": foreign, "text": OTHER}) == [
        ("json-ld text", OTHER)
    ]


@pytest.mark.parametrize(
    "name", ["comment", "isPartOf", "publisher", "author", "breadcrumb", "review"]
)
def test_comments_and_other_foreign_properties_are_skipped(name) -> None:
    assert found({"@type": "Article", name: {"text": TEXT}}) == []
    assert found({"@type": "Article", "mainEntity": {"text": TEXT}}) == [("json-ld text", TEXT)]


def test_texts_of_same_property_are_joined_without_repeats() -> None:
    posts = [{"text": TEXT}, {"text": OTHER}, {"text": TEXT}]
    page = {"@type": "QAPage", "hasPart": posts, "articleBody": "short", "text": "first"}
    assert found(page, {"reviewBody": OTHER}) == [
        ("json-ld text", f"first\n{TEXT}\n{OTHER}"),
        ("json-ld reviewBody", OTHER),
    ]


def test_answers_are_separate_from_questions() -> None:
    answers = [{"@type": "Answer", "text": OTHER}]
    page = {"@type": "Question", "text": TEXT, "acceptedAnswer": answers}
    assert found(page) == [("json-ld question", TEXT), ("json-ld answer", OTHER)]


def test_recipe_steps_are_joined() -> None:
    page = {
        "@type": "Recipe",
        "recipeIngredient": ["two cups of water", "one spoon of tea leaves"],
        "recipeInstructions": [
            "Boil the water.",
            {"@type": "HowToStep", "text": "Pour it over the leaves."},
            {"@type": "HowToSection", "itemListElement": [{"text": "Wait."}, [["Drink."]], 7]},
        ],
    }
    assert found(page) == [
        ("json-ld recipeIngredient", "two cups of water\none spoon of tea leaves"),
        ("json-ld recipeInstructions", "Boil the water.\nPour it over the leaves.\nWait.\nDrink."),
    ]


def test_repeated_and_self_referencing_objects_count_once() -> None:
    page: dict[str, object] = {"text": TEXT}
    page["mainEntity"] = page
    assert found(page, page) == [("json-ld text", TEXT)]


def test_nested_texts_are_read_up_to_eight_levels() -> None:
    def nested(depth: int) -> dict:
        page: dict[str, object] = {"text": TEXT}
        for _ in range(depth):
            page = {"about": [page]}
        return page

    assert found(nested(8)) == [("json-ld text", TEXT)]
    assert found(nested(9)) == []
    deep: object = "Boil it for one two three four minutes."
    for _ in range(50):
        deep = [deep]
    assert found({"recipeInstructions": deep}) == []


def test_own_texts_in_markup_are_limited_in_number_and_length(monkeypatch) -> None:
    monkeypatch.setattr(module, "MAX_OBJECTS", 3)
    entries = [{}, {}, {"text": TEXT}, {"articleBody": OTHER}]
    assert found(*entries) == [("json-ld text", TEXT)]
    monkeypatch.setattr(module, "MAX_TEXT_CHARS", len(TEXT))
    assert found({"text": f"{TEXT} nine"}) == [("json-ld text", TEXT)]
    assert found({"text": TEXT}, {"text": OTHER}) == [("json-ld text", TEXT)]
    monkeypatch.setattr(module, "MAX_TEXT_CHARS", 1_000)
    monkeypatch.setattr(module, "MAX_PAGE_CHARS", len(TEXT))
    assert found({"text": TEXT, "reviewBody": OTHER}) == [("json-ld text", TEXT)]
    monkeypatch.setattr(module, "MAX_PAGE_CHARS", len(TEXT) + 1)
    assert len(found({"text": TEXT, "reviewBody": OTHER})) == 2
    monkeypatch.setattr(module, "MAX_TEXTS", 1)
    assert len(found({"text": TEXT, "reviewBody": OTHER})) == 1


# markup


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("  one \t two\n\n three ", "one two\nthree"),
        ("<p>one <b>two</b></p><p>three</p>four", "one two\nthree\nfour"),
        ("one<br>two<ul><li>three<li>four</ul>five", "one\ntwo\nthree\nfour\nfive"),
        ("<p>one</p>two<p>three</p>", "one\ntwo\nthree"),
        ("<table><tr><td>one</td><td>two</td></tr></table>", "one\ntwo"),
        ("<h5>one</h5><blockquote>two</blockquote>three", "one\ntwo\nthree"),
        ("<p>one<script>x()</script><style>y</style> two</p>", "one two"),
        ("tea &amp; milk &lt;b&gt;", "tea & milk <b>"),
        ("https://e.org/?a=1&section=2&copy=3", "https://e.org/?a=1&section=2&copy=3"),
        ("1 < 2", "1 < 2"),
        ("tea \ud83d", "tea ?"),
        ("<p>tea \ud83d</p>", "tea ?"),
        ("<!-- tea -->", ""),
        ("", ""),
    ],
)
def test_markup_in_json_ld_is_converted_to_one_line_per_paragraph(value, text) -> None:
    assert plain_text(value) == text


@pytest.mark.parametrize(
    ("element", "source"),
    [
        ("div itemprop=articleBody", "marked articleBody"),
        ("div itemprop=reviewBody", "marked reviewBody"),
        ("div itemprop=recipeInstructions", "marked recipeInstructions"),
        ("div itemprop=text", "marked text"),
        ('div itemprop="name articleBody"', "marked articleBody"),
        ('div class="e-content"', "marked e-content"),
        ('div class="a e-content b"', "marked e-content"),
        ("div itemprop=name", ""),
        ("div itemprop=context", ""),
        ("div class=articleBody", ""),
        ("div class=e-contents", ""),
        ("div class=e-content-x", ""),
    ],
)
def test_itemprop_elements_mark_blocks_as_text(element, source) -> None:
    page = Page.from_html(f"<p>Home</p><{element}><p>{TEXT}</p><h2>Tea</h2></div><p>{OTHER}")
    expected = (StatedText(source, f"{TEXT}\nTea"),) if source else ()
    assert marked_texts(page.content) == expected


def test_marked_elements_of_same_name_are_joined_and_short_ones_ignored() -> None:
    html = (
        f"<div itemprop=text><p>{TEXT}</p></div><p>x</p><div itemprop=text><p>{OTHER}</p></div>"
        "<div itemprop=reviewBody><p>one two three four five six seven</p></div>"
    )
    assert marked_texts(Page.from_html(html).content) == (
        StatedText("marked text", f"{TEXT}\n{OTHER}"),
    )


# pages


def page_of(*entries: object) -> Page:
    scripts = [
        f'<script type="application/ld+json">{json.dumps(entry)}</script>' for entry in entries
    ]
    return Page.from_html(f"<head>{''.join(scripts)}</head><p>Tea", "https://e.org/tea")


def test_page_has_own_texts_of_its_json_ld() -> None:
    page = page_of(
        {"@graph": [{"@type": "WebSite", "text": OTHER}, {"@type": "Article", "articleBody": TEXT}]}
    )
    assert page.stated_texts == (StatedText("json-ld articleBody", TEXT),)
    assert page_of().stated_texts == ()
    assert Page.from_html("<p>Tea").stated_texts == ()


def test_own_texts_in_markup_survive_serialization() -> None:
    page = page_of({"articleBody": f"<p>{TEXT}</p><p>ü茶😀</p>"}, {"reviewBody": OTHER})
    assert page.stated_texts == (
        StatedText("json-ld articleBody", f"{TEXT}\nü茶😀"),
        StatedText("json-ld reviewBody", OTHER),
    )
    assert Page.load(page.dump()).stated_texts == page.stated_texts
    silent = page_of()
    assert b"stated_texts" not in zlib.decompress(silent.dump())
    assert Page.load(silent.dump()).stated_texts == ()


@pytest.mark.parametrize("damage", [7, None, ["ab", "c"], [["source"]], [["a", "b", "c"]], "text"])
def test_page_record_with_damaged_own_texts_raises_state_error(damage) -> None:
    record = json.loads(zlib.decompress(page_of({"text": TEXT}).dump()))
    record["stated_texts"] = damage
    with pytest.raises(StateError, match="cannot be read"):
        Page.load(zlib.compress(json.dumps(record).encode()))


@pytest.mark.parametrize("name", ["schema:articleBody", "content:encoded", "recipeInstructions"])
def test_rdfa_properties_are_joined_into_one_text_each(name) -> None:
    parts = ["Tea is made of the leaves of a bush and water.", "It is older than any book of it."]
    body = "".join(f'<div property="{name}"><p>{part}</p></div>' for part in parts)
    page = Page.from_html(f"<body>{body}<div property='other'>{parts[0] * 2}</div>")
    assert page.stated_texts == (StatedText(f"marked rdfa {name}", "\n".join(parts)),)
    assert Page.load(page.dump()).stated_texts == page.stated_texts
