"""What a finished crawl leaves to its history: it is found in either."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing, suppress
from pathlib import Path
from threading import Event

import pytest
from contentspider.state.history.history import History

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.recrawl.judge import NEW_PAGE, judge
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from contentspider.state.book.visits import Answer, StoredVisit, Visit
from contentspider.state.crawls.books import history_of
from contentspider.state.crawls.export import crawled_pages, export_items, open_crawl_data
from contentspider.state.database import Database
from contentspider.state.files.formats import Output
from tests.conftest import TIMEOUT
from tests.messages import raises

OTHER = b'{"site": "f.org"}'
LONG = " ".join(f"word{number}" for number in range(60))


def test_pages_of_crawl_are_found_by_site_name_or_without_it_for_single_site(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "crawl.sqlite"

    def offer(*found: tuple[str, str, str]) -> None:
        with closing(Book(path)) as book:
            for site, url, html in found:
                book.sample.offer(site, Page.from_html(html, url))
            book.commit()

    offer()
    with pytest.raises(ContentSpiderError, match=r"crawl.sqlite has pages of no site; choose"):
        crawled_pages(path, "")
    offer(*(("e.org", url, html) for url, html in (("b", "<p>b"), ("a", "<p>a"), ("c", "<p>"))))
    for site in ("", "e.org"):
        name, found = crawled_pages(path, site)
        assert (name, [page.url for page in found]) == ("e.org", ["a", "b"])
    offer(("d.org", "d", "<p>d"))
    for site in ("", "f.org"):
        with raises(ContentSpiderError, "several-sites", "crawl.sqlite", "d.org, e.org"):
            crawled_pages(path, site)
    assert crawled_pages(path, "d.org")[0] == "d.org"
    with closing(Book(path)) as book:
        book.pages._database.do("UPDATE pages SET page = x'00' WHERE url = 'a'")
        book.commit()
    assert [page.url for page in crawled_pages(path, "e.org")[1]] == ["b"]
    (said,) = caplog.messages
    assert ": a is left out: " in said


def test_items_stored_in_history_are_exported_from_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, page = tmp_path / "crawl.sqlite", Page.from_html("<p>a", "a")
    items = {name: {"site": "e.org", "text": LONG, "name": name} for name in "abc"}
    lines = {name: json.dumps(item).encode() for name, item in items.items()}
    history = History(history_of(path))
    takeover = history.begin_writing("crawl", True)
    for number, (name, item) in enumerate(items.items()):
        found = Visit(name, name, "e.org", "", NEW_PAGE, "", "", "", "")
        item |= {"name": "other"} if name == "c" else {}
        stored = StoredVisit(number, found, Answer(), "text", None, True, item)
        takeover.add_visit(stored, judge(found.facts))
    takeover.commit()
    with closing(Book(path)) as book:
        for name, line in lines.items():
            book.items.record(ItemBinding(page, key=name, page_id=name), line)
        book.items.record(ItemBinding(page, key="none"), OTHER)
        book.items.record(ItemBinding(page, key="dropped", page_id="a"), None, "dropped")
        book.commit()
        asyncio.run(book.drop_duplicated_records(lambda _: False, history.kept.line))
        assert list(book.items.lines()) == [OTHER]
        assert list(book.items.lines(history.kept.line)) == [
            *lines.values(),
            OTHER,
        ]
        assert (book.items.count(), book.items.count("dropped")) == (4, 1)
        query = "SELECT max(length(line)) FROM items WHERE page = 'c'"
        size = book.items._database.count(query)
        assert size < 30 < len(LONG)
    assert "item 1 (of None) is damaged (Error 2 while decompressing" in caplog.text
    output = tmp_path / "items.jsonl"
    assert export_items(path, [Output(output, "jsonl")]) == 4
    assert output.read_bytes().splitlines() == [*lines.values(), OTHER]
    with open_crawl_data(path) as (_, _, records):
        assert sorted(str(record["site"]) for record in records()) == [*3 * ["e.org"], "f.org"]
    history.close()
    history_of(path).unlink()
    assert export_items(path, [Output(output, "jsonl")]) == 4
    assert output.read_bytes().splitlines() == [OTHER]


def test_sample_of_finished_crawl_is_read_from_history(tmp_path: Path) -> None:
    path, pages = tmp_path / "crawl.sqlite", [Page.from_html(f"<p>{url}", url) for url in "ba"]
    history = History(history_of(path))
    takeover = history.begin_writing("crawl", True)
    for number, page in enumerate(pages):
        found = Visit(page.url, page.url, "e.org", "", NEW_PAGE, "", "", "", "")
        stored = StoredVisit(number, found, Answer(), "text", page.dump())
        takeover.add_visit(stored, judge(found.facts))
    takeover.commit()
    for kept, left in ((set("a"), ["a", "b"]), (set("ab"), [])):
        with closing(Book(path)) as book:
            for page in pages:
                book.sample.offer("e.org", page)
            book.commit()
            asyncio.run(book.drop_duplicated_records(kept.__contains__, lambda _: None))
        with closing(Book(path, read_only=True)) as book:
            assert sorted(book.sample.urls()) == left
        assert crawled_pages(path, "") == ("e.org", [pages[1], pages[0]])
    takeover = history.begin_writing("crawl", True)
    known = history.page("a")
    assert known is not None
    takeover.mark_gone(known, "404")
    takeover.commit()
    history.close()
    assert crawled_pages(path, "e.org") == ("e.org", [pages[0]])


class StoppedError(Exception):
    """A signal came while the ledger was shrunk."""


def test_signal_ends_rewriting_of_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "crawl.sqlite"
    vacuum, interrupt = Database.vacuum, Database.interrupt
    is_begun, is_interrupted = Event(), Event()

    def slow_vacuum(database: Database) -> None:
        is_begun.set()
        assert is_interrupted.wait(TIMEOUT)
        vacuum(database)

    def noted_interrupt(database: Database) -> None:
        is_interrupted.set()
        interrupt(database)

    async def pause() -> None:
        if is_begun.is_set():
            raise StoppedError

    with closing(Book(path)) as book:
        book.sample.offer("e.org", Page.from_html("<p>a", "a"))
        book.commit()
        monkeypatch.setattr(Database, "vacuum", slow_vacuum)
        monkeypatch.setattr(Database, "interrupt", noted_interrupt)
        with pytest.raises(StoppedError):
            asyncio.run(book.drop_duplicated_records(lambda _: False, lambda _: None, pause))
        book.rollback()
        assert list(book.sample.urls()) == ["a"]
    assert crawled_pages(path, "e.org")[1]


@pytest.mark.parametrize("most_pauses", [0, 1, 2, 3, 99])
def test_signal_ends_the_deletion_of_what_the_history_has(
    most_pauses: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("contentspider.state.book.book.PORTION", 2)
    pauses = []

    async def pause() -> None:
        if len(pauses) == most_pauses:
            raise StoppedError
        pauses.append(1)

    with closing(Book(tmp_path / "crawl.sqlite")) as book:
        book.sample.offer("e.org", Page.from_html("<p>a", "a"))
        for number in range(1, 6):
            found = Visit(f"{number}", f"{number}", "e.org", "", NEW_PAGE, "", "", "", "")
            book.visits.note(found, number, "Text.", None)
            book.visits.answer(number, Answer("tag"))
        book.commit()
        with suppress(StoppedError):
            asyncio.run(book.drop_duplicated_records(lambda _: False, lambda _: None, pause))
        book.rollback()
        # The first pause comes before the first portion.
        left = [visit.number for visit in book.visits.after(0)]
        assert left == {0: [1, 2, 3, 4, 5], 1: [3, 4, 5], 2: [5], 3: [], 99: []}[most_pauses]
        assert (book.visits.answer_of(5) == Answer()) is (most_pauses == 99)
        assert list(book.sample.urls()) == ["a"]


def test_deletion_takes_no_longer_for_numbers_of_a_shared_crawl(tmp_path: Path) -> None:
    with closing(Book(tmp_path / "crawl.sqlite")) as book:
        # The numbers of workers are far apart.
        for number in (1, 2**40, 2**60):
            book.visits.answer(number, Answer("tag"))
        book.commit()
        asyncio.run(book.drop_duplicated_records(lambda _: False, lambda _: None))
        assert book.visits.answer_of(2**60) == Answer()
