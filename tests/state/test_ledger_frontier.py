"""The frontier and the items of a ledger in memory: what becomes of addresses, and what is out."""

from __future__ import annotations

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
def ledger() -> Iterator[Book]:
    ledger = Book(None)
    yield ledger
    ledger.close()


def add(ledger: Book, name: str, priority: int = 0, request: str | None = "{}") -> int:
    url = f"http://{name[0]}.org/{name}"
    return ledger.frontier.enqueue(name.encode(), url, priority, request)


def take(ledger: Book, without: Collection[str] = ()) -> str:
    taken = ledger.frontier.queue.take(without)
    return taken[1].rpartition("/")[2] if taken else ""


def test_frontier_finds_state_of_address(ledger: Book) -> None:
    row = add(ledger, "a")
    take(ledger)
    assert ledger.frontier.find("http://a.org/a") == Address(
        row, "http://a.org/a", "taken", "", "", ""
    )
    assert ledger.claims.claim([b"x", b"y"], row, "http://a.org/")
    ledger.frontier.finish(row, "redirected", "HTTP 301", "http://a.org/b")
    assert ledger.frontier.find("http://a.org/a") == Address(
        row, "http://a.org/a", "redirected", "HTTP 301", "http://a.org/b", "http://a.org/"
    )
    ledger.frontier.finish(row, "failed", "late")
    assert ledger.frontier.states() == {"redirected": 1}, "it was not taken any more"
    assert ledger.frontier.find("http://a.org/c") is None


def test_first_page_to_claim_text_is_original(ledger: Book) -> None:
    first, second = add(ledger, "a"), add(ledger, "b")
    assert ledger.claims.claim([b"x"], first)
    assert ledger.claims.claim([b"x", b"z"], first), "as after a kill"
    assert not ledger.claims.claim([b"y", b"z"], second, "http://b.org/")
    assert ledger.claims.has([b"y", b"z"], second)
    assert not ledger.claims.has([b"x", b"z"], first), "its own"
    assert ledger.claims.claim([b"y"], second), "it had claimed nothing"
    found = ledger.frontier.find("http://b.org/b")
    assert found is not None
    assert (found.target, found.canonical) == ("http://a.org/a", "http://b.org/")


def test_request_is_repeated_only_with_dont_filter(ledger: Book) -> None:
    row = add(ledger, "a")
    again = ("http://a.org/a", 3, "{}", True)
    other = ledger.frontier.enqueue(b"a", *again)
    assert other not in (0, row), "both requests wait"
    assert ledger.frontier.enqueue(b"a", *again, source_row=row) == row, "it is the same one"
    for _ in range(2):
        take(ledger)
    ledger.frontier.finish(row, "fetched")
    assert ledger.frontier.queue.length == 1
    take(ledger)
    assert ledger.frontier.enqueue(b"a", *again) == row
    assert ledger.frontier.queue.take() == (row, "http://a.org/a", "{}", 3, 0)


def test_requests_in_process_memory_end_with_process(ledger: Book) -> None:
    row = add(ledger, "a", request=None)
    assert (ledger.frontier.queue.length, take(ledger)) == (1, "a")
    again = ledger.frontier.enqueue(b"a", "http://a.org/a", 0, None, True, source_row=row)
    assert (again, ledger.frontier.queue.length, take(ledger)) == (row, 1, "a")
    ledger.frontier.finish(row, "fetched")
    add(ledger, "b", request=None)
    add(ledger, "c", request=None)
    add(ledger, "d")
    take(ledger)
    assert ledger.frontier.recover(died=True) == []
    assert ledger.frontier.states() == {"fetched": 1, "queued": 1}
    assert (ledger.frontier.queue.length, take(ledger)) == (1, "d")


def test_chosen_unread_addresses_are_queued_again(ledger: Book) -> None:
    rows = [add(ledger, name) for name in "abc"]
    for row, state in zip(rows, ("retry", "retry", "failed"), strict=True):
        take(ledger)
        ledger.frontier.finish(row, state, "HTTP 503")
    assert ledger.frontier.unread == 2
    assert ledger.frontier.requeue_failed(rows[1:]) == 1
    assert (ledger.frontier.unread, ledger.frontier.queue.length) == (1, 1)
    assert take(ledger) == "b"
    ledger.frontier.requeue(rows[1])
    ledger.frontier.requeue(rows[2])
    assert (ledger.frontier.queue.length, take(ledger), take(ledger)) == (1, "b", "")


def test_address_is_open_until_its_last_request_ends(ledger: Book) -> None:
    for name, state in (("a", "retry"), ("b", "failed"), ("c", "skipped")):
        row = add(ledger, name)
        url = f"http://{name}.org/{name}"
        addresses = [ledger.frontier.find(url)]
        take(ledger)
        addresses.append(ledger.frontier.find(url))
        ledger.frontier.finish(row, state)
        addresses.append(ledger.frontier.find(url))
        assert [each and each.is_open for each in addresses] == [True, True, state == "retry"]


def test_request_in_memory_cannot_be_retried(ledger: Book) -> None:
    row = add(ledger, "a", request=None)
    take(ledger)
    ledger.frontier.finish(row, "retry", "HTTP 503")
    assert ledger.frontier.states() == {"failed": 1}
    assert (ledger.frontier.unread, ledger.frontier.requeue_failed([row])) == (0, 0)


def test_only_addresses_to_retry_keep_their_requests(ledger: Book) -> None:
    for name, state in (("a", "retry"), ("b", "failed"), ("c", "held")):
        row = add(ledger, name)
        take(ledger)
        ledger.frontier.finish(row, state)
    query = "SELECT state, request FROM addresses ORDER BY number"
    rows = list(ledger._database.rows(query))
    assert rows == [("retry", "{}"), ("failed", None), ("held", None)]


def test_missing_addresses_are_listed_also_if_they_are_to_be_retried(ledger: Book) -> None:
    for name, state, reason in (
        ("a", "retry", "HTTP 404"),
        ("b", "failed", "HTTP 410"),
        ("c", "failed", "HTTP 500"),
        ("d", "skipped", "HTTP 404"),
    ):
        row = add(ledger, name)
        take(ledger)
        ledger.frontier.finish(row, state, reason)
    missing = sorted(ledger.frontier.failed(("HTTP 404", "HTTP 410")))
    assert missing == ["http://a.org/a", "http://b.org/b"]


def test_address_is_finished_when_all_its_items_are_output(ledger: Book) -> None:
    row = add(ledger, "a")
    take(ledger)
    for _ in range(2):
        ledger.frontier.keep_open(row)
    ledger.frontier.finish(row, "held", "x", "http://a.org/b")
    ledger.frontier.allow_end(row)
    assert ledger.frontier.states() == {"taken": 1}
    ledger.frontier.allow_end(row)
    assert ledger.frontier.find("http://a.org/a") == Address(
        row, "http://a.org/a", "held", "x", "http://a.org/b", ""
    )
    ledger.frontier.mark_released(row, "released", "why")
    ledger.frontier.mark_released(row, "failed", "other")
    assert ledger.frontier.reasons("released") == [("other", 1, "http://a.org/a")]


def test_states_and_reasons_are_listed_by_frequency(ledger: Book) -> None:
    for name, reason in (("a", "rare"), ("b", "often"), ("c", "often")):
        row = add(ledger, name)
        take(ledger)
        ledger.frontier.finish(row, "failed", reason)
    add(ledger, "d")
    assert list(ledger.frontier.states().items()) == [("failed", 3), ("queued", 1)]
    assert ledger.frontier.reasons("failed") == [
        ("often", 2, "http://b.org/b"),
        ("rare", 1, "http://a.org/a"),
    ]


def test_queue_skips_excluded_hosts_and_keeps_order(ledger: Book) -> None:
    for name, priority in (("a1", 2), ("a2", 2), ("b1", 2), ("b2", 1), ("c1", 0), ("a3", 0)):
        add(ledger, name, priority)
    queue = ledger.frontier.queue
    assert (queue.has(), queue.has({"a.org", "b.org"})) == (True, True)
    assert not queue.has({"a.org", "b.org", "c.org"})
    assert (queue.count_of("a.org", 9), queue.count_of("a.org", 2), queue.count_of("d", 9)) == (
        *(3, 2),
        0,
    )
    assert take(ledger, ("a.org",)) == "b1"
    add(ledger, "d1", 1)
    assert take(ledger, ("a.org",)) == "b2"
    add(ledger, "d2", 5)
    assert take(ledger, ("a.org",)) == "d2"
    assert take(ledger, ("a.org",)) == "d1"
    assert take(ledger, ("a.org", "c.org")) == ""
    assert take(ledger, ("a.org",)) == "c1"
    assert take(ledger, ("a.org",)) == ""
    assert [take(ledger) for _ in range(4)] == ["a1", "a2", "a3", ""]
    assert (queue.length, queue.has(), queue.has({"a.org"})) == (0, False, False)


@pytest.mark.parametrize("seed", range(4))
def test_queue_with_excluded_hosts_matches_reference_order(ledger: Book, seed: int) -> None:
    draw, queue = random.Random(seed), ledger.frontier.queue
    waiting: dict[str, tuple[int, int]] = {}
    taken: dict[str, tuple[int, int]] = {}
    without: set[str] = set()
    for step in range(200):
        kind = draw.random()
        if kind < 0.45:
            name, priority = f"{draw.choice('abcd')}{step}", draw.randint(-1, 1)
            waiting[name] = (-priority, add(ledger, name, priority))
        elif kind < 0.55 and taken:
            name = draw.choice(sorted(taken))
            waiting[name] = taken.pop(name)
            ledger.frontier.requeue(waiting[name][1])
        else:
            if kind > 0.85:
                without = {f"{host}.org" for host in "abcd" if draw.random() < 0.4}
            others = [name for name in waiting if f"{name[0]}.org" not in without]
            assert queue.has(without) == bool(others)
            expected = min(others, key=lambda name: waiting[name], default="")
            assert take(ledger, without) == expected
            if expected:
                taken[expected] = waiting.pop(expected)
        assert (queue.length, queue.has()) == (len(waiting), bool(waiting))


def test_urls_read_from_host_are_listed_with_item_pages_first(ledger: Book) -> None:
    for name, state in (("a1", "fetched"), ("a2", "failed"), ("b1", "released"), ("a3", "fetched")):
        row = add(ledger, name)
        take(ledger)
        ledger.frontier.finish(row, state)
    row = ledger.frontier.enqueue(b"r", "http://a.org/robots.txt", 0, "{}")
    take(ledger)
    ledger.frontier.finish(row, "fetched")
    add(ledger, "a4")
    queue = ledger.frontier.queue
    assert queue.answered("a.org", 9) == ["http://a.org/a1", "http://a.org/a3"]
    assert queue.answered("a.org", 1) == ["http://a.org/a1"]
    for name, state in (("a5", "held"), ("a6", "unchanged"), ("a7", "released")):
        row = add(ledger, name, 9)
        take(ledger)
        ledger.frontier.finish(row, state)
    assert queue.answered("a.org", 9) == [f"http://a.org/a{number}" for number in (5, 6, 7)]
    assert queue.answered("c.org", 9) == []


def test_very_low_priorities_are_queued_in_order(ledger: Book) -> None:
    add(ledger, "a", -(2**40))
    assert take(ledger, ("b.org",)) == "a"
    add(ledger, "c", -(2**40))
    assert take(ledger) == "c"


def record(ledger: Book, key: str, *outcome: object, **values: object) -> None:
    hand = ItemBinding(PAGE, key=key, **values)  # type: ignore[arg-type]
    assert ledger.items.record(hand, *outcome)  # type: ignore[arg-type]


def test_first_recorded_item_represents_its_page(ledger: Book) -> None:
    items = ledger.items
    record(ledger, "1", None, "dropped: no", page_id="a")
    assert items.item_of_page("a", unless="unchanged") == (True, None)
    record(ledger, "2", b'{"n": 2}', page_id="a")
    record(ledger, "3", b'{"n": 3}', page_id="a")
    assert items.item_of_page("a", unless="unchanged") == (True, {"n": 2})
    record(ledger, "4", None, "unchanged", page_id="b")
    assert items.item_of_page("b", unless="unchanged") == (False, None)
    assert items.item_of_page("c", unless="unchanged") == (False, None)
    assert (items.count(), items.count("unchanged"), items.count("x")) == (2, 1, 0)


def test_user_item_is_stored_with_our_field_names(ledger: Book) -> None:
    line = b'{"headline": "Tea", "title": 7, "price": 3, "text": "x"}'
    names = {"title": "headline", "content": "text", "language": "lang"}
    record(ledger, "1", line, page_id="a", names=names)
    assert ledger.items.item_of_page("a", unless="") == (
        True,
        {"title": "Tea", "content": "x", "price": 3},
    )


def test_damaged_item_is_logged_and_ignored(ledger: Book, caplog: pytest.LogCaptureFixture) -> None:
    record(ledger, "1", b"{}", page_id="a")
    ledger._database.do("UPDATE items SET line = x'00'")
    assert ledger.items.item_of_page("a", unless="") == (False, None)
    (said,) = caplog.messages
    assert said.startswith("the ledger in memory: the item of page a is damaged (")
    assert said.endswith("): the history keeps the previous item")


def test_held_pages_are_listed_once_and_released_with_their_items(ledger: Book) -> None:
    for number, url in enumerate("aab"):
        hand = ItemBinding(Page.from_html("<p>Tea</p>", url), number, 10 + number, f"{number}")
        assert ledger.items.hold("site", {"n": number}, hand)
    assert not ledger.items.hold("other", {}, ItemBinding(PAGE, key="1"))
    assert [page.url for page in ledger.items.held_pages("site")] == ["a", "b"]
    hands = [hand for _, hand in ledger.items.release("site")]
    assert [(hand.page_row, hand.address_row, hand.key) for hand in hands] == [
        (number, 10 + number, f"{number}") for number in range(3)
    ]
    for hand in hands:
        assert ledger.items.record(hand, b"{}")
    assert ledger.items.held_counts() == {}
    assert ledger.items.record(ItemBinding(PAGE)), "what has no key is out each time"
