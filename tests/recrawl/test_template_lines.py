"""What a template brings to many pages, or takes from them, is no change of the pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from contentspider.ground.times import now
from contentspider.page.input.page import Page
from contentspider.recrawl.template import MAX_LINES, TemplateLines, differing_lines
from contentspider.site.learn.learner import SiteLearner
from contentspider.state.book.book import Book
from tests.recrawled import SITE, Crawls, address
from tests.sites import article

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NUMBERS = range(1, 13)
NOTICE = "<p class=notice>Comments have moved to another service."


def keys(old: str, new: str) -> tuple[str, ...]:
    """Return the keys of what differs in two pages of which everything is kept."""
    pages = [Page.from_html(html, "/") for html in (old, new)]
    texts = ["\n".join(block.text for block in page.content.blocks) for page in pages]
    return differing_lines(pages[0], texts[0], pages[1], texts[1], lambda path: path)


def said(key: str) -> str:
    return key.partition("@")[0]


def place(key: str) -> str:
    return key.partition("@")[2]


def test_template_line_keys_ignore_numbers_and_name_new_places() -> None:
    page = "<p>Tea is made of leaves.</p>"
    (first,) = keys(page, page + "<div class=date>Updated on 3 May</div>")
    (second,) = keys(page, page + "<div class=date>Updated on 14 May</div>")
    (other,) = keys(page, page + "<div class=date>Updated on 3 June</div>")
    assert first == second
    assert said(first) != said(other)
    assert place(first) == place(other) != ""
    (gone,) = keys(page + "<div class=date>Updated on 3 May</div>", page)
    assert gone == "-" + first[1:]


def test_known_places_and_long_lines_have_no_place_key() -> None:
    page = "<p>Tea is made of leaves.</p>"
    assert [place(key) for key in keys(page, page + "<p>Milk is added.</p>")] == [""]
    assert [place(key) for key in keys(page, f"{page}<div>{'Milk is added. ' * 9}</div>")] == [""]


def test_repeated_line_differs_once_and_too_many_lines_give_no_keys() -> None:
    page = "<p>Tea.</p>"
    assert len(keys(page, page + page)) == 1
    assert len(keys(page, "".join(f"<p>{n} cups" for n in range(MAX_LINES - 1)) + page)) == 11
    assert keys(page, "".join(f"<p>{n} cups" for n in range(MAX_LINES + 1)) + page) == ()


def test_prices_and_numeric_differences_are_not_template_lines() -> None:
    page = "<p>Tea is made of leaves.</p>"
    assert keys(f"{page}<p>12 in stock", f"{page}<p>3 in stock") == ()
    assert keys(page, f"{page}<b>Now 3.50 €</b>") == ()
    assert keys(f"{page}<p>Price: $3", f"{page}<p>Price: $4") == ()
    assert len(keys(f"{page}<p>In stock", f"{page}<p>Sold out")) == 2


@pytest.mark.parametrize(
    ("pages", "count", "is_template"), [(9, 5, True), (8, 4, False), (12, 6, True), (13, 6, False)]
)
def test_line_added_to_five_pages_and_half_of_site_is_template_line(
    pages: int, count: int, is_template: bool
) -> None:
    template = TemplateLines()
    for number in range(pages):
        template.add(["+a@", "+a@"] if number < count else [], is_remodelled=False)
    assert template.are_all(["+a@"]) is is_template
    assert not template.are_all([])
    assert not template.are_all(["-a@"])
    assert not template.are_all(["+a@", "+b@"])


def test_line_of_half_of_the_pages_under_a_new_model_is_template_line() -> None:
    template = TemplateLines()
    for number in range(40):
        template.add(["+a@"] if number < 6 else [], is_remodelled=number < 10)
    assert template.are_all(["+a@"], is_remodelled=True)
    assert not template.are_all(["+a@"], is_remodelled=False), "few pages of all"


def test_new_place_on_enough_pages_counts_as_template_line() -> None:
    template = TemplateLines()
    for number in range(5):
        template.add([f"+{number}@place"], is_remodelled=False)
    assert template.are_all(["+9@place"])
    assert not template.are_all(["-9@place"])
    assert not template.are_all(["+9@"])


def causes(history: Path, pages: Callable[[int], str]) -> dict[str, str]:
    """Return by path why pages changed in the second crawl, where they are as *pages* has them."""
    crawls = Crawls(history, 0 if history.exists() else max(NUMBERS))
    crawl = crawls.begin()
    for number in NUMBERS:
        crawl.see(f"/{number}", pages(number))
    crawl.end()
    known = crawls.known()
    found = {
        record["url"].removeprefix(address("/")): record["change_cause"]
        for record in known.changes.records()
        if record["change"] in ("changed", "refiltered")
    }
    known.close()
    return found


def test_notice_and_dates_added_to_all_pages_are_not_page_changes(
    tmp_path: Path,
) -> None:
    months = "May June July August March April".split()

    def page(number: int) -> str:
        date = f"<div class=date>Updated on {number} {months[number % 6]}</div>"
        more = "<p>But the tea is cold by now, and nobody drinks it." if number == 3 else ""
        return article(number).replace("</article>", f"{NOTICE}{date}{more}</article>")

    expected = {str(number): "page" if number == 3 else "model" for number in NUMBERS}
    assert causes(tmp_path / "history.sqlite", page) == expected
    assert stale(tmp_path / "history.sqlite") == {SITE}


def stale(history: Path) -> frozenset[str]:
    known = Book(history, read_only=True)
    known.close()
    return known.sites.stale


def test_site_with_new_template_lines_is_relearned(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    causes(path, lambda number: article(number).replace("</article>", f"{NOTICE}</article>"))
    empty = Crawls(path, 0).begin()
    empty.end()
    assert stale(path) == {SITE}, "no item of it came"
    crawl = Crawls(path, 0).begin()
    assert crawl.revisits.stale == {SITE}
    crawl.see("/1", article(1).replace("</article>", f"{NOTICE}</article>"))
    crawl.end()
    assert stale(path) == {SITE}, "its model was not saved"
    model = SiteLearner(SITE).fit([Page.from_html(article(n), address(f"/{n}")) for n in NUMBERS])
    for learned_at, expected in (("2024-01-01T00:00:00+00:00", {SITE}), ("", set())):
        crawl = Crawls(path, 0).begin()
        crawl.state.use(model)
        crawl.state.is_stored, model.learned_at = True, learned_at or now()
        crawl.see("/1", article(1).replace("</article>", f"{NOTICE}</article>"))
        crawl.end()
        assert stale(path) == expected
    causes(path, article)
    assert not stale(path), "nothing came"


def test_line_added_to_fewer_than_half_of_pages_is_page_change(tmp_path: Path) -> None:
    def page(number: int) -> str:
        return article(number).replace("</article>", f"{NOTICE * (number < 6)}</article>")

    assert causes(tmp_path / "history.sqlite", page) == dict.fromkeys("12345", "page")
