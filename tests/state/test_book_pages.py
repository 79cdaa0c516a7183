"""What a history takes over from crawls, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from contentspider.page.input.page import Page
from contentspider.recrawl.judge import Facts, judge
from contentspider.recrawl.lastmod import LastmodCounts
from contentspider.state.crawls.entries import Entries, Entry
from contentspider.state.history.history import History
from contentspider.state.history.page_records import PageRecord
from contentspider.state.book.visits import Answer, StoredVisit, Visit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.state.history.writer import HistoryWriter

HTML = "<p>Words that go on for a while, with commas.</p>"
DAYS = [f"2026-03-{day:02}T00:00:00+00:00" for day in range(1, 10)]
LONG = " ".join(f"word{number}" for number in range(60))
ANSWER = Answer("e", "m", ("http://e.org/2", "http://e.org/3"))


@pytest.fixture
def history() -> Iterator[History]:
    history = History(None)
    yield history
    history.close()


def facts(change: str, cause: str, ratio: float) -> Facts:
    """Return the facts of a page that changed so, as far as the page alone shows it."""
    return Facts(cause, ratio, is_new=change == "new", is_moved=change == "moved")


def visit(
    name: str, change: str, day: int = 0, cause: str = "page", ratio: float = 0.5, **values: Any
) -> Visit:
    given = {
        "id": name,
        "url": f"http://e.org/{name}",
        "site": "e.org",
        "at": DAYS[day],
        "facts": facts(change, "" if change == "unchanged" else cause, ratio),
        "content_hash": f"content {day}",
        "text_hash": f"text {day}",
        "model": "m1",
        "first_seen": DAYS[0],
    }
    return Visit(**{**given, **values})


def seen(number: int, found: Visit, content: str | None = None, **values: Any) -> StoredVisit:
    given = {"answer": ANSWER, "page": None}
    return StoredVisit(number, found, content=content, **{**given, **values})


def add(takeover: HistoryWriter, stored: StoredVisit) -> None:
    """Add a visit with the change that its facts alone show."""
    takeover.add_visit(stored, judge(stored.visit.facts))


def take(history: History, crawl: str, *found: StoredVisit) -> None:
    takeover = history.begin_writing(crawl, is_complete=True)
    for one in found:
        add(takeover, one)
    takeover.commit()


def test_new_page_is_stored_in_history_with_all_its_data(history: History) -> None:
    page = Page.from_html(HTML, "http://e.org/1")
    take(history, "first", seen(7, visit("1", "new"), "Tea.", page=page.dump()))
    expected = visit("1", "new")
    assert history.page("1") == PageRecord(
        *("1", "http://e.org/1", "live", DAYS[0], DAYS[0], DAYS[0], DAYS[0]),
        *(expected.content_hash, expected.text_hash, "m1", "e", "m", 0, "e.org"),
    )
    assert history.page("2") is None
    assert (history.content("1"), history.content("1", before=True)) == ("Tea.", None)
    assert history.links("1") == dict.fromkeys(ANSWER.links, ())
    assert history.links("2") == {}
    assert (history.stored("1"), history.stored("2")) == (page, None)
    assert (history.has_page("1"), history.has_page("2")) == (True, False)
    assert (history.live_count(), [known.id for known in history.live()]) == (1, ["1"])
    assert history.begin_writing("first", is_complete=True).last_visit == 7
    assert history.begin_writing("second", is_complete=True).last_visit == 0
    assert [one["previous_url"] for one in history.changes()] == [""]
    assert next(history.changes())["change_ratio"] == 0.5


def test_damaged_page_is_not_stored_but_its_visit_is(history: History) -> None:
    whole = Page.from_html(HTML, "http://e.org/1").dump()
    for number, damaged in enumerate((whole[:-4], b"", b"no zlib"), 1):
        name = f"{number}"
        take(history, name, seen(number, visit(name, "new"), "Tea.", page=damaged))
        assert (history.content(name), history.has_page(name)) == ("Tea.", False)
        assert history.page(name)


def test_days_between_visits_count_as_unchanged_or_changed(history: History) -> None:
    take(history, "a", seen(1, visit("1", "new"), "One."))
    take(history, "b", seen(1, visit("1", "unchanged", 2, content_hash="content 0")))
    assert history.content("1") == "One."
    take(history, "c", seen(1, visit("1", "changed", 5, previous_hash="content 0"), "Two."))
    take(history, "d", seen(1, visit("1", "changed", 6, cause="model"), "Three."))
    ((url, last_seen, spell),) = history.visits()
    assert (url, last_seen) == ("http://e.org/1", DAYS[6])
    assert (spell.still_days, spell.changes, spell.changed_days) == (3.0, 1, 3.0)
    assert (history.content("1"), history.content("1", before=True)) == ("Three.", "Two.")
    known = history.page("1")
    assert known is not None
    assert known.changed_at == DAYS[5], "another model is no change of the page"
    changes = [one["change"] for one in history.changes()]
    assert changes == ["new", "changed", "refiltered"], "of unchanged pages only the last crawl's"
    assert [one["change"] for one in history.changes(since=3)] == ["refiltered"]
    assert [one["at"] for one in history.changes(after=DAYS[6])] == [DAYS[6]]


def test_out_of_order_visit_subtracts_no_days(history: History) -> None:
    take(history, "a", seen(1, visit("1", "new", 3), "One."))
    take(history, "b", seen(1, visit("1", "unchanged", 1)))
    ((_, _, spell),) = history.visits()
    assert (spell.still_days, spell.changed_days) == (0.0, 0.0)


def test_not_modified_response_does_not_count_as_fetch(history: History) -> None:
    take(history, "a", seen(1, visit("1", "new"), "One."))
    take(history, "b", seen(1, visit("1", "unchanged", 2), answer=Answer(is_unsent=True)))
    known = history.page("1")
    assert known is not None
    assert (known.last_seen, known.last_fetched) == (DAYS[2], DAYS[0])


def test_orphan_page_counts_as_missing_once_per_crawl(history: History) -> None:
    take(history, "a", seen(1, visit("1", "new"), "One."))
    for crawl in "bbc":
        takeover = history.begin_writing(crawl, is_complete=True)
        add(takeover, seen(1, visit("1", "unchanged", 1), answer=Answer(is_orphan=True)))
        takeover.count_missing("1")
        takeover.commit()
    known = history.page("1")
    assert known is not None
    assert known.missing == 2
    take(history, "d", seen(1, visit("1", "unchanged", 2)))
    known = history.page("1")
    assert known is not None
    assert known.missing == 0


def test_moved_page_is_not_live_at_old_url(history: History) -> None:
    take(history, "a", seen(1, visit("1", "new"), "One."), seen(2, visit("2", "new"), "Two."))
    moved = visit("3", "moved", 1, previous_id="1", previous_hash="content 0", reason="HTTP 301")
    take(history, "b", seen(1, moved, "One."))
    takeover = history.begin_writing("b", is_complete=True)
    (two,) = [known for known in history.live() if known.id == "2"]
    takeover.move(two, "3", "http://e.org/3", "HTTP 308")
    takeover.commit()
    assert [known.id for known in history.live()] == ["3"]
    assert history.content("3", before=True) == "One."
    first, second = (one for one in history.changes() if one["change"] == "moved")
    assert (first["previous_id"], first["previous_url"]) == ("1", "http://e.org/1")
    assert (second["id"], second["previous_id"], second["reason"]) == ("3", "2", "HTTP 308")
    assert (second["previous_hash"], second["content_hash"]) == ("content 0", "content 1")
    assert (second["change_cause"], second["change_ratio"]) == ("page", 0.0)
    assert (second["changed_at"], second["first_seen"]) == (DAYS[1], DAYS[0])


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
    history: History, site: str, old: str, new: str, is_found: bool
) -> None:
    take(history, "a", seen(1, visit("1", "new"), old))
    takeover = history.begin_writing("b", is_complete=True)
    add(takeover, seen(1, visit("2", "new", 1, site=site), new))
    known = history.page("1")
    assert known is not None
    takeover.mark_gone(known, "HTTP 404")
    takeover.commit()
    _, found, gone = history.changes()
    assert (found["change"], gone["change"], gone["change_ratio"]) == ("new", "gone", 1.0)
    assert gone["reason"] == "HTTP 404" + is_found * "; its text is at http://e.org/2"
    assert found["reason"] == is_found * "its text was at http://e.org/1"
    assert [known.id for known in history.live()] == ["2"]


def test_gone_pages_whose_text_is_at_a_new_address_do_not_count_as_lost(tmp_path: Path) -> None:
    history = History(tmp_path / "history.sqlite")
    texts = {"1": "a", "2": "a", "3": "b", "4": "c"}
    visits = [visit(name, "new", content_hash=text) for name, text in texts.items()]
    take(history, "a", *(seen(number, page) for number, page in enumerate(visits)))
    takeover = history.begin_writing("b", is_complete=True)
    for number, (name, text) in enumerate({"5": "a", "6": "b"}.items()):
        page = visit(name, "new", content_hash=text)
        add(takeover, seen(number, page, is_item_known=True, item={"id": name}))
    for known_page in list(history.live()):
        takeover.mark_gone(known_page, "HTTP 404")
    takeover.commit()
    history.close()
    entries = Entries(tmp_path / "history.sqlite")
    assert entries.gone_count(4) == 2, "of 1 and 2 only one is replaced, and 4 is lost"
    entries.close()


def test_refiltered_page_changes_entry_without_visit(history: History, tmp_path: Path) -> None:
    del history
    history = History(tmp_path / "history.sqlite")
    item = {"id": "1", "title": "Tea", "content": "One.", "content_hash": "content 0"}
    take(
        history,
        "a",
        seen(1, visit("1", "new"), "One.", is_item_known=True, item=item),
        seen(2, visit("2", "new"), "Two.", is_item_known=True, item=None),
    )
    known, other = history.live("e.org", "m2")
    assert not [*history.live("e.org", "m1"), *history.live("f.org", "m2")]
    takeover = history.begin_writing("b", is_complete=True)
    takeover.refilter(known, "m2", {"content_hash": "new", "content": "One, two."}, 0.3)
    takeover.note_model(other, "m2")
    takeover.commit()
    assert not list(history.live("e.org", "m2"))
    assert (history.content("1"), history.content("1", before=True)) == ("One, two.", "One.")
    assert [one["change_cause"] for one in history.changes()] == ["page", "page", "model"]
    history.close()
    entries = Entries(tmp_path / "history.sqlite")
    (entry,) = entries.after(2)
    assert entry.item == item | {
        "content": "One, two.",
        "content_hash": "new",
        "first_seen": DAYS[0],
        "changed_at": DAYS[0],
    }
    assert list(entries.of(["2", "x"])) == [Entry("2", 2, "", None)]
    assert list(entries.live()) == [("1", entry.hash)]
    assert (entries.last, entries.count(), entries.count(2), entries.live_count()) == (3, 2, 1, 1)
    assert entries.gone_count(0) == 0
    crawl = entries.last_crawl()
    assert crawl is not None
    assert crawl["changes"] == {"refiltered": 1}
    entries.close()


def test_index_entry_is_renewed_only_if_more_than_numbers_changed(
    tmp_path: Path,
) -> None:
    history = History(tmp_path / "history.sqlite")
    item = {"id": "1", "title": "Tea", "content": "1 view"}

    def written(crawl: str, change: str, **values: str) -> int:
        one = seen(1, visit("1", change), item={**item, **values}, is_item_known=True)
        take(history, crawl, one)
        entries = Entries(tmp_path / "history.sqlite")
        last = entries.last
        entries.close()
        return last

    assert written("a", "new") == 1
    assert written("b", "unchanged", content="2 views") == 1
    assert written("c", "unchanged", content="2 views", title="Green tea") > 1
    history.close()


def test_full_history_keeps_content_without_page() -> None:
    history = History(None, max_bytes=1)
    page = Page.from_html(HTML).dump()
    take(history, "a", seen(1, visit("1", "new"), "One.", page=page))
    assert (history.content("1"), history.has_page("1")) == ("One.", False)
    history.close()


def test_site_facts_survive_reopening_of_history(tmp_path: Path) -> None:
    history = History(tmp_path / "history.sqlite")
    takeover = history.begin_writing("a", is_complete=True)
    for _ in range(2):
        takeover.add_counter("e.org", "p\t0 views")
        takeover.distrust("e.org")
        takeover.set_lastmods("e.org", LastmodCounts(1, 2, 3, 4))
    takeover.add_counter("e.org", "q")
    takeover.commit()
    assert history.counters() == {"e.org": {"p\t0 views", "q"}}
    history.close()
    history = History(tmp_path / "history.sqlite")
    assert history.distrusted == {"e.org"}
    history.close()


def test_first_live_page_with_text_is_original(history: History) -> None:
    take(
        history,
        "a",
        seen(1, visit("2", "new", first_seen=DAYS[1]), "One."),
        seen(2, visit("1", "new", first_seen=DAYS[2]), "One."),
    )
    assert history.original_of("x") == ""
    assert history.original_of("x", "text 0", "e.org") == "2"
    assert history.original_of("x", "text 0", "f.org") == ""
    takeover = history.begin_writing("a", is_complete=True)
    takeover.add_copy("x", "1", "https://e.org/x")
    takeover.commit()
    assert history.original_of("x", "text 0", "e.org") == "1"
    known = history.page("1")
    assert known is not None
    takeover = history.begin_writing("a", is_complete=True)
    takeover.mark_gone(known, "HTTP 404")
    takeover.commit()
    assert history.original_of("x", "text 0", "e.org") == "2"
