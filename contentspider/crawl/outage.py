"""Failures that may pass, and outages: when many requests in a row get no answer."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

logger = logging.getLogger(__name__)

# Requests in a row that got no answer at all: fewer are a site that is not there, or bad luck.
OUTAGE_FAILURES = 16
# Until the next request in an outage; doubled each time that it gets no answer, up to the most.
FIRST_PAUSE_SECS = 1.0
MAX_PAUSE_SECS = 30.0


class Outage:
    """Whether the network, or the site, is down: after `OUTAGE_FAILURES` requests in a row without
    an answer one is sent now and then, until there is an answer.

    It is over its limit when that took *limit_secs*. *clock* gives seconds.
    """

    def __init__(self, limit_secs: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit_secs = limit_secs
        self._clock = clock
        self._failures = 0
        self._since: float | None = None
        self._pause = 0.0
        self._next = 0.0

    @property
    def is_on(self) -> bool:
        """Tell whether there is an outage."""
        return self._since is not None

    @property
    def is_over_limit(self) -> bool:
        """Tell whether it takes longer than the crawl waits."""
        return self._since is not None and self._clock() - self._since >= self._limit_secs

    def answered(self) -> None:
        """Note an answer, whatever it says."""
        self._failures = 0
        if self._since is not None:
            logger.info("there is an answer again after %.0f s", self._clock() - self._since)
            self._since = None

    def failed(self, waiting: int) -> None:
        """Note a request without an answer, while as many others are *waiting*."""
        self._failures += 1
        now = self._clock()
        # A crawl that has nothing but its start addresses is at its end soon enough.
        if self._since is None and min(self._failures, waiting) >= OUTAGE_FAILURES:
            self._since, self._pause = now, FIRST_PAUSE_SECS
            self._next = now + self._pause
            logger.warning(
                "%d requests in a row got no answer: %d addresses wait until there is one, for"
                " CONTENTSPIDER_OUTAGE_SECS=%g at most",
                self._failures,
                waiting,
                self._limit_secs,
            )

    def may_ask(self) -> bool:
        """Tell whether a request may be sent now."""
        if self._since is None:
            return True
        now = self._clock()
        if now < self._next:
            return False
        self._pause = min(2 * self._pause, MAX_PAUSE_SECS)
        self._next = now + self._pause
        return True


class Transient:
    """Which failures may pass: those after which Scrapy asks again (``RETRY_EXCEPTIONS``,
    ``RETRY_HTTP_CODES``).
    """

    def __init__(self, settings: BaseSettings) -> None:
        self._exceptions: tuple[type[BaseException], ...] = tuple(
            load_object(entry) if isinstance(entry, str) else entry
            for entry in settings.getlist("RETRY_EXCEPTIONS")
        )
        self._statuses = {int(status) for status in settings.getlist("RETRY_HTTP_CODES")}

    def is_error(self, exception: BaseException) -> bool:
        """Tell whether a request that failed so may be answered later."""
        return isinstance(exception, self._exceptions)

    def is_status(self, status: int) -> bool:
        """Tell whether a request that was answered so may be answered otherwise later."""
        return status in self._statuses
