"""Where a site shows dates and authors is learned from its pages that state them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.page.about.authors import name_key
from contentspider.page.about.written_dates import dates_in
from contentspider.page.input.page import Page
from contentspider.site.fields.choice import page_author, page_dates
from contentspider.site.fields.places import Place, path_ends
from contentspider.site.fields.shown import BESIDE, MARKED
from contentspider.site.fields.site_fields import AUTHOR, PUBLISHED
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import page_fields
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("Ada Byron", "Bob Frank", "Cy Doe")
STATED = (
    "<meta property=article:published_time content=2024-{month:02}-{day:02}>"
    "<meta name=author content='{name}'>"
)
# No general rule reads this: the signature is far below the headline, and its month is a number.
SHOWN = "<div class=sign><span>{day}/{month}/2024</span> <em>{name} (staff)</em></div>"
RELATED = "<div class=more><p>Other news</p><span>1/2/2020</span> <em>Dee Wrong (staff)</em></div>"
BODY = (
    "<title>Page {number}</title>{stated}<h1>Page {number}</h1>{top}<article>{text}</article>"
    "{shown}" + RELATED
)
PAGES = 24


def page(
    number: int, stated: str = STATED, shown: str = SHOWN, top: str = "", **values: object
) -> Page:
    values = {
        "number": number,
        "day": number % 28 + 1,
        "month": number % 12 + 1,
        "name": NAMES[number % 3],
        **values,
    }
    text = "".join(f"<p>{prose(number, part)}</p>" for part in range(12))
    html = BODY.format(
        number=number,
        text=text,
        stated=stated.format(**values),
        shown=shown.format(**values),
        top=top.format(**values),
    )
    return Page.from_html(html, f"https://e.org/{number}")


def learned(*pages: Page) -> SiteModel:
    return SiteLearner("e.org").fit(pages)


def item(model: SiteModel, found: Page) -> dict[str, object]:
    return page_fields(found, "e.org", model.extract(found), model.version)


@pytest.fixture(scope="module")
def model() -> SiteModel:
    return learned(*map(page, range(PAGES)))


def test_page_without_statement_has_the_values_that_it_shows(model: SiteModel) -> None:
    found = item(model, page(40, stated=""))
    assert (found["published_at"], found["author"]) == ("2024-05-13", ["Bob Frank"])


def test_site_teaches_whether_day_or_month_comes_first(model: SiteModel) -> None:
    american = SHOWN.replace("{day}/{month}", "{month}/{day}")
    other = learned(*(page(number, shown=american) for number in range(PAGES)))
    assert item(model, page(50, "", day=3, month=4))["published_at"] == "2024-04-03"
    unstated = page(50, "", american, day=3, month=4)
    assert item(other, unstated)["published_at"] == "2024-04-03"


def test_page_without_value_in_its_place_has_none(model: SiteModel) -> None:
    found = item(model, page(40, stated="", shown=""))
    assert (found["published_at"], found["author"]) == ("", [])


def test_statement_of_page_comes_before_its_place(model: SiteModel) -> None:
    found = item(model, page(40, name="Eve Stated", shown=SHOWN.replace("{name}", "Ada Byron")))
    assert found["author"] == ["Eve Stated"]


def test_places_are_precise_on_pages_held_back(model: SiteModel) -> None:
    for name in (PUBLISHED, AUTHOR):
        known = model.fields[name]
        assert known.stated == PAGES
        assert known.places
        assert all(place.right == place.given for place in known.places)
        assert known.places[0].given == PAGES // 2


def test_places_that_are_often_wrong_are_not_learned() -> None:
    pages = [page(number, day=number % 9 + 1 + number % 3, month=2) for number in range(PAGES)]
    wrong = [
        page(number, shown=SHOWN.replace("{day}", "27"), month=2) for number in range(PAGES, 40)
    ]
    assert learned(*pages).fields[PUBLISHED].places
    assert not learned(*pages, *wrong).fields[PUBLISHED].places


def test_few_pages_and_one_day_teach_nothing() -> None:
    assert not learned(*map(page, range(4))).fields[PUBLISHED].places
    same = [page(number, day=3, month=4) for number in range(PAGES)]
    assert not learned(*same).fields[PUBLISHED].places


def test_rule_that_contradicts_the_statements_is_not_used() -> None:
    """The text beside the headline is of the page's section, say."""
    top = "<p>2019-01-05</p><p>By The Newsroom</p>"
    pages = [page(number, shown="", top=top) for number in range(PAGES)]
    model = learned(*pages)
    assert model.fields[PUBLISHED].distrusted == (BESIDE,)
    found = item(model, page(40, stated="", shown="", top=top))
    assert (found["published_at"], found["author"]) == ("", [])


def test_rule_is_used_on_pages_of_another_design_than_those_that_contradict_it(
    tmp_path: Path,
) -> None:
    """Two sites are saved in one folder; only one of them states the days of its pages."""
    top = "<p>2019-01-05</p><p>By The Newsroom</p>"
    stating = [page(number, shown="", top=top) for number in range(PAGES)]
    blog = "<p>2023-03-{day:02}</p><p>By {name}</p>"
    html = "<title>{number}</title><div id=blog><h1 class=post>{number}</h1>{top}{text}</div>"
    others = [
        Page.from_html(
            html.format(
                number=f"Entry {number}",
                top=blog.format(day=number + 1, name=NAMES[number % 3]),
                text="".join(f"<p class=entry>{prose(number, 20 + part)}</p>" for part in range(9)),
            ),
            f"{number}.html",
        )
        for number in range(PAGES)
    ]
    model = learned(*stating, *others)
    assert model.fields[PUBLISHED].distrusted == (BESIDE,)
    model.save(tmp_path)
    for known in (model, SiteModel.load(tmp_path)):
        found = item(known, others[4])
        assert (found["published_at"], found["author"]) == ("2023-03-05", ["Bob Frank"])
        found = item(known, page(40, stated="", shown="", top=top))
        assert (found["published_at"], found["author"]) == ("", [])


def test_one_statement_of_all_pages_yields_to_the_dates_that_they_show() -> None:
    """The theme states the day of its build, and the publisher as the author."""
    top = "<p>By {name} on 2024-{month:02}-{day:02}</p>"
    stated = (
        "<meta property=article:published_time content=2026-01-02>"
        "<meta name=author content='Harbour Press'>"
    )
    pages = [page(number, stated, "", top) for number in range(PAGES)]
    model = learned(*pages)
    assert not model.fields[PUBLISHED].trusts_stated
    found = item(model, pages[5])
    assert (found["published_at"], found["author"]) == ("2024-06-06", ["Cy Doe"])


def test_dates_in_other_time_zones_are_no_contradiction() -> None:
    top = "<time datetime=2024-{month:02}-{next:02}>x</time>"
    pages = [
        page(number, shown="", top=top.replace("{next:02}", f"{number % 28 + 2:02}"))
        for number in range(PAGES)
    ]
    assert MARKED not in learned(*pages).fields[PUBLISHED].distrusted


def test_fields_are_saved_with_the_model(model: SiteModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    loaded = SiteModel.load(tmp_path)
    assert loaded.fields == model.fields
    assert item(loaded, page(40, stated=""))["author"] == ["Bob Frank"]


@pytest.mark.parametrize(
    ("slot", "ends"),
    [
        ("body/p", ["body/p"]),
        ("body/div.a/p", ["body/div.a/p", "div.a/p"]),
        ("body/div/p.b", ["body/div/p.b", "p.b", "div/p.b"]),
    ],
)
def test_paths_of_places_end_the_slot_and_have_a_name(slot: str, ends: list[str]) -> None:
    assert path_ends(slot) == ends


def test_values_are_read_in_all_forms() -> None:
    assert [(found.date, found.form) for found in dates_in("3 March 2024 and 13/2/2024")] == [
        ("2024-03-03", "written"),
        ("2024-02-13", "day first"),
    ]
    assert name_key("By Ada Byron") == name_key("Ada Byron") != name_key("Bob Frank")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (Place("p", "whole"), "p"),
        (Place("p", "link", "1"), "link 1 of p"),
        (Place("p", "after", "By", ", "), "after 'By' in p, up to ', '"),
        (Place("p", "date", "2", form="day first"), "date 2 (day first) in p"),
    ],
)
def test_places_are_described(place: Place, said: str) -> None:
    assert str(place) == said


def test_place_with_unknown_way_is_damage() -> None:
    with pytest.raises(ValueError, match="bogus"):
        Place.parse({"path": "div.a", "way": "bogus"})


def test_equally_good_places_are_learned_in_document_order() -> None:
    shown = "".join(f"<p class=s{number}>{{name}}</p>" for number in range(6))
    model = learned(*(page(number, shown=shown) for number in range(PAGES)))
    paths = [learned.place.path for learned in model.fields[AUTHOR].places]
    assert paths == [path for number in range(3) for path in (f"body/p.s{number}", f"p.s{number}")]


ENTRY = (
    "<article><h2><a href=/{0}>Entry {0}</a></h2>"
    "<time itemprop=datePublished datetime=2024-03-0{0}></time>"
    "<a rel=author href=/ada>Ada Byron</a></article>"
)


@pytest.mark.parametrize(("stated", "day"), [("", ""), (STATED, "2024-05-06")])
def test_date_and_author_of_an_entry_are_not_those_of_the_listing(stated: str, day: str) -> None:
    head = "<title>News</title>" + stated.format(month=5, day=6, name="Bob Frank")
    html = head + "<h1>News</h1>" + "".join(ENTRY.format(number) for number in range(1, 5))
    listing = Page.from_html(html, "https://e.org/2024/03/02/")
    assert page_dates(listing, "News", None, is_listing=True) == (day, "")
    names = page_author(listing, "News", None, is_listing=True)
    assert names == (("Bob Frank",) if stated else ())
    assert page_dates(listing, "News", None, is_listing=False)[0] == (day or "2024-03-01")


def test_line_with_several_names_gives_all_of_them() -> None:
    """The metadata state the first author; the byline, without marks, has all of them."""
    both = "<p>By {name} and Eve Roe</p>"
    model = learned(*(page(number, shown="", top=both) for number in range(PAGES)))
    assert not model.fields[AUTHOR].distrusted
    stated = item(model, page(40, shown="", top=both))
    assert stated["author"] == ["Bob Frank", "Eve Roe"]
    unstated = item(model, page(41, "", shown="", top=both))
    assert unstated["author"] == ["Cy Doe", "Eve Roe"]


def test_learned_place_of_one_link_gives_all_authors_that_are_marked() -> None:
    one = "<p class=names><a rel=author href=/1>{name}</a> (staff)</p>"
    model = learned(*(page(number, shown="", top=one) for number in range(PAGES)))
    assert model.fields[AUTHOR].places
    two = one.replace("</a>", "</a>, <a rel=author href=/2>Eve Roe</a>")
    found = item(model, page(41, "", shown="", top=two))
    assert found["author"] == ["Cy Doe", "Eve Roe"]
