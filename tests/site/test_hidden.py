"""Which sites are taken to hide their pages, by what their addresses gave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.page.about.shell import read_signs
from contentspider.page.input.body import parse
from contentspider.page.input.page import Page
from contentspider.site.hidden import SHELL, WALL, Answer, SiteAnswers
from tests.sites import article, prose

if TYPE_CHECKING:
    from collections.abc import Iterable

SCRIPT = "<script src=/app.js></script>"
FORM = "<form method=post action=/yes><button>Yes</button></form>"
LOGIN = "<form><input name=who><input type=password name=word><button>In</button></form>"
MENU = "<a href=/>Home</a> <a href=/all>All</a>"


def answer(path: str, html: str, **flags: bool) -> Answer:
    root = parse(html.encode())
    page = Page.from_root(root, f"https://e.org{path}")
    return Answer(f"e.org{path}", page, read_signs(root), **flags)


def answers(html: Iterable[str], *others: str, **flags: bool) -> SiteAnswers:
    """Return the answers of a site: to the start address, and to others."""
    site = SiteAnswers()
    for number, page in enumerate(html):
        site.note(answer(f"/{number}", page, is_start=number == 0, **flags))
    for number, page in enumerate(others):
        site.note(answer(f"/other/{number}", page))
    return site


def probed(html: str, **flags: bool) -> SiteAnswers:
    """Return the answers of a site that gives a page for its start, and for any address."""
    site = answers([html], **flags)
    site.note(answer("/8c2d", html, is_probe=True, **flags))
    return site


def kind(site: SiteAnswers) -> str:
    found = SiteAnswers.load(site.dump()).hidden()
    return found[0] if found else ""


@pytest.mark.parametrize(
    "body",
    [
        f"<div id=root></div>{SCRIPT}",
        f"<div id=root><p>Chargement ...</div>{SCRIPT}",
        f"<app-root></app-root>{SCRIPT}",
        f"<main><div id=root></div></main>{SCRIPT}",
        f"<noscript>Switch it on</noscript><p>Tea shop</p>{SCRIPT}",
        "<div id=x>Wait</div><script type=application/json>{}</script><script>go()</script>",
        '<div id=x>Wait</div><script type=application/json>{"text": "Tea"}</script>',
    ],
)
def test_shells_are_recognised(body: str) -> None:
    assert kind(answers([body] * 3)) == SHELL
    assert kind(answers([body] * 4, article(1), article(2))) == SHELL
    assert kind(probed(body)) == SHELL
    rest = [body] * 6
    assert kind(answers([article(1)], *rest)) == SHELL, "the start page is sent as HTML"
    assert not kind(answers([body] * 2)), "too few"
    assert not kind(answers([body] * 3, *map(article, range(4)))), "most pages have text"


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Tea?</h1><p>{prose('w')}</p>{FORM}",
        f"<h1>Tea?</h1><p>{prose('w')}</p>{FORM}<a href=/terms>Terms</a>",
        LOGIN,
        "<h1>Back at noon</h1><p>The tea is being made.",
    ],
)
def test_walls_are_recognised(body: str) -> None:
    assert kind(answers([body] * 5)) == WALL
    assert kind(answers([body] * 9, article(1), article(2))) == WALL, "terms, an imprint"
    assert kind(probed(body)) == WALL
    assert kind(answers([body] * 3, is_redirected=True)) == WALL
    site = probed(body, is_returned=True)
    site.note(answer("/terms", article(1)))
    assert kind(site) == WALL
    assert kind(answers([article(0)], *[article(1)] * 2)) == ""


def test_data_for_search_engines_are_no_sign_of_a_shell() -> None:
    page = "<div id=x></div><p>Back at noon<script type=application/ld+json>{}</script>"
    assert kind(answers([page] * 5)) == WALL


def test_numbers_of_answers_and_times_may_differ() -> None:
    page = "<p>Wait until {}:15:09. Request 8f{}a1b2c3d4 for /{}"
    assert kind(answers(page.format(n, n, n) for n in range(5))) == WALL


def test_redirects_to_address_that_says_where_to_return_are_a_wall() -> None:
    site = answers([article(1)])
    for number in range(4):
        site.note(answer(f"/{number}x", LOGIN, is_redirected=True, is_returned=True))
    assert kind(site) == WALL, "the front page is open"
    for number in range(4):
        site.note(answer(f"/open/{number}", article(number + 2)))
    assert not kind(site), "a few links ask to log in"


@pytest.mark.parametrize(
    "pages",
    [
        [f"<h1>Hello</h1><p>We bake.{SCRIPT}"],
        [f"<h1>Hello</h1><p>We bake.{SCRIPT}<div id=x></div>", f"<h1>Prices</h1>{SCRIPT}"],
        [article(1)],
        [f"{MENU}<img src=/{n}.jpg><p>Tea{SCRIPT}<div id=x></div>" for n in range(9)],
        [f"{MENU}<img src=/w.gif data-src=/{n}.jpg>{SCRIPT}<div id=x></div>" for n in range(9)],
        [f"{MENU}<div style='background: url(/{n}.jpg)'></div>{SCRIPT}" for n in range(9)],
        [f"{MENU}<iframe src=https://v.org/{n}></iframe>{SCRIPT}<p id=x></p>" for n in range(9)],
        [f"{MENU}<p>Cup {n}{SCRIPT}<div id=x></div>" for n in range(9)],
        [f"{MENU}<p>{n} {n * 7} {n * 9}{SCRIPT}<div id=x></div>" for n in range(9)],
        [f"<ul><li><a href=/{n}>{prose(n, words=3)}</a></ul>{SCRIPT}" for n in range(9)],
        [f"<h1>Tea</h1>{prose(1) * 30}"] * 9,
    ],
    ids=[
        *("short", "two", "one", "captions", "lazy", "background", "videos", "names", "numbers"),
        *("listings", "long"),
    ],
)
def test_sites_with_texts_or_pictures_of_their_own_are_open(pages: list[str]) -> None:
    assert not kind(answers(pages))


def test_one_page_at_every_address_is_open_if_it_is_long_or_shows_pictures() -> None:
    assert not kind(probed(article(1)))
    assert not kind(probed("<img src=/me.jpg><p>I bake.<a href=/more>More</a>"))


def test_documents_and_unmodified_pages_count_as_open() -> None:
    site = answers([f"<div id=root></div>{SCRIPT}"] * 3)
    for _ in range(4):
        site.note_other()
    assert not kind(site)
    assert not site.kind_of(Page.from_html("<p>Tea"))


def test_damaged_answers_are_forgotten() -> None:
    assert SiteAnswers.load({"count": "x", "groups": []}).count == 0
    assert SiteAnswers.load({"count": 1, "groups": {"a": {"no": 1}}}).hidden() is None
