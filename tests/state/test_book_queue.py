"""The queue of a book: what is asked next, and again, and what a kill leaves of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.state.book.book import Book
from tests.books import killed

if TYPE_CHECKING:
    from pathlib import Path


def test_queue_orders_by_priority_then_age_and_deduplicates(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    for name, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 5)):
        assert book.frontier.enqueue(name.encode(), f"http://x/{name}", priority, "{}")
    assert not book.frontier.enqueue(b"first", "http://x/first", 9, "{}")
    assert (book.frontier.knows(b"first"), book.frontier.knows(b"other")) == (True, False)
    assert book.frontier.queue.length == 4
    taken = [book.frontier.queue.take() for _ in range(4)]
    assert [entry[1].rpartition("/")[2] for entry in taken if entry] == [
        "high",
        "first",
        "second",
        "low",
    ]
    assert book.frontier.queue.take() is None
    assert book.frontier.knows(b"first")
    assert book.frontier.enqueue(b"first", "http://x/first", 0, "{}", again=True)
    assert book.frontier.queue.length == 1
    book.close()


def test_uncommitted_work_is_repeated_after_kill(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    for name in "abc":
        book.frontier.enqueue(name.encode(), f"http://x/{name}", 0, "{}")
    assert book.frontier.queue.take()
    assert book.frontier.queue.take()
    book.frontier.finish(1, "failed", "HTTP 404")
    book.commit()
    assert book.frontier.queue.take()
    book.frontier.finish(3, "fetched")
    book.frontier.enqueue(b"d", "http://x/d", 0, "{}")
    again = killed(book)
    assert again.runs.all()[-1].ended is None
    again.begin_run()
    assert again.frontier.states() == {"queued": 2, "failed": 1}
    assert again.frontier.reasons("failed") == [("HTTP 404", 1, "http://x/a")]
    assert [
        entry[1] for entry in (again.frontier.queue.take(), again.frontier.queue.take()) if entry
    ] == [
        "http://x/b",
        "http://x/c",
    ]
    again.end_run("finished")
    assert [run.reason for run in again.runs.all()] == [None, "finished"]
    again.close()


def test_address_may_claim_same_texts_again(path: Path) -> None:
    book = Book(path)
    assert book.claims.claim([b"one", b"two"], 1)
    assert not book.claims.claim([b"three", b"two"], 2)
    assert book.claims.claim([b"three"], 3), "nothing is claimed in part"
    assert book.claims.claim([b"one", b"two"], 1)
    book.close()


def test_temporary_failures_are_retried_and_queued_by_next_run(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    rows = [book.frontier.enqueue(name, f"http://x/{name!r}", 0, "{}") for name in (b"a", b"b")]
    gone = book.frontier.enqueue(b"gone", "http://x/gone", 0, "{}")
    for _ in range(3):
        book.frontier.queue.take()
    for row in rows:
        book.frontier.finish(row, "retry", "HTTP 503")
    book.frontier.finish(gone, "failed", "HTTP 404")
    assert (book.frontier.unread, book.frontier.queue.length) == (2, 0)
    assert book.frontier.requeue_failed(rows[:1]) == 1
    assert book.frontier.queue.length == 1
    book.end_run("incomplete")
    again = killed(book)
    again.begin_run()
    assert (again.frontier.unread, again.frontier.queue.length) == (0, 2)
    again.close()


def test_page_that_kills_three_runs_is_set_aside(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    book.frontier.enqueue(b"killer", "http://x/killer", 1, "{}")
    book.frontier.enqueue(b"other", "http://x/other", 0, "{}")
    for deaths in range(3):
        assert book.frontier.queue.take() == (1, "http://x/killer", "{}", 1, deaths)
        book.commit()
        book = killed(book)
        assert book.begin_run() == (["http://x/killer"] if deaths == 2 else [])
    assert book.frontier.reasons("failed") == [
        ("3 runs died with it in flight: it is set aside", 1, "http://x/killer")
    ]
    taken = book.frontier.queue.take()
    assert taken
    assert taken[1] == "http://x/other"
    book.close()


def test_orderly_shutdowns_are_not_blamed_on_pages_in_progress(path: Path) -> None:
    book = Book(path)
    for _ in range(4):
        assert book.begin_run() == []
        book.frontier.enqueue(b"slow", "http://x/slow", 0, "{}")
        taken = book.frontier.queue.take()
        assert taken
        assert taken[4] == 0
        book.end_run("shutdown")
        book = killed(book)
    book.close()


def test_committed_row_numbers_are_never_reused(path: Path) -> None:
    book = Book(path)
    book.begin_run()
    first = book.frontier.enqueue(b"a", "http://x/a", 0, None)
    again = killed(book)
    again.begin_run()
    assert again.frontier.enqueue(b"b", "http://x/b", 0, "{}") == first, "it was not committed"
    remembered = again.frontier.enqueue(b"c", "http://x/c", 0, None)
    again.commit()
    last = killed(again)
    last.begin_run()
    assert last.frontier.enqueue(b"d", "http://x/d", 0, "{}") > remembered
    last.close()
