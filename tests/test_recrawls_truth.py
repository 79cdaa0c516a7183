"""What change records say of pages that only seem to have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.page.document import Page
from contentspider.site.difference import is_recut
from tests.sites import article, prose
from tests.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

FIRST, SECOND, OTHER = prose(1), prose(2), prose(3)


def test_a_page_is_recut_if_all_that_differs_stands_on_both_versions() -> None:
    def page(*texts: str) -> Page:
        cells = "<table><tr><td>One</td><td>Two</td></tr></table>"
        return Page.from_html("".join(f"<p>{text}</p>" for text in texts) + cells)

    old, new = page("Home", FIRST, SECOND), page(FIRST, "An advertisement", SECOND, "Home")
    whole = f"{FIRST}\n{SECOND}"
    assert is_recut(old, whole, new, f"Home\n{FIRST}\n{SECOND}")
    assert is_recut(old, whole, new, f"{whole}\nOne\tTwo")
    assert is_recut(old, whole, new, FIRST)
    assert not is_recut(old, whole, new, f"{whole}\nAn advertisement"), "that is new"
    assert not is_recut(old, whole, page(FIRST), FIRST), "that is no more"
    assert not is_recut(old, whole, page(FIRST, OTHER), f"{FIRST}\n{OTHER}")
    assert not is_recut(old, whole, new, f"{SECOND}\n{FIRST}"), "another order is a change"


def test_counters_in_the_text_are_told_from_changes_of_the_text(site: Site, tmp_path: Path) -> None:
    again = Recrawls(site, tmp_path)

    def count(times: int, price: int) -> None:
        for number in range(1, 12):
            counter = f"<p>Read {times + number} times</p>" if number < 10 else ""
            counter += f"<p>It is {price} €</p>" if number in (1, 10) else ""
            text = prose(number, 2)
            again.articles[f"/{number}"] = article(number).replace(text, f"{text}</p>{counter}<p>")

    options = ("-s", "CONTENTSPIDER_LABELS=paper")
    count(10, 5)
    again.crawl(*options)
    again.records()
    count(2_000, 6)
    again.crawl(*options)
    causes = {record["url"]: record["change_cause"] for record in again.records()}
    assert causes["/10"] == causes["/1"] == "page", "prices count"
    assert {causes[f"/{number}"] for number in range(2, 10)} == {"numbers"}
    assert causes["/11"] == ""
