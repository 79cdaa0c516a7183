"""Where the ledgers of crawls are, and what happens to damaged, abandoned and older ones."""

from __future__ import annotations

import logging
import os
import re
import time
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError, StateError
from contentspider.state.crawls.ending import FINISHED, INCOMPLETE
from contentspider.state.crawls.folder import state_folder
from contentspider.state.history.history import History
from contentspider.state.ledger.database import (
    PARTS,
    LedgerBusyError,
    SchemaError,
    is_in_use,
    remove,
)
from contentspider.state.ledger.ledger import Ledger

if TYPE_CHECKING:
    from pathlib import Path

logger = logging.getLogger(__name__)

# The folder of ledgers that only one process uses.
TEMPORARY = "temporary"
# The folder of histories, which outlive the ledgers of crawls of one name.
HISTORIES = "history"
# So many runs of a crawl that only lacks unreadable pages; then it starts over.
INCOMPLETE_RUNS = 2
# Ledgers of earlier crawls that are kept beside the current one.
KEPT_CRAWLS = 3


def crawl_ledger(name: str, state_dir: str = "") -> Path:
    """Return where the ledger of a crawl of that name is."""
    safe = re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "crawl"
    return state_folder(state_dir) / f"{safe}.sqlite"


def open_crawl(path: Path, resume: bool, keep: int = KEPT_CRAWLS) -> tuple[Ledger, bool]:
    """Return the ledger of a crawl, and whether it resumes an unfinished one.

    The ledger of an earlier crawl that is not resumed is archived.
    """
    old = open_ledger(path)
    if old is None:
        return Ledger(path), False
    runs = old.runs.all()
    last = runs[-1] if runs else None
    if last and last.reason != FINISHED:
        if resume and not is_hopeless(old):
            how = (
                f"was stopped ({last.reason})"
                if last.ended
                else "ended without notice (killed, or the power was lost)"
            )
            logger.warning(
                "%s: the run of %s %s; going on with %d addresses in the queue, %d that could not"
                " be read and %d held items",
                path,
                last.started,
                how,
                old.frontier.queue.length + old.frontier.states().get("taken", 0),
                old.frontier.unread,
                sum(old.items.held_counts().values()),
            )
            return old, True
        if resume:
            logger.warning(
                "%s: %d addresses could not be read in %d runs; a new crawl starts",
                path,
                old.frontier.unread,
                INCOMPLETE_RUNS,
            )
        else:
            logger.warning(
                "%s: the crawl of %s was not finished; this one starts over. --resume"
                " (CONTENTSPIDER_RESUME) would go on with it",
                path,
                last.started,
            )
    if not old.detach():
        raise LedgerBusyError(
            f"{path} is being read by another process (status, replay, report, or a learner of the"
            " last crawl); try again in a while"
        )
    if last:
        archive(path, last.started, keep)
    else:
        remove(path)
    return Ledger(path), False


def is_hopeless(ledger: Ledger) -> bool:
    """Tell whether resuming is useless: only pages are left that could not be read in several
    runs.
    """
    reasons = [run.reason for run in ledger.runs.all()[-INCOMPLETE_RUNS:]]
    return (
        reasons == [INCOMPLETE] * INCOMPLETE_RUNS
        and not ledger.frontier.queue.length
        and not ledger.items.held_counts()
    )


def open_ledger(path: Path) -> Ledger | None:
    """Return the ledger at *path*, None if there is none; one that is damaged or of another version
    is set aside with a warning.
    """
    if not path.exists():
        return None
    ledger = None
    try:
        ledger = Ledger(path)
        ledger.check()
        return ledger
    except (StateError, SchemaError) as error:
        if ledger is not None:
            ledger.close()
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
    """Return the history at *path*, a new one if there is none; a damaged one is set aside with an
    error: all pages are new then. One of another version raises `SchemaError`: nothing could make
    it again.
    """
    history = None
    try:
        history = History(path, max_bytes=max_bytes)
        history.check()
        return history
    except StateError as error:
        if history is not None:
            history.close()
        logger.error(
            "%s; it is set aside as %s, and all pages count as new: consumers of its change log"
            " begin anew",
            error,
            _set_aside(path).name,
        )
        return History(path, max_bytes=max_bytes)


def open_temporary(path: Path) -> Ledger:
    """Return a ledger for this process alone, for a crawl whose ledger would be *path*; those that
    killed processes left are deleted.
    """
    folder = path.parent / TEMPORARY
    for left in folder.glob("*.sqlite"):
        if not is_in_use(left):
            remove(left)
    return Ledger(folder / f"{path.stem}-{os.getpid()}-{time.time_ns()}.sqlite", durable=False)


def archive(path: Path, started: str, keep: int) -> None:
    """Rename a crawl's ledger by the time of its last run.

    Of those of its name the last *keep* stay, and the last *keep* finished ones: failed crawls do
    not push out finished ones.
    """
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
    every = [entry for _, _, entry in sorted(found)]
    outdated = every[: max(len(every) - keep, 0)]
    if outdated:
        finished = [entry for entry in every if _is_finished(entry)]
        for entry in set(outdated) - set(finished[max(len(finished) - keep, 0) :]):
            remove(entry)


def _is_finished(path: Path) -> bool:
    try:
        ledger = Ledger(path, read_only=True)
    except ContentSpiderError:  # damaged, or of another version
        return False
    try:
        runs = ledger.runs.all()
        return bool(runs) and runs[-1].reason == FINISHED
    finally:
        ledger.close()
