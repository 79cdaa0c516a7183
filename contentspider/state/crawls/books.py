"""Opens the books of crawls, sets damaged ones aside, and imports the files of earlier versions."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import Timeout

from contentspider.ground.counts import counted
from contentspider.ground.errors import DAMAGE, ContentSpiderError, StateError
from contentspider.ground.scope import crawl_name
from contentspider.site.hidden import SHELL, WALL
from contentspider.state.address_state import AddressState
from contentspider.state.book.book import Book, Run
from contentspider.state.book.database import (
    PARTS,
    BookBusyError,
    SchemaError,
    is_in_use,
    lock_of,
    remove,
)
from contentspider.state.book.imports import (
    HISTORY_VERSIONS,
    LEDGER_VERSIONS,
    OldFile,
    OldHistory,
    import_history,
    import_ledger,
    open_old,
)
from contentspider.state.book.losses import BY_PERSON, Losses
from contentspider.state.book.schema import BOOK
from contentspider.state.crawls.folder import state_folder
from contentspider.state.outcome import FINISHED, INCOMPLETE, UNLEARNED_FACT

if TYPE_CHECKING:
    from pathlib import Path

    from contentspider.state.book.frontier import Frontier

logger = logging.getLogger(__name__)

TEMPORARY = "temporary"  # the folder of books that only one process uses
HISTORIES = "history"  # the folder of histories, which earlier versions kept beside ledgers
IMPORTED = ".imported"  # the suffix of files that were imported
VERSION_END = 64  # bytes of a SQLite file; the last four are its version
INCOMPLETE_RUNS = 2  # after this many runs that lack only unreadable pages, a crawl starts over
HIDDEN_FACT = "hidden"  # the sites that hide their pages
HIDING = {
    SHELL: "gives pages with hardly any text, which scripts may fill in a browser (--render auto)",
    WALL: "gives the same page for most addresses, such as a consent or a form to log in",
}
# The states whose reasons a status shows.
REASONED_STATES = (AddressState.RETRY, AddressState.FAILED, AddressState.SKIPPED)
KILLED = "ended without notice: the process was killed, or the power was lost"


def crawl_book(name: str, state_dir: str = "") -> Path:
    """Return the path of the book of the crawl with a *name*."""
    safe = re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "crawl"
    return state_folder(state_dir) / f"{safe}.sqlite"


def name_of(starts: Sequence[str], scope: Sequence[Any], state_dir: str = "") -> str:
    """Return the name of the crawl from some start addresses.

    Earlier versions also put the *scope* (the other arguments of `crawl_name`) into the name. A
    crawl keeps such a name if only it has a history.
    """

    def has_history(crawl: str) -> bool:
        path = crawl_book(crawl, state_dir)
        return path.exists() or (path.parent / HISTORIES / path.name).exists()

    name, former = crawl_name(starts), crawl_name(starts, *scope)
    return former if has_history(former) and not has_history(name) else name


def read_book(path: Path) -> Book:
    """Return the book at *path* for reading; files of an earlier version are imported."""
    import_old(path)
    return Book(path, read_only=True)


def open_crawl(path: Path, resume: bool, max_bytes: int) -> tuple[Book, bool]:
    """Return a crawl's book, and whether it resumes an unfinished crawl. A damaged book is set
    aside, and all pages count as new. Raises the other errors of `Database`.
    """
    book = _usable(path, max_bytes)
    last = book.runs.last()
    if last and last.reason != FINISHED:
        goes_on = resume and not is_hopeless(book)
        logger.warning("%s: %s", path, _continuation(book, last, resume, goes_on))
        if goes_on:
            return book, True
    book.begin_crawl()
    return book, False


def _usable(path: Path, max_bytes: int) -> Book:
    """Return the book at *path*, which is created if missing. A damaged one is set aside; one of a
    later version raises `SchemaError`.
    """
    is_there = path.exists()
    try:
        import_old(path)
        book = Book(path, max_bytes=max_bytes)
        if is_there:
            book.check()
        return book
    except StateError as error:
        logger.error(
            f"{error}; it is renamed to {set_aside(path).name}, the crawl starts over, and all"
            " pages count as new: readers of its change log must start over"
        )
        return Book(path, max_bytes=max_bytes)


def import_old(path: Path) -> None:
    """Import the ledger and the history of an earlier version into the book at *path*. They stay
    beside it, with the suffix ``.imported``. Raises `BookBusyError` while another process writes
    them, and `SchemaError` for versions that are too old.
    """
    history = path.parent / HISTORIES / path.name
    if not _may_be_old(history):
        with suppress(sqlite3.DatabaseError):  # opening the book reports the error
            if is_old(path):
                _import_locked(path, history)
        return
    _import_locked(path, history)


def _may_be_old(history: Path) -> bool:
    """Tell whether there is a history, which may be damaged."""
    try:
        return is_old(history)
    except sqlite3.DatabaseError:
        return True


def _import_locked(path: Path, history: Path) -> None:
    try:
        with lock_of(path):
            _import(path, history)
    except Timeout as error:
        raise BookBusyError(f"{path} is in use by a crawl of an earlier version") from error
    except OSError as error:
        raise ContentSpiderError(
            f"{path} is of an earlier version, and cannot be imported: {error.strerror}"
        ) from error


def is_old(path: Path) -> bool:
    """Tell whether the file at *path* is a ledger or a history."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(VERSION_END)
    if int.from_bytes(head[VERSION_END - 4 :], "big") == BOOK.version:
        return False
    with closing(OldFile(path)) as old:
        return old.version in (*LEDGER_VERSIONS, *HISTORY_VERSIONS) and not old.has("published")


def _import(path: Path, history: Path) -> None:
    """Make the book at *path* of a ledger there and of a *history*; either may be missing. A
    damaged one is set aside, and the other one is imported.
    """
    part = path.with_name(f".{path.name}.import")
    is_damaged = True
    while is_damaged:
        with ExitStack() as opened:
            ledger, known = _open_old(path, history, opened)
            if ledger is None and known is None:
                return
            logger.warning("%s is imported from an earlier version, which may take minutes", path)
            is_damaged = not _is_imported(ledger, known, part)
    for old in (path, history):
        if old.is_file() and not (old == path and _is_book(path)):
            keep = old.with_name(old.name + IMPORTED)
            keep.unlink(missing_ok=True)
            os.link(old, keep) if hasattr(os, "link") else shutil.copyfile(old, keep)
    _move(part, path)
    for name in (".webhooks.json",):  # what other programs have of the change log
        if (beside := history.with_suffix(name)).is_file():
            beside.replace(path.with_suffix(name))
    remove(history)


def _is_imported(ledger: OldFile | None, known: OldHistory | None, part: Path) -> bool:
    """Write a ledger and a history into a new book at *part*. If one of them is damaged, set it
    aside, and return False.
    """
    remove(part)
    file: OldFile | None = known
    try:
        with closing(Book(part)) as book, book.database.report_damage():
            if known is not None:
                import_history(known, book)
                book.check()
            book.pages.forget()
            if ledger is not None:
                file = ledger
                import_ledger(ledger, known, book)
                book.check()
            book.commit()
            book.sync()
    except (StateError, sqlite3.DatabaseError, *DAMAGE) as error:
        if file is None:
            raise
        _set_old_aside(file.path, error)
        return False
    return True


def _set_old_aside(path: Path, error: Exception) -> None:
    logger.error(f"{path} is damaged ({error}): it is renamed to {set_aside(path).name}")


def _is_book(path: Path) -> bool:
    with closing(OldFile(path)) as old:
        return old.has("published")


def _move(source: Path, target: Path) -> None:
    """Move a SQLite file that no process has open."""
    for suffix in PARTS[1:]:
        target.with_name(target.name + suffix).unlink(missing_ok=True)
    source.replace(target)
    remove(source)


def _open_old(
    path: Path, history: Path, opened: ExitStack
) -> tuple[OldFile | None, OldHistory | None]:
    """Return the ledger and the history of an earlier version. A downloaded history may stand in
    the place of the ledger. Damaged files are set aside.
    """
    found: dict[str, Any] = {}
    for file, table, versions in (
        (path, "visits", LEDGER_VERSIONS),
        (path, "changes", HISTORY_VERSIONS),
        (history, "changes", HISTORY_VERSIONS),
    ):
        try:
            old = open_old(file, versions, table)
        except sqlite3.DatabaseError as error:
            _set_old_aside(file, error)
            continue
        except ValueError as error:
            raise SchemaError(
                f"{file} was written by another version of contentspider ({error}): use that"
                " version, or give this crawl another name (--name)"
            ) from error
        if old is not None:
            found.setdefault(table, old)
            opened.callback(old.close)
    return found.get("visits"), found.get("changes")


def _continuation(book: Book, last: Run, resume: bool, goes_on: bool) -> str:
    """Return the message that tells whether an unfinished crawl is resumed, and with what."""
    if goes_on:
        how = f"was stopped ({last.reason})" if last.ended else KILLED
        queued = book.frontier.queue.length + book.frontier.states().get(AddressState.TAKEN, 0)
        held_items = sum(book.items.held_counts().values())
        return (
            f"the run of {last.started} {how}; this run resumes it with"
            f" {counted(queued, 'addresses')} in the queue, {book.frontier.unread} that could not"
            f" be read and {held_items} held items"
        )
    if resume:
        return (
            f"{counted(book.frontier.unread, 'addresses')} could not be read in {INCOMPLETE_RUNS}"
            " runs; a new crawl starts"
        )
    return (
        f"the crawl of {last.started} was not finished; this one starts over. To continue it, use"
        " --resume (CONTENTSPIDER_RESUME)"
    )


def is_hopeless(book: Book) -> bool:
    """Tell whether a crawl lacks only pages that several runs in a row could not read."""
    reasons = [run.reason for run in book.runs.all()[-INCOMPLETE_RUNS:]]
    is_left = book.frontier.queue.length or book.items.held_counts()
    return reasons == [INCOMPLETE] * INCOMPLETE_RUNS and not is_left


def set_aside(path: Path) -> Path:
    """Rename a database that cannot be used, with the files beside it; return the new path."""
    aside = path.with_name(path.name + ".broken")
    for suffix in PARTS:
        if (part := path.with_name(path.name + suffix)).exists():
            part.replace(aside.with_name(aside.name + suffix))
    return aside


def open_temporary(path: Path) -> Book:
    """Return a book for this process only; delete temporary books of killed processes."""
    folder = path.parent / TEMPORARY
    for file in folder.glob("*.sqlite"):
        if not is_in_use(file):
            remove(file)
    return Book(folder / f"{path.stem}-{os.getpid()}-{time.time_ns()}.sqlite", durable=False)


# A book does not tell which command has written it.
GO_ON = "run the same command with --resume (of scrapy crawl: with -s CONTENTSPIDER_RESUME=True)"


def crawl_status(path: Path, go_on: str = GO_ON) -> str:
    """Return lines that describe the runs, items and addresses of a crawl, from its book. *go_on*
    says how an unfinished crawl is continued.
    """
    is_running = is_in_use(path)
    with closing(read_book(path)) as book:
        runs = book.runs.all()
        lines = [f"{path}", *_run_lines(runs, is_running)]
        held_counts = book.items.held_counts()
        lines += ["", f"items: {book.items.count()} out, {sum(held_counts.values())} held"]
        for site, count in held_counts.items():
            lines.append(f"  {count} of {site} held until it has been learned")
        if unlearned := book.runs.fact(UNLEARNED_FACT):
            lines.append(f"not learned again, with outdated models: {', '.join(unlearned)}")
        lines += ["addresses:", *_address_lines(book.frontier)]
        lines += [f"{site} {HIDING[kind]}" for site, kind in hidden_sites(book).items()]
        lines += _known_lines(book)
    if runs and not is_running and runs[-1].reason != FINISHED:
        lines += ["", f"It is not finished: {go_on} to continue."]
    return "\n".join(lines)


def hidden_sites(book: Book) -> dict[str, str]:
    """Return the sites that hide their pages in a crawl, each with `SHELL` or `WALL`."""
    hidden = book.runs.fact(HIDDEN_FACT) or {}
    return {str(site): kind for site, kind in hidden.items() if kind in HIDING}


def _known_lines(book: Book) -> list[str]:
    """Return a line for each address that is known as broken, and for each site whose models are
    refused in each crawl.
    """
    known, refused = book.broken.known(), book.refused.known()
    lines = [
        f"{model.site}: its model was refused in each of the last"
        f" {counted(model.crawls, 'crawls')}, and its pages were judged one by one"
        for model in refused
    ]
    lines += [f"known as broken: {len(known)}"] if known else []
    lines += [
        f"  {broken.url} ({broken.reason}; in {counted(broken.crawls, 'crawls')}, last"
        f" {broken.last})"
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


def accept_gone(path: Path) -> int:
    """Mark the pages as gone that the last crawl with the book at *path* held back as doubtful;
    return their number. The next update of an index deletes them, however many they are. Raises
    `BookBusyError` while a crawl runs, and `ContentSpiderError` if one has begun and is not
    finished, since its change records would be published with these.
    """
    import_old(path)
    with closing(Book(path)) as book:
        doubted = list(book.known.doubted())
        if doubted and next(book.pages.all_found(), None) is not None:
            raise ContentSpiderError(
                f"{path}: a crawl has begun since, and is not finished: resume it (--resume, or"
                " contentspider run), or crawl anew, and look at its changes again",
                code="crawl-unfinished",
            )
        if doubted:
            last = book.runs.last()
            is_complete = book.is_complete
            book.runs.begin()
            losses = Losses(book)
            for page in doubted:
                losses.mark_gone(page, page.doubt, BY_PERSON)
            book.runs.end((last and last.reason) or FINISHED)
            book.publish(is_complete)
            book.sync()
        return len(doubted)
