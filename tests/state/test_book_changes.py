"""What crawls leave in a history: records, columns, items; all of it, as consumers read it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.page.input.page import Page
from contentspider.recrawl.intervals import ChangeIntervals, kind_of
from contentspider.recrawl.judge import Facts
from contentspider.state.crawls.books import open_history
from contentspider.state.history import writer as module
from contentspider.state.crawls.entries import Entries, Entry
from contentspider.state.crawls.feed import json_feed
from contentspider.state.history.history import History
from contentspider.state.history.page_records import MIN_CHARS, PageRecord
from contentspider.state.book.answers import Answer
from tests.state.test_history import DAYS, HTML, LONG, add, seen, take, visit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.state.history.writer import HistoryWriter

NOW = "2026-04-01T00:00:00+00:00"


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "now", lambda: NOW)


@pytest.fixture
def history() -> Iterator[History]:
    history = History(None)
    yield history
    history.close()


def known(history: History, page_id: str) -> PageRecord:
    found = history.page(page_id)
    assert found is not None
    return found


def begun(history: History, crawl: str, is_complete: bool = True) -> HistoryWriter:
    return history.begin_writing(crawl, is_complete)


def record(seq: int, name: str, change: str, **values: Any) -> dict[str, Any]:
    given = {
        "seq": seq,
        "at": NOW,
        "id": name,
        "url": f"http://e.org/{name}",
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


def test_change_of_an_own_field_counts_as_a_change_of_the_page(history: History) -> None:
    facts = Facts("", fields=(("price", 12.9, [11.5]), ("brand", None, "Acme")))
    take(history, "a", seen(1, visit("1", "new"), "One."))
    take(history, "b", seen(1, visit("1", "changed", 2, facts=facts), "One."))
    (change,) = history.changes(since=1)
    assert (change["change"], change["change_cause"]) == ("changed", "fields")
    assert change["fields"] == {"price": [12.9, [11.5]], "brand": [None, "Acme"]}
    assert change["changed_at"] == DAYS[0]
    ((_, _, intervals),) = history.visits()
    assert intervals.changes == 1
    (item, _) = json_feed("e.org", history, history.changes())["items"]
    assert "price: 12.9 → 11.5" in item["content_text"]
    history._database.do("UPDATE changes SET fields = '[3]' WHERE seq = 2")
    assert [record["fields"] for record in history.changes(since=1)] == [{}]


def test_change_records_contain_all_fields(history: History) -> None:
    changed = visit("1", "changed", 2, previous_hash="content 0", reason="why", ratio=0.25)
    moved = {"previous_id": "1", "previous_hash": "content 2", "reason": "HTTP 301", "cause": ""}
    take(history, "a", seen(1, visit("1", "new"), "One."), seen(2, visit("2", "new"), "Two."))
    take(history, "b", seen(1, changed, "One, two."))
    take(history, "c", seen(1, visit("3", "moved", 4, ratio=0.0, **moved), "One, two."))
    takeover = begun(history, "d")
    takeover.move(known(history, "2"), "3", "http://e.org/3", "canonical")
    takeover.move(known(history, "2"), "x", "http://e.org/x", "HTTP 308")
    takeover.mark_gone(known(history, "3"), "HTTP 404")
    takeover.commit()
    assert list(history.changes(since=1)) == [
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
            previous_url="http://e.org/1",
        ),
        record(
            *(5, "3", "moved"),
            previous_hash="content 0",
            content_hash="content 4",
            changed_at=DAYS[2],
            reason="canonical",
            previous_id="2",
            previous_url="http://e.org/2",
        ),
        record(
            *(6, "x", "moved"),
            previous_hash="content 0",
            reason="HTTP 308",
            previous_id="2",
            previous_url="http://e.org/2",
        ),
        record(
            *(7, "3", "gone"),
            change_ratio=1.0,
            previous_hash="content 4",
            changed_at=NOW,
            reason="HTTP 404",
        ),
    ]
    states = {name: (known(history, name).state, known(history, name).changed_at) for name in "123"}
    assert states == {"1": ("moved", DAYS[2]), "2": ("moved", DAYS[0]), "3": ("gone", NOW)}
    assert history.live_count() == 0


def test_visit_updates_stored_page(history: History) -> None:
    page = Page.from_html(HTML).dump()
    take(history, "a", seen(1, visit("1", "new"), "One.", page=page))
    later = visit("1", "unchanged", 3, url="http://e.org/1/", model="m2", content_hash="content 0")
    take(history, "b", seen(1, later, "One. ", answer=Answer("f", "n", ("x",), is_orphan=True)))
    assert known(history, "1") == PageRecord(
        *("1", "http://e.org/1/", "live", DAYS[0], DAYS[3], DAYS[3], DAYS[0]),
        *("content 0", "text 3", "m2", "f", "n", 0, "e.org"),
    )
    assert (history.content("1"), history.content("1", before=True)) == ("One. ", None)
    assert history.links("1") == {"x": ()}
    assert history.has_page("1"), "what was not looked at anew stays"
    take(history, "c", seen(1, visit("1", "changed", 4, cause="model"), answer=Answer()))
    assert history.links("1") == {}
    spell = ChangeIntervals(kind_of("http://e.org/1"), 4.0)
    assert list(history.visits()) == [("http://e.org/1", DAYS[4], spell)]
    take(history, "d", seen(1, visit("1", "changed", 6)), seen(2, visit("1", "changed", 7)))
    ((_, _, spell),) = history.visits()
    assert (spell.still_days, spell.changes, spell.changed_days) == (4.0, 2, 3.0)


def test_visit_intervals_of_moved_page_start_at_zero(history: History) -> None:
    take(history, "a", seen(1, visit("1", "new"), "One."))
    take(history, "b", seen(1, visit("2", "moved", 5, previous_id="1"), "One."))
    take(history, "c", seen(1, visit("2", "moved", 7, previous_id="2"), "One."))
    ((_, last_seen, spell),) = history.visits()
    assert (last_seen, spell.still_days, spell.changes) == (DAYS[7], 0.0, 0)
    assert known(history, "2").state == "live", "it has not moved from itself"


def test_whole_pages_are_stored_up_to_size_limit(history: History) -> None:
    page = Page.from_html(HTML).dump()
    take(history, "a", seen(1, visit("1", "new"), "One.", page=page))
    count = history._database.count
    size = count("PRAGMA page_count") * count("PRAGMA page_size")
    for most, is_kept in ((size, False), (size + 1, True)):
        small = History(None, max_bytes=most)
        take(small, "a", seen(1, visit("1", "new"), "One.", page=page))
        assert small.has_page("1") == is_kept
        take(small, "b", seen(1, visit("1", "changed"), "Two."))
        assert small.has_page("1") == is_kept
        small.close()


@pytest.mark.parametrize("content", [b"", b"no database at all, but some text that is long enough"])
def test_opened_history_respects_size_limit(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "history.sqlite").write_bytes(content)
    history = open_history(tmp_path / "history.sqlite", 1)
    take(history, "a", seen(1, visit("1", "new"), "One.", page=Page.from_html(HTML).dump()))
    assert (history.content("1"), history.has_page("1")) == ("One.", False)
    history.close()


def test_copies_are_forgotten_after_three_complete_crawls(history: History) -> None:
    take(history, "a", seen(1, visit("1", "new"), "One."))
    takeover = begun(history, "b")
    takeover.add_copy("x", "1", "https://e.org/x")
    takeover.add_copy("y", "1", "https://e.org/y")
    takeover.commit()
    for crawl, is_complete in (("c", True), ("d", False), ("e", False), ("f", True)):
        begun(history, crawl, is_complete).commit()
        assert history.original_of("x") == "1"
    takeover = begun(history, "g")
    takeover.add_copy("y", "1", "https://e.org/y")
    takeover.commit()
    assert (history.original_of("x"), history.original_of("y")) == ("", "1")


def test_interrupted_takeover_is_continued(history: History) -> None:
    take(history, "a", seen(1, visit("1", "new"), "One."))
    takeover = begun(history, "b", is_complete=False)
    add(takeover, seen(4, visit("1", "unchanged", 1)))
    add(takeover, seen(5, visit("2", "new", 1), "Two."))
    takeover.commit()
    takeover = begun(history, "b")
    assert takeover.last_visit == 5
    add(takeover, seen(7, visit("3", "unchanged", 1)))
    takeover.commit()
    assert begun(history, "b").last_visit == 7
    assert [one["change"] for one in history.changes()] == ["new", "unchanged", "new", "unchanged"]
    begun(history, "c").commit()
    assert [one["change"] for one in history.changes()] == ["new", "new"]


def test_text_of_gone_page_is_searched_only_on_new_pages(
    history: History,
) -> None:
    exact = ("word " * MIN_CHARS)[: MIN_CHARS - 1] + "s"
    pages = {"1": LONG, "2": exact, "3": exact[1:], "5": LONG.title()}
    take(history, "a", *(seen(n, visit(name, "new"), pages[name]) for n, name in enumerate(pages)))
    takeover = begun(history, "b")
    for number, (name, text) in enumerate(
        [("8", LONG + " a b c"), ("7", LONG + " a"), ("9", exact), ("91", exact[1:]), ("92", "")]
    ):
        add(takeover, seen(number, visit(name, "new", 1), text))
    add(takeover, seen(9, visit("1", "changed", 1, previous_hash="content 0"), LONG + "!"))
    for name in "1235":
        takeover.mark_gone(known(history, name), "HTTP 404")
    takeover.commit()
    reasons = {one["id"]: one["reason"] for one in history.changes() if one["change"] == "gone"}
    assert reasons == {
        "1": "HTTP 404; its text is at http://e.org/7",
        "2": "HTTP 404; its text is at http://e.org/9",
        "3": "HTTP 404",
        "5": "HTTP 404",
    }
    said = {one["id"]: one["reason"] for one in history.changes(since=4) if one["change"] == "new"}
    expected = {"7": "its text was at http://e.org/1", "9": "its text was at http://e.org/2"}
    assert said == dict.fromkeys(("8", "91", "92"), "") | expected


def test_damage_of_stored_page_is_logged_with_its_place(
    history: History, caplog: pytest.LogCaptureFixture
) -> None:
    page = Page.from_html(HTML).dump()
    take(history, "a", seen(1, visit("1", "new"), LONG, page=page))
    history._database.do("UPDATE pages SET page = x'00', content = x'00', links = x'00'")
    with caplog.at_level(logging.WARNING):
        assert (history.stored("1"), history.content("1"), history.links("1")) == (None, None, {})
    of_page, of_content, of_links = caplog.messages
    assert of_page.startswith("the history in memory: 1: ")
    assert of_content.startswith("the history in memory: the content of page 1 is damaged: ")
    assert of_links.startswith("the history in memory: the links of page 1 is damaged: ")
    takeover = begun(history, "b")
    add(takeover, seen(1, visit("2", "new", 1), LONG))
    takeover.mark_gone(known(history, "1"), "HTTP 404")
    takeover.commit()
    assert [one["reason"] for one in history.changes()] == ["", "", "HTTP 404"]


def test_pages_are_listed_in_order_of_their_urls(history: History) -> None:
    found = [seen(n, visit(name, "new"), name) for n, name in enumerate(("3", "1", "2"))]
    take(history, "a", *found, seen(4, visit("0", "new", model="m2"), "0"))
    takeover = begun(history, "b")
    takeover.mark_gone(known(history, "0"), "HTTP 404")
    takeover.commit()
    assert [page.id for page in history.live()] == ["1", "2", "3"]
    assert [url[-1] for url, *_ in history.visits()] == ["1", "2", "3"]
    assert [page.id for page in history.live("e.org", "m2")] == ["1", "2", "3"]
    assert not [*history.live("e.org", "m1")], "a page that is gone is not filtered"
    assert history.original_of("x", "text 0", "e.org") == "1", "all were seen first at one time"


def entries_of(path: Path) -> list[Entry]:
    entries = Entries(path)
    found = list(entries.after(0))
    entries.close()
    return found


def test_index_entries_contain_items_with_their_changes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "history.sqlite"
    history = History(path)
    entries = Entries(path)
    assert (entries.last, entries.count(), entries.live_count()) == (0, 0, 0)
    assert (entries.last_crawl(), entries.path) == (None, path)
    given = [
        seen(n, visit(name, "new"), name, is_item_known=True, item={"id": name, "t": "é\ud83d"})
        for n, name in enumerate("1234")
    ]
    take(history, "a", *given, seen(9, visit("5", "new"), "5"))
    item = {"id": "2", "t": "é?", "first_seen": DAYS[0], "changed_at": DAYS[0]}
    (two,) = entries.of(["2"])
    assert (two.seq, two.item) == (2, item)
    assert len(two.hash) == 32
    takeover = begun(history, "b")
    add(takeover, seen(1, visit("1", "unchanged", 1)))
    add(takeover, seen(2, visit("2", "unchanged", 1), is_item_known=True, item=None))
    takeover.mark_gone(known(history, "3"), "HTTP 404")
    takeover.commit()
    assert entries.last_crawl() == {"ended": NOW, "changes": {"gone": 1, "unchanged": 2}}
    assert (entries.last, entries.count(4), entries.live_count()) == (8, 2, 2)
    assert (entries.gone_count(7), entries.gone_count(8)) == (1, 0)
    assert list(entries.after(4)) == [Entry("2", 7, "", None), Entry("3", 8, "", None)]
    assert sorted(name for name, _ in entries.live()) == ["1", "4"]
    history._database.do("UPDATE pages SET item = x'00' WHERE id = '1'")
    history._database.commit()
    assert [entry.id for entry in entries.after(0)] == ["4", "2", "3"]
    (said,) = caplog.messages
    assert said.startswith(f"{path}: the item of page 1 is damaged (")
    assert said.endswith("left out; a crawl that sees a change of the page writes it again")
    entries.close()
    history.close()


def test_refiltering_by_new_model_records_changed_content(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    history = History(path)
    old = {"id": "1", "url": "u", "content": "One.", "content_hash": "content 0"}
    values = {"is_item_known": True, "item": old}
    take(history, "a", *(seen(n, visit(n, "new"), LONG, **values) for n in "12"))
    history._database.do("UPDATE pages SET item = x'00' WHERE id = '2'")
    takeover = begun(history, "b")
    for name in "12":
        fields = {"content_hash": "new", "content": f"{LONG} {name}", "url": "other"}
        takeover.refilter(known(history, name), "m2", fields, 0.25)
    takeover.commit()
    cut = {"change_ratio": 0.25, "change_cause": "model", "previous_hash": "content 0"}
    assert list(history.changes(since=2)) == [
        record(seq, name, "refiltered", content_hash="new", **cut)
        for seq, name in ((3, "1"), (4, "2"))
    ]
    one = known(history, "1")
    assert (one.model, one.content_hash, one.changed_at) == ("m2", "new", DAYS[0])
    assert (history.content("1"), history.content("1", before=True)) == (f"{LONG} 1", LONG)
    (entry,) = entries_of(path)
    times = {"first_seen": DAYS[0], "changed_at": DAYS[0]}
    item = {"id": "1", "url": "u", "content": f"{LONG} 1", "content_hash": "new"}
    assert (entry.seq, entry.item) == (3, item | times)
    history.close()
