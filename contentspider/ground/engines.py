"""What runs jobs: threads of this process, or workers of a Dask cluster (the extra ``dask``)."""

from __future__ import annotations

import logging
import time
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributed import Client

logger = logging.getLogger(__name__)

LOCAL, SCHEME = "local", "dask://"
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

    def everywhere(self, function: Any, *given: Any) -> None:
        """Call a function in each process that runs jobs; raises `ContentSpiderError` if that is
        not possible.
        """

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

    def everywhere(self, function: Any, *given: Any) -> None:
        """Call a function in this process."""
        function(*given)

    def close(self) -> None:
        """Wait for the threads."""
        self._pool.shutdown()


class DaskEngine:
    """Runs as many jobs at a time as the workers of a Dask cluster have threads. A worker that is
    lost is replaced by Dask, which runs a job *retries* times again. The jobs are forgotten if the
    scheduler is restarted.
    """

    def __init__(self, url: str, retries: int = 0) -> None:
        self._url, self._retries = url, retries
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
            job = self._client.submit(
                function, *given, **named, pure=False, retries=self._retries or None
            )
            job.add_done_callback(on_done)
        except Exception as error:
            raise ForgottenError(f"{self._url} does not answer: {error}") from error
        return job

    def result(self, job: Any) -> Any:
        """Return the result of a job; raises `ForgottenError`, the error of the job, or
        `ContentSpiderError` for a job that lost its worker each time.
        """
        from distributed.scheduler import KilledWorker

        try:
            return job.result()
        except KilledWorker as error:
            raise ContentSpiderError(f"it lost its worker repeatedly: {error}") from error
        except CancelledError as error:
            raise ForgottenError("the scheduler has forgotten it") from error

    def everywhere(self, function: Any, *given: Any) -> None:
        """Call a function on each worker; raises `ContentSpiderError` if they cannot be asked."""
        try:
            self._client.run(function, *given)
        except Exception as error:
            raise ContentSpiderError(f"{self._url} does not answer: {error}") from error

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def open_engine(name: str, jobs: int, retries: int = 0) -> Engine:
    """Return the engine *name*: ``local`` (with *jobs* jobs at a time), or ``dask://HOST:PORT``
    (see `DaskEngine`). Raises `ContentSpiderError` if the name is invalid or the scheduler does not
    answer.
    """
    if name == LOCAL:
        return LocalEngine(jobs)
    if name.startswith(SCHEME):
        return DaskEngine(name, retries)
    raise ContentSpiderError(f"--engine {name}: use local, or dask://HOST:PORT")


def connect(engine: str, seconds: float = 10) -> Client:
    """Return a client of the scheduler that *engine* names, ``dask://HOST:PORT``. Raises
    `ContentSpiderError` if the scheduler does not answer within *seconds*.
    """
    require("dask", f"--engine {engine}")
    from distributed import Client

    new_client: Any = Client
    try:
        client: Client = new_client(engine.replace(SCHEME, "tcp://"), timeout=seconds)
    except OSError as error:
        raise ContentSpiderError(f"{engine}: no Dask scheduler answers ({error})") from error
    return client
