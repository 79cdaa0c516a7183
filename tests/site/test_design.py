"""Pages of several sites are told apart by what they name as their site, and by their designs."""

from __future__ import annotations

import logging

import pytest

from contentspider.page.input.page import Page
from contentspider.site.design import sites_of
from contentspider.site.learn.learner import SiteLearner
from tests.sites import prose

ONE = "<div id=top><p>Harbour</p></div><main class=story><h1 class=head>{n}</h1><p>{text}"
OTHER = "<table id=page><tr><td class=body><h2 class=title>{n}</h2><p class=par>{text}"


def page(design: str, number: int, head: str = "", url: str = "{}.html", lang: str = "") -> Page:
    html = f"<html lang='{lang}'><head>{head}</head><body>" + design.format(
        n=number, text=prose(number, 1)
    )
    return Page.from_html(html, url.format(number))


@pytest.mark.parametrize(
    ("by", "heads", "languages"),
    [
        ("canonical addresses", ("<link rel=canonical href=https://a.example/x>", ""), ("", "")),
        (
            "names of the site",
            ("<meta property=og:site_name content=Mole>", "<meta property=og:site_name content=Q>"),
            ("", ""),
        ),
        (
            "ends of titles",
            ("<title>Tea | The Mole</title>", "<title>The Quay - Rope</title>"),
            ("", ""),
        ),
        ("languages", ("", ""), ("en-GB", "fr")),
    ],
)
def test_pages_with_other_names_and_another_design_are_of_several_sites(
    by: str, heads: tuple[str, str], languages: tuple[str, str]
) -> None:
    def mixed(designs: tuple[str, str]) -> list[Page]:
        return [page(designs[n % 2], n, heads[n % 2], lang=languages[n % 2]) for n in range(12)]

    found = sites_of(mixed((ONE, OTHER)))
    assert found is not None
    assert found.by == by
    assert [count for _, count in found.names] == [6, 6]
    assert sites_of(mixed((ONE, ONE))) is None, "one design: of one site"


def test_two_designs_of_one_name_are_of_one_site() -> None:
    title = "<title>Tea | The Mole</title>"
    assert sites_of([page((ONE, OTHER)[number % 2], number, title) for number in range(12)]) is None
    assert sites_of([]) is None


@pytest.mark.parametrize(("url", "is_told"), [("{}.html", True), ("https://a.example/{}", False)])
def test_learner_tells_that_saved_pages_are_of_several_sites(
    url: str, is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    titles = ("<title>Tea | The Mole</title>", "<title>Rope | The Quay</title>")
    pages = [page((ONE, OTHER)[n % 2], n, titles[n % 2], url) for n in range(12)]
    with caplog.at_level(logging.WARNING, "contentspider"):
        SiteLearner("saved").fit(pages)
    assert ("The Mole (6), The Quay (6)" in caplog.text) == is_told


SPARSE, CANONICAL = "<title>Tea</title>", "<link rel=canonical href=https://a.example/x>"


@pytest.mark.parametrize(
    ("heads", "design", "sites"),
    [
        ((SPARSE, CANONICAL), ONE + " <a href=https://a.example/tea>Tea</a>", 1),
        ((SPARSE, CANONICAL), ONE + " <a href=https://b.example/tea>Tea</a>", 2),
        (
            ("<title>Tea</title>" + CANONICAL, "<title>Rope | The Quay</title>" + CANONICAL),
            ONE,
            1,
        ),
    ],
    ids=["links to the named site", "links elsewhere", "same address"],
)
def test_template_without_a_name_is_of_the_site_that_it_leads_to(
    heads: tuple[str, str], design: str, sites: int
) -> None:
    pages = [page((design, OTHER)[n % 2], n, heads[n % 2]) for n in range(12)]
    found = sites_of(pages)
    assert (len(found.names) if found else 1) == sites
