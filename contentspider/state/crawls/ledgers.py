"""Opens the ledgers and histories of crawls; sets damaged ones aside and archives old ones."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE, ContentSpiderError, StateError
from contentspider.ground.scope import crawl_name
from contentspider.site.hidden import SHELL, WALL
from contentspider.state.address_state import AddressState
from contentspider.state.crawls.folder import state_folder
from contentspider.state.history.history import History
from contentspider.state.ledger.database import (
    PARTS,
    LedgerBusyError,
    SchemaError,
    is_in_use,
    remove,
)
from contentspider.state.ledger.ledger import Ledger, Run
from contentspider.state.outcome import FINISHED, INCOMPLETE, UNLEARNED_FACT

if TYPE_CHECKING:
    from contentspider.state.ledger.frontier import Frontier

logger = logging.getLogger(__name__)

TEMPORARY = "temporary"  # the folder of ledgers that only one process uses
HISTORIES = "history"  # the folder of histories, which outlive the ledgers of their crawls
INCOMPLETE_RUNS = 2  # after this many runs that lack only unreadable pages, a crawl starts over
KEPT_CRAWLS = 3  # archived ledgers that are kept for each crawl
HIDDEN_FACT = "hidden"  # the sites that hide their pages
HIDING = {
    SHELL: "gives pages with hardly any text, which scripts may fill in a browser (--render auto)",
    WALL: "gives the same page for most addresses, such as a consent or a form to log in",
}
# The states whose reasons a status shows.
REASONED_STATES = (AddressState.RETRY, AddressState.FAILED, AddressState.SKIPPED)
KILLED = "ended without notice: the process was killed, or the power was lost"


def crawl_ledger(name: str, state_dir: str = "") -> Path:
    """Return the path of the ledger of the crawl with a *name*."""
    safe = re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "crawl"
    return state_folder(state_dir) / f"{safe}.sqlite"


def name_of(starts: Sequence[str], scope: Sequence[Any], state_dir: str = "") -> str:
    """Return the name of the crawl from some start addresses.

    Earlier versions also put the *scope* (the other arguments of `crawl_name`) into the name. A
    crawl keeps such a name if only it has a history.
    """

    def has_history(crawl: str) -> bool:
        return history_of(crawl_ledger(crawl, state_dir)).exists()

    name, former = crawl_name(starts), crawl_name(starts, *scope)
    return former if has_history(former) and not has_history(name) else name


def open_crawl(path: Path, resume: bool) -> tuple[Ledger, bool]:
    """Return a crawl's ledger, and whether an unfinished crawl is resumed with it.

    An unfinished ledger that is not resumed is archived. A finished one is deleted if the history
    has its pages.
    """
    old = open_ledger(path)
    if old is None:
        return Ledger(path), False
    last = old.runs.last()
    if last and last.reason != FINISHED:
        goes_on = resume and not is_hopeless(old)
        logger.warning("%s: %s", path, _continuation(old, last, resume, goes_on))
        if goes_on:
            return old, True
    if not old.detach():
        raise LedgerBusyError(
            f"{path} is being read by another process (status, replay, report, or the learning of"
            " the last crawl); try again later",
            code="ledger-read",
        )
    if last and not (last.reason == FINISHED and history_of(path).exists()):
        archive(path, last.started)
    else:
        remove(path)
    return Ledger(path), False


def _continuation(ledger: Ledger, last: Run, resume: bool, goes_on: bool) -> str:
    """Return the message that tells whether an unfinished crawl is resumed, and with what."""
    if goes_on:
        how = f"was stopped ({last.reason})" if last.ended else KILLED
        queued = ledger.frontier.queue.length + ledger.frontier.states().get(AddressState.TAKEN, 0)
        held_items = sum(ledger.items.held_counts().values())
        return (
            f"the run of {last.started} {how}; this run resumes it with {queued} addresses in the"
            f" queue, {ledger.frontier.unread} that could not be read and {held_items} held items"
        )
    if resume:
        return (
            f"{ledger.frontier.unread} addresses could not be read in {INCOMPLETE_RUNS} runs; a"
            " new crawl starts"
        )
    return (
        f"the crawl of {last.started} was not finished; this one starts over. To continue it, use"
        " --resume (CONTENTSPIDER_RESUME)"
    )


def is_hopeless(ledger: Ledger) -> bool:
    """Tell whether a crawl lacks only pages that several runs in a row could not read."""
    reasons = [run.reason for run in ledger.runs.all()[-INCOMPLETE_RUNS:]]
    is_left = ledger.frontier.queue.length or ledger.items.held_counts()
    return reasons == [INCOMPLETE] * INCOMPLETE_RUNS and not is_left


def open_ledger(path: Path) -> Ledger | None:
    """Return the ledger at *path*, or None. A ledger that cannot be used is set aside."""
    if not path.exists():
        return None
    try:
        ledger = Ledger(path)
        ledger.check()
        return ledger
    except (StateError, SchemaError) as error:
        aside = _set_aside(path)
        logger.warning("%s; it is renamed to %s, and the crawl starts over", error, aside.name)
        return None


def _set_aside(path: Path) -> Path:
    """Rename a database that cannot be used, with the files beside it; return the new path."""
    aside = path.with_name(path.name + ".broken")
    for suffix in PARTS:
        if (part := path.with_name(path.name + suffix)).exists():
            part.replace(aside.with_name(aside.name + suffix))
    return aside


def history_of(ledger: Path) -> Path:
    """Return the path of the history of a ledger's crawl."""
    return ledger.parent / HISTORIES / ledger.name


def open_history(path: Path, max_bytes: int) -> History:
    """Return the history at *path*, which is created if missing; a damaged one is set aside."""
    try:
        history = History(path, max_bytes=max_bytes)
        history.check()
        return history
    except StateError as error:
        logger.error(
            f"{error}; it is renamed to {_set_aside(path).name}, and all pages count as new:"
            " readers of its change log must start over"
        )
        return History(path, max_bytes=max_bytes)


def open_temporary(path: Path) -> Ledger:
    """Return a ledger for this process only; delete temporary ledgers of killed processes."""
    folder = path.parent / TEMPORARY
    for file in folder.glob("*.sqlite"):
        if not is_in_use(file):
            remove(file)
    return Ledger(folder / f"{path.stem}-{os.getpid()}-{time.time_ns()}.sqlite", durable=False)


def archive(path: Path, started: str) -> None:
    """Rename a ledger by the start of its last run; only the last `KEPT_CRAWLS` are kept."""
    stamp = re.sub(r"[^0-9T]", "", started.partition("+")[0])
    aside = path.with_name(f"{path.stem}.{stamp}.sqlite")
    number = 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.stem}.{stamp}-{number}.sqlite")
    path.replace(aside)
    for suffix in PARTS[1:]:  # these files are empty, but another process may have them open
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    stamped = re.compile(re.escape(path.stem) + r"\.(\d{8}T\d{6})(?:-(\d+))?\.sqlite")
    archived = [
        (match[1], int(match[2] or 1), entry)
        for entry in path.parent.iterdir()
        if (match := stamped.fullmatch(entry.name))
    ]
    for _, _, entry in sorted(archived)[:-KEPT_CRAWLS]:
        remove(entry)


def crawl_status(path: Path) -> str:
    """Return lines that describe the runs, items and addresses of a crawl, from its ledger."""
    is_running = is_in_use(path)
    with closing(Ledger(path, read_only=True)) as ledger:
        runs = ledger.runs.all()
        lines = [f"{path}", *_run_lines(runs, is_running)]
        held_counts = ledger.items.held_counts()
        lines += ["", f"items: {ledger.items.count()} out, {sum(held_counts.values())} held"]
        for site, count in held_counts.items():
            lines.append(f"  {count} of {site} held until it has been learned")
        if unlearned := ledger.runs.fact(UNLEARNED_FACT):
            lines.append(f"not learned again, with outdated models: {', '.join(unlearned)}")
        lines += ["addresses:", *_address_lines(ledger.frontier)]
        lines += [f"{site} {HIDING[kind]}" for site, kind in hidden_sites(ledger).items()]
    lines += _known_lines(history_of(path))
    if runs and not is_running and runs[-1].reason != FINISHED:
        lines += ["", "It is not finished: run the same command with --resume to continue."]
    return "\n".join(lines)


def hidden_sites(ledger: Ledger) -> dict[str, str]:
    """Return the sites that hide their pages in a crawl, each with `SHELL` or `WALL`."""
    hidden = ledger.runs.fact(HIDDEN_FACT) or {}
    return {str(site): kind for site, kind in hidden.items() if kind in HIDING}


def last_run(history: Path) -> tuple[Run | None, dict[str, str]]:
    """Return the last run of the crawl with a *history*, and its `hidden_sites`; None if the crawl
    has no readable ledger.
    """
    path = history.parent.parent / history.name
    if path.is_file():
        with suppress(ContentSpiderError, *DAMAGE), closing(Ledger(path, read_only=True)) as ledger:
            return ledger.runs.last(), hidden_sites(ledger)
    return None, {}


def _known_lines(path: Path) -> list[str]:
    """Return a line for each address that is known as broken, and for each site whose models are
    refused in each crawl, from the history at *path*.
    """
    if not path.exists():
        return []
    try:
        with closing(History(path, read_only=True)) as history:
            known, refused = history.broken.known(), history.refused.known()
    except ContentSpiderError as error:
        return [f"history: {error}"]
    lines = [
        f"{model.site}: its model was refused in each of the last {model.crawls} crawls, and its"
        " pages were judged one by one"
        for model in refused
    ]
    lines += [f"known as broken: {len(known)}"] if known else []
    lines += [
        f"  {broken.url} ({broken.reason}; in {broken.crawls} crawls, last {broken.last})"
        for broken in known
    ]
    return lines


def _run_lines(runs: Sequence[Run], is_running: bool) -> list[str]:
    lines = []
    for run in runs:
        how = f"ended {run.ended}: {run.reason}" if run.ended else KILLED
        if not run.ended and is_running and run is runs[-1]:
            how = f"is running (process {run.pid})"
        lines.append(f"run {run.number}, started {run.started}, {how}")
    return lines


def _address_lines(frontier: Frontier) -> list[str]:
    """Return how many addresses are in each state, with the most frequent reasons."""
    lines = []
    for state, count in frontier.states().items():
        lines.append(f"  {count} {state}")
        reasons = frontier.reasons(state) if state in REASONED_STATES else []
        for reason, number, url in reasons[:10]:
            lines.append(f"    {number} {reason or ''} (such as {url})")
    return lines
