"""Copies: which of two addresses of one text is the page does not change from crawl to crawl."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from contentspider.state.history.history import History
from contentspider.state.history.takeover import COPIES_KEPT
from contentspider.state.ledger.visits import Answer, Seen, Visit
from tests.sites import article, prose
from tests.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

BOTH = "<a href=/3>One</a> <a href=/print/3>Two</a>"


def test_a_copy_that_comes_first_is_no_new_page(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.articles["/3"] = again.articles["/print/3"] = article(3, BOTH)
    again.unlinked = {"/print/3"}
    first = again.crawl()
    assert "/3" in first and "/print/3" not in first
    again.records()
    fetches, answer = count(1_000), site.answer
    assert answer is not None

    def with_adverts(path: str) -> tuple[int, str, bytes]:
        status, kind, body = answer(path)
        return status, kind, body.replace(b"2024", f"2025 {next(fetches)} visitors".encode())

    site.answer = with_adverts
    again.unlinked = {"/3"}
    for _ in range(2):
        second = again.crawl()
        assert second.keys() == first.keys()
        assert again.changes() == {}
    site.requests.clear()
    again.crawl("--due")
    assert again.changes() == {}
    assert "/print/3" not in site.requests, "nothing is known of when it changes"
    again.articles["/print/3"] = article(3, BOTH).replace(prose(3, 1), prose("edited"))
    again.crawl()
    assert again.changes() == {"/print/3": "new"}
    del again.articles["/3"]
    again.crawl()
    assert again.changes() == {"/3": "gone"}


def test_a_copy_takes_the_place_of_a_page_that_is_gone(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)
    again.articles["/3"] = again.articles["/print/3"] = article(3, BOTH)
    again.unlinked = {"/print/3"}
    again.crawl()
    again.records()
    again.unlinked = {"/3"}
    del again.articles["/3"]
    again.crawl()
    assert again.changes() == {"/print/3": "new", "/3": "gone"}


def test_copies_that_are_found_no_more_are_forgotten() -> None:
    history = History(None)
    visit = Visit("1", "http://e.org/1", "e.org", "", "new", 1.0, "page", "", "", "", "", "")
    for number in range(COPIES_KEPT + 2):
        takeover = history.take_over(str(number), is_complete=number != 1)
        takeover.take(Seen(number, visit, Answer(), "Tea.", None))
        if not number:
            takeover.add_copy("2", "1")
        takeover.commit()
        assert history.original_of("2") == ("1" if number <= COPIES_KEPT else "")
    history.close()
