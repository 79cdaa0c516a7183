"""The runs of a crawl in SQLite: which processes worked on it, and facts for the next."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contentspider.ground.times import now

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database


@dataclass(frozen=True, slots=True)
class Run:
    """The work of one process on a crawl; without *ended* it is running, or was killed."""

    number: int
    started: str
    pid: int
    ended: str | None
    reason: str | None


class Runs:
    """The processes that worked on a crawl, and the facts that one leaves for the next."""

    def __init__(self, database: Database) -> None:
        self._do = database.do
        self._current = 0

    def begin(self) -> None:
        """Record the start of this process' run."""
        added = self._do("INSERT INTO runs (started, pid) VALUES (?, ?)", (now(), os.getpid()))
        self._current = added.lastrowid or 0

    def end(self, reason: str) -> None:
        """Record how this process' run ended."""
        self._do(
            "UPDATE runs SET ended = ?, reason = ? WHERE number = ?", (now(), reason, self._current)
        )

    def all(self) -> list[Run]:
        """Return the runs of the crawl, first to last."""
        return [
            Run(*row)
            for row in self._do(
                "SELECT number, started, pid, ended, reason FROM runs ORDER BY number"
            )
        ]

    def set_fact(self, name: str, value: object) -> None:
        """Keep a JSON value under a name."""
        self._do("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def fact(self, name: str) -> Any:
        """Return the value under a name, None if there is none."""
        row = self._do("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None
