"""The memory of a crawl: it is given back, and a crawl that runs out of it ends in order."""

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
from contentspider.crawl.base.process_memory import MB, give_back, limit, resident, spare
from contentspider.crawl.queue.keeper import Keeper
from contentspider.state.crawls.outcome import OUT_OF_MEMORY, Outcome
from contentspider.state.ledger.database import MemoryShortError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

WATCH_SECS = 0.25
# Freed memory is given back when the process has grown by so much.
GROWTH = 64 * MB
# With less than this the crawl ends. What is done for the end may take the reserve, too.
LEAST = 64 * MB
RESERVE = 32 * MB
# What is not in order after so long is ended all the same.
END_SECS = 10.0
# Most that a page of so many bytes takes, measured (tests/bombs.py).
PAGE_MOST, TIMES, TIMES_LARGE = 300 * MB, 80, 20
NO_THREAD = "can't start new thread"
LAST_WORDS = (
    b"contentspider: the process ran out of memory and was ended; what was committed is whole: give"
    b" it more memory, and run the same command with --resume to continue\n"
)


def shortage() -> MemoryShortError:
    """Return the error that says how much memory there is, and what to do."""
    most = limit()
    allowed = f", of which it may have {most / MB:,.0f} MB (ulimit -v)" if most < math.inf else ""
    return MemoryShortError(f"the process is out of memory{allowed}: give it more")


@contextmanager
def room_for(response: Response, crawler: Crawler) -> Iterator[None]:
    """End the crawl, in place of the page, if there is no memory to read it."""
    size = len(response.body)
    most = min(TIMES * size, max(PAGE_MOST, TIMES_LARGE * size))
    try:
        if spare() < LEAST + most:
            raise MemoryError
        yield
    except MemoryError as error:
        keeper = crawler.get_extension(Keeper)
        if keeper is None or not keeper.is_durable:
            raise
        keeper.fail(shortage())
        raise IgnoreRequest("there is no memory to read it") from error


class MemoryWatch(Component, logging.Handler):
    """A thread that gives memory back, and ends a durable crawl if hardly any is left, or if the
    log has a MemoryError. No thread and no buffer can be had then: what is needed is made before.
    """

    def __init__(self, crawler: Crawler) -> None:
        logging.Handler.__init__(self)
        Component.__init__(self, crawler)
        self._is_over = Event()
        self._end_at = math.inf
        self._is_closing = False
        crawler.signals.connect(self.opened, signal=signals.spider_opened)
        crawler.signals.connect(self.closing, signal=signals.spider_closed)
        crawler.signals.connect(self.closed, signal=signals.engine_stopped)

    def opened(self) -> None:
        """Begin to watch."""
        keeper = self.crawler.get_extension(Keeper)
        if keeper is None or keeper.is_broken:
            return
        self.keeper = keeper
        self._loop, self._thread_of_loop = asyncio.get_running_loop(), current_thread()
        self._reserve = mmap.mmap(-1, RESERVE)
        # Where OpenBLAS gets no buffer, it asks for ever.
        np.ones((64, 64)) @ np.ones((64, 64))
        logging.getLogger().addHandler(self)
        Thread(target=self._watch, daemon=True).start()

    def closing(self) -> None:
        """Leave what the crawl has to its end."""
        self._is_closing = True

    def closed(self) -> None:
        """End the watch."""
        self._is_over.set()
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Look for a MemoryError in what is logged."""
        found = list(record.args) if isinstance(record.args, tuple) else []
        if record.exc_info:
            found.append(record.exc_info[1])
        for error in found:
            if isinstance(error, MemoryError) or (
                isinstance(error, RuntimeError) and str(error) == NO_THREAD
            ):
                self._begin_end()
                if current_thread() is self._thread_of_loop:  # which may be busy for long
                    self._end()
                if self._is_closing:
                    self.stats.set_value("contentspider/ledger/failed", str(shortage()))
                    self.stats.set_value("finish_reason", OUT_OF_MEMORY)

    def _begin_end(self) -> None:
        if self._end_at == math.inf and self.keeper.is_durable:
            self._end_at = time.monotonic() + END_SECS
            self._reserve.close()
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if self.keeper.is_durable and not self._is_closing:
            self.keeper.fail(shortage())

    def _watch(self) -> None:
        size = resident()
        while not self._is_over.wait(WATCH_SECS):
            try:
                if resident() > size + GROWTH:
                    give_back()
                    size = resident()
                if spare() < LEAST:
                    self._begin_end()
            except MemoryError:
                self._end_at = min(self._end_at, time.monotonic() + END_SECS)
            if time.monotonic() > self._end_at:
                os.write(2, LAST_WORDS)
                os._exit(Outcome.OUT_OF_MEMORY)
