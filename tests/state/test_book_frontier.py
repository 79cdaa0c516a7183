"""The frontier and the items of a book in memory: what becomes of addresses, and what is out."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from contentspider.page.input.page import Page
from contentspider.state.book.book import Book
from contentspider.state.book.frontier import Address
from contentspider.state.book.items import ItemBinding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

PAGE = Page.from_html("<p>Tea</p>")


@pytest.fixture
def book() -> Iterator[Book]:
    book = Book(None)
    yield book
    book.close()


def add(book: Book, name: str, priority: int = 0, request: str | None = "{}") -> int:
    url = f"http://{name[0]}.org/{name}"
    return book.frontier.enqueue(name.encode(), url, priority, request)


def take(book: Book, without: Collection[str] = ()) -> str:
    taken = book.frontier.queue.take(without)
    return taken[1].rpartition("/")[2] if taken else ""


def test_frontier_finds_state_of_address(book: Book) -> None:
    row = add(book, "a")
    take(book)
    assert book.frontier.find("http://a.org/a") == Address(
        row, "http://a.org/a", "taken", "", "", ""
    )
    assert book.claims.claim([b"x", b"y"], row, "http://a.org/")
    book.frontier.finish(row, "redirected", "HTTP 301", "http://a.org/b")
    assert book.frontier.find("http://a.org/a") == Address(
        row, "http://a.org/a", "redirected", "HTTP 301", "http://a.org/b", "http://a.org/"
    )
    book.frontier.finish(row, "failed", "late")
    assert book.frontier.states() == {"redirected": 1}, "it was not taken any more"
    assert book.frontier.find("http://a.org/c") is None


def test_first_page_to_claim_text_is_original(book: Book) -> None:
    first, second = add(book, "a"), add(book, "b")
    assert book.claims.claim([b"x"], first)
    assert book.claims.claim([b"x", b"z"], first), "as after a kill"
    assert not book.claims.claim([b"y", b"z"], second, "http://b.org/")
    assert book.claims.has([b"y", b"z"], second)
    assert not book.claims.has([b"x", b"z"], first), "its own"
    assert book.claims.claim([b"y"], second), "it had claimed nothing"
    found = book.frontier.find("http://b.org/b")
    assert found is not None
    assert (found.target, found.canonical) == ("http://a.org/a", "http://b.org/")


def test_request_is_repeated_only_with_dont_filter(book: Book) -> None:
    row = add(book, "a")
    again = ("http://a.org/a", 3, "{}", True)
    other = book.frontier.enqueue(b"a", *again)
    assert other not in (0, row), "both requests wait"
    assert book.frontier.enqueue(b"a", *again, source_row=row) == row, "it is the same one"
    for _ in range(2):
        take(book)
    book.frontier.finish(row, "fetched")
    assert book.frontier.queue.length == 1
    take(book)
    assert book.frontier.enqueue(b"a", *again) == row
    assert book.frontier.queue.take() == (row, "http://a.org/a", "{}", 3, 0)


def test_addresses_whose_requests_were_in_memory_are_unread_until_found_again(book: Book) -> None:
    row = add(book, "a", request=None)
    assert (book.frontier.queue.length, take(book)) == (1, "a")
    again = book.frontier.enqueue(b"a", "http://a.org/a", 0, None, True, source_row=row)
    assert (again, book.frontier.queue.length, take(book)) == (row, 1, "a")
    book.frontier.finish(row, "fetched")
    add(book, "b", request=None)
    add(book, "c", request=None)
    add(book, "d")
    take(book)
    assert book.frontier.recover(died=True) == []
    assert book.frontier.states() == {"fetched": 1, "queued": 1, "retry": 2}
    assert (book.frontier.unread, book.frontier.requeue_failed()) == (2, 0)
    assert [book.frontier.knows(name) for name in (b"a", b"b")] == [True, False]
    assert (book.frontier.queue.length, take(book)) == (1, "d")
    row = add(book, "b", request=None)
    assert book.frontier.knows(b"b"), "it is queued again"
    assert (book.frontier.unread, book.frontier.queue.length, take(book)) == (1, 1, "b")
    book.frontier.finish(row, "fetched")
    assert book.frontier.states() == {"fetched": 2, "taken": 1, "retry": 1}


def test_page_that_leads_to_requests_in_memory_is_open_until_these_end(book: Book) -> None:
    first, second, third = add(book, "a"), *(add(book, name, request=None) for name in "bc")
    book.frontier.depend(second, first)
    book.frontier.depend(third, second)
    book.frontier.depend(third, third)
    for _ in range(3):
        take(book)
    book.frontier.finish(first, "held")
    book.frontier.finish(second, "fetched")
    assert book.frontier.states() == {"taken": 3}
    book.frontier.mark_released(first, "released", None)
    assert book.frontier.recover(died=True) == [], "and none of them is suspected"
    assert book.frontier.queue.take() == (first, "http://a.org/a", "{}", 0, 0)
    book.frontier.finish(third, "fetched")
    assert book.frontier.states() == {"retry": 2, "released": 1}


def test_chosen_unread_addresses_are_queued_again(book: Book) -> None:
    rows = [add(book, name) for name in "abc"]
    for row, state in zip(rows, ("retry", "retry", "failed"), strict=True):
        take(book)
        book.frontier.finish(row, state, "HTTP 503")
    assert book.frontier.unread == 2
    assert book.frontier.requeue_failed(rows[1:]) == 1
    assert (book.frontier.unread, book.frontier.queue.length) == (1, 1)
    assert take(book) == "b"
    book.frontier.requeue(rows[1])
    book.frontier.requeue(rows[2])
    assert (book.frontier.queue.length, take(book), take(book)) == (1, "b", "")


def test_address_is_open_until_its_last_request_ends(book: Book) -> None:
    for name, state in (("a", "retry"), ("b", "failed"), ("c", "skipped")):
        row = add(book, name)
        url = f"http://{name}.org/{name}"
        addresses = [book.frontier.find(url)]
        take(book)
        addresses.append(book.frontier.find(url))
        book.frontier.finish(row, state)
        addresses.append(book.frontier.find(url))
        assert [each and each.is_open for each in addresses] == [True, True, state == "retry"]


def test_request_in_memory_that_fails_for_now_is_found_again_by_a_resumed_run(book: Book) -> None:
    first, second = add(book, "a"), add(book, "b", request=None)
    book.frontier.depend(second, first)
    take(book)
    take(book)
    book.frontier.finish(second, "retry", "HTTP 503")
    book.frontier.finish(first, "fetched")
    assert book.frontier.states() == {"retry": 1, "taken": 1}
    assert (book.frontier.unread, book.frontier.requeue_failed([second])) == (1, 0)
    assert book.frontier.knows(b"b"), "this run does not request it again"
    assert book.frontier.recover(died=False) == []
    assert (take(book), book.frontier.knows(b"b")) == ("a", False)
    assert add(book, "b", request=None) == second


def test_only_addresses_to_retry_keep_their_requests(book: Book) -> None:
    for name, state in (("a", "retry"), ("b", "failed"), ("c", "held")):
        row = add(book, name)
        take(book)
        book.frontier.finish(row, state)
    query = (
        "SELECT state, request FROM addresses LEFT JOIN requests ON address = number"
        " ORDER BY number"
    )
    rows = list(book.database.rows(query))
    assert rows == [("retry", "{}"), ("failed", None), ("held", None)]


def test_missing_addresses_are_listed_also_if_they_are_to_be_retried(book: Book) -> None:
    for name, state, reason in (
        ("a", "retry", "HTTP 404"),
        ("b", "failed", "HTTP 410"),
        ("c", "failed", "HTTP 500"),
        ("d", "skipped", "HTTP 404"),
    ):
        row = add(book, name)
        take(book)
        book.frontier.finish(row, state, reason)
    missing = sorted(book.frontier.failed(("HTTP 404", "HTTP 410")))
    assert missing == ["http://a.org/a", "http://b.org/b"]


def test_address_is_finished_when_all_its_items_are_output(book: Book) -> None:
    row = add(book, "a")
    take(book)
    for _ in range(2):
        book.frontier.keep_open(row)
    book.frontier.finish(row, "held", "x", "http://a.org/b")
    book.frontier.allow_end(row)
    assert book.frontier.states() == {"taken": 1}
    book.frontier.allow_end(row)
    assert book.frontier.find("http://a.org/a") == Address(
        row, "http://a.org/a", "held", "x", "http://a.org/b", ""
    )
    book.frontier.mark_released(row, "released", "why")
    book.frontier.mark_released(row, "failed", "other")
    assert book.frontier.reasons("released") == [("other", 1, "http://a.org/a")]


def test_states_and_reasons_are_listed_by_frequency(book: Book) -> None:
    for name, reason in (("a", "rare"), ("b", "often"), ("c", "often")):
        row = add(book, name)
        take(book)
        book.frontier.finish(row, "failed", reason)
    add(book, "d")
    assert list(book.frontier.states().items()) == [("failed", 3), ("queued", 1)]
    assert book.frontier.reasons("failed") == [
        ("often", 2, "http://b.org/b"),
        ("rare", 1, "http://a.org/a"),
    ]


def test_queue_skips_excluded_hosts_and_keeps_order(book: Book) -> None:
    for name, priority in (("a1", 2), ("a2", 2), ("b1", 2), ("b2", 1), ("c1", 0), ("a3", 0)):
        add(book, name, priority)
    queue = book.frontier.queue
    assert (queue.has(), queue.has({"a.org", "b.org"})) == (True, True)
    assert not queue.has({"a.org", "b.org", "c.org"})
    assert (queue.count_of("a.org", 9), queue.count_of("a.org", 2), queue.count_of("d", 9)) == (
        *(3, 2),
        0,
    )
    assert take(book, ("a.org",)) == "b1"
    add(book, "d1", 1)
    assert take(book, ("a.org",)) == "b2"
    add(book, "d2", 5)
    assert take(book, ("a.org",)) == "d2"
    assert take(book, ("a.org",)) == "d1"
    assert take(book, ("a.org", "c.org")) == ""
    assert take(book, ("a.org",)) == "c1"
    assert take(book, ("a.org",)) == ""
    assert [take(book) for _ in range(4)] == ["a1", "a2", "a3", ""]
    assert (queue.length, queue.has(), queue.has({"a.org"})) == (0, False, False)


@pytest.mark.parametrize("seed", range(4))
def test_queue_with_excluded_hosts_matches_reference_order(book: Book, seed: int) -> None:
    draw, queue = random.Random(seed), book.frontier.queue
    waiting: dict[str, tuple[int, int]] = {}
    taken: dict[str, tuple[int, int]] = {}
    without: set[str] = set()
    for step in range(200):
        kind = draw.random()
        if kind < 0.45:
            name, priority = f"{draw.choice('abcd')}{step}", draw.randint(-1, 1)
            waiting[name] = (-priority, add(book, name, priority))
        elif kind < 0.55 and taken:
            name = draw.choice(sorted(taken))
            waiting[name] = taken.pop(name)
            book.frontier.requeue(waiting[name][1])
        else:
            if kind > 0.85:
                without = {f"{host}.org" for host in "abcd" if draw.random() < 0.4}
            others = [name for name in waiting if f"{name[0]}.org" not in without]
            assert queue.has(without) == bool(others)
            expected = min(others, key=lambda name: waiting[name], default="")
            assert take(book, without) == expected
            if expected:
                taken[expected] = waiting.pop(expected)
        assert (queue.length, queue.has()) == (len(waiting), bool(waiting))


def test_urls_read_from_host_are_listed_with_item_pages_first(book: Book) -> None:
    for name, state in (("a1", "fetched"), ("a2", "failed"), ("b1", "released"), ("a3", "fetched")):
        row = add(book, name)
        take(book)
        book.frontier.finish(row, state)
    row = book.frontier.enqueue(b"r", "http://a.org/robots.txt", 0, "{}")
    take(book)
    book.frontier.finish(row, "fetched")
    add(book, "a4")
    queue = book.frontier.queue
    assert queue.answered("a.org", 9) == ["http://a.org/a1", "http://a.org/a3"]
    assert queue.answered("a.org", 1) == ["http://a.org/a1"]
    for name, state in (("a5", "held"), ("a6", "unchanged"), ("a7", "released")):
        row = add(book, name, 9)
        take(book)
        book.frontier.finish(row, state)
    assert queue.answered("a.org", 9) == [f"http://a.org/a{number}" for number in (5, 6, 7)]
    assert queue.answered("c.org", 9) == []


def test_very_low_priorities_are_queued_in_order(book: Book) -> None:
    add(book, "a", -(2**40))
    assert take(book, ("b.org",)) == "a"
    add(book, "c", -(2**40))
    assert take(book) == "c"


def record(book: Book, key: str, *outcome: object, **values: object) -> int | None:
    hand = ItemBinding(PAGE, key=key, **values)  # type: ignore[arg-type]
    is_new, number = book.items.record(hand, *outcome)  # type: ignore[arg-type]
    assert is_new
    return number


def test_first_released_item_represents_its_page(book: Book) -> None:
    items = book.items
    record(book, "1", None, "dropped: no", page_id="a")
    assert items.released("a") is None
    number = record(book, "2", b'{"n": 2}', page_id="a")
    record(book, "3", b'{"n": 3}', page_id="a")
    assert items.released("a") == (number, {"n": 2})
    record(book, "4", None, "unchanged", page_id="b")
    assert items.released("b") is items.released("c") is None
    dropped = [items.has_dropped(name, "unchanged") for name in "abc"]
    assert dropped == [False, True, False]
    assert (items.count(), items.count("unchanged"), items.count("x")) == (2, 1, 0)
    assert items.last_number() == 4


def test_user_item_is_stored_with_our_field_names(book: Book) -> None:
    line = b'{"headline": "Tea", "title": 7, "price": 3, "text": "x"}'
    names = {"title": "headline", "content": "text", "language": "lang"}
    record(book, "1", line, page_id="a", names=names)
    released = book.items.released("a")
    assert released is not None
    number, item = released
    assert item == {"title": "Tea", "content": "x", "price": 3}
    assert json.loads(book.contents.get(number)) == item


def test_released_items_of_a_page_get_the_fields_of_another_model(book: Book) -> None:
    names = {"content": "text"}
    record(book, "1", b'{"n": 1, "content": "old", "also_at": []}', page_id="a")
    record(book, "2", b'{"n": 2, "text": "old", "content": 7}', page_id="a", names=names)
    record(book, "3", b'{"n": 3, "content": "old"}', page_id="b")
    refilled = book.items.refill("a", {"content": "new", "crawled_at": "x"})
    assert refilled == book.items.released("a")
    assert refilled is not None
    assert refilled[1]["content"] == "new"
    assert [item.get("text", item["content"]) for item in book.items.records()] == [
        *("new", "new", "old")
    ]
    assert [item["n"] for item in book.items.records()] == [1, 2, 3]
    assert book.items.refill("c", {"content": "new"}) is None


def test_damaged_item_is_logged_and_ignored(book: Book, caplog: pytest.LogCaptureFixture) -> None:
    record(book, "1", b"{}", page_id="a")
    book.database.do("UPDATE contents SET data = x'00'")
    book.contents.forget()
    assert book.items.released("a") is None
    assert book.items.refill("a", {"content": "new"}) is None
    assert list(book.items.lines()) == []
    assert len(caplog.messages) == 3
    assert all(said.startswith("the book in memory: item 1 (of ") for said in caplog.messages)


def test_held_pages_are_listed_once_and_released_with_their_items(book: Book) -> None:
    for number, url in enumerate("aab"):
        hand = ItemBinding(Page.from_html("<p>Tea</p>", url), number, 10 + number, f"{number}")
        assert book.items.hold("site", {"n": number}, hand)
    assert not book.items.hold("other", {}, ItemBinding(PAGE, key="1"))
    assert [page.url for page in book.items.held_pages("site")] == ["a", "b"]
    hands = [hand for _, hand in book.items.release("site")]
    assert [(hand.page_row, hand.address_row, hand.key) for hand in hands] == [
        (number, 10 + number, f"{number}") for number in range(3)
    ]
    for hand in hands:
        assert book.items.record(hand, b"{}")[0]
    assert book.items.held_counts() == {}
    assert book.items.record(ItemBinding(PAGE))[0], "what has no key is out each time"
