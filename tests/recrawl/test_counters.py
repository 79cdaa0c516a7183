"""Counters in the main content: another number there is no change of the page."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from contentspider import Page
from contentspider.recrawl.counters import (
    MAX_CHARS,
    MIN_PAGES,
    Counters,
    are_counters,
    place_of,
    without_counter,
)
from contentspider.recrawl.places import differences
from tests.sites import article, prose
from tests.whole.test_recrawls import Recrawls

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Site


def counted(number: int, views: int) -> str:
    """Return an article with a counter in the midst of its text."""
    return article(number).replace("</h1>", f"</h1><p class=views>Read {views} times</p>")


class Counting(Recrawls):
    """A site with counters in the midst of its texts whose server has validators for these."""

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        status, kind, body = super()._answer(path)
        tag = sha256(re.sub(rb"Read .*? times", b"", body)).hexdigest()[:8]
        if self.site.asked.headers.get("If-None-Match") == tag:
            return 304, kind, b""
        return status, f"{kind}\r\nETag: {tag}", body

    def counted(self, number: int, times: int, *what: object) -> str:
        """Return a page with a counter, of *what* others do not say that it was read."""
        text = f"Read {' '.join(map(prose, what))[:30]} {times} times".replace("  ", " ")
        return article(number).replace("</p>", f"</p><h2>{text}</h2>", 1)


def places(before: str, now: str) -> tuple[str, ...]:
    page = Page.from_html("".join(f"<p>{line}</p>" for line in now.splitlines()))
    found = differences((before, now), (None, page), lambda path: path)
    return () if found.slots else found.numbered


def test_number_unchanged_according_to_server_is_counter_on_enough_pages() -> None:
    place = place_of("slot", "Read 7 times")
    found = Counters([[place]], [[place]])
    for number in range(MIN_PAGES):
        assert found.needs_more
        assert found.places() == set()
        found.share(Page.from_html(f"<p>Read {number} times</p>"), lambda path: "slot")
    assert found.places() == {place}
    assert not found.needs_more
    assert not Counters([[place]]).needs_more


def test_slot_with_long_text_marks_single_lines_as_counters() -> None:
    long = "Words that go on. " * 9
    line = place_of("slot", "Read 7 times")
    found = Counters([[line]])
    for number in range(MIN_PAGES):
        assert found.places() == set()
        now, old = (
            Page.from_html(f"<p>Read {views} times</p><p>{long}</p>") for views in (number, "9000")
        )
        found.add(now, old, lambda path: "slot")
    assert found.places() == {line}


def test_counter_places_are_short_lines_differing_in_whole_number() -> None:
    assert places("Tea\nPosts: 41", "Tea\nPosts: 1,042") == ("body/p\tPosts: 0",)
    assert places("Tea\nPosts: 41", "Tea\nViews: 42") == ()
    assert places("Tea\nPosts: 41", "Coffee\nPosts: 42") == ()
    for price in ("Only $ {}", "{}.50", "{} kr"):
        assert places(price.format(41), price.format(42)) == ()
    assert places(f"In 41 {prose(1)}", f"In 42 {prose(1)}") == (), "a sentence"
    assert places("Posts: 41", "Posts: 41\nPosts: 42") == ()


def test_counter_line_is_short_and_contains_no_price() -> None:
    short = f"{'x' * (MAX_CHARS - 3)} 41"
    assert without_counter(short) == f"{short[:-2]}0"
    assert places(short, f"{short[:-2]}42") == (f"body/p\t{short[:-2]}0",)
    assert without_counter(f"x{short}") == f"x{short}"
    assert places(f"x{short}", f"x{short[:-2]}42") == ()
    assert without_counter("For 41 kr") == "For 41 kr"
    assert places("C 1\nB 1\nA 1", "C 1\nB 2\nA 2") == ("body/p\tA 0", "body/p\tB 0")


def test_slot_must_change_on_half_of_its_pages_to_be_counter() -> None:
    place = place_of("slot", "Read 0 times")
    counters = Counters([[place]])
    still, other = (
        Page.from_html(f"<p>Read {views} times</p><p>{'x' * MAX_CHARS}</p>") for views in (1, 2)
    )
    for _ in range(MIN_PAGES):
        counters.add(still, still, lambda path: "slot")
        counters.add(other, still, lambda path: "slot")
    assert counters.places() == {place, "slot"}
    counters.add(still, still, lambda path: "slot")
    assert counters.places() == set()


def test_line_must_change_on_most_of_its_pages_to_be_counter() -> None:
    def page(*parts: str) -> Page:
        return Page.from_html("".join(parts))

    counters = Counters(
        [("body/h3\tAnn 0", "body/p\tRead 0 times"), ("body/h4\tSince 0",), ("body/h5\tRare 0",)]
    )
    for number in range(10):
        views = f"<p>Read {number} times</p><p>{prose(1)}</p>"
        rare = f"<h5>Rare {number}</h5>" if number < 7 else ""
        since = f"<h4>Since {number}</h4><h3>{'ABCDEFGHIJ'[number]}nn {number}</h3>"
        now = [views, rare, since]
        before = [part.replace(str(number), "77") for part in now]
        counters.add(page(*now), page(*before), str)
    for _ in range(11):
        still = page("<h4>Since 1987</h4><p>Short.</p>")
        counters.add(still, still, str)
    found = counters.places()
    assert found == {"body/h3", "body/p\tRead 0 times"}
    assert are_counters(["body/h3\tIda 0", "body/p\tRead 0 times"], found)
    assert not are_counters(["body/p\tFounded in 0"], found), "it stands among other text"


@pytest.fixture
def again(site: Site, tmp_path: Path) -> Recrawls:
    """Return a site that has been crawled, with a counter in the main content of each page."""
    recrawls = Recrawls(site, tmp_path)
    recrawls.articles = {f"/{number}": counted(number, 5) for number in range(1, 13)}
    recrawls.crawl()
    (folder,) = (tmp_path / "models").iterdir()
    (folder / "overrides.toml").write_text("keep = ['.views']")
    items = recrawls.crawl()
    assert "Read 5 times" in str(items["/3"]["content"])
    recrawls.records()
    return recrawls


def test_changed_counter_in_content_is_not_page_change(again: Recrawls) -> None:
    again.articles = {f"/{number}": counted(number, 70 + number) for number in range(1, 13)}
    again.articles["/4"] = counted(4, 9).replace(prose(4, 1), prose("edited"))
    again.crawl()
    assert again.changes() == {"/4": "changed"}
    again.articles |= {f"/{number}": counted(number, 170 + number) for number in range(5, 13)}
    assert again.crawl("--only", "changed") == {}, "now it is known where counters stand"
    assert again.changes() == {}
    again.crawl()
    assert again.changes() == {}


def test_only_changed_leaves_out_pages_that_turn_out_to_be_unchanged(again: Recrawls) -> None:
    """Only the end of the crawl shows that the numbers are counters."""
    again.articles = {f"/{number}": counted(number, 70 + number) for number in range(1, 13)}
    again.articles["/4"] = counted(4, 9).replace(prose(4, 1), prose("edited"))
    items = again.crawl("--only", "changed", "--output", "pages.csv")
    assert {path: item["change"] for path, item in items.items()} == {"/4": "changed"}
    assert "Read 9 times" in str(items["/4"]["content"])
    assert (again.folder / "pages.csv").read_text("utf-8").count(again.site.url + "/") == 1
    assert "; 1 item" in again.said
    assert again.changes() == {"/4": "changed"}
    items = again.crawl()
    assert set(items) == {"", *again.articles}
    assert {item["change"] for item in items.values()} == {"unchanged"}


def test_counter_changes_with_new_model_are_attributed_to_model(again: Recrawls) -> None:
    again.articles = {f"/{number}": counted(number, 70 + number) for number in range(1, 13)}
    again.articles["/4"] = counted(4, 9).replace(prose(4, 1), prose("edited"))
    (folder,) = (again.folder / "models").iterdir()
    (folder / "overrides.toml").write_text("keep = ['.views', 'nav']")
    before = again.crawl()["/3"]
    assert "Home" in str(before["content"])
    records = {record["url"]: record for record in again.records() if record["url"] != "/"}
    assert records.pop("/4")["change_cause"] == "page"
    assert {record["change_cause"] for record in records.values()} == {"model"}
    assert all(record["changed_at"] == record["first_seen"] for record in records.values())


def test_new_pages_do_not_affect_counters(again: Recrawls) -> None:
    again.articles = {f"/{number}": counted(number, 70 + number) for number in range(1, 31)}
    again.crawl()
    assert again.changes() == {f"/{number}": "new" for number in range(13, 31)}


def test_counter_changes_that_server_calls_unmodified_are_not_page_changes(
    site: Site, tmp_path: Path
) -> None:
    again = Counting(site, tmp_path)
    again.articles = {f"/{number}": again.counted(number, 5) for number in range(1, 13)}
    assert "Read 5 times" in str(again.crawl()["/3"]["content"])
    again.articles = {f"/{number}": again.counted(number, 70 + number) for number in range(1, 13)}
    again.records()
    again.crawl()
    assert "11 of them not sent" in again.said, "one is looked at all the same"
    assert again.changes() == {}


def test_sentence_change_that_server_calls_unmodified_is_reported_only_for_fetched_page(
    site: Site, tmp_path: Path
) -> None:
    again = Counting(site, tmp_path)
    again.articles = {f"/{number}": again.counted(number, 5, number) for number in range(1, 13)}
    again.crawl()
    again.records()
    again.articles = {f"/{number}": again.counted(number, 6, number) for number in range(1, 13)}
    again.crawl()
    (path,) = again.changes()
    assert path != "/", "the page that was looked at: no other has this sentence"


def test_number_changed_on_one_page_is_change(again: Recrawls) -> None:
    again.articles["/4"] = counted(4, 6)
    assert again.crawl()["/4"]["change"] == "changed"
    assert again.changes() == {"/4": "changed"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ACME 96.41 (-0.5 %)", "ACME 103.43 (+1.25 %)"),
        ("Globex 18,40 ▲ 0,34 %", "Globex 17,95 ▼ 2,1 %"),
        ("Weather: -3.5 °C", "Weather: 12.5 °C"),
        ("Rendered in 0.12 s", "Rendered in 1.3 s"),
        ("Weather: 12 °C", "Weather: 12.5 °C"),
        ("950 views", "1.2k views"),
        ("999,950 views", "1M views"),
        ("12’345 Aufrufe", "12’400 Aufrufe"),
        ("Server time: 11:58 AM", "Server time: 1:05 PM"),
    ],
)
def test_measured_number_may_be_counter(old: str, new: str) -> None:
    assert places(old, new) == (place_of("body/p", new),)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tea 12.50", "Tea 13.50"),
        ("Tea $12 (-20 %)", "Tea $13 (-10 %)"),
        ("Tea $96.41 (-0.5 %)", "Tea $98.20 (+1.2 %)"),
        ("Tea 12,50 -20 %", "Tea 13,50 -20 %"),
        ("Interest 3.5 %", "Interest 3.7 %"),
        ("House for $1.2M", "House for $1.3M"),
    ],
)
def test_price_is_no_counter(old: str, new: str) -> None:
    assert places(old, new) == ()
