"""Returns free memory to the system. Ends a crawl before it runs out of memory and loses work."""

from __future__ import annotations

import asyncio
import logging
import math
import mmap
import os
import time
from contextlib import contextmanager
from threading import Event, Thread, current_thread
from typing import TYPE_CHECKING

import numpy as np
from scrapy import signals
from scrapy.exceptions import IgnoreRequest

from contentspider.crawl.base.engine import Component
from contentspider.crawl.base.meta import ROW_META_KEY
from contentspider.crawl.base.state import is_memory_error, machine_error, shortage
from contentspider.crawl.queue.keeper import BookKeeper
from contentspider.ground.process_memory import (
    MB,
    release_memory,
    resident_memory,
    spare_memory,
)
from contentspider.ground.terminal import worded
from contentspider.state.outcome import OUT_OF_MEMORY, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

WATCH_SECS = 0.25
# Free memory is returned when the process has grown by this much.
GROWTH = 64 * MB
# With less spare memory than this the crawl ends. The reserve is freed for the work at the end.
LEAST = 64 * MB
RESERVE = 32 * MB
# If the crawl has not ended after this time, the process exits.
END_SECS = 10.0
# A page takes at most TIMES times its bytes. A large page takes at most PAGE_MOST, or TIMES_LARGE
# times its bytes if that is more. Measured with tests/bombs.py.
PAGE_MOST, TIMES, TIMES_LARGE = 300 * MB, 80, 20
LAST_WORDS = (
    "contentspider: the process ran out of memory and was ended; everything that was committed is"
    " intact. Give it more memory, and run the same command with --resume to continue\n"
)


@contextmanager
def room_for(response: Response, crawler: Crawler) -> Iterator[None]:
    """Read a page within this context. If memory is too short for the page, or the machine fails
    otherwise, a durable crawl ends and the page raises `IgnoreRequest`. A page that has ended a
    run of the crawl before is set aside instead. In other crawls the error is raised.
    """
    size = len(response.body)
    page_memory = min(TIMES * size, max(PAGE_MOST, TIMES_LARGE * size))
    try:
        if spare_memory() < LEAST + page_memory:
            raise MemoryError
        yield
    except Exception as error:
        keeper = crawler.get_extension(BookKeeper)
        cause = machine_error(error, response.url)
        if keeper is None or not keeper.is_durable or cause is None:
            raise
        row = response.meta.get(ROW_META_KEY) if response.request else None
        if not keeper.stop_for(cause, row):
            keeper.set_aside(row, response.url, cause)
        raise IgnoreRequest("too little memory to read the page, or no room") from error


class MemoryWatch(Component, logging.Handler):
    """Returns free memory to the system, in a thread. Ends a durable crawl if little memory is
    left, or if a MemoryError is logged.

    Without memory no thread and no buffer can be created, so both are created at the start.
    """

    def __init__(self, crawler: Crawler) -> None:
        logging.Handler.__init__(self)
        Component.__init__(self, crawler)
        self._is_over = Event()
        self._end_at = math.inf
        self._is_closing = False
        self._last_words = worded(LAST_WORDS).encode()
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.closing, signal=signals.spider_closed)
        crawler.signals.connect(self.closed, signal=signals.engine_stopped)

    def opened(self) -> None:
        """Begin to watch."""
        keeper = self.crawler.get_extension(BookKeeper)
        if keeper is None or keeper.is_broken:
            return
        self.keeper = keeper
        self._loop, self._thread_of_loop = asyncio.get_running_loop(), current_thread()
        self._reserve = mmap.mmap(-1, RESERVE)
        # Let OpenBLAS allocate its buffer now. It retries for ever if it gets no memory.
        np.ones((64, 64)) @ np.ones((64, 64))
        logging.getLogger().addHandler(self)
        Thread(target=self._watch, daemon=True).start()

    def closing(self) -> None:
        """Record that the crawl is closing. A lack of memory does not close it a second time."""
        self._is_closing = True

    def closed(self) -> None:
        """End the watch."""
        self._is_over.set()
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """End the crawl if a log record has a MemoryError."""
        values = list(record.args) if isinstance(record.args, tuple) else []
        if record.exc_info:
            values.append(record.exc_info[1])
        if not any(map(is_memory_error, values)):
            return
        self._begin_end()
        # The event loop runs other callbacks first, and they may take long.
        if current_thread() is self._thread_of_loop:
            self._end()
        if self._is_closing:
            self.stats.set_value("contentspider/book/failed", str(shortage()))
            self.stats.set_value("finish_reason", OUT_OF_MEMORY)

    def _begin_end(self) -> None:
        """Ask the event loop to end the crawl. If that takes longer than `END_SECS`, `_watch` exits
        the process.
        """
        if self._end_at == math.inf and self.keeper.is_durable:
            self._end_at = time.monotonic() + END_SECS
            self._reserve.close()
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        """End a durable crawl, which can be resumed."""
        if self.keeper.is_durable and not self._is_closing:
            self.keeper.fail(shortage())

    def _watch(self) -> None:
        """Check the memory several times a second, until the engine stops."""
        size = resident_memory()
        while not self._is_over.wait(WATCH_SECS):
            try:
                if resident_memory() > size + GROWTH:
                    release_memory()
                    size = resident_memory()
                if spare_memory() < LEAST:
                    self._begin_end()
            except MemoryError:
                self._end_at = min(self._end_at, time.monotonic() + END_SECS)
            if time.monotonic() > self._end_at:
                os.write(2, self._last_words)
                os._exit(Outcome.OUT_OF_MEMORY)
