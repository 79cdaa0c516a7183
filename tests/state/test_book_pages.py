"""The pages of a book, crawl after crawl, in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.recrawl.intervals import ChangeIntervals, kind_of
from contentspider.recrawl.judge import NEW_PAGE, Facts
from contentspider.recrawl.lastmod import LastmodCounts
from contentspider.state.book.answers import Answer
from contentspider.state.book.book import Book
from contentspider.state.book.pages import dump_facts, load_facts
from contentspider.state.crawls.entries import Entries, Entry
from tests.visited import DAYS, HTML, LONG, Seen, address, crawl, crawling, known, see

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORPHAN = Answer(is_orphan=True)


@pytest.fixture
def book() -> Iterator[Book]:
    book = Book(None)
    yield book
    book.close()


def test_new_page_is_stored_with_all_its_data(book: Book) -> None:
    page = Page.from_html(HTML, address("1"))
    links = {address("2"): ("Two",), address("3"): ()}
    crawl(book, Seen("1", text="Tea.", page=page, links=links))
    one = known(book, "1")
    assert (one.id, one.url, one.site, one.state) == ("1", address("1"), "e.org", "live")
    assert {one.first_seen, one.last_seen, one.last_fetched, one.changed_at} == {DAYS[0]}
    assert (one.content_hash, one.text_hash) == ("content 0", "text 0")
    assert (one.layout_hash, one.model) == ("layout", "m1")
    assert (one.etag, one.last_modified, one.missing) == ("e", "m", 0)
    pages = book.known
    assert pages.page("2") is None
    assert (pages.content("1"), pages.content("1", before=True)) == ("Tea.", None)
    assert (pages.links("1"), pages.links("2")) == (links, {})
    assert (pages.stored("1"), pages.stored("2")) == (page, None)
    assert (pages.has_page("1"), pages.has_page("2")) == (True, False)
    assert (pages.live_count(), [each.id for each in pages.live()]) == (1, ["1"])
    (record,) = book.changes.records()
    assert (record["previous_url"], record["change_ratio"]) == ("", 0.5)
    assert book.pages.is_visited("1", book.runs.crawl)
    assert not book.pages.is_visited("2", book.runs.crawl)
    assert book.pages.visited_at(one.address or 0, book.runs.crawl) == ("1", address("1"))
    assert book.pages.visited_at(99, book.runs.crawl) is None
    assert book.pages.visits(book.runs.crawl) == 1


def test_days_between_visits_count_as_unchanged_or_changed(book: Book) -> None:
    crawl(book, Seen("1", text="One."))
    crawl(book, Seen("1", "unchanged", 2, values={"content_hash": "content 0"}))
    assert book.known.content("1") == "One."
    crawl(book, Seen("1", "changed", 5, "Two."))
    crawl(book, Seen("1", "changed", 6, "Three.", cause="model"))
    ((url, last_seen, spell),) = book.known.visits()
    assert (url, last_seen) == (address("1"), DAYS[6])
    assert (spell.still_days, spell.changes, spell.changed_days) == (3.0, 1, 3.0)
    assert book.known.content("1") == "Three."
    assert book.known.content("1", before=True) == "Two."
    assert known(book, "1").changed_at == DAYS[5], "another model is no change of the page"
    changes = [one["change"] for one in book.changes.records()]
    assert changes == ["new", "changed", "refiltered"], (
        "an unchanged page has a record of one crawl"
    )
    assert [one["change"] for one in book.changes.records(since=3)] == ["refiltered"]
    assert [one["at"] for one in book.changes.records(after=DAYS[6])] == [DAYS[6]]
    assert book.changes.last() == 4
    assert book.changes.last_crawl_start() == 3


def test_out_of_order_visit_subtracts_no_days(book: Book) -> None:
    crawl(book, Seen("1", day=3, text="One."))
    crawl(book, Seen("1", "unchanged", 1))
    ((_, _, spell),) = book.known.visits()
    assert (spell.still_days, spell.changed_days) == (0.0, 0.0)


def test_not_modified_response_does_not_count_as_fetch(book: Book) -> None:
    crawl(book, Seen("1", text="One."))
    crawl(book, Seen("1", "unchanged", 2, answer=Answer(is_unsent=True)))
    assert (known(book, "1").last_seen, known(book, "1").last_fetched) == (DAYS[2], DAYS[0])


def test_orphan_page_counts_as_missing_once_per_crawl(book: Book) -> None:
    crawl(book, Seen("1", text="One."))
    for day in (1, 2):
        with crawling(book) as losses:
            see(book, Seen("1", "unchanged", day, answer=ORPHAN))
            losses.count_missing("1")
            losses.count_missing("1")
        assert known(book, "1").missing == day
    losses.count_missing("1")  # of a crawl that is resumed
    assert known(book, "1").missing == 2
    crawl(book, Seen("1", "unchanged", 3))
    assert known(book, "1").missing == 0


def test_linked_page_that_is_not_visited_is_missing_no_longer(book: Book) -> None:
    crawl(book, Seen("1", text="One."))
    with crawling(book) as losses:
        losses.count_missing("1")
        losses.count_missing("unknown")
    with crawling(book) as losses:
        losses.reset_missing("1")
        assert known(book, "1").missing == 1
    assert known(book, "1").missing == 0


def test_moved_page_is_not_live_at_old_url(book: Book) -> None:
    crawl(book, Seen("1", text="One."), Seen("2", text="Two."))
    crawl(book, Seen("3", "moved", 1, "One.", moved_from="1", values={"reason": "HTTP 301"}))
    with crawling(book) as losses:
        losses.move(known(book, "2"), "3", address("3"), "HTTP 308")
    assert [page.id for page in book.known.live()] == ["3"]
    first, second = (one for one in book.changes.records() if one["change"] == "moved")
    assert (first["previous_id"], first["previous_url"]) == ("1", address("1"))
    assert (second["id"], second["previous_id"], second["reason"]) == ("3", "2", "HTTP 308")
    assert (second["previous_hash"], second["content_hash"]) == ("content 0", "content 1")
    assert (second["change_cause"], second["change_ratio"]) == ("page", 0.0)
    assert second["first_seen"] == DAYS[0]


def test_content_before_a_move_is_that_of_the_old_address(book: Book) -> None:
    crawl(book, Seen("1", text="One."))
    crawl(book, Seen("3", "moved", 1, "One!", moved_from="1"))
    assert (book.known.content("3"), book.known.content("3", before=True)) == ("One!", "One.")


@pytest.mark.parametrize(
    ("site", "old", "new", "is_found"),
    [
        ("e.org", LONG, LONG + " more", True),
        ("f.org", LONG, LONG, False),
        ("e.org", LONG, LONG.upper(), False),
        ("e.org", "Sold out", "Sold out", False),
    ],
)
def test_text_of_gone_page_is_searched_on_new_pages(
    book: Book, site: str, old: str, new: str, is_found: bool
) -> None:
    crawl(book, Seen("1", text=old))
    with crawling(book) as losses:
        see(book, Seen("2", day=1, text=new, values={"site": site}))
        losses.mark_gone(known(book, "1"), "HTTP 404")
    _, found, gone = book.changes.records()
    assert (found["change"], gone["change"], gone["change_ratio"]) == ("new", "gone", 1.0)
    assert gone["reason"] == "HTTP 404" + is_found * f"; its text is at {address('2')}"
    assert found["reason"] == is_found * f"its text was at {address('1')}"
    assert [page.id for page in book.known.live()] == ["2"]


def test_page_that_comes_back_keeps_its_first_date_and_is_new(book: Book) -> None:
    crawl(book, Seen("1", text="One."))
    with crawling(book) as losses:
        losses.mark_gone(known(book, "1"), "HTTP 404")
    crawl(book, Seen("1", "new", 4, "One again."))
    one = known(book, "1")
    assert (one.state, one.first_seen, one.last_seen) == ("live", DAYS[0], DAYS[4])
    assert book.known.content("1") == "One again."


def test_gone_pages_whose_text_is_at_a_new_address_do_not_count_as_lost(path: Path) -> None:
    book = Book(path)
    texts = {"1": "a", "2": "a", "3": "b", "4": "c"}

    def seen(name: str, text: str) -> Seen:
        return Seen(name, text=text, item={"id": name}, values={"content_hash": text})

    crawl(book, *(seen(name, text) for name, text in texts.items()))
    with crawling(book) as losses:
        for name, text in {"5": "a", "6": "b"}.items():
            see(book, seen(name, text))
        for page in list(book.known.live()):
            losses.mark_gone(page, "HTTP 404")
    book.close()
    entries = Entries(path)
    assert entries.gone_count(4) == 2, "of 1 and 2 only one is replaced, and 4 is lost"
    assert entries.moved_count(4) == 2
    entries.close()


def test_index_entry_is_renewed_if_item_of_unchanged_page_differs(path: Path) -> None:
    book = Book(path)
    item = {"id": "1", "title": "Tea", "content": "1 view"}

    def written(change: str, **values: str) -> int:
        crawl(book, Seen("1", change, text="1 view", item={**item, **values}))
        entries = Entries(path)
        last = entries.last
        entries.close()
        return last

    assert written("new") == 1
    assert written("unchanged", crawled_at="later") == 1
    assert written("unchanged", headings="# Tea") == 3
    assert written("unchanged", headings="# Tea", title="Green tea") == 4
    book.close()


def test_entries_are_those_of_the_newest_published_versions(path: Path) -> None:
    book = Book(path)
    items = {name: {"id": name, "content": f"{name}."} for name in "12"}
    crawl(book, *(Seen(name, text=f"{name}.", item=item) for name, item in items.items()))
    crawl(book, Seen("1", "changed", 1, "One.", item={"id": "1", "content": "One."}))
    crawl(book, Seen("2", "changed", 2, "Two.", item=None))
    entries = Entries(path)
    one, two = entries.after(0)
    assert (one.id, one.seq, one.item) == (
        "1",
        3,
        {"id": "1", "content": "One.", "first_seen": DAYS[0], "changed_at": DAYS[1]},
    )
    assert two == Entry("2", 4, "", None), "its item was dropped"
    assert list(entries.of(["2", "x"])) == [two]
    assert list(entries.live()) == [("1", one.hash)]
    assert (entries.last, entries.count(), entries.count(3), entries.live_count()) == (4, 2, 1, 1)
    assert list(entries.unseen(DAYS[2])) == ["1"]
    entries.close()
    book.close()


def test_full_book_keeps_content_without_page(path: Path) -> None:
    page = Page.from_html(HTML)
    book = Book(path, max_bytes=1)
    assert not book.has_room
    crawl(book, Seen("1", text="One.", page=page))
    assert (book.known.content("1"), book.known.has_page("1")) == ("One.", False)
    count = book.database.count
    size = count("PRAGMA page_count") * count("PRAGMA page_size")
    book.close()
    for most, has_room in ((size, False), (size + 1, True)):
        book = Book(path, max_bytes=most)
        assert book.has_room == has_room
        book.close()


def test_site_facts_survive_reopening_of_book(path: Path) -> None:
    book = Book(path)
    for _ in range(2):
        book.sites.add_counter("e.org", "p\t0 views")
        book.sites.distrust(["e.org"])
        book.sites.set_lastmods("e.org", LastmodCounts(1, 2, 3, 4))
    book.sites.set_stale(["f.org"])
    book.sites.set_stale(["e.org"])
    book.sites.add_counter("e.org", "q")
    book.commit()
    assert book.sites.counters() == {"e.org": {"p\t0 views", "q"}}
    book.close()
    book = Book(path)
    book.begin_crawl()
    assert (book.sites.distrusted, book.sites.stale) == ({"e.org"}, {"e.org"})
    assert book.sites.lastmods == {"e.org": LastmodCounts(1, 2, 3, 4)}
    book.close()


def test_first_live_page_with_text_is_original(book: Book) -> None:
    same = {"text_hash": "text 0"}
    crawl(book, Seen("2", day=1, text="One.", values=same))
    crawl(book, Seen("1", day=2, text="One.", values=same))

    def original_of(*values: str) -> str:
        return book.known.original_of(*values)

    assert original_of("x") == ""
    assert original_of("x", "text 0", "e.org") == "2"
    assert original_of("x", "text 0", "f.org") == ""
    with crawling(book):
        book.copies.add("x", "1", "https://e.org/x", book.runs.current, book.runs.crawl)
    assert original_of("x", "text 0", "e.org") == "1"
    with crawling(book) as losses:
        losses.mark_gone(known(book, "1"), "HTTP 404")
    assert original_of("x", "text 0", "e.org") == "2"


def test_visit_updates_page(book: Book) -> None:
    page = Page.from_html(HTML)
    crawl(book, Seen("1", text="One.", page=page, links={"a": ()}))
    later = {"url": address("1/"), "model": "m2", "content_hash": "content 0"}
    crawl(
        book,
        Seen(
            "1",
            "unchanged",
            3,
            answer=Answer("f", "n", is_orphan=True),
            values=later,
            links={"x": ()},
        ),
    )
    one = known(book, "1")
    assert (one.url, one.first_seen, one.changed_at) == (address("1/"), DAYS[0], DAYS[0])
    assert (one.last_seen, one.last_fetched, one.text_hash) == (DAYS[3], DAYS[3], "text 3")
    assert (one.model, one.etag, one.last_modified) == ("m2", "f", "n")
    assert (book.known.content("1"), book.known.content("1", before=True)) == ("One.", None)
    assert book.known.links("1") == {"x": ()}
    assert book.known.has_page("1"), "what was not looked at anew stays"
    crawl(book, Seen("1", "changed", 4, cause="model"))
    assert book.known.links("1") == {}
    spell = ChangeIntervals(kind_of(address("1")), 4.0)
    assert list(book.known.visits()) == [(address("1"), DAYS[4], spell)]
    crawl(book, Seen("1", "changed", 6), Seen("1", "changed", 7))
    ((_, _, spell),) = book.known.visits()
    assert (spell.still_days, spell.changes, spell.changed_days) == (4.0, 1, 3.0), (
        "the second visit replaces the first one"
    )


def test_visit_intervals_of_moved_page_start_at_zero(book: Book) -> None:
    crawl(book, Seen("1", text="One."))
    crawl(book, Seen("2", "moved", 5, "One.", moved_from="1"))
    crawl(book, Seen("2", "moved", 7, "One.", moved_from="2"))
    ((_, last_seen, spell),) = book.known.visits()
    assert (last_seen, spell.still_days, spell.changes) == (DAYS[7], 0.0, 0)
    assert known(book, "2").state == "live", "it has not moved from itself"


def test_visit_of_this_crawl_is_replaced_or_forgotten(book: Book) -> None:
    crawl(book, Seen("1", text="One."))
    book.begin_crawl()
    book.begin_run()
    see(book, Seen("1", "changed", 1, "Two."))
    see(book, Seen("1", "unchanged", 2))
    assert book.changes.counts() == {"unchanged": 1}
    (found,) = book.pages.all_found()
    assert (found.last_seen, book.pages.text(found.content)) == (DAYS[2], "One.")
    book.visits.forget("1")
    book.visits.forget("unknown")
    assert not list(book.pages.all_found())
    assert not book.changes.counts()
    assert not book.pages.is_visited("1", book.runs.crawl)
    assert known(book, "1").last_seen == DAYS[0]


def test_outcome_of_first_item_counts_and_a_released_one_most(book: Book) -> None:
    book.begin_crawl()
    book.begin_run()
    see(book, Seen("1", text="One."))
    item = {"id": "1", "content": "One."}
    states = []
    for given, line in ((None, None), (item, 7), (item | {"title": "Second"}, 8), (None, None)):
        book.visits.take_item("1", given, line, None)
        found = book.pages.found("1")
        assert found is not None
        states.append((found.item_state, found.item))
    assert states == [(1, None), (2, 7), (2, 7), (2, 7)]
    book.visits.take_item("unknown", item, 7, None)


def test_content_is_the_number_of_the_item_that_has_it(book: Book) -> None:
    item = {"id": "1", "content": "One."}
    crawl(book, Seen("1", text="One.", item=item), Seen("2", text="Two.", item=item))
    one, two = known(book, "1"), known(book, "2")
    assert one.content == one.item
    assert two.content != two.item, "a pipeline has changed the text"
    assert [book.known.content(name) for name in "12"] == ["One.", "Two."]
    crawl(book, Seen("1", "unchanged", 1))
    assert (known(book, "1").content, known(book, "1").item) == (one.content, one.item)
    assert (known(book, "1").run, one.run) == (2, 1)


@pytest.mark.parametrize(
    "facts",
    [
        Facts("model", 0.3, is_moved=True, lines=("-a",)),
        Facts("page", 0.3, lines=("+edit@",)),
        Facts("page", 0.1, numbered=("p\t0", "q\t0"), recut=("q",), is_caption=True),
        replace(NEW_PAGE, is_remodelled=True, fields=(("price", 1, [2.5, None]),)),
    ],
)
def test_facts_of_visit_are_read_back_unchanged(facts: Facts) -> None:
    assert load_facts(dump_facts(facts)) == facts


def test_facts_that_the_change_record_tells_are_not_stored() -> None:
    assert dump_facts(NEW_PAGE) == dump_facts(Facts("")) == dump_facts(Facts("page", 0.5)) == ""


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"lines": 1}', "null", "[" * 5_000])
def test_damaged_facts_raise_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="facts are damaged"):
        load_facts(text)


def test_versions_of_another_model_are_outdated(book: Book) -> None:
    crawl(book, Seen("1"), Seen("2"), Seen("3", values={"model": "m2"}), Seen("4"))
    book.begin_crawl()
    book.begin_run()
    see(book, Seen("1", "unchanged", 1))
    see(book, Seen("5", day=1))
    see(book, Seen("6", day=1, values={"site": "f.org"}))

    def outdated(is_visited: bool) -> list[str]:
        numbers = book.pages.outdated("e.org", "m2", is_visited)
        versions = map(book.pages.at, numbers)
        return [version.id for version in versions if version is not None]

    assert outdated(is_visited=True) == ["1", "5"]
    assert outdated(is_visited=False) == ["2", "4"]
    assert book.pages.at(99) is None
    assert [page.id for page in book.known.live("e.org", "m2")] == ["1", "2", "4"]
    assert not list(book.known.live("f.org", "m2"))
