"""Workers of one crawl together: what they tell each other, who waits, who ends the crawl."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing, nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from contentspider.cluster.messages import LeaveResult, Reply
from contentspider.cluster.store import LeaseLostError, Store
from contentspider.cluster.turns import SharedTurns
from contentspider.page.input.page import Page
from contentspider.site.own.texts import OwnText
from contentspider.site.sample import sample_order
from contentspider.state.ledger.items import ItemBinding
from contentspider.state.ledger.pages import PageSample
from tests.cluster.ledgers import PAGE, Workers, add, exchange, names, take, workers

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.cluster.ledger import SharedLedger

__all__ = ["workers"]


def test_updates_reach_every_other_worker_once(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    own = OwnText("http://e.org/tea", "Tea is made of leaves", "feed")
    first.own_texts.add("e.org", [own], "http://e.org/feed")
    first.share_model("e.org", "{}", b"weights")
    first.share_model("f.org", None, None)
    answer = exchange(first, workers.store(first))
    assert (answer.own_texts, answer.models) == ([], []), "its own are no news"
    answer = exchange(second, workers.store(second))
    assert answer.models == [("e.org", "{}", b"weights"), ("f.org", None, None)]
    assert second.own_texts.of_site("e.org") == [own]
    answer = exchange(second, workers.store(second))
    assert (answer.own_texts, answer.models) == ([], [])
    assert second.own_texts.of_site("e.org") == [own]


def test_updates_of_slow_transaction_are_delivered_later(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    slow, fast = Store(workers.url, workers.name), Store(workers.url, workers.name)
    insert = "INSERT INTO models (site, worker) VALUES (%s, 99)"
    with closing(slow), closing(fast):
        with slow._store.transaction() as cursor:
            cursor.execute(insert, ["slow.org"])
            with fast._store.transaction() as other:
                other.execute(insert, ["fast.org"])
            exchange(second, workers.store(second))
        found = exchange(second, workers.store(second)).models
    sites = [site for site, *_ in found]
    assert sites == ["slow.org", "fast.org"]
    assert [site for site, *_ in exchange(first, workers.store(first)).models] == sites


def test_one_worker_learns_site_from_pages_of_all_workers(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    for number, ledger in enumerate((first, second)):
        page = Page.from_html(f"<p>Tea {number}", f"http://e.org/{number}")
        ledger.items.hold("e.org", {}, ItemBinding(page, key=f"{number}"))
        workers.commit(ledger)
    one, other = workers.store(first), workers.store(second)
    assert one.take_turn("e.org")
    assert one.take_turn("e.org"), "it has it"
    assert not other.take_turn("e.org")
    assert other.take_turn("f.org")
    pages = [page for _, page in one.held_pages("e.org", 0)]
    first.add_to_sample("e.org", pages, lambda url: False)
    assert [page.url for page in first.pages.sample("e.org")] == ["http://e.org/1"]
    one.end_turn("e.org")
    assert other.take_turn("e.org")
    workers.end_lease(second)
    workers.commit(first)
    assert one.take_turn("e.org"), "the other is lost"


def test_last_worker_ends_crawl_and_next_crawl_starts_anew(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    add(first, "a")
    workers.commit(first)
    row, _ = take(first)
    assert workers.store(second).leave("finished") is LeaveResult.CONTINUED
    first.frontier.finish(row, "fetched")
    workers.commit(first)
    assert workers.store(first).leave("finished") is LeaveResult.ENDS_CRAWL
    third = workers.open()
    assert workers.store(third).leave("finished") is LeaveResult.CONTINUED, "the last is at it"
    late = workers.open()
    workers.store(first).finish("finished")
    assert workers.store(late).leave("finished") is LeaveResult.CONTINUED, "it is done"
    fourth = workers.open()
    assert workers.whole(fourth).frontier.states() == {}
    assert add(fourth, "a"), "the next crawl does not know it"


def test_idle_worker_waits_for_busy_workers(workers: Workers) -> None:
    busy, idle = workers.open(), workers.open()
    row = workers.hold(busy)

    def told(ledger: SharedLedger, is_idle: bool) -> Reply:
        return workers.store(ledger).exchange(ledger.report(is_idle=is_idle))

    answer = told(idle, True)
    assert (answer.is_open, answer.is_busy) == (False, True), "it may be lost"
    workers.end_lease(busy)
    answer = told(idle, True)
    assert [number for number, *_ in answer.held] == [row]
    assert not answer.is_busy
    other = workers.open()
    assert told(idle, False).is_busy, "it has just begun"
    told(other, True)
    assert not told(idle, False).is_busy


def test_last_worker_keeps_lease_while_busy(tmp_path: Path, workers: Workers) -> None:
    store, other = Store(workers.url, workers.name, 0.6), workers.open()
    with closing(store):
        store.join()
        workers.store(other).leave("finished")
        assert store.leave("finished") is LeaveResult.ENDS_CRAWL
        with store.renewed_lease():
            late = workers.open()
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                exchange(late, workers.store(late))
        store.finish("finished")


def test_leaving_worker_returns_its_addresses(workers: Workers) -> None:
    first = workers.open()
    for name in "abc":
        add(first, name)
    workers.commit(first)
    take(first)
    add(first, "secret", request=None)
    workers.commit(first)
    assert workers.store(first).leave("shutdown") is LeaveResult.UNFINISHED
    with pytest.raises(LeaseLostError):
        workers.commit(first)
    second = workers.open()
    assert sorted(names(second)) == ["a", "b", "c"]
    assert workers.store(second).leave("finished") is LeaveResult.UNFINISHED, "they are not fetched"
    third = workers.open()
    assert workers.store(third).leave("closespider_itemcount") is LeaveResult.ENDS_CRAWL, (
        "a wanted end"
    )


def test_held_items_of_leaving_worker_pass_to_next_worker(workers: Workers) -> None:
    first = workers.open()
    row = workers.hold(first)
    assert workers.store(first).leave("shutdown") is LeaveResult.UNFINISHED
    second = workers.open()
    assert second.items.held_counts() == {"e.org": 1}
    ((_, hand),) = second.items.release("e.org")
    second.items.record(hand, b"{}")
    second.frontier.mark_released(row, "released", None)
    workers.commit(second)
    assert workers.store(second).leave("finished") is LeaveResult.ENDS_CRAWL
    assert workers.whole(second).frontier.states() == {"released": 1}


def test_crawl_with_lost_worker_is_unfinished(workers: Workers) -> None:
    lost, last = workers.open(), workers.open()
    add(lost, "a")
    workers.commit(lost)
    workers.kill(lost)
    assert workers.store(last).leave("finished") is LeaveResult.UNFINISHED


def test_takeover_is_repeated_after_lost_response(workers: Workers) -> None:
    lost, heir = workers.open(), workers.open()
    rows = []
    for name in "ab":
        add(lost, name)
        workers.commit(lost)
        row, _ = take(lost)
        rows.append(row)
        lost.items.hold("e.org", {"name": name}, ItemBinding(PAGE, row, row, f"{row}/0"))
        lost.frontier.finish(row, "held")
    workers.commit(lost)
    workers.end_lease(lost)
    store = workers.store(heir)
    store.exchange(heir.report())  # whose answer does not arrive
    store._has_last_reply = False
    workers.commit(heir)
    assert heir.items.held_counts() == {"e.org": 2}
    ((_, hand), _) = heir.items.release("e.org")
    ask = heir.report()
    store._has_last_reply = False
    answer = store.exchange(ask)
    heir.items.record(hand, b"{}")  # meanwhile
    heir.frontier.mark_released(rows[0], "released", None)
    heir.apply(answer)
    assert heir.items.held_counts() == {"e.org": 1}
    workers.commit(heir)
    assert workers.whole(heir).frontier.states() == {"held": 1, "released": 1}


def test_work_of_own_worker_does_not_keep_crawl_open(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    add(first, "a")
    workers.commit(first)
    assert not exchange(first, workers.store(first)).is_open, "the engine knows of it"
    assert exchange(second, workers.store(second)).is_open


def test_worker_gets_rare_templates_of_other_workers(workers: Workers) -> None:
    first, second = workers.open(), workers.open()
    addresses = sorted((f"http://e.org/{n}" for n in range(12)), key=sample_order)
    for number, url in enumerate(addresses):
        html = "<ul><li>Tea" if number == 11 else "<p>Tea"
        second.pages.offer("e.org", Page.from_html(html, url))
    workers.commit(second)
    sample = [Page.load(data).url for data in workers.store(first).sample("e.org", 5)]
    assert set(sample) == {*addresses[:5], addresses[11]}


def test_sample_is_chosen_from_all_held_pages_of_other_workers(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rare templates and examples of own fields are among them."""
    monkeypatch.setattr("contentspider.cluster.store.PAGE_ROWS", 3)
    first, second = workers.open(), workers.open()
    addresses = sorted((f"http://e.org/{n}" for n in range(12)), key=sample_order)
    for number, url in enumerate(addresses):
        html = "<ul><li>Tea" if number == 10 else "<p>Tea"
        second.items.hold("e.org", {}, ItemBinding(Page.from_html(html, url), key=url))
    workers.commit(second)
    first.pages = PageSample(first._database, 4)

    async def call_store(call: Any, *values: Any) -> Any:
        return call(*values)

    keeper: Any = SimpleNamespace(
        ledger=first, store=workers.store(first), guarded=nullcontext(), call_store=call_store
    )
    turns = SharedTurns(keeper, lambda url: url == addresses[11])
    assert asyncio.run(turns.take("e.org"))
    urls = {page.url for page in first.pages.sample("e.org")}
    assert urls == {*addresses[:3], addresses[10], addresses[11]}
