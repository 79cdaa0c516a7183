"""Where a site shows sections and keywords is learned from its pages that state them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.site.fields.list_learning import learn_lists
from contentspider.site.fields.name_lists import ListReader
from contentspider.site.fields.places import LINKS, LINKS_AFTER, PARTS, TEXTS, Place
from contentspider.site.fields.precision import LearnedPlace
from contentspider.site.fields.site_fields import KEYWORDS, SECTION, FieldKnowledge, SiteFields
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import page_fields
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

TAGS = ("Tea", "C++", "Boats", "Wood kilns")
SHELVES = ("Craft", "Travel", "Kitchen")
PAGES = 24
LINK = "<a href=/{folder}/{path}>{text}</a>"


def links(names: list[str], folder: str = "tag") -> str:
    return ", ".join(LINK.format(folder=folder, path=name.lower(), text=name) for name in names)


def page(number: int, is_stated: bool = True, shown: str = "", top: str = "") -> Page:
    """Return a page with two tags and a shelf, by its number."""
    tags = [TAGS[number % 4], TAGS[(number // 4 + number + 1) % 4]]
    shelf = SHELVES[number % 3]
    stated = f"<meta property=article:section content={shelf}>" + "".join(
        f"<meta property=article:tag content='{tag}'>" for tag in tags
    )
    foot = shown or (
        f"<div class=foot>In {links([shelf], 'shelf')}, tagged {links(tags)} by"
        f" {links(['Ada Byron'], 'people')}</div>"
    )
    text = "".join(f"<p>{prose(number, part)}</p>" for part in range(12))
    return Page.from_html(
        f"<title>Page {number}</title>{stated if is_stated else ''}{top}<h1>Page {number}</h1>"
        f"<article>{text}</article>{foot}"
        f"<div class=more><h3>{TAGS[number % 3]}</h3><p>{links([TAGS[2]])}</p></div>",
        f"https://e.org/{number}",
    )


def names(number: int) -> tuple[list[str], list[str]]:
    metadata = page(number).metadata
    return list(metadata.section), sorted(metadata.keywords)


def item(model: SiteModel, shown_page: Page) -> tuple[list[str], list[str]]:
    fields = page_fields(shown_page, "e.org", model.extract(shown_page), model.version)
    section, keywords = fields["section"], fields["keywords"]
    assert isinstance(section, list)
    assert isinstance(keywords, list)
    return section, sorted(keywords)


@pytest.fixture(scope="module")
def model() -> SiteModel:
    return SiteLearner("e.org").fit(map(page, range(PAGES)))


@pytest.mark.parametrize("number", [40, 45])
def test_page_without_statement_has_the_names_that_it_shows(model: SiteModel, number: int) -> None:
    assert item(model, page(number, is_stated=False)) == names(number)


def test_statements_come_before_places(model: SiteModel) -> None:
    other = page(40, shown=f"<div class=foot>In {links(['Wrong'], 'shelf')}</div>")
    assert item(model, other) == names(40)


def test_page_that_shows_no_names_has_none(model: SiteModel) -> None:
    assert item(model, page(40, is_stated=False, shown="<div class=foot>In print</div>")) == (
        [],
        [],
    )


def test_breadcrumbs_are_read_where_the_site_shows_no_section(model: SiteModel) -> None:
    crumbs = "<div class=crumbs><a href=/>Home</a> / <a href=/a>News</a> / Page 40</div>"
    shown = page(40, is_stated=False, shown="<p>-", top=crumbs)
    assert item(model, shown) == (["News"], [])


def test_places_are_saved_with_the_model(model: SiteModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = SiteModel.load(tmp_path / "model")
    assert loaded.fields == model.fields
    assert {SECTION, KEYWORDS} <= loaded.fields.keys()
    assert item(loaded, page(41, is_stated=False)) == names(41)


def learned_places(pages: list[Page], name: str) -> list[Place]:
    return [each.place for each in learn_lists(pages, str)[name].places]


def test_places_that_are_often_wrong_are_not_learned() -> None:
    def wrong(number: int) -> str:
        shelf, tag = SHELVES[(number + (number % 4 == 1)) % 3], f"no {number}"
        return f"<div class=foot>In {links([shelf], 'shelf')}, tagged {links([tag])}</div>"

    pages = [page(number, shown=wrong(number)) for number in range(PAGES)]
    for name in (SECTION, KEYWORDS):
        assert not [place for place in learned_places(pages, name) if "foot" in place.path]


def test_few_pages_and_one_value_teach_nothing() -> None:
    for numbers in (range(5), [number for number in range(2 * PAGES) if number % 12 == 0]):
        learned = learn_lists([page(number) for number in numbers], str)
        assert learned[SECTION].places == learned[KEYWORDS].places == ()


def test_headings_are_no_lists() -> None:
    assert not any(
        "h3" in place.path for place in learned_places([*map(page, range(PAGES))], KEYWORDS)
    )


BLOCK = "<div class=foot>{}</div><p>Other text</p><div class=foot><a href=/tag/x>Later</a></div>"


@pytest.mark.parametrize(
    ("shown", "place", "expected"),
    [
        ("#<a href=/tag/a>A</a> #<a href=/tag/b>B</a>", Place("div.foot", LINKS), ("A", "B")),
        ("<a href=/a>A</a> <a href=/tag/b>B</a>", Place("div.foot", LINKS, "tag"), ("B",)),
        (
            "By <a href=/a>A</a> Tags: <a href=/b>B</a>, <a href=/c>b</a>, <a href=/d>D</a>",
            Place("div.foot", LINKS_AFTER, "Tags:"),
            ("B", "D"),
        ),
        ("Tags: a, b c; d", Place("div.foot", PARTS, "Tags:"), ("a", "b c", "d")),
        ("<p>A</p><p>, B</p>", Place("div.foot/p", TEXTS), ("A", "B")),
        (
            "<a href=/>Home</a> &gt; <a href=/a>A</a> &gt; <a href=/here>Here</a>",
            Place("div.foot", LINKS, form="breadcrumbs"),
            ("A",),
        ),
        ("x" * 400 + " Tags: a, b", Place("div.foot", PARTS, "Tags:"), None),
        ("<a href=/a>...</a>", Place("div.foot", LINKS), None),
    ],
)
def test_lists_are_read_in_all_ways(
    shown: str, place: Place, expected: tuple[str, ...] | None
) -> None:
    shown_page = Page.from_html(BLOCK.format(shown), "https://e.org/here")
    assert ListReader([place], str).values(shown_page, "Here").get(place) == expected
    assert place.path in str(place)


def test_hundreds_of_links_are_read_quickly() -> None:
    lists = (
        "".join(f"<a href=/{line}/{number}/x>{number}</a> " for number in range(40))
        for line in range(48)
    )
    html = "<ul class=tags>" + "".join(f"<li>{each}</li>" for each in lists) + "</ul>"
    place = Place("ul.tags/li", LINKS, "47/39")
    start = time.process_time()
    values = ListReader([place], str).values(Page.from_html(html, "https://e.org/"), "")
    assert time.process_time() - start < 2
    assert values == {place: ("39",)}


def test_keywords_are_those_of_all_places() -> None:
    places = [Place("div.foot", LINKS, folder) for folder in ("tag", "topic")]
    knowledge = FieldKnowledge(tuple(LearnedPlace(place, 3, 3) for place in places))
    shown = BLOCK.format("<a href=/topic/b>B</a> <a href=/tag/a>A</a> <a href=/topic/c>a</a>")
    fields = SiteFields({KEYWORDS: knowledge}, str)
    assert fields.keywords(Page.from_html(shown, "https://e.org/"), "") == ("A", "B")
