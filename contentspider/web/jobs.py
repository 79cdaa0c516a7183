"""Work for those who look at pages: one job a client, a few at a time, gone with the server."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from contentspider.web.trying import Tried

AT_ONCE = 2
MAX_WAITING = 20
MAX_KEPT = 10  # finished ones whose results can be looked at: some 50 MB each at most


class BusyError(ContentSpiderError):
    """A job is not taken: its client has one, or too many wait."""


@dataclass(eq=False)
class Job:
    """A job of a *client*, with what it said of itself, and its result or what went wrong."""

    id: str
    client: str
    said: list[str] = field(default_factory=list)
    result: Tried | None = None
    error: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def is_done(self) -> bool:
        """Tell whether there is a result, or an error."""
        return self.result is not None or bool(self.error)

    def say(self, line: str) -> None:
        """Tell how far the job is."""
        self.said.append(line)
        self._wake()

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def lines(self) -> AsyncIterator[str]:
        """Yield what the job says, until it is done."""
        at = 0
        while True:
            changed = self.changed
            while at < len(self.said):
                yield self.said[at]
                at += 1
            if self.is_done:
                return
            await changed.wait()

    async def run(self, work: Callable[[Job], Awaitable[Tried]], free: asyncio.Semaphore) -> None:
        """Do the work when it is its turn."""
        try:
            async with free:
                self.result = await work(self)
        except ContentSpiderError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 - whatever a page does, the server goes on
            self.error = f"that did not work ({type(error).__name__}); please report this page"
        finally:
            self.error = self.error or ("" if self.result else "it was stopped")
            self._wake()


class Jobs:
    """The jobs of a server."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._free = asyncio.Semaphore(AT_ONCE)

    def get(self, id_: str) -> Job | None:
        """Return a job; None if it is not known (any more)."""
        return self._jobs.get(id_)

    def begin(self, client: str, work: Callable[[Job], Awaitable[Tried]]) -> Job:
        """Begin a job; raises `BusyError`."""
        running = [job for job in self._jobs.values() if not job.is_done]
        if any(job.client == client for job in running):
            raise BusyError("one page at a time: wait until the last one is done")
        if len(running) >= MAX_WAITING:
            raise BusyError("too many pages wait: come back in a minute")
        job = Job(secrets.token_urlsafe(12), client)
        self._jobs[job.id] = job
        for id_ in [one.id for one in self._jobs.values() if one.is_done][:-MAX_KEPT]:
            del self._jobs[id_]
        job.task = asyncio.create_task(job.run(work, self._free))
        return job

    async def done(self, client: str, work: Callable[[Job], Awaitable[Tried]]) -> Tried:
        """Do a job, and return its result, which is not kept; raises `BusyError`, or
        `ContentSpiderError` with what went wrong.
        """
        job = self.begin(client, work)
        async for _ in job.lines():
            pass
        self._jobs.pop(job.id, None)
        if job.result is None:
            raise ContentSpiderError(job.error)
        return job.result

    async def end(self) -> None:
        """End all jobs, when the server ends."""
        tasks = [job.task for job in self._jobs.values() if job.task and not job.task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
