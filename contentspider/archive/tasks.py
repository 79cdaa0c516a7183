"""The tasks of a job, for whatever engine does them; nothing here takes long to load."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any

from contentspider.archive.target import shard_id
from contentspider.state.crawls.folder import state_folder
from contentspider.state.stores.remote import is_url

SAMPLE, LEARN, EXTRACT = STEPS = ("sample", "learn", "extract")
# Sites are learned in so many parts: at least this, and more if there are more shards.
MIN_BUCKETS = 16
NOWHERE = 2**64 - 1  # in place of the number of a page: none is being read
Job = dict[str, Any]
Task = dict[str, Any]


def job_of(
    shards: list[str], target: str, models: str, state: str = "", form: str = "jsonl"
) -> Job:
    """Return a job of which `tasks_of` makes tasks: the URLs or folders of items and models, the
    folder of crawls' state, the format of items.
    """
    return {
        "target": _absolute(target),
        "models": _absolute(models),
        "state": str(state_folder(state).absolute()),
        "format": form,
        "buckets": max(MIN_BUCKETS, len(shards)),
    }


def _absolute(text: str) -> str:
    """Return a URL, or the absolute path of a folder: other processes see it, too."""
    return text if is_url(text) else str(Path(text).absolute())


def tasks_of(kind: str, job: Job, shards: list[str]) -> list[Task]:
    """Return the tasks of a step of a job."""
    names = sorted(map(shard_id, shards))
    if kind == LEARN:  # again if there are more shards
        known = blake2b("\n".join(names).encode(), digest_size=4).hexdigest()
        buckets = range(job["buckets"])
        return [{**job, "kind": kind, "id": f"{known}-{one:05}", "bucket": one} for one in buckets]
    more = f"-{job['buckets']}" if kind == SAMPLE else ""
    return [
        {**job, "kind": kind, "id": f"{shard_id(shard)}{more}", "shard": shard} for shard in shards
    ]
