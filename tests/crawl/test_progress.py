"""The line that says how far a crawl is: what is in it, and when it is said."""

from __future__ import annotations

import logging
import re
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.exceptions import NotConfigured
from scrapy.utils.test import get_crawler

from contentspider.crawl import progress
from contentspider.crawl.progress import Progress, live_line

EMPTY = "reading: 0 pages, 0.0 pages/s, 2 in the queue"
STATS = {
    "contentspider/pages/tagged": 25,
    "contentspider/pages/read_again": 5,
    "contentspider/pages/not_modified": 1_010,
    "contentspider/items/held": 9,
    "contentspider/items/released": 4,
}


class Live:
    """A line on a terminal of 20 columns: what is done to it."""

    width = 20

    def __init__(self) -> None:
        self.done: list[object] = []

    def start(self) -> None:
        self.done.append("start")

    def stop(self) -> None:
        self.done.append("stop")

    def update(self, line: str) -> None:
        self.done.append(line)


class Loop:
    """A looping call that a test calls."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.running = False
        self.every: list[tuple[float, bool]] = []

    def start(self, seconds: float, now: bool) -> None:
        self.running = True
        self.every.append((seconds, now))

    def stop(self) -> None:
        assert self.running
        self.running = False


class Told:
    """The progress of a crawl that begins at 100 s, on a *live* line or in the log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, live: Live | None = None) -> None:
        self.now = 50.0
        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(progress, "live_line", lambda: live)
        monkeypatch.setattr(progress, "create_looping_call", Loop)
        crawler: Any = get_crawler(settings_dict={"CONTENTSPIDER_PROGRESS_SECS": 7})
        self.slot = SimpleNamespace(scheduler=["a request"] * 2, closing=None)
        crawler.engine = SimpleNamespace(_slot=self.slot)
        self.holder = SimpleNamespace(is_learning=False)
        crawler.get_extension = lambda _: self.holder
        self.stats = crawler.stats
        self.progress = Progress.from_crawler(crawler)
        self.now = 100.0
        self.progress.opened()


def test_progress_line_shows_crawl_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(monkeypatch)
    assert str(told.progress.progress()) == EMPTY
    for name, value in STATS.items():
        told.stats.set_value(name, value)
    told.now = 112.0
    line = str(told.progress.progress())
    assert line.startswith("reading: 1,030 pages (1,010 not modified), 85.8 pages/s, 2 in the")
    assert "at least" not in line and "5 wait until" in line
    told.slot.scheduler = ["a request"] * 85_833
    assert "85,833 in the queue (at least 17 min)" in str(told.progress.progress())
    told.now = 100.0
    assert told.progress.progress().rate == 1_030_000, "no clock is that fine"


def test_progress_is_logged_periodically_and_at_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told = Told(monkeypatch)
    loop: Any = told.progress.loop
    assert loop.every == [(1.0, False)]
    with caplog.at_level(logging.INFO):
        for told.now in (101.0, 107.0):
            loop.function()
        told.holder.is_learning = True
        for told.now in (108.0, 109.0):
            loop.function()
        told.holder.is_learning, told.slot.closing = False, object()
        told.progress.closed()
    phases = [line.partition(":")[0] for line in caplog.messages]
    assert phases == ["reading", "learning", "writing"]
    assert not loop.running
    told.progress.closed()


def test_terminal_progress_line_is_renewed_every_second(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    live = Live()
    told = Told(monkeypatch, live)
    loop: Any = told.progress.loop
    assert loop.every == [(1.0, False)]
    with caplog.at_level(logging.INFO):
        told.progress.closed()
    assert live.done == ["start", str(told.progress.progress())[:20], "stop"]
    assert not caplog.messages


def test_progress_is_disabled_by_zero_seconds() -> None:
    with pytest.raises(NotConfigured, match=r"^CONTENTSPIDER_PROGRESS_SECS is 0$"):
        Progress(get_crawler(settings_dict={"CONTENTSPIDER_PROGRESS_SECS": 0}))


def test_live_progress_line_is_written_only_to_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rich")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert live_line() is None
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    live = live_line()
    assert live is not None
    output = sys.stdout
    live.start()
    live.update("[b]12 pages :warning: 'x'")
    assert sys.stdout is output
    live.stop()
    said = capsys.readouterr()
    assert "[b]12 pages :warning: 'x'" in said.err
    assert not said.out


def test_log_stands_above_the_line_and_is_not_deleted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    handler = logging.StreamHandler(sys.stderr)
    monkeypatch.setattr(logging.root, "handlers", [handler])
    live = live_line()
    assert live is not None
    live.start()
    live.update("1 of 2 done")
    logging.getLogger("tea").warning("the site is down")
    live.update("2 of 2 done")
    live.stop()
    logging.getLogger("tea").warning("the end")
    shown = screen_lines(capsys.readouterr().err)
    assert shown == ["the site is down", "2 of 2 done", "the end"]


def screen_lines(written: str) -> list[str]:
    """Return the lines that a terminal shows after *written* (only what rich sends: a line is
    deleted, and the cursor goes up).
    """
    lines, row = [""], 0
    for sign, text in re.findall(r"(\x1b\[[\d;?]*[A-Za-z]|[\r\n])|([^\x1b\r\n]+)", written):
        if sign == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif sign.endswith("A"):
            row -= int(sign[2:-1] or 1)
        elif sign.endswith("2K"):
            lines[row] = ""
        elif text:
            lines[row] += text
    return [line for line in lines if line]
