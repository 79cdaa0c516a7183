"""Where a site shows its titles is learned from pages that state them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.site.fields.site_fields import TITLE
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
