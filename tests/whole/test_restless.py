"""What does not matter to a reader of a page is no change: ages, counters, texts that alternate."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from tests.noisy import NoisySite
from tests.restless import RestlessSite
from tests.sites import prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site

KIND = "text/html; charset=utf-8"


class Restless(Recrawls):
    """Crawls of a site whose pages never change, but differ at each visit."""

    def __init__(self, site: Site, folder: Path, pages: RestlessSite | NoisySite) -> None:
        super().__init__(site, folder)
        self.pages = pages

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


class Branches(Recrawls):
    """Crawls of a site whose pages quote another customer at each visit, and say whether a branch
    is open, which changes on most of them.
    """

    day = 0

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if not path[1:].isdigit() and path != "/":
            return 404, KIND, b"<p>none</p>"
        number = int(path[1:] or 0)
        quote = prose("quote", (number * 5 + self.day * 3) % 16, words=30)
        status = "Open" if (number + self.day) % 2 and number != 3 else "Closed"
        links = "".join(f'<a href="/{each}">{each}</a> ' for each in range(14))
        html = f"<h1>Branch {number}</h1><p class=status>{status}</p><p>{prose(number, words=60)}"
        html += f"<blockquote>{quote}</blockquote><nav>{links}</nav>"
        return 200, KIND, html.encode()


class Promoted(Recrawls):
    """Crawls of a shop that draws one of two banners for each visit of a product, of which one is
    on most pages of a day, and says in a sentence whether it has the product.
    """

    day, sold_out = 0, frozenset[int]()

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        if not path[1:].isdigit() and path != "/":
            return 404, KIND, b"<p>none</p>"
        number = int(path[1:] or 0)
        is_first = random.Random(f"{number} {self.day}").random() < (0.65, 0.35)[self.day % 2]
        banner = f"<div class=promo>{prose('banner', is_first, words=14)}</div>"
        name = prose("name", number, words=2)[:-1]
        stock = f"{name} is in stock: we send it today from our store, if you order before noon."
        if number in self.sold_out:
            stock = f"{name} is sold out: we are sorry, and tell you when it is made again."
        links = "".join(f'<a href="/{each}">{each}</a> ' for each in range(25))
        html = f"<main>{banner if number else ''}<h1>{name}</h1>"
        html += f"<p>{prose(number, words=60)}</p><p>{prose(number, 'more', words=60)}</p>"
        html += f"<div class=stock>{stock}</div></main><nav>{links}</nav>"
        return 200, KIND, html.encode()


def contents(item: dict[str, Any]) -> list[object]:
    return [item[name] for name in ("content", "content_markdown", "content_html", "content_hash")]


def test_status_that_changes_on_most_pages_is_told_each_time(site: Site, tmp_path: Path) -> None:
    branches = Branches(site, tmp_path)
    branches.crawl()
    branches.records()
    for branches.day in (1, 2):
        items = branches.crawl()
        records = {record["url"]: record for record in branches.records()}
        told = {url for url, record in records.items() if record["change"] == "changed"}
        assert len(told) >= 12 and "/3" not in told
        assert told == {url for url, item in items.items() if item["change"] == "changed"}
    assert records["/3"]["reason"] == "alternating texts"


def test_drawn_banner_is_known_although_site_is_learned_again_and_sold_out_products_are_told(
    site: Site, tmp_path: Path
) -> None:
    shop = Promoted(site, tmp_path)
    shop.crawl()
    shop.changes()
    shop.day = 1
    shop.crawl("--relearn")
    shop.changes()
    shop.day, shop.sold_out = 2, frozenset(range(3, 13))
    items = shop.crawl()
    sold_out = dict.fromkeys((f"/{number}" for number in shop.sold_out), "changed")
    assert shop.changes() == sold_out
    assert {path for path, item in items.items() if item["change"] != "unchanged"} == {*sold_out}
    assert "0 learned" in shop.said


def test_what_systems_put_beside_text_is_no_change(site: Site, tmp_path: Path) -> None:
    """A forum: ages and numbers of posts, the names of readers, the time, session ids in links."""
    forum = Restless(site, tmp_path, NoisySite("forum"))
    forum.crawl()
    forum.changes()
    edits = ({"/5": "sentence"}, {"/6": "price", "/7": "day"})
    for forum.pages.day, edited in enumerate(edits, 1):
        forum.pages.edited |= edited
        items = forum.crawl()
        assert forum.changes() == dict.fromkeys(edited, "changed")
        assert {path for path, item in items.items() if item["change"] != "unchanged"} == {*edited}
    items = forum.crawl("--passages", "300")
    assert {item["change"] for item in items.values()} == {"unchanged"}
    assert all(item["passages"] for item in items.values()), "other options, other content"


@pytest.mark.parametrize("kind", ["conference", "store", "delivery"])
def test_lists_in_any_order_and_days_of_delivery_are_no_change_in_second_crawl(
    site: Site, tmp_path: Path, kind: str
) -> None:
    """Of the conference's speakers, the model keeps some names, other ones in the second crawl."""
    restless = Restless(site, tmp_path, NoisySite(kind))
    restless.crawl()
    restless.changes()
    restless.pages.day, restless.pages.edited = 1, {"/5": "price"}
    items = restless.crawl()
    assert restless.changes() == {"/5": "changed"}
    assert {path for path, item in items.items() if item["change"] != "unchanged"} == {"/5"}


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
    restless = Restless(site, tmp_path, RestlessSite(number))
    restless.crawl()
    assert set(restless.changes().values()) == {"new"}
    restless.pages.day = 1
    items = restless.crawl()
    told = {record["url"]: record["change"] for record in restless.records()}
    assert told == {path: item["change"] for path, item in items.items()}
    restless.pages.day = 2
    items = restless.crawl()
    records = {record["url"]: record for record in restless.records()}
    assert {record["change"] for record in records.values()} == {"unchanged"}
    ignored = {"ages", "counters", "alternating texts"}
    assert set(records["/3"]["reason"].split(", ")) <= ignored
    assert "alternating texts" in records["/3"]["reason"]
    assert {item["change"] for item in items.values()} == {"unchanged"}
    assert "1 loaded" in restless.said and "0 learned" in restless.said
    assert "ignored: 12 " in restless.said

    restless.pages.day = 3
    restless.pages.edited = {"/2": "sentence", "/3": "price", "/4": "day"}
    before, items = items, restless.crawl()
    assert restless.changes() == dict.fromkeys(restless.pages.edited, "changed")
    same = {path for path in items if contents(items[path]) == contents(before[path])}
    assert same == items.keys() - restless.pages.edited.keys()
    assert {path for path, item in items.items() if item["change"] == "changed"} == {
        *restless.pages.edited
    }
