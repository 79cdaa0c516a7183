"""How a crawl ends that has no memory left, without taking any."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.exceptions import IgnoreRequest

from contentspider.crawl.base import state
from contentspider.crawl.base.state import NO_THREAD
from contentspider.crawl.queue import memory
from contentspider.crawl.queue.memory import END_SECS, LEAST, MemoryWatch, room_for
from contentspider.ground import process_memory
from contentspider.ground.process_memory import (
    MB,
    release_memory,
    resident_memory,
    spare_memory,
)
from tests.crawlers import close, open_crawler, parts
from tests.messages import wording

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAID = wording("crawl.out-of-memory", "")


def test_out_of_memory_message_names_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "memory_limit", lambda: math.inf)
    assert str(state.shortage()) == SAID
    monkeypatch.setattr(state, "memory_limit", lambda: 2_000 * MB)
    assert "2,000 MB" in str(state.shortage())


def test_process_memory_is_measured_and_returned_to_system(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sizes = tmp_path / "statm"
    monkeypatch.setattr(process_memory, "SIZES", sizes)
    assert resident_memory() == 0
    monkeypatch.setattr(process_memory.resource, "getpagesize", lambda: 4096)
    sizes.write_text("100 20 3 4")
    assert resident_memory() == 20 * 4096
    limits = {process_memory.resource.RLIMIT_AS: (1_000_000, 2_000_000)}
    monkeypatch.setattr(process_memory.resource, "getrlimit", limits.__getitem__)
    assert spare_memory() == 1_000_000 - 100 * 4096
    limits[process_memory.resource.RLIMIT_AS] = (process_memory.resource.RLIM_INFINITY, 0)
    assert spare_memory() == math.inf
    asked: list[object] = []
    library = SimpleNamespace(malloc_trim=asked.append)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    release_memory()
    assert asked == [0]
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    release_memory()


@pytest.mark.parametrize(("size", "most"), [(10, 800), (5 * MB, 300 * MB), (20 * MB, 400 * MB)])
def test_page_is_parsed_only_if_memory_suffices(
    size: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    response: Any = SimpleNamespace(body=range(size), url="http://e.org/", request=None)
    for is_durable, error in ((True, IgnoreRequest), (False, MemoryError)):
        crawler = open_crawler(tmp_path / str(is_durable), durable=is_durable)
        monkeypatch.setattr(memory, "spare_memory", lambda: LEAST + most)
        with room_for(response, crawler):
            pass
        monkeypatch.setattr(memory, "spare_memory", lambda: LEAST + most - 1)

        def read() -> None:
            with room_for(response, crawler):  # noqa: B023
                raise AssertionError("it is read")

        with pytest.raises(error):
            run(read)
        assert parts(crawler)[0].is_broken == is_durable
        close(crawler)


def run(call: Callable[[], object]) -> None:
    async def main() -> None:
        call()
        await asyncio.sleep(0)

    asyncio.run(main())


class Watched:
    """A crawl whose memory is watched by no thread, at 100 s, with so much to *spare*."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, is_durable: bool) -> None:
        self.crawler = open_crawler(folder, durable=is_durable)
        self.keeper = parts(self.crawler)[0]
        self.spare, self.resident, self.now = math.inf, 0, 100.0
        self.given_back = 0
        self.exits: list[int] = []
        self.words: list[object] = []
        self.threads: list[dict[str, Any]] = []
        self.watch = MemoryWatch.from_crawler(self.crawler)
        monkeypatch.setattr(memory, "Thread", self._thread)
        monkeypatch.setattr(state, "memory_limit", lambda: math.inf)
        monkeypatch.setattr(memory, "spare_memory", lambda: self.spare)
        monkeypatch.setattr(memory, "resident_memory", lambda: self.resident)
        monkeypatch.setattr(memory, "release_memory", self._give_back)
        monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=lambda: self.now))
        posix = SimpleNamespace(
            write=lambda *words: self.words.append(words), _exit=self.exits.append
        )
        monkeypatch.setattr(memory, "os", posix)

    def _thread(self, **options: Any) -> Any:
        self.threads.append(options)
        return SimpleNamespace(start=lambda: None)

    def _give_back(self) -> None:
        self.given_back += 1

    def failed(self) -> Any:
        assert self.crawler.stats
        return self.crawler.stats.get_value("contentspider/book/failed")

    def look(self, then: Callable[[], None] = lambda: None) -> None:
        """Have the thread look once, after what comes *then*."""
        looked: list[float] = []

        def wait(seconds: float) -> bool:
            then()
            looked.append(seconds)
            return len(looked) > 1

        over: Any = self.watch._is_over
        over.wait = wait
        self.threads[0]["target"]()


@pytest.mark.parametrize("is_durable", [False, True])
def test_durable_crawl_ends_when_memory_runs_low(
    is_durable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path, monkeypatch, is_durable)

    def work() -> None:
        watched.watch.opened()
        watched.spare = LEAST
        watched.look()
        assert not watched.watch._reserve.closed
        watched.spare = LEAST - 1
        watched.look()
        assert watched.watch._reserve.closed == is_durable
        assert not watched.exits
        watched.now += END_SECS
        watched.look()
        assert not watched.exits, "its time is not over"
        watched.now += 1
        watched.look()

    run(work)
    assert watched.threads[0]["daemon"]
    assert watched.failed() == (SAID if is_durable else None)
    assert watched.exits == ([7] if is_durable else [])
    assert watched.words == ([(2, memory.LAST_WORDS.encode())] if is_durable else [])
    watched.watch.closed()
    assert watched.watch not in logging.getLogger().handlers
    assert watched.watch._is_over.is_set()
    close(watched.crawler)


def test_freed_memory_is_returned_to_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path, monkeypatch, is_durable=True)

    def work() -> None:
        watched.watch.opened()

        def grown() -> None:
            watched.resident = memory.GROWTH + 1

        watched.look(lambda: setattr(watched, "resident", memory.GROWTH))
        assert watched.given_back == 0
        watched.resident = 0
        watched.look(grown)
        assert watched.given_back == 1

    run(work)
    watched.watch.closed()
    close(watched.crawler)


@pytest.mark.parametrize(
    ("error", "is_short"),
    [
        (MemoryError(), True),
        (RuntimeError(NO_THREAD), True),
        (RuntimeError("x"), False),
        (OSError(NO_THREAD), False),
    ],
)
@pytest.mark.parametrize("is_argument", [False, True])
def test_logged_memory_error_ends_crawl(
    error: Exception,
    is_short: bool,
    is_argument: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watched = Watched(tmp_path, monkeypatch, is_durable=True)

    def work() -> None:
        watched.watch.opened()
        given: dict[str, Any] = {"args": ()} if not is_argument else {"args": ("x", error)}
        record = logging.makeLogRecord(given | {"msg": "%s %s"})
        record.exc_info = None if is_argument else (type(error), error, None)
        watched.watch.emit(record)
        watched.watch.emit(logging.makeLogRecord({"args": {"a": 1}}))

    run(work)
    assert watched.failed() == (SAID if is_short else None)
    assert watched.keeper.is_broken == is_short
    watched.watch.closed()
    close(watched.crawler)


def test_memory_error_while_closing_sets_finish_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path, monkeypatch, is_durable=True)

    def work() -> None:
        watched.watch.opened()
        watched.watch.closing()
        watched.watch.emit(logging.makeLogRecord({"args": (MemoryError(),)}))

    run(work)
    assert watched.crawler.stats
    assert watched.failed() == SAID
    assert watched.crawler.stats.get_value("finish_reason") == memory.OUT_OF_MEMORY
    assert not watched.keeper.is_broken
    watched.watch.closed()
    close(watched.crawler)


def test_memory_watch_does_not_start_for_failed_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(tmp_path, monkeypatch, is_durable=True)
    watched.keeper.is_broken = True
    run(watched.watch.opened)
    assert not watched.threads
    assert watched.watch not in logging.getLogger().handlers
    close(watched.crawler)
