"""An engine that is asked again while it is down."""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING, TypeVar

from contentspider.index.errors import EngineDownError

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

FIRST_WAIT, LONGEST_WAIT = 0.2, 30.0

Answer = TypeVar("Answer")


class Retries:
    """Asks an engine again, with longer and longer waits and some chance in them, while it is down:
    for *patience* seconds in a row.
    """

    def __init__(
        self,
        patience: float,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._patience = patience
        self._sleep = sleep
        self._clock = clock
        self.count = 0

    def __call__(self, ask: Callable[[], Answer]) -> Answer:
        """Return what *ask* returns; raises `EngineDownError` when patience is at its end."""
        began, wait = self._clock(), FIRST_WAIT
        while True:
            try:
                return ask()
            except EngineDownError as error:  # noqa: PERF203 - that is what the loop is for
                pause = max(wait * random.uniform(0.5, 1.5), error.wait)
                if self._clock() + pause - began > self._patience:
                    raise
                self.count += 1
                logger.info("%s; it is asked again in %.1f s", error, pause)
                self._sleep(pause)
                wait = min(2 * wait, LONGEST_WAIT)
