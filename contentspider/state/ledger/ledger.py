"""The ledger of a crawl: its addresses, items, kept pages and runs, committed together.

If a crawl is killed, all that it did since the last commit is lost together, and those pages are
fetched again. So a page that is marked as done has all its links in the queue and all its items
held or released, and each item is released once, by its key.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from contentspider.ground.errors import StateError
from contentspider.state.ledger.database import Database, LedgerFullError
from contentspider.state.ledger.frontier import Frontier
from contentspider.state.ledger.items import Items
from contentspider.state.ledger.own_texts import OwnTexts
from contentspider.state.ledger.pages import PageSample
from contentspider.state.ledger.runs import Runs
from contentspider.state.ledger.visits import Visits

if TYPE_CHECKING:
    from pathlib import Path


class Ledger:
    """The ledger in the file *path*, or in memory; see `Database` for its modes and errors."""

    def __init__(self, path: Path | None, durable: bool = True, read_only: bool = False) -> None:
        self.path = path
        self._database = database = Database(path, durable, read_only)
        self.check, self.detach = database.check, database.detach
        self.commit, self.sync, self.rollback = database.commit, database.sync, database.rollback
        self.close = database.close
        try:
            self.frontier = Frontier(database)
            self.items = Items(database, self.frontier)
            self.pages = PageSample(database)
            self.own_texts = OwnTexts(database)
            self.runs = Runs(database)
            self.visits = Visits(database)
        except LedgerFullError as error:
            database.close()
            if isinstance(error.__cause__, sqlite3.OperationalError):
                raise
            raise StateError(f"{error}: it is damaged; delete it to start over") from error

    def begin_run(self) -> list[str]:
        """Start a run of this process, take over the work of the last one, and commit.

        Returns the addresses that are set aside because they may have killed earlier processes.
        """
        earlier = self.runs.all()
        self.runs.begin()
        killers = self.frontier.recover(died=bool(earlier) and earlier[-1].ended is None)
        self.items.recover()
        self.frontier.ask_again()
        self.commit()
        return killers

    def end_run(self, reason: str) -> None:
        """Record how this run ended, and commit."""
        self.runs.end(reason)
        self.commit()
