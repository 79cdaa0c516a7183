"""Readers see a crawl when it is published, as a whole; one that is not leaves nothing."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.recrawl.lastmod import LastmodCounts
from contentspider.state.book import book as module
from contentspider.state.book.book import Book
from contentspider.state.book.contents import PAGE
from contentspider.state.book.copying import copy_book
from contentspider.state.book.losses import Losses
from contentspider.state.crawls.books import accept_gone
from contentspider.state.crawls.entries import Entries
from tests.books import killed
from tests.messages import raises
from tests.visited import DAYS, HTML, Seen, address, clean, crawl, crawling, end, known, see

if TYPE_CHECKING:
    from pathlib import Path

COUNTS = LastmodCounts(3.0, 0.0, 1.0, 0.0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the file of a book with the pages 1 and 2."""
    path = tmp_path / "crawl.sqlite"
    with closing(Book(path)) as book:
        texts = {"1": "One.", "2": "Two."}
        items = {name: {"id": name, "content": text} for name, text in texts.items()}
        crawl(book, *(Seen(name, text=text, item=items[name]) for name, text in texts.items()))
        clean(book)
    return path


def begun(path: Path) -> Book:
    """Return a book whose second crawl has visited two pages, and committed this."""
    book = Book(path)
    book.begin_crawl()
    book.begin_run()
    see(book, Seen("1", "changed", 1, "One!"))
    see(book, Seen("3", "moved", 1, "Two.", moved_from="2", values={"reason": "HTTP 301"}))
    book.commit()
    return book


def begin_end(book: Book) -> Losses:
    """Write the end of a crawl that finds the page 2 moved, up to a kill."""
    book.begin_ending()
    losses = Losses(book)
    losses.mark_moved("2", next(book.changes.moves())[1])
    losses.count_missing("1")
    book.anchors.note("1", "text", book.runs.current)
    book.copies.add("copy", "1", address("copy"), book.runs.current, book.runs.crawl)
    book.commit()
    return losses


def changes(path: Path) -> list[tuple[int, str, str]]:
    with closing(Book(path, read_only=True)) as book:
        return [(row["seq"], row["id"], row["change"]) for row in book.changes.records()]


def rows(book: Book, table: str) -> int:
    return book.database.count(f"SELECT count(*) FROM {table} WHERE run > {book.pages.published}")  # noqa: S608


def test_readers_see_nothing_of_a_crawl_before_it_is_published(path: Path) -> None:
    before = changes(path)
    with closing(begun(path)) as book:
        begin_end(book)
        assert rows(book, "pages") == 3
        assert changes(path) == before
        with closing(Entries(path)) as entries:
            assert entries.last == 2
            assert not entries.count(after=entries.last)
            ended = entries.position().ended
            assert entries.last_crawl() == {"ended": ended, "changes": {"new": 2}}
            assert (entries.count(), entries.live_count()) == (2, 2)
            assert (entries.gone_count(0), entries.moved_count(0)) == (0, 0)
        with closing(Book(path, read_only=True)) as reader:
            live = [(page.id, page.last_seen) for page in reader.known.live()]
            assert live == [("1", DAYS[0]), ("2", DAYS[0])]
            assert reader.known.content("1") == "One."
            assert known(reader, "1").missing == 0
        end(book, Losses(book))
    assert changes(path)[2:] == [(3, "1", "changed"), (4, "3", "moved")]
    with closing(Book(path, read_only=True)) as reader:
        assert [page.id for page in reader.known.live()] == ["1", "3"]
        assert reader.known.content("1") == "One!"
        assert reader.known.content("1", before=True) == "One."
        assert known(reader, "2").state == "moved"


def test_run_after_a_kill_goes_on_with_the_rows_of_the_killed_one(path: Path) -> None:
    book = begun(path)
    see(book, Seen("4", text="Four.", day=1))  # not committed, and lost
    book = killed(book)
    assert book.runs.crawl == 2
    book.begin_run()
    assert (book.runs.current, book.runs.crawl) == (3, 2)
    assert [version.id for version in book.pages.all_found()] == ["1", "3"]
    assert book.changes.counts() == {"changed": 1, "moved": 1}
    assert book.pages.is_visited("1", 2)
    assert not book.pages.is_visited("4", 2)
    see(book, Seen("1", "unchanged", 2))
    see(book, Seen("4", text="Four.", day=1))
    found = {version.id: version.run for version in book.pages.all_found()}
    assert found == {"3": 2, "1": 3, "4": 3}, "the later visit of a page counts"
    end(book, Losses(book))
    book.close()
    kinds = [(name, change) for _, name, change in changes(path)]
    assert kinds == [("1", "new"), ("2", "new"), ("3", "moved"), ("1", "unchanged"), ("4", "new")]


@pytest.mark.parametrize("with_end", [False, True])
def test_next_crawl_drops_what_was_not_published(path: Path, with_end: bool) -> None:
    book = begun(path)
    if with_end:
        begin_end(book)
    book.runs.set_fact("name", 1)
    before = changes(path)
    book.begin_crawl()
    book.begin_run()
    for table in ("pages", "changes", "anchors", "copies"):
        assert rows(book, table) == 0
    assert (book.runs.fact("name"), book.frontier.states()) == (None, {})
    assert [run.number for run in book.runs.all()] == [book.runs.current]
    assert known(book, "1").last_seen == DAYS[0]
    see(book, Seen("4", text="Four.", day=2))
    end(book, Losses(book))
    book.close()
    after = changes(path)
    assert after[:-1] == before
    assert after[-1][1:] == ("4", "new")
    assert after[-1][0] > 4, "readers have seen no number of a crawl that was dropped"
    with closing(Book(path)) as book:
        assert [
            number for (number,) in book.database.rows("SELECT number FROM crawls ORDER BY number")
        ] == [1, 3]


def test_interrupted_end_of_a_crawl_is_dropped_and_its_visits_stay(path: Path) -> None:
    book = begun(path)
    see(book, Seen("5", text="Five.", day=1))
    losses = begin_end(book)
    losses.mark_gone(known(book, "2"), "HTTP 404")
    losses.doubt(known(book, "1"), "HTTP 404")
    book.commit()
    book = killed(book)
    book.begin_run()
    book.begin_ending()
    assert {version.id: version.doubt for version in book.pages.all_found()} == {
        "1": "",
        "3": "",
        "5": "",
    }
    one = book.pages.found("1")
    assert one is not None
    assert (one.missing_in, one.anchors) == (0, "")
    assert book.changes.counts() == {"changed": 1, "moved": 1, "new": 1}
    assert (rows(book, "anchors"), rows(book, "copies")) == (0, 0)
    end(book, begin_end(book))
    assert known(book, "1").missing_in == book.runs.crawl
    assert known(book, "2").state == "moved"
    assert book.copies.of("1") == [address("copy")]
    book.close()


def test_first_attempt_at_an_end_drops_nothing(path: Path) -> None:
    with closing(begun(path)) as book:
        book.copies.add("copy", "1", address("copy"), book.runs.current, book.runs.crawl)
        book.begin_ending()
        assert book.copies.of("1") == [address("copy")]
        book.publish(is_complete=True)
        # The next end of a resumed crawl is a first attempt, too.
        book.copies.add("other", "1", address("other"), book.runs.current, book.runs.crawl)
        book.begin_ending()
        assert len(book.copies.of("1")) == 2


def test_version_is_taken_from_memory_until_rows_change_by_a_rollback_or_publishing(
    path: Path,
) -> None:
    with closing(begun(path)) as book:
        assert known(book, "1") is known(book, "1")
        see(book, Seen("1", "changed", 2, "Lost."))
        book.rollback()
        one = book.pages.found("1")
        assert one is not None
        assert book.pages.text(one.content) == "One!"
        book.publish(is_complete=False)
        assert known(book, "1").last_seen == DAYS[1]
        assert not book.is_complete
        book.publish(is_complete=True)
        assert book.is_complete


def contents(book: Book) -> list[int]:
    return [number for (number,) in book.database.rows("SELECT number FROM contents")]


def test_cleaning_deletes_replaced_versions_and_contents_without_a_page(path: Path) -> None:
    page = Page.from_html(HTML, address("1"))
    with closing(Book(path)) as book:
        item = {"id": "1", "content": "One!"}
        crawl(book, Seen("1", "changed", 1, "One!", item=item, page=page))
        crawl(book, Seen("1", "changed", 2, "One?"), Seen("3", text="Three."))
        before = contents(book)
        clean(book)
        after = set(contents(book))
        one, two = known(book, "1"), known(book, "2")
        assert book.pages.text(one.content) == "One?"
        assert book.pages.text(one.previous) == "One!", "the item that has it stays"
        assert after == {one.content, one.previous, one.page, two.content} | {
            known(book, "3").content
        }
        assert len(after) < len(before)
        assert book.known.stored("1") == page
        assert book.database.count("SELECT count(*) FROM pages") == 3
        assert [record["change"] for record in book.changes.records()] == [
            *["new", "new", "changed"],
            *["changed", "new"],
        ]
        clean(book)
        assert set(contents(book)) == after
        assert book.database.count("PRAGMA freelist_count") == 0


def test_bases_of_contents_stay_as_long_as_these(path: Path) -> None:
    with closing(Book(path)) as book:
        base = book.contents.put(PAGE, b"a page " * 99)
        second = book.contents.put(PAGE, b"a page " * 99 + b"!", base)
        third = book.contents.put(PAGE, b"a page " * 99 + b"?", second)
        book.database.do("UPDATE pages SET page = ? WHERE id = '1'", (third,))
        clean(book)
        assert {base, second, third} <= set(contents(book))
        book.contents.forget()
        assert book.contents.get(third).endswith(b"?")
        book.database.do("UPDATE pages SET page = NULL WHERE id = '1'")
        clean(book)
        assert not {base, second, third} & set(contents(book))


def test_contents_of_a_crawl_that_goes_on_stay(path: Path) -> None:
    with closing(begun(path)) as book:
        hand_page = Page.from_html(HTML, address("9"))
        book.sample.offer("e.org", hand_page)
        links = book.answers.put_links({address("1"): ("One",)}, None)
        book.answers.put(9, module.Answers(book.database, book.contents).of(None))
        book.database.do("UPDATE answers SET links = ? WHERE address = 9", (links,))
        clean(book, is_over=False)
        assert [page.url for page in book.sample.sample("e.org")] == [address("9")]
        assert book.answers.of(9).links == links
        assert links is not None
        assert book.contents.get(links)
        found = {version.id: version for version in book.pages.all_found()}
        assert book.pages.text(found["1"].content) == "One!"
        assert len(list(book.pages.select("id = '1'"))) == 2, "readers see the older one"
        clean(book, is_over=True)
        assert book.answers.of(9).links is None


def test_cleaning_commits_in_portions_between_which_it_may_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PORTION", 2)
    with closing(Book(path)) as book:
        for day in range(1, 4):
            crawl(book, *(Seen(name, "changed", day, f"Text {day}.") for name in "12"))
        left = [len(contents(book))]
        versions = []
        for _ in book.clean(is_over=True):
            book.rollback()  # as a kill does
            versions.append(book.database.count("SELECT count(*) FROM pages"))
            left.append(len(contents(book)))
        assert len({*versions}) > 2
        assert versions[-1] == 2
        assert left[-1] < left[0]
        assert all(0 <= before - after <= 2 for before, after in pairwise(left))


def test_unchanged_pages_of_earlier_crawls_leave_the_change_log(path: Path) -> None:
    with closing(Book(path)) as book:
        for day in (1, 2):
            crawl(book, Seen("1", "unchanged", day), Seen("2", "changed", day, f"Two {day}."))
            clean(book)
        kinds = [(one["id"], one["change"], one["at"]) for one in book.changes.records()]
        assert kinds[2:] == [
            ("2", "changed", DAYS[1]),
            ("1", "unchanged", DAYS[2]),
            ("2", "changed", DAYS[2]),
        ]


def test_accepting_gone_pages_keeps_stale_sites_and_lastmod_counts(path: Path) -> None:
    with closing(Book(path)) as book:
        with crawling(book) as losses:
            book.sites.set_stale({"e.org"})
            book.sites.set_lastmods("e.org", COUNTS)
            for page in list(book.known.live()):
                losses.doubt(page, "HTTP 404")
        assert [page.id for page in book.known.doubted()] == ["1", "2"]
        assert book.known.live_count() == 2
    assert accept_gone(path) == 2
    with closing(Book(path)) as book:
        assert book.sites.stale == {"e.org"}
        assert book.sites.lastmods == {"e.org": COUNTS}
        assert book.known.live_count() == 0
    assert [change for *_, change in changes(path)] == ["new", "new", "gone", "gone"]


def test_gone_pages_are_not_accepted_amid_a_crawl(path: Path) -> None:
    with closing(Book(path)) as book, crawling(book) as losses:
        losses.doubt(known(book, "1"), "HTTP 404")
    begun(path).close()
    before = changes(path)
    with raises(ContentSpiderError, "crawl-unfinished", path):
        accept_gone(path)
    assert changes(path) == before
    with closing(Book(path)) as book:
        assert len(list(book.pages.all_found())) == 2
        book.begin_crawl()
    assert accept_gone(path) == 1
    assert changes(path)[len(before) :] == [(5, "1", "gone")]


def test_copy_of_a_book_lacks_the_frontier_of_a_crawl_that_is_over(path: Path) -> None:
    other = path.with_name("copy.sqlite")
    with closing(begun(path)) as book:
        copy_book(path, other)
        with closing(Book(other, read_only=True)) as copied:
            assert copied.frontier.states() == book.frontier.states() != {}
            assert len(list(copied.pages.all_found())) == 2
        end(book, Losses(book))
        copy_book(path, other)  # while the book is open
    with closing(Book(other)) as copied:
        copied.check()
        assert copied.frontier.states() == {}
        assert copied.runs.last() is not None
        assert [page.id for page in copied.known.live()] == ["1", "3"]
    assert changes(other) == changes(path)
