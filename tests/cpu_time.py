"""A measure of CPU time that a busy or slow machine does not change."""

from __future__ import annotations

import time


def loop_secs() -> float:
    """Return the CPU seconds of two million steps of a loop: 0.075 where nothing else is busy, so
    that 30 of them are 2.3 seconds.
    """
    started = time.process_time()
    for _ in range(2):
        sum(number for number in range(1_000_000))
    return time.process_time() - started
