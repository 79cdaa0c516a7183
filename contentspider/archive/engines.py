"""Engines that run tasks: the processors of this machine, or a Dask cluster."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import closing, contextmanager
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, Any

from contentspider.archive.tasks import LEARN
from contentspider.ground import engines
from contentspider.ground.children import ChildError, End, Limits, never, run_child
from contentspider.ground.counts import counted
from contentspider.ground.engines import LOCAL
from contentspider.ground.errors import ContentSpiderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from contentspider.archive.tasks import Task

    Engine = Callable[[Iterable[Task]], Iterator[dict[str, Any]]]

RETRIES = 5  # how often Dask runs a task again whose machine is lost
PAGE_LIMITS = Limits(step_secs=300.0)  # a child that reads one page for longer is killed
DEATHS_PER_PAGE = 2  # a page is left out after this many; a single death can have another cause
MAX_DEATHS = 50  # in one task
# Each task runs in a child, so that a page that crashes or hangs it costs only that page.
RUN = "contentspider.archive.steps:run_in_child"
LEARNER = "contentspider.site.learn.learner"


class LostError(ContentSpiderError):
    """A task failed because its process died too often, or was stopped."""

    code = "task-lost"


def do(task: Task, is_over: Callable[[], bool] = never) -> dict[str, Any]:
    """Run a task in child processes until *is_over* returns True, and return its result. If the
    task fails, the result has only the key ``failed`` with the error message.
    """
    try:
        return _run(task, is_over)
    except ContentSpiderError as error:
        return {"failed": str(error)}


def _run(task: Task, is_over: Callable[[], bool]) -> dict[str, Any]:
    """Run a task again until no child dies, without the pages that killed two of them. Raises
    `ContentSpiderError`.
    """
    deaths: Counter[int | None] = Counter()
    skipped: list[int] = []
    name = f"{task['kind']} {task['id']}"
    while True:
        try:
            result, _ = run_child(
                RUN,
                {**task, "skip": skipped},
                limits=PAGE_LIMITS,
                preload=[LEARNER] if task["kind"] == LEARN else [],
                is_over=is_over,
            )
            return dict(result)
        except ChildError as error:
            _check(error, name)
            page = error.step
        deaths[page] += 1
        if page is not None and deaths[page] >= DEATHS_PER_PAGE:
            skipped.append(page)
        if deaths[None] > DEATHS_PER_PAGE or deaths.total() > MAX_DEATHS:
            raise LostError(f"{name}: its process was lost {counted(deaths.total(), 'times')}")


def _check(error: ChildError, name: str) -> None:
    """Raise the error that ends a task, unless a page may have caused it."""
    if ContentSpiderError.__name__ in error.kinds:
        raise ContentSpiderError(str(error))
    if OSError.__name__ in error.kinds or error.end is End.NOT_STARTED:
        raise ContentSpiderError(f"{error.kinds[0] if error.kinds else name}: {error}")
    if error.end is End.STOPPED:
        raise LostError(f"{name}: the task was stopped")


@contextmanager
def open_engine(name: str, processes: int = 0) -> Iterator[Engine]:
    """Open the engine *name*: ``local``, or ``dask://HOST:PORT`` with a scheduler's address.

    The local engine runs *processes* processes (0: one per processor). Raises `ContentSpiderError`
    if the name is invalid or the scheduler does not answer.
    """
    stop = Event()
    # The children of this machine end with the caller.
    more = (stop.is_set,) if name == LOCAL else ()
    jobs = processes or os.cpu_count() or 1
    with closing(engines.open_engine(name, jobs, RETRIES)) as engine:
        try:
            yield lambda tasks: _run_all(engine, tasks, *more)
        finally:
            stop.set()


def _run_all(
    engine: engines.Engine, tasks: Iterable[Task], *more: Callable[[], bool]
) -> Iterator[dict[str, Any]]:
    """Yield the results of tasks as they finish; cancels the other tasks if the caller stops."""
    ended: SimpleQueue[Any] = SimpleQueue()
    jobs: list[Any] = []
    try:
        jobs += (engine.submit(ended.put, do, task, *more) for task in tasks)
        for _ in jobs:
            yield engine.result(ended.get())
    except engines.ForgottenError as error:
        raise ContentSpiderError(f"a task was lost: {error}") from error
    finally:
        for job in jobs:
            if not job.done():
                job.cancel()
