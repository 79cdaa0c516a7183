"""How a crawl ended, and what it may replace."""

from __future__ import annotations

import pytest

from contentspider.state.outcome import Ending


@pytest.mark.parametrize(
    ("ending", "word", "replaces"),
    [
        (Ending("finished", 10), "finished", True),
        (Ending("finished", 0), "finished", False),
        (Ending("finished", 175, unread=3), "incomplete", True),
        (Ending("finished", 31, unread=144), "incomplete", False),
        (Ending("finished", 31, held=1), "incomplete", True),
        (Ending("finished", 10, unchanged=10, unread=1, held=1), "incomplete", True),
        (Ending("finished", 10, unchanged=9, unread=1, held=1), "incomplete", False),
        (Ending("closespider_itemcount", 5, held=100), "closespider_itemcount", True),
        (Ending("max_pages", 5, queued=100), "max_pages", True),
        (Ending("closespider_timeout", 5, queued=100), "closespider_timeout", True),
        (Ending("shutdown", 5, queued=100), "shutdown", False),
        (Ending("shutdown", 100, queued=1), "shutdown", False),
        (Ending("shutdown", 0, queued=100), "shutdown", False),
        (Ending("outage", 500, queued=1_000), "outage", False),
        (Ending("book_full", 500, queued=1_000), "book_full", False),
        (Ending("finished", 31, unread=144, never_read=141), "incomplete", True),
        (Ending("finished", 31, unread=144, never_read=140), "incomplete", False),
        (Ending("finished", 1, unseen=5), "finished", True),
        (Ending("finished", 1, unseen=6), "finished", False),
        (Ending("finished", 70, unchanged=30, unseen=42), "finished", True),
        (Ending("finished", 70, unchanged=30, unseen=43), "finished", False),
        (Ending("max_pages", 5, unseen=43), "max_pages", True),
    ],
)
def test_crawl_ending_decides_if_output_may_be_replaced(
    ending: Ending, word: str, replaces: bool
) -> None:
    assert ending.word == word
    assert ending.may_replace(is_there=True) == replaces
    assert ending.may_replace(is_there=False) == (ending.items > 0)
    assert Ending.from_stats(ending.stats() | {"finish_reason": ending.reason}) == ending


def test_ending_without_stats_has_empty_counts() -> None:
    assert Ending.from_stats({}) == Ending("", 0) == Ending("", 0, 0, 0, 0, 0)
    assert Ending("finished", 1, queued=1).word == "incomplete"
    assert Ending("outage", 1, queued=1).word == "outage"
    assert Ending("finished", 100, queued=10).may_replace(is_there=True)
    assert not Ending("finished", 100, queued=5, unread=5, held=1).may_replace(is_there=True)


def test_only_completed_or_limited_crawls_are_taken_into_history() -> None:
    for reason in ("finished", "outage", "max_pages", "closespider_pagecount"):
        assert Ending(reason, 1).is_end
    for reason in ("shutdown", "book", "", "memusage_exceeded"):
        assert not Ending(reason, 1).is_end
