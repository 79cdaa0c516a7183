"""Engines that do tasks: this machine's processors, and a cluster of Dask."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import local
from typing import TYPE_CHECKING, Any

from contentspider.archive.child import Child
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from contentspider.archive.tasks import Task

    Engine = Callable[[Iterable[Task]], Iterator[dict[str, Any]]]

DASK = "dask://"
RETRIES = 5  # of a task whose machine is lost

_mine = local()
_children: list[Child] = []


def do(task: Task) -> dict[str, Any]:
    """Do a task in this thread's child process, and return its result, or why there is none
    (``failed``).
    """
    if not hasattr(_mine, "child"):
        _mine.child = Child()
        _children.append(_mine.child)
    child: Child = _mine.child
    try:
        return child.run(task)
    except ContentSpiderError as error:
        return {"failed": str(error)}


@contextmanager
def open_engine(name: str, processes: int = 0) -> Iterator[Engine]:
    """Give the engine of a name: ``local``, or ``dask://HOST:PORT`` of a scheduler. *processes* are
    those of this machine (0: as many as it has processors). Raises `ContentSpiderError`.
    """
    if name == "local":
        with ThreadPoolExecutor(processes or os.cpu_count() or 1) as pool:
            try:
                yield lambda tasks: _local(pool, tasks)
            finally:
                while _children:
                    _children.pop().end()
    elif name.startswith(DASK):
        require("dask", f"--engine {name}")
        from distributed import Client

        new_client: Any = Client
        try:
            client = new_client(name.replace(DASK, "tcp://"), timeout=10)
        except OSError as error:
            raise ContentSpiderError(f"{name}: there is no scheduler ({error})") from error
        with client:
            yield lambda tasks: _dask(client, tasks)
    else:
        raise ContentSpiderError(f"--engine {name}: use local, or dask://HOST:PORT")


def _local(pool: ThreadPoolExecutor, tasks: Iterable[Task]) -> Iterator[dict[str, Any]]:
    left: set[Future[dict[str, Any]]] = {pool.submit(do, task) for task in tasks}
    try:
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        for future in left:
            future.cancel()


def _dask(client: Any, tasks: Iterable[Task]) -> Iterator[dict[str, Any]]:
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    in_order_of_end: Any = as_completed
    futures = client.map(do, list(tasks), pure=False, retries=RETRIES)
    try:
        for future in in_order_of_end(futures):
            yield future.result()
    except KilledWorker as error:
        raise ContentSpiderError(f"workers are lost again and again: {error}") from error
    finally:
        client.cancel(futures)
