"""Runs long work on a file in a thread, which a signal to the crawl can end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PAUSE_SECS = 0.1


async def run_in_thread(
    work: Callable[[], None],
    interrupt: Callable[[], None],
    pause: Callable[[], Awaitable[None]],
) -> None:
    """Run *work* in a thread, and call *pause* meanwhile; errors of *work* are raised. If *pause*
    raises an error, *interrupt* is called until the work has ended, and then the error is raised.
    """
    task = asyncio.create_task(asyncio.to_thread(work))
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=PAUSE_SECS)
            await pause()
    finally:
        while not task.done():
            interrupt()
            await asyncio.wait((task,), timeout=PAUSE_SECS)
        error = task.exception()
    if error is not None:
        raise error
