"""What crawls leave in the change log and for indexes; all of it, as consumers read it."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.page.input.page import Page
from contentspider.recrawl.judge import Facts
from contentspider.state.book import book as book_module
from contentspider.state.book import changes as changes_module
from contentspider.state.book import losses as losses_module
from contentspider.state.book.book import Book
from contentspider.state.book.losses import MIN_CHARS
from contentspider.state.crawls.entries import Entries, Entry
from contentspider.state.crawls.feed import ROW_HEAD, change_rows, json_feed
from tests.processes import Popen
from tests.visited import DAYS, HTML, LONG, Seen, address, crawl, crawling, known, see

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = "2026-04-01T00:00:00+00:00"


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (book_module, changes_module, losses_module):
        monkeypatch.setattr(module, "now", lambda: NOW)


@pytest.fixture
def book() -> Iterator[Book]:
    book = Book(None)
    yield book
    book.close()


def record(seq: int, name: str, change: str, **values: Any) -> dict[str, Any]:
    given = {
        "seq": seq,
        "at": NOW,
        "id": name,
        "url": address(name),
        "change": change,
        "change_ratio": 0.0,
        "change_cause": "page",
        "previous_hash": "",
        "content_hash": "",
        "first_seen": DAYS[0],
        "changed_at": DAYS[0],
        "reason": "",
        "fields": {},
        "previous_id": "",
        "previous_url": "",
    }
    return {**given, **values}


def test_change_of_an_own_field_counts_as_a_change_of_the_page(book: Book) -> None:
    facts = Facts("", fields=(("price", 12.9, [11.5]), ("brand", None, "Acme")))
    crawl(book, Seen("1", text="One."))
    crawl(book, Seen("1", "changed", 2, values={"facts": facts, "content_hash": "content 0"}))
    (change,) = book.changes.records(since=1)
    assert (change["change"], change["change_cause"]) == ("changed", "fields")
    assert change["fields"] == {"price": [12.9, [11.5]], "brand": [None, "Acme"]}
    assert change["changed_at"] == DAYS[0]
    ((_, _, intervals),) = book.known.visits()
    assert intervals.changes == 1
    (item, _) = json_feed("e.org", book.known, book.changes.records())["items"]
    assert "price: 12.9 → 11.5" in item["content_text"]
    book.database.do("UPDATE changes SET fields = '[3]' WHERE seq = 2")
    assert [one["fields"] for one in book.changes.records(since=1)] == [{}]


def test_moved_pages_are_at_their_last_address(book: Book) -> None:
    crawl(book, Seen("1"), Seen("2"))
    for day, (old, new) in enumerate((("1", "a"), ("a", "b"), ("2", "c"), ("c", "2")), 2):
        moved = Seen(new, "moved", day, cause="", moved_from=old, values={"reason": "HTTP 301"})
        crawl(book, moved)
    now = {address(old): address(new) for old, new in (("1", "b"), ("a", "b"), ("c", "2"))}
    assert book.changes.moved_addresses() == now, "2 is back at its own"


def test_change_records_contain_all_fields(book: Book) -> None:
    crawl(book, Seen("1", text="One."), Seen("2", text="Two."))
    crawl(book, Seen("1", "changed", 2, "One, two.", ratio=0.25, values={"reason": "why"}))
    moved = {"reason": "HTTP 301"}
    crawl(
        book, Seen("3", "moved", 4, "One, two.", cause="", ratio=0.0, moved_from="1", values=moved)
    )
    with crawling(book) as losses:
        losses.move(known(book, "2"), "3", address("3"), "canonical")
        losses.move(known(book, "2"), "x", address("x"), "HTTP 308")
        losses.mark_gone(known(book, "3"), "HTTP 404")
    assert list(book.changes.records(since=1)) == [
        record(2, "2", "new", at=DAYS[0], change_ratio=0.5, content_hash="content 0"),
        record(
            *(3, "1", "changed"),
            at=DAYS[2],
            change_ratio=0.25,
            previous_hash="content 0",
            content_hash="content 2",
            changed_at=DAYS[2],
            reason="why",
        ),
        record(
            *(4, "3", "moved"),
            at=DAYS[4],
            change_cause="",
            previous_hash="content 2",
            content_hash="content 4",
            changed_at=DAYS[2],
            reason="HTTP 301",
            previous_id="1",
            previous_url=address("1"),
        ),
        record(
            *(5, "3", "moved"),
            previous_hash="content 0",
            content_hash="content 4",
            changed_at=DAYS[2],
            reason="canonical",
            previous_id="2",
            previous_url=address("2"),
        ),
        record(
            *(6, "x", "moved"),
            previous_hash="content 0",
            reason="HTTP 308",
            previous_id="2",
            previous_url=address("2"),
        ),
        record(
            *(7, "3", "gone"),
            change_ratio=1.0,
            previous_hash="content 4",
            changed_at=NOW,
            reason="HTTP 404",
        ),
    ]
    states = {name: (known(book, name).state, known(book, name).changed_at) for name in "123"}
    assert states == {"1": ("moved", DAYS[2]), "2": ("moved", DAYS[0]), "3": ("gone", NOW)}
    assert book.known.live_count() == 0


def test_text_of_gone_page_is_searched_only_on_new_pages(book: Book) -> None:
    exact = ("word " * MIN_CHARS)[: MIN_CHARS - 1] + "s"
    pages = {"1": LONG, "2": exact, "3": exact[1:], "5": LONG.title()}
    hashed = {name: {"content_hash": f"hash {text}"} for name, text in pages.items()}
    crawl(book, *(Seen(name, text=text, values=hashed[name]) for name, text in pages.items()))
    new = {"8": LONG + " a b c", "7": LONG + " a", "9": exact, "91": exact[1:], "92": ""}
    with crawling(book) as losses:
        for name, text in new.items():
            see(book, Seen(name, day=1, text=text, values={"content_hash": f"hash {text}"}))
        see(book, Seen("1", "changed", 1, LONG + "!"))
        for name in "1235":
            losses.mark_gone(known(book, name), "HTTP 404")
    reasons = {
        one["id"]: one["reason"] for one in book.changes.records() if one["change"] == "gone"
    }
    assert reasons == {
        "1": f"HTTP 404; its text is at {address('7')}",
        "2": f"HTTP 404; its text is at {address('9')}",
        "3": "HTTP 404",
        "5": "HTTP 404",
    }
    records = book.changes.records(since=4)
    said = {one["id"]: one["reason"] for one in records if one["change"] == "new"}
    expected = {"7": f"its text was at {address('1')}", "9": f"its text was at {address('2')}"}
    assert said == dict.fromkeys(("8", "91", "92"), "") | expected


def test_new_address_has_exactly_the_content(book: Book) -> None:
    crawl(book, Seen("1", text=LONG, values={"content_hash": "x"}), Seen("2", text=LONG))
    with crawling(book) as losses:
        see(book, Seen("3", text=LONG, day=1, values={"content_hash": "x"}))
        assert losses.new_address(known(book, "1")) == address("3")
        assert losses.new_address(known(book, "2")) == ""


def test_damage_of_stored_page_is_logged_with_its_place(
    book: Book, caplog: pytest.LogCaptureFixture
) -> None:
    page = Page.from_html(HTML)
    crawl(book, Seen("1", text=LONG, page=page, links={"a": ()}))
    book.database.do("UPDATE contents SET data = x'00'")
    book.contents.forget()
    with caplog.at_level(logging.WARNING):
        looked = book.known
        assert (looked.stored("1"), looked.content("1"), looked.links("1")) == (None, None, {})
    of_page, of_content, of_links = caplog.messages
    assert of_page.startswith("the book in memory: 1: ")
    assert of_content.startswith("the book in memory: the content of page 1 is damaged: ")
    assert of_links.startswith("the book in memory: the links of page 1 is damaged: ")
    with crawling(book) as losses:
        see(book, Seen("2", text=LONG, day=1))
        losses.mark_gone(known(book, "1"), "HTTP 404")
    assert [one["reason"] for one in book.changes.records()] == ["", "", "HTTP 404"]


def test_pages_are_listed_in_order_of_their_urls(book: Book) -> None:
    crawl(
        book,
        *(Seen(name, text=name) for name in ("3", "1", "2")),
        Seen("0", text="0", values={"model": "m2"}),
    )
    with crawling(book) as losses:
        losses.mark_gone(known(book, "0"), "HTTP 404")
    assert [page.id for page in book.known.live()] == ["1", "2", "3"]
    assert [url[-1] for url, *_ in book.known.visits()] == ["1", "2", "3"]
    assert [page.id for page in book.known.live("e.org", "m2")] == ["1", "2", "3"]
    assert not [*book.known.live("e.org", "m1")], "a page that is gone is not filtered"
    original = book.known.original_of("x", "text 0", "e.org")
    assert original == "1", "all were seen first at one time"


def test_index_entries_contain_items_with_their_changes(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = Book(path)
    entries = Entries(path)
    assert (entries.last, entries.count(), entries.live_count()) == (0, 0, 0)
    assert (entries.last_crawl(), entries.path) == (None, path)
    given = {name: {"id": name, "t": "é\ud83d"} for name in "1234"}
    seen = [Seen(name, text=name, item=item) for name, item in given.items()]
    crawl(book, *seen, Seen("5", text="5", item=None))
    item = {"id": "2", "t": "é\ud83d", "first_seen": DAYS[0], "changed_at": DAYS[0]}
    (two,) = entries.of(["2"])
    assert (two.seq, two.item) == (2, item)
    assert len(two.hash) == 32
    with crawling(book) as losses:
        see(book, Seen("1", "unchanged", 1))
        see(book, Seen("2", "unchanged", 1, item=None))
        losses.mark_gone(known(book, "3"), "HTTP 404")
    assert entries.last_crawl() == {"ended": NOW, "changes": {"gone": 1, "unchanged": 2}}
    assert (entries.last, entries.count(5), entries.live_count()) == (8, 2, 2)
    assert (entries.gone_count(7), entries.gone_count(8)) == (1, 0)
    assert list(entries.after(5)) == [Entry("2", 7, "", None), Entry("3", 8, "", None)]
    assert sorted(name for name, _ in entries.live()) == ["1", "4"]
    entries.close()
    number = known(book, "1").item
    book.database.do("UPDATE contents SET data = x'00' WHERE number = ?", (number,))
    book.commit()
    with closing(Entries(path)) as entries:
        assert [entry.id for entry in entries.after(0)] == ["4", "5", "2", "3"]
    (said,) = caplog.messages
    assert said.startswith(f"{path}: the item of page 1 is damaged (")
    assert said.endswith("left out; a crawl that sees a change of the page writes it again")
    book.close()


def test_position_names_the_last_crawl_and_change(path: Path) -> None:
    book = Book(path)
    crawl(book, Seen("1", text="One.", item={"id": "1"}))
    book.close()
    other = path.with_name("other.sqlite")
    other.write_bytes(path.read_bytes())
    with closing(Entries(path)) as entries:
        first = entries.position()
        assert (first.ended, first.seq, first.at) == (NOW, 1, DAYS[0])
        assert entries.follows(first)
    for place, day in ((path, 1), (other, 2)):
        with closing(Book(place)) as book:
            crawl(book, Seen("1", "changed", day, "Two.", item={"id": "1", "n": day}))
    with closing(Entries(path)) as entries, closing(Entries(other)) as others:
        assert entries.follows(first)
        assert others.follows(first)
        assert not others.follows(entries.position()), "it is a copy that has gone another way"


def test_only_the_record_of_the_two_kept_texts_has_words(book: Book) -> None:
    texts = ["Open at nine.", "Open at ten.", "Open at noon.", "Open at ten."]
    changes = ["new", "changed", "refiltered", "changed"]
    for day, (text, change) in enumerate(zip(texts, changes, strict=True)):
        crawl(book, Seen("1", change, day, text, cause="model" if day == 2 else "page"))
        if day == 2:
            assert words(book) == {1: "", 2: "", 3: "ten. → noon."}
    crawl(book, Seen("1", "unchanged", 4), Seen("2", text="Two.", day=4))
    assert words(book) == {1: "", 2: "", 3: "", 4: "noon. → ten.", 5: "", 6: ""}
    fields = Facts("", fields=(("price", 1, 2),))
    same = {"facts": fields, "content_hash": "content 4"}
    crawl(book, Seen("1", "changed", 5, values=same))
    assert words(book)[4] == "noon. → ten."
    assert words(book)[7] == "price: 1 → 2", "its text is the same"
    with crawling(book) as losses:
        losses.mark_gone(known(book, "1"), "HTTP 404")
    crawl(book, Seen("1", text="Open again.", day=6))
    assert words(book)[4] == words(book)[9] == "", "the page came back with another text"


def test_changes_end_quietly_when_nobody_reads_them(path: Path) -> None:
    with closing(Book(path)) as book:
        crawl(book, *(Seen(str(number), text="Words.") for number in range(2_000)))
    command = [sys.executable, "-m", "contentspider", "changes", str(path), "--format", "jsonl"]
    with Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        assert json.loads(process.stdout.readline())["seq"] == 1
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def words(book: Book) -> dict[int, str]:
    """Return the cell "what" of each record, by its number."""
    records = list(book.changes.records())
    rows = change_rows(book, records)
    what = ROW_HEAD.index("what")
    return {one["seq"]: row[what] for one, row in zip(records, rows, strict=True)}
