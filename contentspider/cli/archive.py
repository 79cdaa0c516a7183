"""The command ``contentspider archive``."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from contentspider.cli.command import MODELS, STATE_DIR, argument, command
from contentspider.ground.counts import counted
from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.terminal import say
from contentspider.state.outcome import Outcome

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

FORMATS = ("jsonl", "parquet")
PROGRESS_SECS = 10.0


@command(
    "archive",
    argument(
        "SOURCE...",
        "stored pages, as a path or URL with * (s3://bucket/*.warc.gz): WARC, JSON lines or Parquet"
        " with url and html",
    ),
    argument("-o --output TARGET", "the folder of the items, or its URL", required=True),
    MODELS,
    argument("--format FORMAT", "of the items (default: jsonl)", FORMATS, "jsonl"),
    argument("--engine ENGINE", "local (default), or dask://HOST:PORT", default="local"),
    argument("--processes N", "of this machine (default: its processors)", default=0, least=0),
    STATE_DIR,
    extra="archive",
)
def archive(options: argparse.Namespace) -> int:
    """Extract any number of stored pages. A site without a model is learned from a sample of its
    pages in all shards. Each site's items are written to a folder of its own. A second run does
    only the rest of an unfinished one.
    """
    from contentspider.archive.engines import open_engine
    from contentspider.archive.sources import find_shards
    from contentspider.archive.steps import MAX_NAMED
    from contentspider.archive.stored import NO_LOSS
    from contentspider.archive.target import Target
    from contentspider.archive.tasks import job_of, steps_of
    from contentspider.site.models.failures import LostProse

    shards = find_shards(options.source)
    job = job_of(shards, options.output, str(options.models), options.state_dir, options.format)
    Target(job["target"]).sweep()
    left_out: list[str] = []
    refused: list[str] = []
    unread: Counter[str] = Counter()
    unread_names: list[str] = []
    problems: dict[str, None] = {}
    lost = LostProse()
    totals = {"pages": 0, "learned": 0, "items": 0}
    with open_engine(options.engine, options.processes) as engine:
        for result in _with_progress(steps_of(shards, job, engine)):
            left_out += result.get("left_out", [])
            refused += result.get("refused", [])
            unread.update(result.get("unread", {}))
            unread_names += result.get("unread_names", [])[: MAX_NAMED - len(unread_names)]
            messages = (result.get("failed"), result.get("damage"))
            problems |= dict.fromkeys(filter(None, messages))
            lost.add(**result.get("lost", asdict(LostProse())))
            for name in totals:
                totals[name] += result.get(name, 0)
    if unread:
        _tell_unread(unread, unread_names)
    for url in left_out:
        say(f"left out, since it kills its process or has no host: {url}")
    say(
        f"{counted(totals['items'], 'items')} of {counted(totals['pages'], 'pages')},"
        f" {counted(totals['learned'], 'sites')} learned -> {options.output}"
    )
    for site in refused[:MAX_NAMED]:
        say(f"the model of {site} was refused: its pages were judged one by one")
    if len(refused) > MAX_NAMED:
        say(f"so were the models of {counted(len(refused) - MAX_NAMED, 'more sites')}")
    if lost.lost:
        say(str(lost))
    if problems:
        raise ContentSpiderError("\n".join(["not all could be read or written:", *problems]))
    if not totals["pages"]:
        return Outcome.NOTHING_READ
    is_complete = not (left_out or refused or lost.is_large) and unread.keys() <= set(NO_LOSS)
    return Outcome.COMPLETE if is_complete else Outcome.INCOMPLETE


def _tell_unread(unread: Counter[str], names: Sequence[str]) -> None:
    """Print the numbers of unread records by kind, and the *names* of some."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in unread.most_common())
    say(f"{counted(unread.total(), 'records')} cannot be read ({kinds}), such as:")
    for name in names:
        say(f"  {name}")


def _with_progress(steps: Iterable[tuple[str, int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Yield the results, and print their number, at most once in `PROGRESS_SECS`."""
    last, earlier, number = time.monotonic(), ("", 0), 0
    for kind, tasks, result in steps:
        number = number + 1 if (kind, tasks) == earlier and number < tasks else 1
        earlier = kind, tasks
        if number == tasks or time.monotonic() - last >= PROGRESS_SECS:
            say(f"{kind}: {number} of {tasks}")
            last = time.monotonic()
        yield result
