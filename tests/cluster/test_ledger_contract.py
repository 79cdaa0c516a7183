"""What every ledger promises, be it of one process or of several that share a crawl."""

from __future__ import annotations

from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from contentspider.site.own.texts import OwnText
from contentspider.state.ledger.database import LedgerBusyError
from contentspider.state.ledger.items import ItemBinding
from contentspider.state.ledger.own_texts import OwnAnswer
from contentspider.state.ledger.visits import Answer
from tests.cluster.ledgers import PAGE, VISIT, OneProcess, Workers, add, database, take

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.state.ledger.ledger import Ledger
    from tests.cluster.ledgers import Crawl


@pytest.fixture(params=["sqlite", "postgresql"])
def crawl(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Crawl]:
    if request.param == "sqlite":
        yield OneProcess(tmp_path)
        return
    with closing(Workers(tmp_path, database(monkeypatch))) as workers:
        yield workers


def found(ledger: Ledger, *names: str) -> list[int]:
    """Return the rows of addresses that were found, and are handed out."""
    for name in names:
        add(ledger, name)
    return [take(ledger)[0] for _ in names]


def test_addresses_are_taken_once_by_priority_then_age(crawl: Crawl) -> None:
    ledger = crawl.open()
    for name, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 5)):
        assert add(ledger, name, priority)
    assert not add(ledger, "first", 9), "it is known"
    crawl.commit(ledger)
    assert ledger.frontier.queue.length == 4
    order = [take(ledger)[1] for _ in range(5)]
    assert order == ["high", "first", "second", "low", ""]
    assert not add(ledger, "first"), "it still is"
    crawl.kill(ledger)


def test_only_committed_work_survives_kill(crawl: Crawl) -> None:
    ledger = crawl.open()
    add(ledger, "kept")
    crawl.commit(ledger)
    row, _ = take(ledger)
    ledger.frontier.finish(row, "fetched")
    crawl.commit(ledger)
    add(ledger, "lost")
    crawl.kill(ledger)
    ledger = crawl.open()
    assert take(ledger) == (0, "")
    assert crawl.whole(ledger).frontier.states() == {"fetched": 1}
    crawl.kill(ledger)


def test_addresses_in_progress_at_death_are_taken_again(crawl: Crawl) -> None:
    ledger = crawl.open()
    for name in "ab":
        add(ledger, name)
    crawl.commit(ledger)
    take(ledger)
    crawl.commit(ledger)
    crawl.kill(ledger)
    ledger = crawl.open()
    assert {take(ledger)[1], take(ledger)[1]} == {"a", "b"}
    crawl.kill(ledger)


def test_only_address_that_kills_repeatedly_is_set_aside(crawl: Crawl) -> None:
    ledger = crawl.open()
    add(ledger, "killer", 1)
    for number in range(10):
        add(ledger, f"page-{number}")
    crawl.commit(ledger)
    done = 0
    for _ in range(10):
        _, name = take(ledger)
        if name != "killer":
            break
        crawl.commit(ledger)
        crawl.kill(ledger)
        ledger = crawl.open()
    while name:
        done += name != "killer"
        row = ledger.frontier.find(f"http://e.org/{name}")
        assert row
        ledger.frontier.finish(row.row, "fetched")
        crawl.commit(ledger)
        _, name = take(ledger)
    states = crawl.whole(ledger).frontier.states()
    assert (done, states) == (10, {"fetched": 10, "failed": 1})
    crawl.kill(ledger)


def test_temporarily_failed_address_is_retried_by_next_process(crawl: Crawl) -> None:
    ledger = crawl.open()
    for name in "ab":
        add(ledger, name)
    crawl.commit(ledger)
    for state in ("retry", "failed"):
        ledger.frontier.finish(take(ledger)[0], state, "HTTP 503")
    crawl.commit(ledger)
    assert (ledger.frontier.unread, take(ledger)[1]) == (1, "")
    crawl.kill(ledger)
    ledger = crawl.open()
    assert (take(ledger)[1], take(ledger)[1]) == ("a", "")
    crawl.kill(ledger)


def test_address_to_retry_is_taken_again_by_same_process(crawl: Crawl) -> None:
    ledger = crawl.open()
    for name in "ab":
        add(ledger, name)
    crawl.commit(ledger)
    rows = [take(ledger)[0] for _ in "ab"]
    for row in rows:
        ledger.frontier.finish(row, "retry", "HTTP 503")
    crawl.commit(ledger)
    assert ledger.claims.claim([b"page"], rows[0])
    ledger.frontier.skip_copy(rows[1], "duplicate", rows[0])
    assert ledger.frontier.requeue_failed(rows) == 1
    crawl.commit(ledger)
    assert (take(ledger), take(ledger)) == ((rows[0], "a"), (0, ""))
    ledger.frontier.finish(rows[0], "fetched")
    crawl.commit(ledger)
    whole = crawl.whole(ledger)
    assert whole.frontier.states() == {"fetched": 1, "skipped": 1}
    copy = whole.frontier.find("http://e.org/b")
    assert copy is not None
    assert (copy.reason, copy.target) == ("duplicate", "http://e.org/a")
    crawl.kill(ledger)


def test_finished_address_is_taken_again_only_with_dont_filter(crawl: Crawl) -> None:
    ledger = crawl.open()
    add(ledger, "a")
    crawl.commit(ledger)
    row, _ = take(ledger)
    ledger.frontier.finish(row, "fetched")
    crawl.commit(ledger)
    assert not ledger.frontier.enqueue(b"a", "http://e.org/a", 0, "{}")
    crawl.commit(ledger)
    assert take(ledger) == (0, "")
    assert ledger.frontier.enqueue(b"a", "http://e.org/a", 0, "{}", again=True) == row
    crawl.commit(ledger)
    assert (take(ledger), take(ledger)) == ((row, "a"), (0, ""))
    crawl.kill(ledger)


def test_address_is_in_hand_of_one_process_at_a_time(crawl: Crawl) -> None:
    ledger = crawl.open()
    add(ledger, "a")
    crawl.commit(ledger)
    assert take(ledger)[1] == "a"
    with suppress(LedgerBusyError):  # a ledger in SQLite has one process at a time
        assert take(crawl.open()) == (0, "")
    crawl.kill(ledger)
    ledger = crawl.open()
    assert take(ledger)[1] == "a"
    crawl.kill(ledger)


def test_unserializable_request_ends_with_its_process(crawl: Crawl) -> None:
    ledger = crawl.open()
    add(ledger, "secret", request=None)
    assert take(ledger)[1] == "secret", "at once, and here"
    crawl.commit(ledger)
    crawl.kill(ledger)
    ledger = crawl.open()
    assert take(ledger) == (0, "")
    assert crawl.whole(ledger).frontier.states() in ({}, {"taken": 1})
    crawl.kill(ledger)


def test_item_is_recorded_once_despite_kill(crawl: Crawl) -> None:
    ledger = crawl.open()
    add(ledger, "a")
    crawl.commit(ledger)
    row, _ = take(ledger)
    hand = ItemBinding(PAGE, row, row, f"{row}/0", page_id="page")
    assert ledger.items.record(hand, b'{"text": "tea"}')
    crawl.commit(ledger)
    crawl.kill(ledger)
    ledger = crawl.open()
    again, _ = take(ledger)
    assert again == row
    ledger.items.record(hand, b'{"text": "tea again"}')
    ledger.frontier.finish(row, "released")
    crawl.commit(ledger)
    whole = crawl.whole(ledger)
    assert list(whole.items.lines()) == [b'{"text": "tea"}']
    assert whole.frontier.states() == {"released": 1}
    crawl.kill(ledger)


def test_held_items_stay_held_until_recorded_despite_kill(crawl: Crawl) -> None:
    ledger = crawl.open()
    for name in "ab":
        add(ledger, name)
    crawl.commit(ledger)
    for _ in "ab":
        row, name = take(ledger)
        assert ledger.items.hold("e.org", {"name": name}, ItemBinding(PAGE, row, row, f"{row}/0"))
        ledger.frontier.finish(row, "held")
    crawl.commit(ledger)
    crawl.kill(ledger)
    ledger = crawl.open()
    assert ledger.items.held_counts() == {"e.org": 2}
    (item, hand), (other, _) = ledger.items.release("e.org")
    assert [item, other] == [{"name": "a"}, {"name": "b"}]
    assert hand.page == PAGE
    assert not ledger.items.hold("e.org", item, hand), "it is held"
    assert ledger.items.record(hand, b"{}")
    assert hand.address_row
    ledger.frontier.mark_released(hand.address_row, "released", None)
    crawl.commit(ledger)
    crawl.kill(ledger)
    ledger = crawl.open()
    whole = crawl.whole(ledger)
    assert whole.items.held_counts() == {"e.org": 1}
    assert list(whole.items.lines()) == [b"{}"]
    assert whole.frontier.states() == {"held": 1, "released": 1}
    crawl.kill(ledger)


def test_redirect_to_page_of_held_item_survives_kill(crawl: Crawl) -> None:
    ledger = crawl.open()
    add(ledger, "a")
    crawl.commit(ledger)
    row, _ = take(ledger)
    answer = Answer('"1"', moved_from=(("http://e.org/t", "HTTP 301"),))
    ledger.visits.answer(row, answer)
    ledger.items.hold("e.org", {}, ItemBinding(PAGE, row, row, f"{row}/0"))
    ledger.frontier.finish(row, "held")
    crawl.commit(ledger)
    crawl.kill(ledger)
    ledger = crawl.open()
    ((_, hand),) = ledger.items.release("e.org")
    assert ledger.visits.answer_of(hand.page_row) == answer
    crawl.kill(ledger)


def test_page_with_later_own_text_is_in_sample_once(crawl: Crawl) -> None:
    ledger = crawl.open()
    for has_own_text in (False, True):
        ledger.pages.offer("e.org", PAGE, has_own_text)
        crawl.commit(ledger)
    assert list(crawl.whole(ledger).pages.sample("e.org")) == [PAGE]
    crawl.kill(ledger)


def test_first_claim_of_page_wins(crawl: Crawl) -> None:
    ledger = crawl.open()
    for name in "ab":
        add(ledger, name)
    crawl.commit(ledger)
    first, second = take(ledger)[0], take(ledger)[0]
    assert ledger.claims.claim([b"page"], first)
    assert not ledger.claims.claim([b"page"], second)
    ledger.frontier.finish(second, "skipped", "duplicate")
    ledger.frontier.finish(first, "fetched")
    crawl.commit(ledger)
    crawl.kill(ledger)
    ledger = crawl.open()
    whole = crawl.whole(ledger)
    assert whole.claims.has([b"page"], second)
    found = whole.frontier.find("http://e.org/b")
    assert found
    assert (found.state, found.target) == ("skipped", "http://e.org/a")
    crawl.kill(ledger)


def test_results_of_crawl_are_complete_at_its_end(crawl: Crawl) -> None:
    ledger = crawl.open()
    add(ledger, "tea")
    crawl.commit(ledger)
    row, _ = take(ledger)
    answer = Answer(
        '"1"', "yesterday", ("http://e.org/a",), (("http://e.org/t", "HTTP 301"),), True
    )
    ledger.visits.answer(row, answer)
    ledger.visits.note(VISIT, row, "Tea is made of leaves", PAGE.dump())
    ledger.visits.note_lastmod("page", has_changed=True)
    ledger.pages.offer("e.org", PAGE)
    own = OwnText("http://e.org/tea", "Tea is made of leaves", "feed")
    ledger.own_texts.add("e.org", [own], "http://e.org/feed")
    ledger.own_texts.note(OwnAnswer("e.org", "http://e.org/feed", '"2"', "today"))
    ledger.runs.set_fact("learned", ["e.org"])
    crawl.commit(ledger)
    crawl.kill(ledger)
    ledger = crawl.open()
    whole = crawl.whole(ledger)
    (seen,) = whole.visits.after(0)
    assert (seen.visit, seen.answer, seen.content) == (VISIT, answer, "Tea is made of leaves")
    assert seen.page == PAGE.dump()
    assert list(whole.visits.changed_by_lastmod()) == ["page"]
    assert list(whole.pages.sample("e.org")) == [PAGE]
    assert whole.own_texts.of_site("e.org") == [own]
    (known,) = whole.own_texts.answers()
    assert (known.etag, known.texts) == ('"2"', (own,))
    assert whole.runs.fact("learned") == ["e.org"]
    crawl.kill(ledger)
