"""Jobs that extract pages for visitors: one per client, a few at a time, in memory only."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from contentspider.web.trials import Trial

MAX_RUNNING = 2
MAX_UNFINISHED = 20
# Finished jobs whose results stay in memory, at most some 50 MB each.
MAX_FINISHED = 10


class BusyError(ContentSpiderError):
    """A job is rejected, because its client has a running job, or too many jobs wait."""

    code = "too-many-jobs"


@dataclass(eq=False)
class Job:
    """A job of a *client* for the page at *url*, with its progress *messages*, and finally a
    *result* or an *error*.
    """

    id: str
    client: str
    url: str
    messages: list[str] = field(default_factory=list)
    result: Trial | None = None
    error: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def is_done(self) -> bool:
        """Return whether the job has a result or an error."""
        return self.result is not None or bool(self.error)

    def report(self, message: str) -> None:
        """Add a message about the job's progress."""
        self.messages.append(message)
        self._notify()

    def _notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def follow(self) -> AsyncIterator[str]:
        """Yield the job's messages until the job is done."""
        count = 0
        while True:
            changed = self.changed
            while count < len(self.messages):
                yield self.messages[count]
                count += 1
            if self.is_done:
                return
            await changed.wait()

    async def cancel(self) -> None:
        """End the job, and wait for the end."""
        if self.task is not None and not self.task.done():
            self.task.cancel()
            await asyncio.wait([self.task])

    async def run(
        self, work: Callable[[Job], Awaitable[Trial]], semaphore: asyncio.Semaphore
    ) -> None:
        """Do the work when *semaphore* has room, and store its result or its error."""
        try:
            async with semaphore:
                self.result = await work(self)
        except ContentSpiderError as error:
            self.error = str(error)
        except Exception as error:  # noqa: BLE001 - one page must not stop the server
            self.error = f"the page gave an error ({type(error).__name__}): please report the page"
        finally:
            if self.result is None and not self.error:
                self.error = "the job was stopped"
            self._notify()


class Jobs:
    """All jobs of a server."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        # The clients whose requests are being read, before they have a job.
        self._places: list[str] = []
        self._semaphore = asyncio.Semaphore(MAX_RUNNING)

    def get(self, job_id: str) -> Job | None:
        """Return a job, or None if it does not exist, or is deleted already."""
        return self._jobs.get(job_id)

    @contextmanager
    def place(self, client: str) -> Iterator[None]:
        """Keep the place of a job for a *client* while its request is read; raises `BusyError`."""
        self._check(client)
        self._places.append(client)
        try:
            yield
        finally:
            self._places.remove(client)

    def _check(self, client: str) -> None:
        """Raise `BusyError` if a client may not start a job now."""
        busy = [*self._places, *(job.client for job in self._jobs.values() if not job.is_done)]
        if client in busy:
            raise BusyError("one page at a time: wait until your last page is done")
        if len(busy) >= MAX_UNFINISHED:
            raise BusyError("too many pages are waiting: try again in a minute")

    def start(self, client: str, url: str, work: Callable[[Job], Awaitable[Trial]]) -> Job:
        """Start a job for the page at *url*, and return it; raises `BusyError`."""
        self._check(client)
        job = Job(secrets.token_urlsafe(12), client, url)
        self._jobs[job.id] = job
        finished_ids = [job.id for job in self._jobs.values() if job.is_done]
        for job_id in finished_ids[:-MAX_FINISHED]:
            del self._jobs[job_id]
        job.task = asyncio.create_task(job.run(work, self._semaphore))
        return job

    async def run(self, client: str, url: str, work: Callable[[Job], Awaitable[Trial]]) -> Trial:
        """Run a job to its end, and return its result without storing it.

        Raises `BusyError`, or `ContentSpiderError` with the error of the job.
        """
        job = self.start(client, url, work)
        async for _ in job.follow():
            pass
        self._jobs.pop(job.id, None)
        if job.result is None:
            raise ContentSpiderError(job.error)
        return job.result

    async def cancel_all(self) -> None:
        """Cancel all jobs, when the server ends."""
        await asyncio.gather(*(job.cancel() for job in self._jobs.values()))
