"""Items of a book: held until a model is there, released once; what is damaged is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from contentspider.page.input.page import Page
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from tests.books import killed
from tests.messages import wording
from tests.state.test_storage import HTML, Article

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def in_hand(url: str, key: str | None = None) -> ItemBinding:
    return ItemBinding(Page.from_html(HTML, url), key=key)


def test_held_items_are_released_in_order_and_recorded_once(path: Path) -> None:
    book = Book(path)
    odd = Article("odd", made=object())  # cannot go to disk
    for number, item in enumerate([{"url": "a"}, odd, {"url": "b"}]):
        assert book.items.hold("site", item, in_hand(f"u{number}", f"k{number}"))
    assert not book.items.hold("site", {"url": "a"}, in_hand("u0", "k0"))
    book.items.hold("other", {"url": "c"}, in_hand(""))
    book.commit()
    assert book.items.held_counts() == {"other": 1, "site": 3}
    assert [page.url for page in book.items.held_pages("site")] == ["u0", "u1", "u2"]
    released = list(book.items.release("site"))
    assert [item for item, _ in released] == [{"url": "a"}, odd, {"url": "b"}]
    (_, first), _, (_, last) = released
    assert book.items.record(first, line=b'{"n": 1}')[0]
    assert book.items.record(in_hand("u0", "k0"), line=b'{"n": 2}') == (False, None)
    assert book.items.record(last, reason="dropped") == (True, None)
    assert list(book.items.lines()) == [b'{"n": 1}']
    assert book.items.has_item("k0")
    assert book.items.has_item("k1")
    assert not book.items.has_item("k9")
    assert book.items.held_counts() == {"other": 1, "site": 1}
    book.close()


def test_dropped_item_is_released_with_the_names_of_its_class(path: Path) -> None:
    book = Book(path)
    for key, names, reason in (("a", {"content": "body"}, "unchanged"), ("b", None, "price")):
        hand = replace(in_hand("u", key), page_id=key, names=names)
        assert book.items.record(hand, reason=reason) == (True, None)
        number = book.contents.put("item", b'{"content": "Tea"}')
        book.items.revive(key, "unchanged", {"content": "Tea"}, number)
    assert list(book.items.records()) == [{"body": "Tea"}], "not what a pipeline has dropped"
    assert book.items.has_refilled
    book.close()


def with_an_item_in_memory(path: Path) -> tuple[Book, int]:
    """Return a book that holds an item which is no data, and the row of its address."""
    book = Book(path)
    book.begin_run()
    row = book.frontier.enqueue(b"a", "http://x/a", 0, "{}")
    assert row is not None
    book.frontier.queue.take()
    hand = ItemBinding(Page.from_html(HTML), row, row, "k")
    book.items.hold("site", Article("odd", made=object()), hand)
    book.frontier.finish(row, "held")
    return book, row


def test_page_of_unserializable_item_is_fetched_again_after_kill(path: Path) -> None:
    book, _ = with_an_item_in_memory(path)
    book.commit()
    again = killed(book)
    again.begin_run()
    assert again.items.held_counts() == {}
    assert again.frontier.queue.length == 1
    again.close()


def test_serializable_held_item_survives_kill(path: Path) -> None:
    book = Book(path)
    book.items.hold("site", {"n": 1}, in_hand("u", "k"))
    book.commit()
    again = killed(book)
    again.begin_run()
    assert [item for item, _ in again.items.release("site")] == [{"n": 1}]
    again.close()


def test_address_of_unserializable_item_is_finished_when_item_is_recorded(path: Path) -> None:
    book, row = with_an_item_in_memory(path)
    ((_, hand),) = book.items.release("site")
    expected = ItemBinding(Page.from_html(HTML), row, row, "k", hand.held_row, may_pass=True)
    assert replace(hand, content=None) == expected
    assert hand.content is not None
    book.items.record(hand, b"{}")
    assert book.frontier.states() == {"held": 1}
    book.frontier.mark_released(row, "released", None)
    assert book.frontier.states() == {"released": 1}
    book.close()


def test_damaged_items_and_pages_are_logged_and_skipped(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = Book(path)
    for number in range(3):
        book.items.hold("x", {"n": number}, in_hand(f"u{number}", f"h{number}"))
        book.items.record(in_hand("", f"{number}/0"), b'{"n": %d}' % number)
        book.sample.offer("x", Page.from_html(HTML, f"u{number}"))
    for number in (
        "SELECT page FROM held_items WHERE number = 2",
        "SELECT line FROM items WHERE number = 2",
        "SELECT page FROM sample WHERE url = 'u1'",
    ):
        book.database.do(f"UPDATE contents SET data = x'00' WHERE number = ({number})")  # noqa: S608
    book.contents.forget()
    assert [item["n"] for item, _ in book.items.release("x")] == [0, 2]
    assert [page.url for page in book.items.held_pages("x")] == ["u0", "u2"]
    assert list(book.items.lines()) == [b'{"n": 0}', b'{"n": 2}']
    assert [page.url for page in book.sample.sample("x")] == ["u0", "u2"]
    assert len([line for line in caplog.messages if "crawl.sqlite" in line]) == 4
    released, pages, line, page = caplog.messages
    assert released.startswith(f"{path}" + wording("state.item-not-restored", "x"))
    assert pages == released
    assert released.endswith(wording("state.item-stays-held"))
    assert line.startswith(f"{path}: item 2 (of None) is damaged (")
    assert line.endswith(") and left out; a new crawl writes it")
    assert page.startswith(f"{path}: u1 is left out: ")
    book.close()


def test_records_skip_and_log_damaged_json_lines(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    book = Book(path)
    for number, line in enumerate((b'{"n": 1}', b"{", b"7", None, b'{"n": 2}')):
        assert book.items.record(in_hand("", f"{number}"), line)[0]
    assert list(book.items.lines()) == [b'{"n": 1}', b"{", b"7", b'{"n": 2}']
    assert list(book.items.records()) == [{"n": 1}, {"n": 2}]
    assert [said.partition(" (")[0] for said in caplog.messages] == [
        f"{path}" + wording("state.item-damaged")
    ] * 2
    assert all(said.endswith(") and left out") for said in caplog.messages)
    assert (book.items.count(), book.items.count("x")) == (4, 0)
    book.close()


def test_new_item_binding_has_empty_fields() -> None:
    page = Page.from_html(HTML)
    empty = ItemBinding(page, None, None, None, None, False, None, None, False, None, None)
    assert ItemBinding(page) == empty


def test_items_held_during_release_wait_for_next_release(path: Path) -> None:
    book = Book(path)
    for number in range(3):
        book.items.hold("site", {"n": number}, in_hand(f"u{number}"))
    found = []
    for item, hand in book.items.release("site"):
        found.append(item["n"])
        book.items.record(hand, b"{}")
        book.items.hold("site", {"n": 10 + item["n"]}, in_hand("u"))
    assert found == [0, 1, 2]
    assert [item["n"] for item, _ in book.items.release("site")] == [10, 11, 12]
    book.close()


def test_changed_items_are_known_after_a_kill_until_the_next_crawl(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    hand = replace(in_hand("u", "k"), page_id="p")
    book.items.record(hand, line=b'{"content": "a"}')
    assert book.items.refill("other", {"content": "b"}) is None
    assert not book.items.has_refilled
    assert book.items.refill("p", {"content": "b"}) is not None
    book.commit()
    again = killed(book)
    again.begin_run()
    assert again.items.has_refilled, "the output may have the item as it was"
    assert list(again.items.lines()) == [b'{"content": "b"}']
    again.begin_crawl()
    assert not again.items.has_refilled
    again.close()
