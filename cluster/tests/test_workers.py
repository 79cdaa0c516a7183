"""Workers of one crawl at the same time: who has what, who may write, who ends the crawl."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.site.own.texts import OwnText
from contentspider.state.ledger.database import SchemaError
from contentspider.state.ledger.items import PageInHand
from contentspider_cluster.ledger import Wishes
from contentspider_cluster.store import (
    Answer,
    Ask,
    LeaseLostError,
    Leaving,
    Store,
    StoreDownError,
    check_url,
)
from ledgers import Workers
from test_ledger_contract import PAGE, VISIT, add, take
from tests.servers import postgresql_server, shared, skip_without

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider_cluster.ledger import SharedLedger


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    skip_without("postgresql")
    server = shared(postgresql_server)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    with closing(Workers(tmp_path, server.url)) as made:
        yield made


def names(ledger: SharedLedger) -> list[str]:
    found = []
    while name := take(ledger)[1]:
        found.append(name)
    return found


def asked(workers: Workers, ledger: SharedLedger, room: int) -> list[str]:
    ledger.exchange(workers.store(ledger), room)
    return names(ledger)


def test_each_address_is_in_one_hand(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for number in range(10):
        add(first, f"{number}")
        add(second, f"{number}")
    for ledger in (first, second):
        ledger.exchange(workers.store(ledger))
    found = [asked(workers, first, 3), asked(workers, second, 100), asked(workers, first, 100)]
    assert [len(each) for each in found] == [3, 7, 0]
    assert sorted(found[0] + found[1]) == [str(number) for number in range(10)]


def test_a_worker_takes_no_more_than_it_has_room_for(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for number in range(10):
        add(first, f"{number}")
    first.exchange(workers.store(first), 4)
    first.exchange(workers.store(first), 4)
    assert first.frontier.queue.length == 4
    assert sorted(names(first) + asked(workers, second, 9)) == [str(n) for n in range(10)]


def test_what_a_stalled_worker_did_after_its_lease_was_over_counts_for_nothing(
    workers: Workers,
) -> None:
    stalled, other = workers.open(), workers.open()
    add(stalled, "a")
    workers.commit(stalled)
    row, _ = take(stalled)
    workers.end_lease(stalled)
    workers.commit(other)
    assert take(other) == (row, "a"), "taken over"
    stalled.items.record(PageInHand(PAGE, row, row, f"{row}/0"), b"late")
    stalled.frontier.finish(row, "released")
    for _ in range(2):
        with pytest.raises(LeaseLostError, match="start it again"):
            workers.commit(stalled)
    with pytest.raises(LeaseLostError):
        workers.store(stalled).leave("finished")
    other.items.record(PageInHand(PAGE, row, row, f"{row}/0"), b"in time")
    other.frontier.finish(row, "released")
    workers.commit(other)
    assert list(workers.whole(other).items.lines()) == [b"in time"]


def test_a_stalled_worker_of_which_nobody_took_anything_goes_on(workers: Workers) -> None:
    ledger = workers.open()
    add(ledger, "a")
    workers.commit(ledger)
    workers.end_lease(ledger)
    row, _ = take(ledger)
    ledger.frontier.finish(row, "fetched")
    workers.commit(ledger)
    other = workers.open()
    assert take(other) == (0, "")


def test_an_answer_that_is_lost_loses_no_address(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = workers.open()
    add(ledger, "a")
    workers.commit(ledger)
    row, _ = take(ledger)
    add(ledger, "b")
    ledger.frontier.finish(row, "fetched")
    store = workers.store(ledger)
    exchange = store.exchange

    def cut_off(ask: Ask) -> Any:
        with closing(store._store):
            store._is_sure = True
            made = exchange(ask)
        store._is_sure = False  # as where the connection breaks after the commit
        raise StoreDownError(f"cut off with {len(made.taken)}")

    with monkeypatch.context() as patch:
        patch.setattr(store, "exchange", cut_off)
        with pytest.raises(StoreDownError, match="cut off with 1"):
            ledger.exchange(store, 9)
    assert take(ledger) == (0, "")
    ledger.exchange(store, 9)
    row, name = take(ledger)
    assert name == "b"
    ledger.exchange(store, 9)
    assert take(ledger) == (0, ""), "it comes once"
    ledger.frontier.finish(row, "fetched")
    ledger.exchange(store, 9)
    assert workers.whole(ledger).frontier.states() == {"fetched": 2}


def test_two_workers_that_find_the_same_links_do_not_wait_in_a_circle(workers: Workers) -> None:
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
                asks.append((workers.store(ledger), ledger.ask(Wishes())))
            for answer in pool.map(lambda pair: pair[0].exchange(pair[1]), asks):
                assert not answer.taken
    ledgers[0].exchange(workers.store(ledgers[0]), 9_000)
    assert ledgers[0].frontier.queue.length == 20 * 200


def test_the_page_that_two_claim_at_a_time_comes_out_of_one(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for ledger, name in ((first, "a"), (second, "b")):
        add(ledger, name)
        workers.commit(ledger)
        row, found = take(ledger)
        assert found == name
        assert ledger.claims.claim([b"page"], row), "neither knows of the other"
        ledger.items.hold("e.org", {"name": name}, PageInHand(PAGE, row, row, f"{row}/0"))
        ledger.visits.note(VISIT, row, name, None)
        ledger.frontier.finish(row, "held")
    workers.commit(first)
    workers.commit(second)
    assert (first.items.held_counts(), second.items.held_counts()) == ({"e.org": 1}, {})
    # What comes of it later is not shared, either.
    assert second.items.record(PageInHand(PAGE, row, row, f"{row}/1"), b"twice")
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


def test_news_come_once_to_all_others(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    own = OwnText("http://e.org/tea", "Tea is made of leaves", "feed")
    first.own_texts.add("e.org", [own], "http://e.org/feed")
    first.publish("e.org", "{}", b"weights")
    first.publish("f.org", None, None)
    answer = first.exchange(workers.store(first))
    assert (answer.own_texts, answer.models) == ([], []), "its own are no news"
    answer = second.exchange(workers.store(second))
    assert answer.models == [("e.org", "{}", b"weights"), ("f.org", None, None)]
    assert second.own_texts.of_site("e.org") == [own]
    answer = second.exchange(workers.store(second))
    assert (answer.own_texts, answer.models) == ([], [])
    assert second.own_texts.of_site("e.org") == [own]


def test_news_of_a_slow_transaction_are_not_passed_over(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    slow, fast = Store(workers.url, workers.name), Store(workers.url, workers.name)
    insert = "INSERT INTO models (site, worker) VALUES (%s, 99)"
    with closing(slow), closing(fast):
        with slow._store.transaction() as cursor:
            cursor.execute(insert, ["slow.org"])
            with fast._store.transaction() as other:
                other.execute(insert, ["fast.org"])
            second.exchange(workers.store(second))
        found = second.exchange(workers.store(second)).models
    sites = [site for site, *_ in found]
    assert sites == ["slow.org", "fast.org"]
    assert [site for site, *_ in first.exchange(workers.store(first)).models] == sites


def test_one_learns_a_site_from_the_pages_of_all(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for number, ledger in enumerate((first, second)):
        page = Page.from_html(f"<p>Tea {number}", f"http://e.org/{number}")
        ledger.items.hold("e.org", {}, PageInHand(page, key=f"{number}"))
        workers.commit(ledger)
    one, other = workers.store(first), workers.store(second)
    assert one.take_turn("e.org")
    assert one.take_turn("e.org"), "it has it"
    assert not other.take_turn("e.org")
    assert other.take_turn("f.org")
    first.add_to_sample("e.org", one.sample("e.org", 9))
    assert [page.url for page in first.pages.sample("e.org")] == ["http://e.org/1"]
    one.end_turn("e.org")
    assert other.take_turn("e.org")
    workers.end_lease(second)
    workers.commit(first)
    assert one.take_turn("e.org"), "the other is lost"


def test_times_of_requests_are_given_out_once(workers: Workers) -> None:
    stores = [workers.store(workers.open()) for _ in range(2)]
    found = [
        one for store in stores * 3 for one in store.slots({"e.org": 3, "f.org": 1}, 0.5)["e.org"]
    ]
    assert len(found) == 18
    assert found[0] == pytest.approx(0, abs=0.2)
    gaps = [later - earlier for earlier, later in pairwise(found)]
    assert gaps == pytest.approx([0.5] * 17, abs=0.2)
    assert sum(gaps) == pytest.approx(17 * 0.5, abs=0.2)


def test_the_last_one_ends_the_crawl_and_the_next_begins_anew(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    add(first, "a")
    workers.commit(first)
    row, _ = take(first)
    assert workers.store(second).leave("finished") is Leaving.TO_OTHERS
    first.frontier.finish(row, "fetched")
    workers.commit(first)
    assert workers.store(first).leave("finished") is Leaving.TO_END
    third = workers.open()
    assert workers.store(third).leave("finished") is Leaving.TO_OTHERS, "the last is at it"
    late = workers.open()
    workers.store(first).finish("finished")
    assert workers.store(late).leave("finished") is Leaving.TO_OTHERS, "it is done"
    fourth = workers.open()
    assert workers.whole(fourth).frontier.states() == {}
    assert add(fourth, "a"), "the next crawl does not know it"


def test_who_has_nothing_to_do_waits_for_those_who_have(workers: Workers) -> None:
    busy, idle = workers.open(), workers.open()
    add(busy, "a")
    workers.commit(busy)
    row, _ = take(busy)
    busy.items.hold("e.org", {}, PageInHand(PAGE, row, row, f"{row}/0"))
    busy.frontier.finish(row, "held")
    workers.commit(busy)

    def exchange(ledger: SharedLedger, is_idle: bool) -> Answer:
        ask = ledger.ask(Wishes())
        ask.is_idle = is_idle
        return workers.store(ledger).exchange(ask)

    answer = exchange(idle, True)
    assert (answer.is_open, answer.is_busy) == (False, True), "it may be lost"
    workers.end_lease(busy)
    answer = exchange(idle, True)
    assert [number for number, *_ in answer.held] == [row]
    assert not answer.is_busy
    other = workers.open()
    assert exchange(idle, False).is_busy, "it has just begun"
    exchange(other, True)
    assert not exchange(idle, False).is_busy


def test_the_last_one_keeps_its_lease_while_it_is_busy(tmp_path: Path, workers: Workers) -> None:
    store, other = Store(workers.url, workers.name, 0.6), workers.open()
    with closing(store):
        store.join()
        workers.store(other).leave("finished")
        assert store.leave("finished") is Leaving.TO_END
        with store.kept():
            late = workers.open()
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                late.exchange(workers.store(late))
        store.finish("finished")


def test_who_leaves_gives_back_what_it_has(workers: Workers) -> None:
    first = workers.open()
    for name in "abc":
        add(first, name)
    workers.commit(first)
    take(first)
    add(first, "secret", request=None)
    workers.commit(first)
    assert workers.store(first).leave("shutdown") is Leaving.UNFINISHED
    with pytest.raises(LeaseLostError):
        workers.commit(first)
    second = workers.open()
    assert sorted(names(second)) == ["a", "b", "c"]
    assert workers.store(second).leave("finished") is Leaving.UNFINISHED, "they are not fetched"
    third = workers.open()
    assert workers.store(third).leave("closespider_itemcount") is Leaving.TO_END, "a wanted end"


def test_items_that_are_held_by_who_leaves_are_held_by_who_comes(workers: Workers) -> None:
    first = workers.open()
    add(first, "a")
    workers.commit(first)
    row, _ = take(first)
    first.items.hold("e.org", {}, PageInHand(PAGE, row, row, f"{row}/0"))
    first.frontier.finish(row, "held")
    workers.commit(first)
    assert workers.store(first).leave("shutdown") is Leaving.UNFINISHED
    second = workers.open()
    assert second.items.held_counts() == {"e.org": 1}
    ((_, hand),) = second.items.release("e.org")
    second.items.record(hand, b"{}")
    second.frontier.mark_released(row, "released", None)
    workers.commit(second)
    assert workers.store(second).leave("finished") is Leaving.TO_END
    assert workers.whole(second).frontier.states() == {"released": 1}


def test_what_is_done_where_others_died_is_not_the_end(workers: Workers) -> None:
    lost, last = workers.open(), workers.open()
    add(lost, "a")
    workers.commit(lost)
    workers.kill(lost)
    assert workers.store(last).leave("finished") is Leaving.UNFINISHED


def test_odd_texts_and_names_are_kept(workers: Workers) -> None:
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


def test_another_version_s_crawl_is_left_alone(workers: Workers) -> None:
    ledger = workers.open()
    with workers.store(ledger)._store.transaction() as cursor:
        cursor.execute("UPDATE crawl SET version = 99")
    with pytest.raises(SchemaError, match="another version"):
        Store(workers.url, workers.name).join()


@pytest.mark.parametrize("url", ["mysql://h/db", "postgresql://h:port/db", "h", ""])
def test_what_is_no_address_is_said(url: str) -> None:
    with pytest.raises(ContentSpiderError, match="postgresql://HOST:PORT/DATABASE"):
        check_url(url)


def test_a_server_that_is_not_there_is_said() -> None:
    with pytest.raises(StoreDownError, match="does not answer"):
        Store("postgresql://127.0.0.1:1/database", "name").join()


def test_what_was_taken_over_is_told_again_when_the_answer_was_lost(workers: Workers) -> None:
    lost, heir = workers.open(), workers.open()
    rows = []
    for name in "ab":
        add(lost, name)
        workers.commit(lost)
        row, _ = take(lost)
        rows.append(row)
        lost.items.hold("e.org", {"name": name}, PageInHand(PAGE, row, row, f"{row}/0"))
        lost.frontier.finish(row, "held")
    workers.commit(lost)
    workers.end_lease(lost)
    store = workers.store(heir)
    store.exchange(heir.ask(Wishes()))  # whose answer does not arrive
    store._is_sure = False
    workers.commit(heir)
    assert heir.items.held_counts() == {"e.org": 2}
    ((_, hand), _) = heir.items.release("e.org")
    ask = heir.ask(Wishes())
    store._is_sure = False
    answer = store.exchange(ask)
    heir.items.record(hand, b"{}")  # meanwhile
    heir.frontier.mark_released(rows[0], "released", None)
    heir.take(answer)
    assert heir.items.held_counts() == {"e.org": 1}
    workers.commit(heir)
    assert workers.whole(heir).frontier.states() == {"held": 1, "released": 1}


def test_what_waits_twice_is_counted_once(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    add(first, "a")
    first.exchange(workers.store(first))
    add(second, "a", request=None)
    second.exchange(workers.store(second), 9)
    assert second.frontier.queue.length == 1
    assert take(second)[1] == "a"
    assert (take(second), second.frontier.queue.has()) == ((0, ""), False)


def test_own_work_does_not_keep_a_crawl_open(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    add(first, "a")
    workers.commit(first)
    assert not first.exchange(workers.store(first)).is_open, "the engine knows of it"
    assert second.exchange(workers.store(second)).is_open
