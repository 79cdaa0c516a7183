"""How a crawl came out, by its stats and by what is left."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.settings import default_settings

from contentspider.cli import build_parser
from contentspider.state.outcome import MEANINGS, TRANSIENT, Outcome, Remaining, decide, is_down
from tests.conftest import ROOT
from tests.messages import wording

# The crawl has a name.
GONE_ADVICE = " (if they really are gone: contentspider changes tea --accept-gone)"
GOOD = {"finish_reason": "finished", "item_scraped_count": 9}


@pytest.mark.parametrize(
    ("stats", "left", "expected"),
    [
        ({}, Remaining(), Outcome.COMPLETE),
        ({"contentspider/pages/unread/status_404": 3}, Remaining(), Outcome.COMPLETE),
        ({"finish_reason": "max_pages"}, Remaining(queued=9), Outcome.COMPLETE),
        ({"item_scraped_count": 0}, Remaining(), Outcome.NOTHING_READ),
        ({"item_scraped_count": 0}, Remaining(held=20), Outcome.INCOMPLETE),
        (
            {"item_scraped_count": 0, "contentspider/book/resumed": 1},
            Remaining(),
            Outcome.COMPLETE,
        ),
        ({"contentspider/pages/unread/unreachable": 144}, Remaining(), Outcome.INCOMPLETE),
        ({"contentspider/pages/unread/status_503": 1}, Remaining(), Outcome.INCOMPLETE),
        ({"contentspider/sites/failed": 1}, Remaining(), Outcome.INCOMPLETE),
        ({"contentspider/models/refused": 1}, Remaining(), Outcome.INCOMPLETE),
        (
            {"contentspider/pages/empty/dropped": 31, "item_scraped_count": 100},
            Remaining(),
            Outcome.INCOMPLETE,
        ),
        (
            {"contentspider/pages/empty/dropped": 30, "item_scraped_count": 100},
            Remaining(),
            Outcome.COMPLETE,
        ),
        (
            {"contentspider/pages/empty/dropped": 5, "item_scraped_count": 6},
            Remaining(),
            Outcome.COMPLETE,
        ),
        ({"contentspider/items/lost": 1}, Remaining(), Outcome.INCOMPLETE),
        ({"spider_exceptions/count": 1}, Remaining(), Outcome.INCOMPLETE),
        ({"finish_reason": "memusage_exceeded"}, Remaining(), Outcome.INCOMPLETE),
        ({}, Remaining(queued=1), Outcome.INCOMPLETE),
        ({}, Remaining(held=1), Outcome.INCOMPLETE),
        ({"finish_reason": "shutdown"}, Remaining(queued=1), Outcome.INTERRUPTED),
        ({"finish_reason": None, "item_scraped_count": 0}, Remaining(held=20), Outcome.INTERRUPTED),
        ({"contentspider/monitors/failed": 2}, Remaining(), Outcome.MONITOR_FAILED),
        ({"contentspider/changes/doubted": 9}, Remaining(), Outcome.GONE_DOUBTED),
        ({"contentspider/index/behind/a": "why"}, Remaining(), Outcome.INDEX_BEHIND),
        ({"contentspider/index/kept": 7}, Remaining(), Outcome.INDEX_BEHIND),
        ({"contentspider/index/refused": 2}, Remaining(), Outcome.INDEX_BEHIND),
        ({"contentspider/book/failed": "disk full"}, Remaining(), Outcome.ERROR),
        ({"feedexport/failed_count/FileFeedStorage": 1}, Remaining(), Outcome.OUTPUT_FAILED),
        (
            {"contentspider/outputs/failed": 1, "finish_reason": "shutdown"},
            Remaining(queued=4),
            Outcome.OUTPUT_FAILED,
        ),
    ],
)
def test_crawl_outcome_follows_from_stats(
    stats: dict[str, Any], left: Remaining, expected: Outcome
) -> None:
    outcome, reasons = decide(GOOD | stats, left)
    assert outcome is expected
    assert bool(reasons) == (outcome is not Outcome.COMPLETE)


@pytest.mark.parametrize(
    ("stats", "left", "expected"),
    [
        ({"item_scraped_count": 0, "contentspider/items/unchanged": 3}, Remaining(), []),
        ({"finish_reason": "outage"}, Remaining(), []),
        ({"finish_reason": "closespider_timeout"}, Remaining(queued=9), []),
        ({"item_scraped_count": 0}, Remaining(), ["no page was read"]),
        (
            {
                "item_scraped_count": 0,
                "contentspider/pages/skipped/noindex": 2,
                "contentspider/pages/skipped/soft_404": 1_000,
                "contentspider/pages/skipped/duplicate": 9,
            },
            Remaining(),
            ["no page was read (1,000 soft 404, 2 noindex)"],
        ),
        (
            {
                "contentspider/book/items": 5,
                "contentspider/book/unseen": 40,
                "contentspider/changes/kept": 40,
            },
            Remaining(),
            ["40 known pages " + wording("state.known-unread")],
        ),
        (
            {
                "contentspider/book/items": 50,
                "contentspider/book/unseen": 43,
                "contentspider/changes/kept": 3,
                "contentspider/changes/doubted": 40,
            },
            Remaining(),
            ["40 " + wording("state.too-many-gone") + GONE_ADVICE],
        ),
        ({"contentspider/book/items": 90, "contentspider/book/unseen": 10}, Remaining(), []),
        ({"contentspider/monitors/failed": 2}, Remaining(), ["2 monitors failed"]),
        (
            {"contentspider/index/behind/a": "why", "contentspider/index/kept": 7},
            Remaining(),
            [
                "why",
                "7 documents in search indexes may be old",
            ],
        ),
        ({"finish_reason": None}, Remaining(), ["0 addresses in the queue, 0 items held"]),
        (
            {"finish_reason": "shutdown"},
            Remaining(4, 5),
            ["4 addresses in the queue, 5 items held"],
        ),
        ({"finish_reason": "memusage"}, Remaining(), ["Scrapy ended it (memusage)"]),
        ({}, Remaining(1_000, 2), ["1,000 addresses in the queue", "2 items held"]),
        ({"spider_exceptions/count": 3}, Remaining(), ["3 pages broke the spider"]),
        (
            {"feedexport/failed_count/F": 1, "contentspider/book/failed": "disk full"},
            Remaining(),
            ["disk full"],
        ),
        (
            {"feedexport/failed_count/F": 1, "contentspider/outputs/failed": 1},
            Remaining(),
            ["2 outputs could not be written; the log above says why"],
        ),
        (
            {
                "contentspider/outputs/failed": 1,
                "contentspider/pages/unread/timeout": 2,
                "contentspider/changes/doubted": 3_000,
                "contentspider/index/behind/a": "why",
                "contentspider/monitors/failed": 5,
            },
            Remaining(held=6),
            [
                "1 output could not be written; the log above says why",
                "2 pages could not be read for reasons that may pass",
                "6 items held",
                "3,000 " + wording("state.too-many-gone") + GONE_ADVICE,
                "why",
                "5 monitors failed",
            ],
        ),
    ],
)
def test_crawl_outcome_lists_its_reasons(
    stats: dict[str, Any], left: Remaining, expected: list[str]
) -> None:
    assert decide(GOOD | stats, left, "tea")[1] == expected


def test_out_of_memory_crawl_has_its_own_exit_code() -> None:
    stats = {"contentspider/book/failed": "no memory", "finish_reason": "out_of_memory"}
    assert decide(GOOD | stats, Remaining()) == (Outcome.OUT_OF_MEMORY, ["no memory"])
    assert decide(stats | {"finish_reason": "finished"}, Remaining())[0] is Outcome.ERROR


def test_retryable_scrapy_status_codes_are_transient() -> None:
    codes = {f"status_{code}" for code in default_settings.RETRY_HTTP_CODES}
    assert codes == {kind for kind in TRANSIENT if kind.startswith("status_")}


@pytest.mark.parametrize("kind", TRANSIENT)
def test_pages_with_transient_failures_are_counted_in_reason(kind: str) -> None:
    stats = GOOD | {f"contentspider/pages/unread/{kind}": 1_000}
    _, reasons = decide(stats, Remaining())
    assert reasons == ["1,000 pages could not be read for reasons that may pass"]
    assert decide(stats | {"contentspider/book/unread": 0}, Remaining())[0] is Outcome.COMPLETE


UNREAD = "contentspider/pages/unread/"


@pytest.mark.parametrize(
    ("outcome", "stats", "expected"),
    [
        (Outcome.NOTHING_READ, {UNREAD + "timeout": 1}, True),
        (Outcome.INCOMPLETE, {UNREAD + "unreachable": 2, UNREAD + "status_503": 1}, True),
        (Outcome.INCOMPLETE, {"contentspider/hosts/down": 1}, True),
        (Outcome.INCOMPLETE, {"contentspider/book/unread": 1}, True),
        (Outcome.NOTHING_READ, {}, False),
        (Outcome.NOTHING_READ, {UNREAD + "timeout": 1, UNREAD + "status_403": 1}, False),
        (Outcome.NOTHING_READ, {UNREAD + "login": 1, "contentspider/login/failed": 1}, False),
        (
            Outcome.INCOMPLETE,
            {"contentspider/hosts/down": 1, "contentspider/hosts/limited/e.org": 60},
            False,
        ),
        (Outcome.INCOMPLETE, {UNREAD + "timeout": 1, "contentspider/pages/tagged": 1}, False),
        (Outcome.ERROR, {UNREAD + "timeout": 1}, False),
    ],
)
def test_site_is_down_if_it_has_not_answered_at_all(
    outcome: Outcome, stats: dict[str, Any], expected: bool
) -> None:
    assert is_down(outcome, stats) is expected


def test_exit_codes_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["crawl", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    text = (ROOT / "docs" / "commands.md").read_text()
    assert set(MEANINGS) == set(Outcome)
    for outcome, meaning in MEANINGS.items():
        assert f"{outcome.value} {meaning}" in told
        assert f"| {outcome.value} | {meaning} |" in text
