"""The ledger of a crawl: its addresses, items, sampled pages and runs, committed together."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contentspider.ground.errors import DAMAGE, StateError
from contentspider.ground.times import now
from contentspider.state.ledger.database import Database, LedgerFullError
from contentspider.state.ledger.frontier import Claims, Frontier
from contentspider.state.ledger.items import Items, LineOf
from contentspider.state.ledger.own_texts import OwnTexts
from contentspider.state.ledger.pages import PageSample
from contentspider.state.ledger.threads import run_in_thread
from contentspider.state.ledger.visits import Visits

logger = logging.getLogger(__name__)

PORTION = 500  # rows that are deleted at a time


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a crawl; *ended* is None while the process runs, or if it was killed."""

    number: int
    started: str
    pid: int
    ended: str | None
    reason: str | None


class Runs:
    """The runs of a crawl, and the facts that a run stores for the next."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._current = 0

    def begin(self) -> None:
        """Record the start of this process' run."""
        statement = "INSERT INTO runs (started, pid) VALUES (?, ?)"
        self._current = self._database.do(statement, (now(), os.getpid())).lastrowid or 0

    def end(self, reason: str) -> None:
        """Record how this process' run ended."""
        statement = "UPDATE runs SET ended = ?, reason = ? WHERE number = ?"
        self._database.do(statement, (now(), reason, self._current))

    def all(self) -> list[Run]:
        """Return the runs of the crawl, first to last."""
        query = "SELECT number, started, pid, ended, reason FROM runs ORDER BY number"
        return [Run(*row) for row in self._database.rows(query)]

    def last(self) -> Run | None:
        """Return the last run, or None if the crawl has none."""
        return next(reversed(self.all()), None)

    def set_fact(self, name: str, value: object) -> None:
        """Store a JSON value under a name."""
        self._database.do("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def fact(self, name: str) -> Any:
        """Return the value stored under a name, or None; raises `StateError` if it is damaged."""
        text = self._database.value("SELECT value FROM facts WHERE name = ?", (name,))
        try:
            return json.loads(text) if text else None
        except DAMAGE as error:
            raise StateError(
                f"{self._database.name} is damaged ({name}: {error}); delete it to start over",
                code="damaged",
            ) from error


async def no_pause() -> None:
    """Go on without a pause."""


class Ledger:
    """The ledger in the file *path*, or in memory; see `Database` for its modes and errors."""

    def __init__(self, path: Path | None, durable: bool = True, read_only: bool = False) -> None:
        self.path = path
        self._database = database = Database(path, durable, read_only)
        self.check, self.detach, self.close = database.check, database.detach, database.close
        self.commit, self.sync, self.rollback = database.commit, database.sync, database.rollback
        with database.report_damage():
            self.frontier = Frontier(database)
            self.claims = Claims(database)
            self.items = Items(database, self.frontier)
            self.pages = PageSample(database)
            self.own_texts = OwnTexts(database)
            self.runs = Runs(database)
            self.visits = Visits(database)

    def begin_run(self) -> list[str]:
        """Requeue the work of the last run; return the addresses that may have killed processes."""
        last = self.runs.last()
        self.runs.begin()
        killers = self.frontier.recover(died=last is not None and last.ended is None)
        self.items.recover()
        self.frontier.requeue_failed()
        self.visits.create_indexes()
        self.commit()
        return killers

    def end_run(self, reason: str) -> None:
        """Record how this run ended, and commit."""
        self.runs.end(reason)
        self.commit()

    async def drop_duplicated_records(
        self,
        is_kept: Callable[[str], bool],
        line_of: LineOf,
        pause: Callable[[], Awaitable[None]] = no_pause,
    ) -> None:
        """Delete from a finished crawl's ledger the records that its history has as well.

        Items are compressed against the history's lines (`Items.compress_lines`). The sample of
        pages is deleted if the history keeps all of them, which *is_kept* tells by the address.
        *pause* is called after each item, after each portion of rows, and while the file is
        rewritten. If it raises an error, the records that were deleted before stay deleted.
        """
        try:
            for _ in self.items.compress_lines(line_of):
                await pause()
            await pause()
            sample = ("pages",) if all(map(is_kept, self.pages.urls())) else ()
            for table, column in (("visits", "number"), ("answers", "address")):
                await self._delete_rows(table, column, pause)
            for table in ("claims", *sample):
                self._database.do(f"DELETE FROM {table}")  # noqa: S608 - our own names
            self.commit()
            # If *pause* raises an error, the file stays as it is.
            await run_in_thread(self._database.vacuum, self._database.interrupt, pause)
        except LedgerFullError as error:
            logger.info("the ledger of a finished crawl keeps more than it needs: %s", error)
            self.rollback()

    async def _delete_rows(
        self, table: str, column: str, pause: Callable[[], Awaitable[None]]
    ) -> None:
        """Delete all rows of a table in portions, by the *column* with the numbers of its rows. In
        one statement, a million pages of the file would take a minute.
        """
        statement = (
            f"DELETE FROM {table} WHERE {column} IN"  # noqa: S608 - our names
            f" (SELECT {column} FROM {table} LIMIT {PORTION})"
        )
        while self._database.do(statement).rowcount == PORTION:
            self.commit()
            await pause()
        self.commit()
