"""What runs the jobs of a run: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

import logging
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from contentspider.ground.dask import SCHEME, connect
from contentspider.ground.errors import ContentSpiderError
from contentspider.run.site_job import stop_crawls

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)

LOCAL = "local"
PATIENCE_SECS = 600.0  # how long a run waits for a scheduler that does not answer
CONNECT_SECS = 5.0


class ForgottenError(Exception):
    """The engine has forgotten a job, as a restarted scheduler does."""


class Engine(Protocol):
    """Runs jobs; `result` may be asked for when the job's ``done()`` is true."""

    def slots(self) -> int:
        """Return how many jobs may run at a time now."""

    def submit(
        self, on_done: Callable[[Any], None], function: Any, *given: Any, **named: Any
    ) -> Any:
        """Start a job, and return it; `on_done` gets it when it has ended."""

    def result(self, job: Any) -> Any:
        """Return the result of a job; raises `ForgottenError`, or the error of the job."""

    def stop(self, run: str) -> None:
        """Ask all crawls of a run to end; raises `ContentSpiderError` if they cannot be asked."""

    def close(self) -> None:
        """Free all resources."""


class LocalEngine:
    """Runs *jobs* jobs at a time, in threads of this process."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._pool = ThreadPoolExecutor(jobs)

    def slots(self) -> int:
        """Return how many jobs may run at a time."""
        return self._jobs

    def submit(
        self, on_done: Callable[[Any], None], function: Any, *given: Any, **named: Any
    ) -> Any:
        """Start a job in a thread."""
        job = self._pool.submit(function, *given, **named)
        job.add_done_callback(on_done)
        return job

    def result(self, job: Future[Any]) -> Any:
        """Return the result of a job; raises the error of the job."""
        return job.result()

    def stop(self, run: str) -> None:
        """Ask all crawls of a run to end."""
        stop_crawls(run)

    def close(self) -> None:
        """Wait for the threads."""
        self._pool.shutdown()


class DaskEngine:
    """Runs as many jobs at a time as the workers of a Dask cluster have threads. A worker that is
    lost is replaced by Dask. The jobs are forgotten if the scheduler is restarted.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._client: Any = connect(url)
        self._answered = time.monotonic()

    def slots(self) -> int:
        """Return the number of threads; 0 while the scheduler does not answer. Raises
        `ContentSpiderError` if it does not for long.
        """
        try:
            if self._client.status in ("closing", "closed"):
                self._client = connect(self._url, CONNECT_SECS)
            threads: int = sum(self._client.nthreads().values())
        except Exception as error:
            if time.monotonic() - self._answered > PATIENCE_SECS:
                raise ContentSpiderError(f"{self._url}: no Dask scheduler answers") from error
            logger.warning("%s does not answer now: %s", self._url, error)
            return 0
        self._answered = time.monotonic()
        return threads

    def submit(
        self, on_done: Callable[[Any], None], function: Any, *given: Any, **named: Any
    ) -> Any:
        """Start a job on a worker; raises `ForgottenError` if the scheduler does not answer."""
        try:
            job = self._client.submit(function, *given, **named, pure=False)
            job.add_done_callback(on_done)
        except Exception as error:
            raise ForgottenError(f"{self._url} does not answer: {error}") from error
        return job

    def result(self, job: Any) -> Any:
        """Return the result of a job; raises `ForgottenError`, or the error of the job."""
        try:
            return job.result()
        except CancelledError as error:
            raise ForgottenError("the scheduler has forgotten it") from error

    def stop(self, run: str) -> None:
        """Ask all crawls of a run to end; raises `ContentSpiderError` if they cannot be asked."""
        try:
            self._client.run(stop_crawls, run)
        except Exception as error:
            raise ContentSpiderError(f"{self._url} does not answer: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def open_engine(name: str, jobs: int) -> Engine:
    """Return the engine *name*: ``local`` (with *jobs* jobs at a time), or ``dask://HOST:PORT``.
    Raises `ContentSpiderError` if the name is invalid or the scheduler does not answer.
    """
    if name == LOCAL:
        return LocalEngine(jobs)
    if name.startswith(SCHEME):
        return DaskEngine(name)
    raise ContentSpiderError(f"--engine {name}: use local, or dask://HOST:PORT")
