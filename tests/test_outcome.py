"""How a crawl came out, by its stats and by what is left."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.settings import default_settings

from contentspider.cli import build_parser
from contentspider.state.outcome import MEANINGS, TRANSIENT, Left, Outcome, decide
from tests.conftest import ROOT

GOOD = {"finish_reason": "finished", "item_scraped_count": 9}


@pytest.mark.parametrize(
    ("stats", "left", "expected"),
    [
        ({}, Left(), Outcome.COMPLETE),
        ({"contentspider/pages/unread/status_404": 3}, Left(), Outcome.COMPLETE),
        ({"finish_reason": "max_pages"}, Left(queued=9), Outcome.COMPLETE),
        ({"item_scraped_count": 0}, Left(), Outcome.NOTHING_READ),
        ({"item_scraped_count": 0}, Left(held=20), Outcome.INCOMPLETE),
        (
            {"item_scraped_count": 0, "contentspider/ledger/resumed": 1},
            Left(),
            Outcome.COMPLETE,
        ),
        ({"contentspider/pages/unread/unreachable": 144}, Left(), Outcome.INCOMPLETE),
        ({"contentspider/pages/unread/status_503": 1}, Left(), Outcome.INCOMPLETE),
        ({"contentspider/sites/failed": 1}, Left(), Outcome.INCOMPLETE),
        ({"contentspider/items/lost": 1}, Left(), Outcome.INCOMPLETE),
        ({"spider_exceptions/count": 1}, Left(), Outcome.INCOMPLETE),
        ({"finish_reason": "memusage_exceeded"}, Left(), Outcome.INCOMPLETE),
        ({}, Left(queued=1), Outcome.INCOMPLETE),
        ({}, Left(held=1), Outcome.INCOMPLETE),
        ({"finish_reason": "shutdown"}, Left(queued=1), Outcome.INTERRUPTED),
        ({"finish_reason": None, "item_scraped_count": 0}, Left(held=20), Outcome.INTERRUPTED),
        ({"contentspider/monitors/failed": 2}, Left(), Outcome.MONITOR_FAILED),
        ({"contentspider/history/doubted": 9}, Left(), Outcome.GONE_DOUBTED),
        ({"contentspider/index/failed": 1}, Left(), Outcome.INDEX_BEHIND),
        ({"contentspider/index/kept": 7}, Left(), Outcome.INDEX_BEHIND),
        ({"contentspider/ledger/failed": "disk full"}, Left(), Outcome.ERROR),
        ({"feedexport/failed_count/FileFeedStorage": 1}, Left(), Outcome.ERROR),
    ],
)
def test_a_crawl_comes_out_as_its_stats_say(
    stats: dict[str, Any], left: Left, expected: Outcome
) -> None:
    outcome, reasons = decide(GOOD | stats, left)
    assert outcome is expected
    assert bool(reasons) == (outcome is not Outcome.COMPLETE)


@pytest.mark.parametrize(
    ("stats", "left", "expected"),
    [
        ({"item_scraped_count": 0, "contentspider/items/unchanged": 3}, Left(), []),
        ({"finish_reason": "outage"}, Left(), []),
        ({"finish_reason": "closespider_timeout"}, Left(queued=9), []),
        ({"item_scraped_count": 0}, Left(), ["no page was read"]),
        ({"contentspider/monitors/failed": 2}, Left(), ["2 monitors failed"]),
        (
            {"contentspider/index/failed": 1, "contentspider/index/kept": 7},
            Left(),
            [
                "1 search indexes were not brought up to date",
                "7 documents in search indexes may be old",
            ],
        ),
        ({"finish_reason": None}, Left(), ["0 addresses in the queue, 0 items held"]),
        ({"finish_reason": "shutdown"}, Left(4, 5), ["4 addresses in the queue, 5 items held"]),
        ({"finish_reason": "memusage"}, Left(), ["Scrapy ended it (memusage)"]),
        ({}, Left(1_000, 2), ["1,000 addresses are in the queue", "2 items are held"]),
        ({"spider_exceptions/count": 3}, Left(), ["3 pages broke the spider"]),
        (
            {"feedexport/failed_count/F": 1, "contentspider/ledger/failed": "disk full"},
            Left(),
            ["the items could not be written; the log above says why", "disk full"],
        ),
    ],
)
def test_why_a_crawl_came_out_so_is_said(
    stats: dict[str, Any], left: Left, expected: list[str]
) -> None:
    assert decide(GOOD | stats, left)[1] == expected


def test_a_crawl_that_ran_out_of_memory_has_an_exit_code_of_its_own() -> None:
    stats = {"contentspider/ledger/failed": "no memory", "finish_reason": "out_of_memory"}
    assert decide(GOOD | stats, Left()) == (Outcome.OUT_OF_MEMORY, ["no memory"])
    assert decide(stats | {"finish_reason": "finished"}, Left())[0] is Outcome.ERROR


def test_what_scrapy_asks_again_may_pass() -> None:
    codes = {f"status_{code}" for code in default_settings.RETRY_HTTP_CODES}
    assert codes == {kind for kind in TRANSIENT if kind.startswith("status_")}


@pytest.mark.parametrize("kind", TRANSIENT)
def test_pages_that_may_be_read_later_are_counted_in_words(kind: str) -> None:
    stats = GOOD | {f"contentspider/pages/unread/{kind}": 1_000}
    _, reasons = decide(stats, Left())
    assert reasons == ["1,000 pages could not be read for reasons that may pass"]
    assert decide(stats | {"contentspider/ledger/unread": 0}, Left())[0] is Outcome.COMPLETE


def test_exit_codes_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["crawl", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    text = (ROOT / "docs" / "commands.md").read_text()
    assert set(MEANINGS) == set(Outcome)
    for outcome, meaning in MEANINGS.items():
        assert f"{outcome.value} {meaning}" in told
        assert f"| {outcome.value} | {meaning} |" in text
