"""The queue of a crawl in SQLite: which of the addresses that wait is the next."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database

# Row, address, request (None: it is in the caller's memory) and priority of an address that is
# handed out, and how many processes died while it was in flight.
Taken = tuple[int, str, str | None, int, int]

LOWEST = -(2**63)  # SQLite's smallest number: no priority is below it


class Queue:
    """The addresses that wait, in the order in which they are to be fetched."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._do = database.do
        self.length = database.count("SELECT count(*) FROM addresses WHERE state = 'queued'")
        # The hosts that are left out, and the priority and row before which all addresses are
        # theirs: a host that is down may have most of the queue.
        self._left_out: set[str] = set()
        self._start: tuple[int, int] | None = None

    def has(self, without: Collection[str] = ()) -> bool:
        """Tell whether addresses wait, leaving out those of some hosts."""
        if not without or not self.length:
            return self.length > 0
        query = (
            "SELECT 1 FROM addresses WHERE state = 'queued'"
            " AND host NOT IN (SELECT value FROM json_each(?)) LIMIT 1"
        )
        return self._database.row(query, (json.dumps(list(without)),)) is not None

    def count_of(self, host: str, most: int) -> int:
        """Return how many addresses of a host wait, counted up to *most*."""
        some = "SELECT 1 FROM addresses WHERE state = 'queued' AND host = ? LIMIT ?"
        return self._database.count(f"SELECT count(*) FROM ({some})", (host, most))  # noqa: S608 - our own words

    def answered(self, host: str, most: int) -> list[str]:
        """Return a host's answered addresses, with items first; no robots.txt: a proxy's answer."""
        # Needed in crawls with a failing host only.
        self._do("CREATE INDEX IF NOT EXISTS by_host ON addresses (host)")
        for states in ("'released', 'held', 'unchanged'", "'fetched'"):
            found = self._database.rows(
                f"SELECT url FROM addresses WHERE host = ? AND state IN ({states})"  # noqa: S608 - our own words
                " AND url NOT LIKE '%/robots.txt' ORDER BY number LIMIT ?",
                (host, most),
            )
            if urls := [url for (url,) in found]:
                return urls
        return []

    def take(self, without: Collection[str] = ()) -> Taken | None:
        """Take the next address of a host that is not in *without* out of the queue, if any."""
        if not self.length:
            return None
        if without or self._left_out:
            self._leave_out(set(without))
        found = self._next() if self._left_out else self._first("TRUE")
        if found is not None:
            self._do("UPDATE addresses SET state = 'taken' WHERE number = ?", (found[0],))
            self.length -= 1
        return found

    def note(self, priority: int, row: int) -> None:
        """Count an address that was added to the queue."""
        self.length += 1
        if self._start is not None and (-priority, row) < (-self._start[0], self._start[1]):
            self._start = (priority, row)

    def refill(self, count: int) -> None:
        """Count addresses that came back into the queue at any place."""
        self.length += count
        self._start = None

    def _first(self, condition: str, *values: int) -> Taken | None:
        found: Taken | None = self._database.row(
            "SELECT number, url, request, priority, deaths FROM addresses WHERE state = 'queued'"  # noqa: S608 - one of four conditions, all of them written here
            f" AND {condition} ORDER BY priority DESC, number LIMIT 1",
            values,
        )
        return found

    def _leave_out(self, hosts: set[str]) -> None:
        if self._left_out == hosts:
            return
        self._do("CREATE TEMP TABLE IF NOT EXISTS left_out (host TEXT PRIMARY KEY) WITHOUT ROWID")
        for host in self._left_out - hosts:
            self._do("DELETE FROM left_out WHERE host = ?", (host,))
            self._start = None
        for host in hosts - self._left_out:
            self._do("INSERT INTO left_out VALUES (?)", (host,))
        self._left_out = hosts

    def _next(self) -> Taken | None:
        """Return the first address whose host is not left out."""
        others = "host NOT IN (SELECT host FROM left_out)"
        if self._start is None:
            found = self._first(others)
        else:
            priority, row = self._start
            found = self._first(f"priority = ? AND number >= ? AND {others}", priority, row)
            if found is None:
                found = self._first(f"priority < ? AND {others}", priority)
        self._start = (found[3], found[0]) if found else (LOWEST, 0)
        return found
