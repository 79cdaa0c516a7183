"""What does not matter to a reader of a page is no change: ages, counters, texts that alternate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.restless import RestlessSite
from tests.sites import prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

KIND = "text/html; charset=utf-8"


class Restless(Recrawls):
    """Crawls of a `RestlessSite`, each a day after the last one."""

    def __init__(self, site: Site, folder: Path, number: int) -> None:
        super().__init__(site, folder)
        self.pages = RestlessSite(number)

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        html = self.pages.html(path)
        return (404, KIND, b"<p>none</p>") if html is None else (200, KIND, html.encode())


class Offers(Recrawls):
    """Crawls of a site whose pages have a quote of the day, and some of them a price in its place.
    On the last day, the price of one page is another one.
    """

    day = 0

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if not path[1:].isdigit() and path != "/":
            return 404, KIND, b"<p>none</p>"
        number = int(path[1:] or 0)
        text = prose("quote", (number * 5 + self.day * 3) % 16, words=30)
        if number in (1, 2, 3):
            euros = 9 if (number, self.day) == (1, 2) else 8
            text = f"Today a pot of our own tea costs {euros}.50 €"
        links = "".join(f'<a href="/{each}">{each}</a> ' for each in range(14))
        html = f"<p>{prose(number, words=60)}</p><blockquote>{text}</blockquote><nav>{links}</nav>"
        return 200, KIND, html.encode()


def test_price_in_slot_that_alternates_is_told(site: Site, tmp_path: Path) -> None:
    offers = Offers(site, tmp_path)
    for day in range(3):
        offers.day = day
        offers.crawl()
        records = {record["url"]: record for record in offers.records()}
    assert {url for url, record in records.items() if record["change"] == "changed"} == {"/1"}
    assert records["/5"]["reason"] == "alternating texts"


@pytest.mark.parametrize("number", [1, 2])
def test_only_changes_that_matter_to_readers_are_told(
    site: Site, tmp_path: Path, number: int
) -> None:
    restless = Restless(site, tmp_path, number)
    restless.crawl()
    assert set(restless.changes().values()) == {"new"}
    restless.pages.day = 1
    restless.crawl()
    restless.records()
    restless.pages.day = 2
    items = restless.crawl()
    records = {record["url"]: record for record in restless.records()}
    assert {record["change"] for record in records.values()} == {"unchanged"}
    ignored = {"ages", "counters", "alternating texts"}
    assert set(records["/3"]["reason"].split(", ")) <= ignored
    assert "alternating texts" in records["/3"]["reason"]
    assert {item["change"] for item in items.values()} == {"unchanged"}
    assert "ignored: 12 " in restless.said

    restless.pages.day = 3
    restless.pages.edited = {"/2": "sentence", "/3": "price", "/4": "day"}
    items = restless.crawl()
    assert restless.changes() == dict.fromkeys(restless.pages.edited, "changed")
    assert {path for path, item in items.items() if item["change"] == "changed"} == {
        *restless.pages.edited
    }
