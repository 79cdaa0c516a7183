"""What a crawl does with the stores that it shares: what cannot be sent is said and kept."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from contentspider.crawl.queue import sharing
from contentspider.crawl.queue.sharing import Sharing
from contentspider.state.stores.models import SharedModels
from contentspider.state.stores.remote import RemoteError
from tests.crawls import run_async
from tests.recrawled import options

STORE = "s3://bucket/histories"


class Shared:
    """The shared history and models of a crawl, of which some fail; *done* says what was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails: bool = False) -> None:
        self.done: list[object] = []
        self.fails = fails
        monkeypatch.setattr(sharing, "open_objects", lambda url: (self.done.append(url), self)[1])
        monkeypatch.setattr(sharing, "SharedBook", self._history)
        monkeypatch.setattr(sharing, "run_in_thread", self._apart)
        monkeypatch.setattr(SharedModels, "send", lambda _: self._sent())
        self.stats: Any = get_crawler().stats

    async def _apart(self, function: Any) -> Any:
        return function()

    def _history(self, objects: object, path: Path) -> Shared:
        assert objects is self
        self.done.append(path)
        return self

    def check(self) -> None:
        self.done.append("check")

    def pull(self) -> None:
        self.done.append("pull")

    def begin_change(self) -> None:
        self.done.append("begin")

    def push(self) -> None:
        self.done.append("push")
        if self.fails:
            raise RemoteError("the history cannot be sent")

    def _sent(self) -> list[RemoteError]:
        return [RemoteError("a model cannot be sent")] if self.fails else []


def test_shared_history_is_pulled_changed_and_pushed(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Shared(monkeypatch)
    made = Sharing(options(durable=True, books_url=STORE), shared.stats)
    made.check()
    made.pull(Path("e.org.sqlite"))
    made.begin_change()
    run_async(made.send)
    assert shared.done == [
        *(STORE, "check", STORE, Path("e.org.sqlite")),
        *("pull", "begin", "push"),
    ]
    assert shared.stats.get_stats() == {}


@pytest.mark.parametrize("is_shared", [False, True])
def test_unsent_models_and_history_are_logged_and_counted(
    is_shared: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shared = Shared(monkeypatch, fails=True)
    caplog.set_level(logging.ERROR, "contentspider")
    made = Sharing(options(durable=True, books_url=STORE), shared.stats)
    made.models = object.__new__(SharedModels) if is_shared else object()  # type: ignore[assignment]
    made.pull(Path("e.org.sqlite"))
    run_async(made.send)
    wanted = ["a model cannot be sent"] * is_shared + ["the history cannot be sent"]
    assert [message.partition(". ")[0] for message in caplog.messages] == wanted
    assert shared.stats.get_value("contentspider/remote/unsent") == len(wanted)


def test_unshared_crawl_never_uses_store(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = Shared(monkeypatch)
    made = Sharing(options(), shared.stats)
    made.check()
    made.pull(Path("e.org.sqlite"))
    made.begin_change()
    run_async(made.send)
    assert shared.done == []
