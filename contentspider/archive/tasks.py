"""Makes the tasks of a job. Loads fast, because engines import it in many processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

from contentspider.archive.target import shard_id
from contentspider.state.crawls.folder import state_folder
from contentspider.state.stores.remote import is_url

SAMPLE, FIND, LEARN, EXTRACT = ("sample", "find", "learn", "extract")
# The smallest number of buckets that sites are distributed over; more shards make more buckets.
MIN_BUCKETS = 16
Job = dict[str, Any]
Task = dict[str, Any]


def job_of(
    shards: list[str], target: str, models: str, state: str = "", form: str = "jsonl"
) -> Job:
    """Return the options of a job for `tasks_of`.

    *target* and *models* are the URLs or folders of items and models, *state* is the folder of
    crawls' state, and *form* the format of items (``jsonl`` or ``parquet``).
    """
    return {
        "target": _absolute(target),
        "models": _absolute(models),
        "state": str(state_folder(state).absolute()),
        "format": form,
        "buckets": max(MIN_BUCKETS, len(shards)),
    }


def _absolute(text: str) -> str:
    """Return a URL unchanged, or the absolute path of a folder, which other processes can use."""
    return text if is_url(text) else str(Path(text).absolute())


def steps_of(
    shards: list[str], job: Job, engine: Callable[[list[Task]], Iterable[dict[str, Any]]]
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Do a job: yield the name of a step, the number of its tasks, and the result of each task.

    *engine* runs tasks (`contentspider.archive.engines.do`), in any order and anywhere, and yields
    their results. Each step begins when the one before it has ended.
    """
    revisits: dict[str, None] = {}

    def step(kind: str, of: list[str]) -> Iterator[tuple[str, int, dict[str, Any]]]:
        tasks = tasks_of(kind, job, of)
        for result in engine(tasks):
            revisits.update(dict.fromkeys(result.get("revisits", ())))
            yield kind, len(tasks), result

    yield from step(SAMPLE, shards)
    if revisits:  # their pages may be in any shard
        yield from step(FIND, shards)
        folders = sorted(revisits)
        yield from step(SAMPLE, folders)
        shards = [*shards, *folders]
    yield from step(LEARN, shards)
    yield from step(EXTRACT, shards)


def tasks_of(kind: str, job: Job, shards: list[str]) -> list[Task]:
    """Return the tasks of the step *kind*: one per bucket for `LEARN`, otherwise one per shard."""
    # Some tasks depend on all shards. The hash makes them run again when the job has more.
    names = sorted(map(shard_id, shards))
    shards_hash = blake2b("\n".join(names).encode(), digest_size=4).hexdigest()
    if kind == LEARN:
        return [
            {**job, "kind": kind, "id": f"{shards_hash}-{bucket:05}", "bucket": bucket}
            for bucket in range(job["buckets"])
        ]
    suffix = {SAMPLE: f"-{job['buckets']}", FIND: f"-{shards_hash}"}.get(kind, "")
    return [
        {**job, "kind": kind, "id": f"{shard_id(shard)}{suffix}", "shard": shard}
        for shard in shards
    ]
