"""Where a site shows its titles is learned from pages that state them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.site.fields.site_fields import TITLE, FieldKnowledge
from contentspider.site.learn.learner import SiteLearner
from contentspider.site.models.model import SiteModel
from contentspider.site.models.record import OptionalFields, page_fields
from tests.sites import prose

if TYPE_CHECKING:
    from pathlib import Path

PAGES = 24
# The theme gives one title to all pages, and its first heading is the same on all of them.
HEAD = "<title>The best lamps of the harbour</title>"
STATED = "<meta property=og:title content='Lamp {0} of wood'>"
BODY = (
    "<h1>New lamps</h1><h1 class=name>Lamp {0} of <b>wood</b></h1><article>{1}</article>"
    "<h3>Questions</h3><p>{2}</p>"
)


def page(number: int, stated: str = STATED, body: str = BODY) -> Page:
    text = "".join(f"<p>{prose(number, part)}</p>" for part in range(8))
    html = HEAD + stated.format(number) + body.format(number, text, prose("more", number))
    return Page.from_html(html, f"https://e.org/{number}")


def title(model: SiteModel, shown_page: Page) -> object:
    extraction = model.extract(shown_page)
    fields = page_fields(shown_page, "e.org", extraction, model.version)
    assert extraction.title == fields["title"]
    return fields["title"]


@pytest.fixture(scope="module")
def model() -> SiteModel:
    return SiteLearner("e.org").fit(map(page, range(PAGES)))


def test_page_without_stated_title_has_the_heading_in_its_place(model: SiteModel) -> None:
    assert title(model, page(40, stated="")) == "Lamp 40 of wood"


def test_stated_title_comes_first(model: SiteModel) -> None:
    stated = "<title>Stool</title><meta property=og:title content=Stool>"
    html = stated + BODY.format(40, prose(40), prose("more", 40))
    assert title(model, Page.from_html(html, "https://e.org/40")) == "Stool"


def test_page_without_heading_in_the_place_has_another_title(model: SiteModel) -> None:
    shown = page(40, stated="", body=BODY.replace("h1", "h4"))
    assert title(model, shown) not in ("", "Lamp 40 of wood")


def test_title_of_passages_is_the_title_of_the_item(model: SiteModel) -> None:
    shown = page(40, stated="")
    extraction = model.extract(shown)
    fields = page_fields(
        shown, "e.org", extraction, model.version, OptionalFields(passages=500), {"passages"}
    )
    passages = fields["passages"]
    assert isinstance(passages, list)
    assert {passage["title"] for passage in passages} == {"Lamp 40 of wood"}


def test_places_of_titles_are_saved(model: SiteModel, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = SiteModel.load(tmp_path / "model")
    assert loaded.fields[TITLE] == model.fields[TITLE]
    assert title(loaded, page(41, stated="")) == "Lamp 41 of wood"


def test_headings_that_differ_from_stated_titles_teach_nothing() -> None:
    stated = "<meta property=og:title content='Order number {0}{0}'>"
    model = SiteLearner("e.org").fit(page(number, stated=stated) for number in range(PAGES))
    assert model.fields[TITLE].places == ()


BOOK = "<title>{0} - Harbour handbook</title>", "<header><h1>Harbour handbook</h1></header>"
SHOP = "<title>Harbour lamps</title>", "<header><a href=/>Start</a></header>"


@pytest.fixture(scope="module", params=[BOOK, SHOP], ids=["book", "shop"])
def template(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Return the title and the header of a site that states no titles."""
    head, header = request.param
    return head, header


@pytest.fixture(scope="module")
def unstated(template: tuple[str, str]) -> SiteModel:
    return SiteLearner("e.org").fit(
        plain(template, f"Lamp {number}", f"Lamp {number} of wood") for number in range(PAGES)
    )


def plain(template: tuple[str, str], stated: str, heading: str, path: str = "lamp") -> Page:
    head, header = template
    text = "".join(f"<p>{prose(stated, part)}</p>" for part in range(8))
    html = f"{head.format(stated)}{header}<main><h1>{heading}</h1>{text}</main>"
    return Page.from_html(html, f"https://e.org/{path}")


def test_title_that_all_pages_have_is_the_name_of_the_site(
    template: tuple[str, str], unstated: SiteModel
) -> None:
    shown = title(unstated, plain(template, "Mooring", "How to moor a boat"))
    # The handbook states the chapter in <title>; the shop states only its name.
    assert shown == ("Mooring" if template == BOOK else "How to moor a boat")


def test_end_that_all_titles_have_is_the_name_of_the_site() -> None:
    template = "<title>{0} - Lamps</title>", ""
    site = (plain(template, f"Lamp {number}", f"Lamp {number}") for number in range(PAGES))
    shown = plain(template, "Mooring", "How to moor a boat")
    assert title(SiteLearner("e.org").fit(site), shown) == "Mooring"


def test_entry_of_a_list_is_not_the_title(template: tuple[str, str], unstated: SiteModel) -> None:
    entry = "<a href=/lamp/7>Lamp 7</a>"
    assert title(unstated, plain(template, "Lamps", entry)) != "Lamp 7"
    own = plain(template, "Lamps", "<a href='#lamps'>Lamps of tin</a>")
    assert title(unstated, own) in ("Lamps", "Lamps of tin")


def test_front_page_keeps_the_name_of_the_site(
    template: tuple[str, str], unstated: SiteModel
) -> None:
    shown = plain(template, "Welcome aboard", "Good evening", path="index.html")
    assert title(unstated, shown) in ("Harbour handbook", "Harbour lamps")


def test_names_in_titles_are_saved(unstated: SiteModel, tmp_path: Path) -> None:
    unstated.save(tmp_path / "model")
    loaded = SiteModel.load(tmp_path / "model")
    assert loaded.fields[TITLE] == unstated.fields[TITLE]
    assert len(loaded.fields[TITLE].common) == 1


def test_models_without_names_in_titles_are_read() -> None:
    record = FieldKnowledge(stated=3).to_record()
    del record["common"]
    assert FieldKnowledge.parse(record) == FieldKnowledge(stated=3)
