"""Crawls while the clock is set: back by an hour, to 1970, or far into the future."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contentspider.ground.times import days_between
from contentspider.recrawl.lastmod import has_changed_since
from contentspider.run.results import AT_ONCE, LastCrawl
from tests.conftest import ROOT, run
from tests.sites import prose
from tests.whole import test_recrawls
from tests.whole.test_recrawls import COUNT, Recrawls

if TYPE_CHECKING:
    from tests.conftest import Site

HOUR, TO_1970, TO_2039 = -3_600.0, -time.time() + 60, (2039 - 2026) * 365.25 * 86_400
DELAY = 0.05


class OddClock(Recrawls):
    """A site that sets the crawl's clock when these pages are asked for."""

    def __init__(self, site: Site, folder: Path) -> None:
        super().__init__(site, folder)
        self.jumps: dict[str, float] = {}
        self.asked_at: list[float] = []
        self.set_clock(0)

    def set_clock(self, seconds: float) -> None:
        # In one step: the crawl reads it at any time.
        made = self.folder / "clock.new"
        made.write_text(str(seconds))
        made.replace(self.folder / "clock")

    def _answer(self, path: str) -> tuple[int, str, bytes]:
        self.asked_at.append(time.monotonic())
        if path in self.jumps:
            self.set_clock(self.jumps[path])
        return super()._answer(path)


@pytest.fixture
def clock(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OddClock:
    odd = str(ROOT / "tests" / "odd_clock.py")
    monkeypatch.setattr(test_recrawls, "run", partial(run, module=odd))
    return OddClock(site, tmp_path)


@pytest.mark.thorough
def test_clock_jumps_lose_no_pages_and_report_no_false_changes(clock: OddClock) -> None:
    slowly = (
        "--delay",
        str(DELAY),
        "-s",
        "RANDOMIZE_DOWNLOAD_DELAY=False",
        "-s",
        "AUTOTHROTTLE_ENABLED=False",
    )
    clock.jumps = {"/3": HOUR, "/5": TO_1970, "/8": TO_2039, "/10": HOUR}
    started = time.monotonic()
    assert len(clock.crawl(*slowly)) == COUNT
    asked = clock.asked_at
    assert asked[-1] - asked[0] > 0.8 * DELAY * (len(asked) - 1)
    assert set(clock.changes().values()) == {"new"}
    numbers = []
    for number, seconds in enumerate((HOUR, TO_1970, TO_2039, 0.0)):
        clock.set_clock(seconds)
        edited = f"/{number + 1}"
        clock.articles[edited] = clock.articles[edited].replace(
            prose(number + 1, 1), prose(seconds)
        )
        items = clock.crawl(*slowly)
        records = clock.records()
        assert {path for path in items if items[path]["change"] != "unchanged"} == {edited}
        assert {one["url"] for one in records if one["change"] == "changed"} == {edited}
        numbers += [one["seq"] for one in records]
    assert numbers == sorted(set(numbers))
    assert time.monotonic() - started < 120


def test_pages_visited_under_future_clock_are_due(clock: OddClock) -> None:
    clock.set_clock(TO_2039)
    clock.crawl()
    clock.set_clock(0)
    clock.site.requests.clear()
    clock.crawl("--due")
    assert {f"/{number}" for number in range(1, COUNT)} < set(clock.site.requests)


def test_future_timestamps_do_not_delay_recrawls() -> None:
    future = "2199-01-01T00:00:00+00:00"
    last = LastCrawl(datetime.fromisoformat(future))
    assert last.due(timedelta(days=1)) == AT_ONCE
    assert days_between(future, "2026-01-01T00:00:00+00:00") < 0
    assert days_between("damaged", future) == -1
    assert has_changed_since("2026-01-01T00:00Z", "damaged") is None
