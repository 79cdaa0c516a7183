"""What a crawl says of its indexes at its end; another test brings real ones up to date."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from contentspider.crawl.queue import sharing
from contentspider.crawl.queue.sharing import LEAST, Indexing
from contentspider.index import operations
from contentspider.index.errors import EngineError
from contentspider.index.marks import SchemaMismatchError
from tests.crawls import run_async
from tests.messages import wording
from tests.recrawled import options

HISTORY = Path("folder/e.org.sqlite")


class Report(SimpleNamespace):
    def __str__(self) -> str:
        return "3 in, 2 out"


class Ended:
    """The end of a crawl with one index, which takes 1,000 changes, *done* at 0 s, 7 s ..."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: Any, **values: object) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now)

        self.is_interrupted = False

        def sync(*arguments: Any) -> Any:
            *asked, tell = arguments
            self.asked.append(tuple(asked))
            for done in (0, 1, 2, 3):
                self.now = 3.5 * done
                tell(100 * done, 1_000)
            if isinstance(answer, Exception):
                raise answer
            return answer() if callable(answer) else answer

        monkeypatch.setattr(operations, "sync", sync)
        monkeypatch.setattr(sharing, "time", clock)
        self.memory: float = LEAST
        monkeypatch.setattr(sharing, "spare_memory", lambda: self.memory)
        stats: Any = get_crawler().stats
        url = "sqlite:///tmp/pages.db"
        self.made = Indexing(
            options(durable=True, index=[url], **values), stats, lambda: self.is_interrupted
        )
        self.stats = stats.get_stats

    def run(self) -> dict[str, Any]:
        run_async(lambda: self.made.run(HISTORY))
        return {name.removeprefix("contentspider/index/"): n for name, n in self.stats().items()}


def test_index_update_is_counted_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "contentspider")
    refused = ["a", "b", "c", "d"]
    foreign = Counter({"f.org": 6, "g.org": 1})
    report = Report(upserted=3, deleted=2, retries=1, kept=5, refused=refused, foreign=foreign)
    ended = Ended(monkeypatch, report, force=True, take_over=True, progress_secs=7)
    counts = {"upserted": 3, "deleted": 2, "kept": 5, "retries": 1, "refused": 4, "foreign": 7}
    assert ended.run() == counts
    ((history, url, force, take_over),) = ended.asked
    assert (history, force, take_over) == (HISTORY, True, True)
    shown = "sqlite:///tmp/pages.db"
    assert url == shown
    assert caplog.messages == [
        f"{shown}: 200 of 1000 " + wording("crawl.changes-indexed"),
        f"{shown}: 3 in, 2 out",
    ]


def test_index_progress_is_not_logged_if_disabled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "contentspider")
    report = Report(upserted=0, deleted=0, kept=0, retries=0, refused=[], foreign=Counter())
    Ended(monkeypatch, report, progress_secs=0).run()
    assert caplog.messages == ["sqlite:///tmp/pages.db: 3 in, 2 out"]


def test_message_about_index_of_other_schema_suggests_rebuild_not_sync(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ended = Ended(monkeypatch, SchemaMismatchError("run 'contentspider index rebuild x'", ["a"]))
    assert ended.run()["failed"] == 1
    assert "index rebuild x" in caplog.text
    assert "index sync" not in caplog.text


@pytest.mark.parametrize("is_memory", [False, True])
def test_failed_index_update_is_logged_with_sync_command(
    is_memory: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ended = Ended(monkeypatch, EngineError("it is down"))
    cause = "it is down"
    if is_memory:
        ended.memory = LEAST - 1
        cause = "sqlite:///tmp/pages.db: too little memory"
    assert ended.run()["failed"] == 1
    (message,) = caplog.messages
    assert message.startswith(cause)
    assert "'contentspider index sync e.org sqlite:///tmp/pages.db'" in message
    assert bool(ended.asked) == (not is_memory)


@pytest.mark.parametrize("waits", [False, True])
def test_signal_ends_index_update_although_its_engine_does_not_answer(
    waits: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answered = threading.Event()
    monkeypatch.setattr(sharing, "END_SECS", 0.01)
    ended = Ended(monkeypatch, answered.wait)
    if waits:

        def interrupt() -> None:
            ended.is_interrupted = True
            answered.wait()

        ended = Ended(monkeypatch, interrupt)
    else:
        ended.is_interrupted = True  # it is seen when the first changes are written
    assert ended.run()["failed"] == 1
    assert "'contentspider index sync e.org sqlite:///tmp/pages.db'" in caplog.text
    answered.set()
