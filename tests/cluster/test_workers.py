"""Workers of one crawl at the same time: who has what, and who may write."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.cluster.connection import StoreDownError, check_url
from contentspider.cluster.store import LeaseLostError, Store
from contentspider.ground.errors import ContentSpiderError
from contentspider.state.ledger.database import SchemaError
from contentspider.state.ledger.items import ItemBinding
from tests.cluster.ledgers import PAGE, VISIT, Workers, add, exchange, names, take, workers

if TYPE_CHECKING:
    from contentspider.cluster.messages import Report

__all__ = ["workers"]


def test_each_address_is_taken_by_one_worker(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for number in range(10):
        add(first, f"{number}")
        add(second, f"{number}")
    for ledger in (first, second):
        exchange(ledger, workers.store(ledger))
    found = [workers.asked(first, 3), workers.asked(second, 100), workers.asked(first, 100)]
    assert [len(each) for each in found] == [3, 7, 0]
    assert sorted(found[0] + found[1]) == [str(number) for number in range(10)]


def test_worker_takes_only_requested_number_of_addresses(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for number in range(10):
        add(first, f"{number}")
    exchange(first, workers.store(first), 4)
    exchange(first, workers.store(first), 4)
    assert first.frontier.queue.length == 4
    assert sorted(names(first) + workers.asked(second, 9)) == [str(n) for n in range(10)]


def test_results_of_worker_with_expired_lease_are_rejected(
    workers: Workers,
) -> None:
    stalled, other = workers.open(), workers.open()
    add(stalled, "a")
    workers.commit(stalled)
    row, _ = take(stalled)
    workers.end_lease(stalled)
    workers.commit(other)
    assert take(other) == (row, "a"), "taken over"
    stalled.items.record(ItemBinding(PAGE, row, row, f"{row}/0"), b"late")
    stalled.frontier.finish(row, "released")
    for _ in range(2):
        with pytest.raises(LeaseLostError, match="start it again"):
            workers.commit(stalled)
    with pytest.raises(LeaseLostError):
        workers.store(stalled).leave("finished")
    other.items.record(ItemBinding(PAGE, row, row, f"{row}/0"), b"in time")
    other.frontier.finish(row, "released")
    workers.commit(other)
    assert list(workers.whole(other).items.lines()) == [b"in time"]


def test_worker_with_expired_lease_continues_if_no_other_took_over(workers: Workers) -> None:
    ledger = workers.open()
    add(ledger, "a")
    workers.commit(ledger)
    workers.end_lease(ledger)
    row, _ = take(ledger)
    ledger.frontier.finish(row, "fetched")
    workers.commit(ledger)
    other = workers.open()
    assert take(other) == (0, "")


def test_lost_response_loses_no_addresses(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = workers.open()
    add(ledger, "a")
    workers.commit(ledger)
    row, _ = take(ledger)
    add(ledger, "b")
    ledger.frontier.finish(row, "fetched")
    store = workers.store(ledger)
    real = store.exchange

    def cut_off(ask: Report) -> Any:
        with closing(store._store):
            store._has_last_reply = True
            made = real(ask)
        store._has_last_reply = False  # as where the connection breaks after the commit
        raise StoreDownError(f"cut off with {len(made.taken)}")

    with monkeypatch.context() as patch:
        patch.setattr(store, "exchange", cut_off)
        with pytest.raises(StoreDownError, match="cut off with 1"):
            exchange(ledger, store, 9)
    assert take(ledger) == (0, "")
    exchange(ledger, store, 9)
    row, name = take(ledger)
    assert name == "b"
    exchange(ledger, store, 9)
    assert take(ledger) == (0, ""), "it comes once"
    ledger.frontier.finish(row, "fetched")
    exchange(ledger, store, 9)
    assert workers.whole(ledger).frontier.states() == {"fetched": 2}


def test_workers_finding_same_links_do_not_deadlock(workers: Workers) -> None:
    ledgers = [workers.open(), workers.open()]
    with ThreadPoolExecutor(2) as pool:
        for turn in range(20):
            draw = random.Random(turn)
            asks = []
            for ledger in ledgers:
                found = [f"{turn}-{number}" for number in range(200)]
                draw.shuffle(found)
                for name in found:
                    add(ledger, name)
                    ledger.visits.note_lastmod(name, has_changed=bool(draw.getrandbits(1)))
                asks.append((workers.store(ledger), ledger.report()))
            for answer in pool.map(lambda pair: pair[0].exchange(pair[1]), asks):
                assert not answer.taken
    exchange(ledgers[0], workers.store(ledgers[0]), 9_000)
    assert ledgers[0].frontier.queue.length == 20 * 200


def test_page_claimed_by_two_workers_is_output_once(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for ledger, name in ((first, "a"), (second, "b")):
        add(ledger, name)
        workers.commit(ledger)
        row, found = take(ledger)
        assert found == name
        assert ledger.claims.claim([b"page"], row), "neither knows of the other"
        ledger.items.hold("e.org", {"name": name}, ItemBinding(PAGE, row, row, f"{row}/0"))
        ledger.visits.note(VISIT, row, name, None)
        ledger.frontier.finish(row, "held")
    workers.commit(first)
    workers.commit(second)
    assert (first.items.held_counts(), second.items.held_counts()) == ({"e.org": 1}, {})
    # What comes of it later is not shared, either.
    assert second.items.record(ItemBinding(PAGE, row, row, f"{row}/1"), b"twice")
    workers.commit(second)
    ((_, hand),) = first.items.release("e.org")
    first.items.record(hand, b"once")
    workers.commit(first)
    whole = workers.whole(first)
    assert list(whole.items.lines()) == [b"once"]
    assert [seen.content for seen in whole.visits.after(0)] == ["a"]
    found = whole.frontier.find("http://e.org/b")
    assert found
    assert (found.state, found.reason, found.target) == ("skipped", "duplicate", "http://e.org/a")


def test_request_times_are_assigned_once_with_delay(workers: Workers) -> None:
    stores = [workers.store(workers.open()) for _ in range(2)]
    found = [
        one
        for store in stores * 3
        for one in store.reserve_slots({"e.org": 3, "f.org": 1}, 0.5)["e.org"]
    ]
    assert len(found) == 18
    assert found[0] == pytest.approx(0, abs=0.2)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert gaps == pytest.approx([0.5] * 17, abs=0.2)
    assert sum(gaps) == pytest.approx(17 * 0.5, abs=0.2)


def test_null_characters_and_long_names_are_stored(workers: Workers) -> None:
    workers.name = "é" * 60
    ledger = workers.open()
    row = ledger.frontier.enqueue(b"a", "http://e.org/a\0b", 0, "{}")
    workers.commit(ledger)
    assert ledger.frontier.queue.take() == (
        row,
        "http://e.org/a\0b".replace("\0", "\ufffd"),
        "{}",
        0,
        0,
    )
    ledger.frontier.finish(row, "failed", "a reason\0")
    workers.commit(ledger)
    assert workers.whole(ledger).frontier.reasons("failed") == [
        ("a reason\ufffd", 1, "http://e.org/a\ufffdb")
    ]


def test_crawl_of_other_schema_version_is_rejected(workers: Workers) -> None:
    ledger = workers.open()
    with workers.store(ledger)._store.transaction() as cursor:
        cursor.execute("UPDATE crawl SET version = 99")
    with pytest.raises(SchemaError, match="another version"):
        Store(workers.url, workers.name).join()


@pytest.mark.parametrize("url", ["mysql://h/db", "postgresql://h:port/db", "h", ""])
def test_invalid_database_url_raises_error(url: str) -> None:
    with pytest.raises(ContentSpiderError, match="postgresql://HOST:PORT/DATABASE"):
        check_url(url)


def test_unreachable_database_raises_store_down_error() -> None:
    with pytest.raises(StoreDownError, match="does not answer"):
        Store("postgresql://127.0.0.1:1/database", "name").join()


def test_address_waiting_in_two_workers_is_counted_once(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    add(first, "a")
    exchange(first, workers.store(first))
    add(second, "a", request=None)
    exchange(second, workers.store(second), 9)
    assert second.frontier.queue.length == 1
    assert take(second)[1] == "a"
    assert (take(second), second.frontier.queue.has()) == ((0, ""), False)


@pytest.mark.parametrize("again", [False, True])
def test_unserializable_request_in_two_workers_is_recorded_once(
    workers: Workers, again: bool
) -> None:
    first, second = workers.open(), workers.open()
    rows = []
    for ledger in (first, second):
        ledger.frontier.enqueue(b"secret", "http://e.org/secret", 0, None, again)
        rows.append(take(ledger)[0])
    workers.commit(first)
    for ledger, row in ((second, rows[1]), (first, rows[0])):
        assert ledger.claims.claim([b"page"], row), "neither knows of the other"
        ledger.items.record(ItemBinding(PAGE, row, row, f"{row}/0"), f"{row}".encode())
        ledger.frontier.finish(row, "released")
        workers.commit(ledger)
    workers.commit(first)
    for _ in range(2):
        workers.commit(second)
    assert not second.is_changed, "it is told once"
    whole = workers.whole(first)
    # What is to be fetched again is sent by both; who claims its page first has it.
    assert list(whole.items.lines()) == [f"{rows[again]}".encode()]
    assert whole.frontier.states() == {"skipped" if again else "released": 1}


def test_address_owned_by_other_worker_is_removed_from_queue(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for ledger in (first, second):
        add(ledger, "secret", request=None)
        exchange(ledger, workers.store(ledger))
    assert (first.frontier.queue.length, second.frontier.queue.length) == (1, 0)
    assert take(second) == (0, "")


def test_repeated_request_is_queued_even_if_other_worker_has_address(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    row = add(first, "a")
    workers.commit(first)
    assert take(first)[0] == row
    for name in "ab":
        second.frontier.enqueue(name.encode(), f"http://e.org/{name}", 0, "{}", again=True)
    ask = second.report()
    workers.store(second).exchange(ask)  # whose answer does not arrive
    second.undo_report(ask)
    exchange(second, workers.store(second), 9)
    assert (second.frontier.queue.length, names(second)) == (2, ["a", "b"])
    add(first, "b")
    assert workers.asked(first, 9) == [], "it is known"
    again = second.frontier.find("http://e.org/a")
    assert again
    second.frontier.finish(again.row, "fetched")
    workers.commit(second)
    assert workers.whole(second).frontier.states() == {"queued": 2, "fetched": 1}
