"""Errors of search engines, their URLs in messages, and retries while an engine is down."""

from __future__ import annotations

import logging
import random
import re
import time
from typing import TYPE_CHECKING, TypeVar

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

# A writer repeats a request for this long; a reader does not repeat it.
RETRY_SECS = 60.0
FIRST_WAIT_SECS, LONGEST_WAIT_SECS = 0.2, 30.0

Result = TypeVar("Result")


class EngineError(ContentSpiderError):
    """An engine cannot be used, or rejects a request. A retry does not help."""

    code = "engine"


class IndexDamagedError(EngineError):
    """The files of an index are damaged. `rebuild` fills a new index."""

    code = "index-damaged"


class EngineDownError(EngineError):
    """An engine does not answer, or is busy (HTTP 429, 503). A retry may help.

    *wait* is the number of seconds that the server asks to wait, or 0.0.
    """

    code = "engine-down"

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class EmbedderError(EngineError):
    """An embedder cannot be used, or fails. An update of an index stops, and a later one continues.

    A search finds pages by their words alone then.
    """

    code = "embedder"


def is_temporary(status: int) -> bool:
    """Return whether a retry may help after an HTTP *status*."""
    return status in (408, 429) or status >= 500


def retry_after_secs(header: str | None) -> float:
    """Return the seconds in a ``Retry-After`` header, or 0.0 if it is a date or missing.

    >>> retry_after_secs("7"), retry_after_secs("Wed, 21 Oct 2026 07:28:00 GMT")
    (7.0, 0.0)
    >>> retry_after_secs(None)
    0.0
    """
    return float(header) if header and header.isdecimal() else 0.0


class Retries:
    """Repeats a call while an engine is down, for at most *max_secs* seconds, with growing waits.

    *count* is the number of repeated calls so far.
    """

    def __init__(self, max_secs: float = RETRY_SECS) -> None:
        self._max_secs = max_secs
        self.count = 0

    def __call__(self, request: Callable[[], Result]) -> Result:
        """Return the result of *request*; raises the last `EngineDownError` when time is up."""
        start, wait = time.monotonic(), FIRST_WAIT_SECS
        while True:
            try:
                return request()
            except EngineDownError as error:  # noqa: PERF203 - the loop exists for this exception
                pause = max(wait * random.uniform(0.5, 1.5), error.wait)
                if time.monotonic() + pause - start > self._max_secs:
                    raise
                self.count += 1
                logger.info("%s; next attempt in %.1f s", error, pause)
                time.sleep(pause)
                wait = min(2 * wait, LONGEST_WAIT_SECS)


def redacted_url(url: str) -> str:
    """Return an index's URL without any part that may be a password, for messages and logs.

    >>> redacted_url("opensearch://me:secret@host/pages?key=1")
    'opensearch://host/pages'
    """
    address = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"^([^:]*:(?://)?)[^/]*@", r"\1", address)
