"""The own texts of a crawl, and the answers of their sources, which the next crawl needs."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.site.own.texts import MAX_TEXTS, OwnText
from contentspider.site.sample import sample_order
from contentspider.state.book import sample
from contentspider.state.book.book import Book
from contentspider.state.book.contents import Contents
from contentspider.state.book.database import Database
from contentspider.state.book.own_texts import OwnAnswer
from contentspider.state.book.sample import PageSample
from tests.books import killed
from tests.messages import wording
from tests.state.test_storage import HTML

if TYPE_CHECKING:
    from pathlib import Path

FEED = "http://e.org/feed"


def own(number: int, source: str = FEED, **values: object) -> OwnText:
    return OwnText(f"http://e.org/{number}", f"Text {number}", source, **values)  # type: ignore[arg-type]


def test_own_texts_survive_kill_without_duplicates(path: Path) -> None:
    book = Book(path)
    texts = [own(1, author=("Ada",), published_at="2026-01-02"), own(2, "api")]
    for _ in range(2):
        book.own_texts.add("e.org", texts, FEED)
    book.own_texts.note(OwnAnswer("e.org", FEED, '"a"', "today"))
    book.own_texts.add("f.org", [own(3)])
    book.commit()
    book.own_texts.add("e.org", [own(4)])
    book = killed(book)
    assert book.own_texts.of_site("e.org") == texts
    assert book.own_texts.of_site("g.org") == []
    assert list(book.own_texts.answers()) == [
        OwnAnswer("e.org", FEED, '"a"', "today", tuple(texts))
    ]
    book.close()


def test_own_text_is_found_by_any_variant_of_its_url(path: Path) -> None:
    book = Book(path)
    told = book.own_texts
    assert not told.has("e.org", "http://e.org/1")
    told.add("e.org", [own(1), own(1, "api"), own(1, "comments"), own(2), own(2)])
    assert told.has("e.org", "https://www.e.org/1/")
    assert told.of_page("e.org", "https://www.e.org/1/#top") == own(1)
    assert not told.has("f.org", "http://e.org/1")
    assert told.of_page("e.org", "http://e.org/3") is None
    # Two different texts of one source: these are the page's comments.
    told.add("e.org", [OwnText("http://e.org/2", "Another", FEED)])
    assert told.of_page("e.org", "http://e.org/2") is None
    told.add("e.org", [own(2, "api")])
    assert told.of_page("e.org", "http://e.org/2") == own(2, "api")
    book.close()


def test_answers_of_own_text_sources_are_sorted_by_url_with_their_texts(path: Path) -> None:
    book = Book(path)
    assert OwnAnswer("s", "a") == OwnAnswer("s", "a", "", "", ())
    book.own_texts.add("e.org", [own(2), own(1)], "b")
    book.own_texts.add("e.org", [own(2), own(3)], "a")
    for address in "bca":
        book.own_texts.note(OwnAnswer("e.org", address, "old"))
        book.own_texts.note(OwnAnswer("e.org", address))
    assert list(book.own_texts.answers()) == [
        OwnAnswer("e.org", "a", texts=(own(3),)),
        OwnAnswer("e.org", "b", texts=(own(2), own(1))),
        OwnAnswer("e.org", "c"),
    ]
    book.own_texts.add("e.org", [own(4)])
    assert book.own_texts.of_site("e.org")[-1] == own(4)
    book.close()


def test_own_texts_per_source_and_site_are_limited(path: Path) -> None:
    book = Book(path)
    book.own_texts.add("e.org", (own(number) for number in range(MAX_TEXTS + 5)))
    book.own_texts.add("e.org", [own(1, "api")])
    assert len(book.own_texts.of_site("e.org")) == MAX_TEXTS + 1
    assert not book.own_texts.has("e.org", f"http://e.org/{MAX_TEXTS}")
    assert book.own_texts.has("e.org", f"http://e.org/{MAX_TEXTS - 1}")
    book.close()


@pytest.mark.parametrize("damage", ["x'00'", "'text'", "x'789c8be5020000cc0067'", "NULL || ''"])
def test_damaged_own_text_is_logged_and_skipped(
    path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    book = Book(path)
    book.own_texts.add("e.org", [own(1), own(2)])
    damage = "zeroblob(3)" if damage.startswith("NULL") else damage
    book.database.do(f"UPDATE own_texts SET record = {damage} WHERE url LIKE '%1'")  # noqa: S608
    with caplog.at_level(logging.ERROR):
        assert book.own_texts.of_site("e.org") == [own(2)]
    assert caplog.messages == [f"{path}: 1 " + wording("state.own-texts-damaged")]
    assert book.own_texts.of_page("e.org", "http://e.org/1") is None
    book.close()


def test_book_keeps_answers_of_own_text_sources_of_last_crawl_per_site(path: Path) -> None:
    book = Book(path)
    answer = OwnAnswer("e.org", FEED, '"a"', "", (own(1), own(2)))
    other = OwnAnswer("f.org", "http://f.org/feed")
    book.own_answers.replace([answer, OwnAnswer("e.org", "http://e.org/old"), other])
    book.own_answers.replace([answer])
    book.own_answers.replace([])
    assert book.own_answers.at(FEED) == answer
    assert book.own_answers.at("http://e.org/old") is None
    assert book.own_answers.at("http://f.org/feed") == other
    book.database.do("UPDATE own_answers SET texts = x'00' WHERE site = 'e.org'")
    assert book.own_answers.at(FEED) == OwnAnswer("e.org", FEED, '"a"')
    book.close()


def test_page_sample_prefers_pages_with_own_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample, "PAGES_WITH_TEXT", 3)
    every = [f"http://e.org/{number}" for number in range(40)]
    told = {address for address in every if address.endswith(("7", "8"))}
    first = sorted(told, key=sample_order)[:3]
    others = sorted((one for one in every if one not in first), key=sample_order)[:7]
    for seed in range(4):
        database = Database(None)
        pages = PageSample(database, Contents(database), site_pages=10, all_pages=100)
        random.Random(seed).shuffle(every)
        for address in every * 2:
            pages.offer("e.org", Page.from_html(HTML, address), address in told)
        assert [page.url for page in pages.sample("e.org")] == sorted(first + others)


def test_page_gaining_own_text_later_is_kept_once() -> None:
    database = Database(None)
    pages = PageSample(database, Contents(database), site_pages=2)
    last = max((f"http://e.org/{number}" for number in range(9)), key=sample_order)
    pages.offer("e.org", Page.from_html(HTML, last))
    pages.offer("e.org", Page.from_html(HTML, last), has_own_text=True)
    assert [page.url for page in pages.sample("e.org")] == [last]
    for number in range(9):
        pages.offer("e.org", Page.from_html(HTML, f"http://e.org/{number}"))
    assert last in [page.url for page in pages.sample("e.org")]
