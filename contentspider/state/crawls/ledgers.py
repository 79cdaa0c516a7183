"""Where the ledgers of crawls are, and how they stand; what happens to damaged and older ones."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from contentspider.ground.errors import StateError
from contentspider.ground.scope import crawl_name
from contentspider.state.crawls.folder import state_folder
from contentspider.state.crawls.outcome import FINISHED, INCOMPLETE
from contentspider.state.history.history import History
from contentspider.state.ledger.database import (
    PARTS,
    LedgerBusyError,
    SchemaError,
    is_in_use,
    remove,
)
from contentspider.state.ledger.ledger import Ledger

logger = logging.getLogger(__name__)

TEMPORARY = "temporary"  # the folder of ledgers that only one process uses
HISTORIES = "history"  # the folder of histories, which outlive the ledgers of one name
INCOMPLETE_RUNS = 2  # runs that only lacked unreadable pages: a crawl starts over
KEPT_CRAWLS = 3  # ledgers of earlier crawls whose pages are in no history
KILLED = "ended without notice: it was killed, or the power was lost"


def crawl_ledger(name: str, state_dir: str = "") -> Path:
    """Return where the ledger of a crawl of that name is."""
    safe = re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "crawl"
    return state_folder(state_dir) / f"{safe}.sqlite"


def name_of(starts: Sequence[str], scope: Sequence[Any], state_dir: str = "") -> str:
    """Return the name of the crawl from some start addresses. An earlier version named it by its
    *scope* (the other arguments of `crawl_name`), too: that is its name if only that has a history.
    """

    def has_history(crawl: str) -> bool:
        return history_of(crawl_ledger(crawl, state_dir)).exists()

    name, former = crawl_name(starts), crawl_name(starts, *scope)
    return former if has_history(former) and not has_history(name) else name


def open_crawl(path: Path, resume: bool) -> tuple[Ledger, bool]:
    """Return a crawl's ledger, and whether it resumes an unfinished one. Others are archived, but
    for a finished one, of which the history has all.
    """
    old = open_ledger(path)
    if old is None:
        return Ledger(path), False
    last = old.runs.last()
    if last and last.reason != FINISHED:
        goes_on = resume and not is_hopeless(old)
        if goes_on:
            how = f"was stopped ({last.reason})" if last.ended else KILLED
            queued = old.frontier.queue.length + old.frontier.states().get("taken", 0)
            held = sum(old.items.held_counts().values())
            text = (
                f"the run of {last.started} {how}; going on with {queued} addresses in the queue,"
                f" {old.frontier.unread} that could not be read and {held} held items"
            )
        elif resume:
            text = (
                f"{old.frontier.unread} addresses could not be read in {INCOMPLETE_RUNS} runs; a"
                " new crawl starts"
            )
        else:
            text = (
                f"the crawl of {last.started} was not finished; this one starts over. --resume"
                " (CONTENTSPIDER_RESUME) would go on with it"
            )
        logger.warning("%s: %s", path, text)
        if goes_on:
            return old, True
    if not old.detach():
        raise LedgerBusyError(
            f"{path} is being read by another process (status, replay, report, or a learner of the"
            " last crawl); try again in a while"
        )
    if last and not (last.reason == FINISHED and history_of(path).exists()):
        archive(path, last.started)
    else:
        remove(path)
    return Ledger(path), False


def is_hopeless(ledger: Ledger) -> bool:
    """Tell whether only pages are left that could not be read in several runs."""
    reasons = [run.reason for run in ledger.runs.all()[-INCOMPLETE_RUNS:]]
    is_left = ledger.frontier.queue.length or ledger.items.held_counts()
    return reasons == [INCOMPLETE] * INCOMPLETE_RUNS and not is_left


def open_ledger(path: Path) -> Ledger | None:
    """Return the ledger at *path*, if there is one that can be used; any other is set aside."""
    if not path.exists():
        return None
    try:
        ledger = Ledger(path)
        ledger.check()
        return ledger
    except (StateError, SchemaError) as error:
        aside = _set_aside(path)
        logger.warning("%s; it is set aside as %s and the crawl starts anew", error, aside.name)
        return None


def _set_aside(path: Path) -> Path:
    """Rename a database that cannot be used, with all that is beside it, and return its path."""
    aside = path.with_name(path.name + ".broken")
    for suffix in PARTS:
        if (part := path.with_name(path.name + suffix)).exists():
            part.replace(aside.with_name(aside.name + suffix))
    return aside


def history_of(ledger: Path) -> Path:
    """Return where the history is that the crawls of a ledger's name share."""
    return ledger.parent / HISTORIES / ledger.name


def open_history(path: Path, max_bytes: int) -> History:
    """Return the history at *path*, a new one if there is none; a damaged one is set aside."""
    try:
        history = History(path, max_bytes=max_bytes)
        history.check()
        return history
    except StateError as error:
        logger.error(
            f"{error}; it is set aside as {_set_aside(path).name}, and all pages count as new:"
            " consumers of its change log begin anew"
        )
        return History(path, max_bytes=max_bytes)


def open_temporary(path: Path) -> Ledger:
    """Return a ledger for this process alone; those that killed processes left are deleted."""
    folder = path.parent / TEMPORARY
    for left in folder.glob("*.sqlite"):
        if not is_in_use(left):
            remove(left)
    return Ledger(folder / f"{path.stem}-{os.getpid()}-{time.time_ns()}.sqlite", durable=False)


def archive(path: Path, started: str) -> None:
    """Rename a crawl's ledger by its last run's time; the last few stay."""
    stamp = re.sub(r"[^0-9T]", "", started.partition("+")[0])
    aside = path.with_name(f"{path.stem}.{stamp}.sqlite")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.stem}.{stamp}-{number}.sqlite")
    path.replace(aside)
    for suffix in PARTS[1:]:  # empty, but another process may have them open
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    stamped = re.compile(re.escape(path.stem) + r"\.(\d{8}T\d{6})(?:-(\d+))?\.sqlite")
    found = [
        (match[1], int(match[2] or 1), entry)
        for entry in path.parent.iterdir()
        if (match := stamped.fullmatch(entry.name))
    ]
    for _, _, entry in sorted(found)[:-KEPT_CRAWLS]:
        remove(entry)


def crawl_status(path: Path) -> str:
    """Return what a running or dead crawl has done so far, by its ledger, in lines."""
    is_running = is_in_use(path)
    with closing(Ledger(path, read_only=True)) as ledger:
        runs = ledger.runs.all()
        lines = [f"{path}"]
        for run in runs:
            how = f"ended {run.ended}: {run.reason}" if run.ended else KILLED
            if not run.ended and is_running and run is runs[-1]:
                how = f"is running (process {run.pid})"
            lines.append(f"run {run.number}, started {run.started}, {how}")
        held = ledger.items.held_counts()
        lines += ["", f"items: {ledger.items.count()} out, {sum(held.values())} held"]
        lines += [f"  {held[site]} of {site} held until it has been learned" for site in held]
        lines += ["addresses:"]
        for state, count in ledger.frontier.states().items():
            lines.append(f"  {count} {state}")
            reasons = ledger.frontier.reasons(state) if state in ("failed", "skipped") else []
            for reason, number, url in reasons[:10]:
                lines.append(f"    {number} {reason or ''} (such as {url})")
    if runs and not is_running and runs[-1].reason != FINISHED:
        lines += ["", "It is not finished: the same command with --resume goes on with it."]
    return "\n".join(lines)
