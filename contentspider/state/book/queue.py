"""The queue of a crawl in SQLite: hands out the waiting address with the highest priority."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING

from contentspider.state.address_state import AddressState

if TYPE_CHECKING:
    from contentspider.state.book.database import Database

# An address that is handed out: its row, the address, its request (None: the caller has it in
# memory), its priority, and how many processes died while it was in flight.
Taken = tuple[int, str, str | None, int, int]

# The index of the queue (`schema`) needs the value in the SQL text, not as a parameter.
WAITS = f"state = '{AddressState.QUEUED}'"
ITEM_STATES = (AddressState.RELEASED, AddressState.HELD, AddressState.UNCHANGED)
LOWEST = -(2**63)  # SQLite's smallest number: no priority is below it


class Queue:
    """The waiting addresses, highest priority first, then in the order of their rows."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._do = database.do
        self.length = database.count(f"SELECT count(*) FROM addresses WHERE {WAITS}")  # noqa: S608
        # The hosts that are left out, and a priority and row: all waiting addresses before these
        # are of such hosts. A host that is down may have most of the queue.
        self._left_out: set[str] = set()
        self._start: tuple[int, int] | None = None

    def has(self, without: Collection[str] = ()) -> bool:
        """Tell whether addresses wait; the hosts in *without* do not count."""
        if not without or not self.length:
            return self.length > 0
        query = (
            f"SELECT 1 FROM addresses WHERE {WAITS}"  # noqa: S608 - our own words
            " AND host NOT IN (SELECT value FROM json_each(?)) LIMIT 1"
        )
        return self._database.row(query, (json.dumps(list(without)),)) is not None

    def count_of(self, host: str, most: int) -> int:
        """Return how many addresses of a host wait, counted up to *most*."""
        some = f"SELECT 1 FROM addresses WHERE {WAITS} AND host = ? LIMIT ?"  # noqa: S608
        return self._database.count(f"SELECT count(*) FROM ({some})", (host, most))  # noqa: S608 - our own words

    def answered(self, host: str, most: int) -> list[str]:
        """Return up to *most* answered addresses of a host, preferably with items.

        robots.txt is left out, since a proxy may answer for it.
        """
        # Used only in crawls with a failing host.
        self._do("CREATE INDEX IF NOT EXISTS by_host ON addresses (host)")
        for states in (ITEM_STATES, (AddressState.FETCHED,)):
            marks = ", ".join("?" * len(states))
            rows = self._database.rows(
                f"SELECT url FROM addresses WHERE host = ? AND state IN ({marks})"  # noqa: S608 - our own words
                " AND url NOT LIKE '%/robots.txt' ORDER BY number LIMIT ?",
                (host, *states, most),
            )
            if urls := [url for (url,) in rows]:
                return urls
        return []

    def take(self, without: Collection[str] = ()) -> Taken | None:
        """Take the next address of a host that is not in *without* out of the queue."""
        if not self.length:
            return None
        if without or self._left_out:
            self._leave_out(set(without))
        address = self._next() if self._left_out else self._first("TRUE")
        if address is not None:
            statement = "UPDATE addresses SET state = ? WHERE number = ?"
            self._do(statement, (AddressState.TAKEN, address[0]))
            self.length -= 1
        return address

    def note(self, priority: int, row: int) -> None:
        """Count an address that was added to the queue."""
        self.length += 1
        if self._start is not None and (-priority, row) < (-self._start[0], self._start[1]):
            self._start = (priority, row)

    def refill(self, count: int) -> None:
        """Count addresses that were put back at any place of the queue."""
        self.length += count
        self._start = None

    def _first(self, condition: str, *values: int) -> Taken | None:
        address: Taken | None = self._database.row(
            "SELECT number, url, (SELECT request FROM requests WHERE address = number), priority,"  # noqa: S608 - one of four conditions, all of them written here
            " deaths FROM addresses"
            f" WHERE {WAITS} AND {condition} ORDER BY priority DESC, number LIMIT 1",
            values,
        )
        return address

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
        of_other_hosts = "host NOT IN (SELECT host FROM left_out)"
        if self._start is None:
            address = self._first(of_other_hosts)
        else:
            priority, row = self._start
            condition = f"priority = ? AND number >= ? AND {of_other_hosts}"
            address = self._first(condition, priority, row)
            if address is None:
                address = self._first(f"priority < ? AND {of_other_hosts}", priority)
        self._start = (address[3], address[0]) if address else (LOWEST, 0)
        return address
