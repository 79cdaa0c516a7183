"""Engines that run tasks: the processors of this machine, or a Dask cluster."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any

from contentspider.archive.child import Child
from contentspider.ground.dask import SCHEME, connect
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from contentspider.archive.tasks import Task

    Engine = Callable[[Iterable[Task]], Iterator[dict[str, Any]]]

RETRIES = 5  # how often Dask runs a task again whose machine is lost

_thread = local()
_children: list[Child] = []


def do(task: Task) -> dict[str, Any]:
    """Run a task in the child process of this thread, and return its result. If the task fails, the
    result has only the key ``failed`` with the error message.
    """
    if not hasattr(_thread, "child"):
        _thread.child = Child()
        _children.append(_thread.child)
    child: Child = _thread.child
    try:
        return child.run(task)
    except ContentSpiderError as error:
        return {"failed": str(error)}


@contextmanager
def open_engine(name: str, processes: int = 0) -> Iterator[Engine]:
    """Open the engine *name*: ``local``, or ``dask://HOST:PORT`` with a scheduler's address.

    The local engine runs *processes* processes (0: one per processor). Raises `ContentSpiderError`
    if the name is invalid or the scheduler does not answer.
    """
    if name == "local":
        with ThreadPoolExecutor(processes or os.cpu_count() or 1) as pool:
            try:
                yield lambda tasks: _run_locally(pool, tasks)
            finally:
                while _children:
                    _children.pop().end()
    elif name.startswith(SCHEME):
        client: Any = connect(name)
        with client:
            yield lambda tasks: _run_on_dask(client, tasks)
    else:
        raise ContentSpiderError(f"--engine {name}: use local, or dask://HOST:PORT")


def _run_locally(pool: ThreadPoolExecutor, tasks: Iterable[Task]) -> Iterator[dict[str, Any]]:
    """Yield the results of tasks as they finish; cancels the other tasks if the caller stops."""
    pending: set[Future[dict[str, Any]]] = {pool.submit(do, task) for task in tasks}
    try:
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    finally:
        for future in pending:
            future.cancel()


def _run_on_dask(client: Any, tasks: Iterable[Task]) -> Iterator[dict[str, Any]]:
    """Yield the results of tasks as they finish; cancels the other tasks if the caller stops."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    in_order_of_completion: Any = as_completed
    futures = client.map(do, list(tasks), pure=False, retries=RETRIES)
    try:
        for future in in_order_of_completion(futures):
            yield future.result()
    except KilledWorker as error:
        raise ContentSpiderError(f"a task lost its worker repeatedly: {error}") from error
    finally:
        client.cancel(futures)
