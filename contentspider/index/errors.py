"""Errors of search engines, and asking again while one is down."""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING, TypeVar

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

# For how long who writes into an index asks again; who searches does not.
PATIENCE_SECS = 60.0
FIRST_WAIT, LONGEST_WAIT = 0.2, 30.0

Answer = TypeVar("Answer")


class EngineError(ContentSpiderError):
    """An engine cannot be used, or refuses what it is asked; to ask again does not help."""


class EngineDownError(EngineError):
    """An engine does not answer, or is busy (429, 503): ask again, in *wait* seconds if said."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


class Retries:
    """Asks an engine that is down again for *patience* seconds, with longer and longer waits."""

    def __init__(self, patience: float = PATIENCE_SECS) -> None:
        self._patience = patience
        self.count = 0

    def __call__(self, ask: Callable[[], Answer]) -> Answer:
        """Return what *ask* returns; raises `EngineDownError` when patience is at its end."""
        began, wait = time.monotonic(), FIRST_WAIT
        while True:
            try:
                return ask()
            except EngineDownError as error:  # noqa: PERF203 - that is what the loop is for
                pause = max(wait * random.uniform(0.5, 1.5), error.wait)
                if time.monotonic() + pause - began > self._patience:
                    raise
                self.count += 1
                logger.info("%s; it is asked again in %.1f s", error, pause)
                time.sleep(pause)
                wait = min(2 * wait, LONGEST_WAIT)
