"""The frontier of a crawl in SQLite: every address, its state, and the page keys that it claims."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.ground.addresses import host_of
from contentspider.state.address_state import AddressState, next_state
from contentspider.state.book.queue import Queue
from contentspider.state.outcome import OUR_FAILURE

if TYPE_CHECKING:
    from contentspider.state.book.database import Database

MAX_DEATHS = 3  # an address fails for good if this many runs died while it was in flight
QUEUED, TAKEN = AddressState.QUEUED, AddressState.TAKEN
RETRY, FAILED = AddressState.RETRY, AddressState.FAILED
# The reason of an address whose request was lost with the memory of a run.
LOST = OUR_FAILURE + "its request was only in the memory of a run that has ended"
HAS_REQUEST = "state = ? AND number IN (SELECT address FROM requests)"
READ = (AddressState.FETCHED, AddressState.RELEASED, AddressState.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Address:
    """An address and its state."""

    row: int
    url: str
    state: str
    reason: str
    target: str
    canonical: str

    @property
    def is_open(self) -> bool:
        """Whether the address will be requested, in this run or in the next one."""
        return self.state in (QUEUED, TAKEN, RETRY)


class Claims:
    """The keys that addresses claim: hashes of texts, and page ids. A key has one owner."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._do = database.do

    def claim(self, claims: Iterable[bytes], row: int, canonical: str = "") -> bool:
        """Claim keys for an address. If another address owns one of them, claim none, store the
        other address as the target, and return False.
        """
        if canonical:
            self._do("UPDATE addresses SET canonical = ? WHERE number = ?", (canonical, row))
        keys = list(claims)
        if other := self.owner(keys, row):
            self._do(
                "UPDATE addresses SET target = (SELECT url FROM addresses WHERE number = ?)"
                " WHERE number = ?",
                (other, row),
            )
            return False
        if keys:
            rows = ", ".join(["(?, ?)"] * len(keys))
            values = [value for key in keys for value in (key, row)]
            self._do(f"INSERT OR IGNORE INTO claims VALUES {rows}", values)  # noqa: S608 - marks
        return True

    def owner(self, claims: Iterable[bytes], row: int) -> int:
        """Return the row of another address that owns one of some keys, or 0."""
        keys = list(claims)
        marks = ", ".join("?" * len(keys))
        query = f"SELECT claim, address FROM claims WHERE claim IN ({marks}) AND address != ?"  # noqa: S608
        owners = dict(self._database.rows(query, (*keys, row)))
        return next((int(owners[key]) for key in keys if key in owners), 0)

    def has(self, claims: Iterable[bytes], row: int) -> bool:
        """Tell whether another address owns one of some keys."""
        return self.owner(claims, row) != 0


class Frontier:
    """The addresses of a crawl with their states, and the queue of the waiting ones."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._do = database.do
        self.queue = Queue(database)
        # Addresses of items that exist only in memory: they end when those items are released.
        self._kept_open: dict[int, int] = {}
        self._outcomes: dict[int, tuple[str, str | None, str | None]] = {}
        # By the address of a request in memory: the address whose page led to it.
        self._parents: dict[int, int] = {}

    @property
    def unread(self) -> int:
        """Return how many addresses failed for temporary reasons (see `requeue_failed`)."""
        return self._database.count("SELECT count(*) FROM addresses WHERE state = ?", (RETRY,))

    def unread_addresses(self) -> Iterator[tuple[str, str]]:
        """Yield the addresses that `unread` counts, with the reasons."""
        query = "SELECT url, coalesce(reason, '') FROM addresses WHERE state = ?"
        return self._database.rows(query, (RETRY,))

    def read_counts(self) -> dict[str, int]:
        """Return how many addresses of each host were read."""
        marks = ", ".join("?" * len(READ))
        query = f"SELECT host, count(*) FROM addresses WHERE state IN ({marks}) GROUP BY host"  # noqa: S608
        return dict(self._database.rows(query, READ))

    def recover(self, died: bool) -> list[str]:
        """Requeue the addresses that an ended process had in flight. If that process *died*, return
        the addresses that were in flight in `MAX_DEATHS` dead runs; they fail for good. Addresses
        whose requests only its memory had stay unread, until a page leads to them again.
        """
        killers: list[str] = []
        if died:
            self._do("UPDATE addresses SET deaths = deaths + 1 WHERE state = ?", (TAKEN,))
            query = "SELECT url FROM addresses WHERE state = ? AND deaths >= ?"
            killers = [url for (url,) in self._database.rows(query, (TAKEN, MAX_DEATHS))]
            reason = f"{MAX_DEATHS} runs died with it in flight: it is set aside"
            self._do(
                "DELETE FROM requests WHERE address IN"
                " (SELECT number FROM addresses WHERE state = ? AND deaths >= ?)",
                (TAKEN, MAX_DEATHS),
            )
            self._do(
                "UPDATE addresses SET state = ?, reason = ? WHERE state = ? AND deaths >= ?",
                (FAILED, reason, TAKEN, MAX_DEATHS),
            )
        self._requeue("state = ?", TAKEN)
        statement = (
            "UPDATE addresses SET state = ?, reason = ? WHERE state = ?"
            " AND number NOT IN (SELECT address FROM requests)"
        )
        self.queue.refill(-self._do(statement, (RETRY, LOST, QUEUED)).rowcount)
        self._do(statement, (RETRY, LOST, RETRY))
        return killers

    def requeue_failed(self, rows: Iterable[int] | None = None) -> int:
        """Requeue and count addresses (only *rows*) that failed for temporary reasons."""
        if rows is None:
            return self._requeue(HAS_REQUEST, RETRY)
        return sum(self._requeue(f"{HAS_REQUEST} AND number = ?", RETRY, row) for row in rows)

    def _requeue(self, which: str, *values: object) -> int:
        statement = f"UPDATE addresses SET state = ? WHERE {which}"  # noqa: S608 - our own words
        added = self._do(statement, (QUEUED, *values)).rowcount
        self.queue.refill(added)
        return added

    def enqueue(
        self,
        fingerprint: bytes,
        url: str,
        priority: int,
        request: str | None,
        again: bool = False,
        source_row: int | None = None,
    ) -> int:
        """Queue an address and return its row. Return 0 if the book `knows` the address already and
        *again* is false.
        """
        if added := self._insert(fingerprint, url, priority, request):
            return added
        if not again and self.knows(fingerprint):
            return 0
        query = "SELECT number, state, url FROM addresses WHERE fingerprint = ?"
        row, before, stored_url = self._database.row(query, (fingerprint,))
        if row != source_row and (before in (QUEUED, TAKEN) or (again and url != stored_url)):
            # Two requests for one address with other cookies or headers: both are sent. So are
            # those of two routes of one document, whose row has one address.
            return self._insert(fingerprint + os.urandom(8), url, priority, request)
        self._do(
            "UPDATE addresses SET state = ?, priority = ?, reason = NULL WHERE number = ?",
            (QUEUED, priority, row),
        )
        self._keep_request(int(row), request)
        self.queue.note(priority, row)
        return int(row)

    def _keep_request(self, row: int, request: str | None) -> None:
        """Store the request of an address; None: it has none, or it is in memory."""
        self._do("DELETE FROM requests WHERE address = ?", (row,))
        if request is not None:
            self._do("INSERT INTO requests VALUES (?, ?)", (row, request))

    def _insert(self, fingerprint: bytes, url: str, priority: int, request: str | None) -> int:
        added = self._do(
            "INSERT OR IGNORE INTO addresses (fingerprint, url, priority, state, host)"
            " VALUES (?, ?, ?, ?, ?)",
            (fingerprint, url, priority, QUEUED, host_of(url)),
        )
        if not added.rowcount:
            return 0
        row = added.lastrowid or 0
        if request is not None:
            self._do("INSERT INTO requests VALUES (?, ?)", (row, request))
        self.queue.note(priority, row)
        return row

    def knows(self, fingerprint: bytes) -> bool:
        """Tell whether an address was ever queued, in any state, and its request was not lost."""
        query = "SELECT 1 FROM addresses WHERE fingerprint = ? AND reason IS NOT ?"
        return self._database.row(query, (fingerprint, LOST)) is not None

    def find(self, url: str) -> Address | None:
        """Return the state of an address; if it had several requests, of the last one."""
        # Used only at the end of a crawl: an index would slow down the insertion of addresses.
        self._do("CREATE INDEX IF NOT EXISTS by_url ON addresses (url)")
        row = self._database.row(
            "SELECT number, url, state, coalesce(reason, ''), coalesce(target, ''),"
            " coalesce(canonical, '') FROM addresses WHERE url = ?"
            " ORDER BY number DESC LIMIT 1",
            (url,),
        )
        return Address(*row) if row else None

    def copies_of(self, row: int) -> list[str]:
        """Return the addresses whose pages duplicate the page in a row."""
        rows = self._database.rows(
            "SELECT url FROM addresses WHERE reason = 'duplicate' AND state = ?"
            " AND target = (SELECT url FROM addresses WHERE number = ?) AND number != ?",
            (AddressState.SKIPPED, row, row),
        )
        return [url for (url,) in rows]

    def requeue(self, row: int) -> None:
        """Requeue an address that was taken and not requested."""
        self._requeue(f"{HAS_REQUEST} AND number = ?", TAKEN, row)

    def finish(
        self,
        row: int,
        state: str,
        reason: str | None = None,
        target: str | None = None,
    ) -> None:
        """Set the *state* of an address that was taken. An address to retry keeps its request; if
        that was in memory only, a resumed run finds it again on the page that led to it.

        Raises ValueError if `TRANSITIONS` does not allow the state.
        """
        state = next_state(TAKEN, state)
        if row in self._kept_open:
            self._outcomes[row] = (state, reason, target)
            return
        done = self._do(
            "UPDATE addresses SET state = ?, reason = ?, target = coalesce(?, target)"
            " WHERE number = ? AND state = ?",
            (state, reason, target, row, TAKEN),
        )
        if done.rowcount and state is not RETRY:
            self._do("DELETE FROM requests WHERE address = ?", (row,))
        if state is not RETRY and (parent := self._parents.pop(row, None)) is not None:
            self.allow_end(parent)

    def skip_copy(self, row: int, reason: str, original: int) -> None:
        """Skip an address to retry: it duplicates the address in the row *original*."""
        self._do(
            "UPDATE addresses SET state = ?, reason = ?,"
            " target = (SELECT url FROM addresses WHERE number = ?) WHERE number = ?",
            (AddressState.SKIPPED, reason, original, row),
        )
        self._keep_request(row, None)

    def keep_open(self, row: int) -> None:
        """Delay the end of an address until `allow_end` was called as often as this method."""
        self._kept_open[row] = self._kept_open.get(row, 0) + 1

    def allow_end(self, row: int) -> None:
        """Finish an address that was kept open, if `finish` was called in the meantime."""
        self._kept_open[row] -= 1
        if not self._kept_open[row]:
            del self._kept_open[row]
            if outcome := self._outcomes.pop(row, None):
                self.finish(row, *outcome)

    def depend(self, row: int, parent: int | None) -> None:
        """Keep the address *parent* open until the address in *row* has ended, whose request is in
        memory: only the page of *parent* leads to it again.
        """
        if parent is None or parent == row or row in self._parents:
            return
        self._parents[row] = parent
        self.keep_open(parent)
        self.pardon(parent)

    def pardon(self, row: int) -> None:
        """Record that an address has answered: if the process dies next, this address is not
        suspected.
        """
        self._do("UPDATE addresses SET deaths = -1 WHERE number = ?", (row,))

    def mark_released(self, row: int, state: str, reason: str | None) -> None:
        """Set the state of an address after its held item was released or dropped. Raises
        ValueError if `TRANSITIONS` does not allow the state.
        """
        held_state = AddressState.HELD
        if self._outcomes.get(row, ("",))[0] == held_state:
            self._outcomes[row] = (next_state(held_state, state), reason, None)
        self._do(
            "UPDATE addresses SET state = iif(state = ?, ?, state), reason = ? WHERE number = ?",
            (held_state, next_state(held_state, state), reason, row),
        )

    def states(self) -> dict[str, int]:
        """Return how many addresses are in each state, the most frequent first."""
        query = "SELECT state, count(*) FROM addresses GROUP BY state ORDER BY count(*) DESC"
        return dict(self._database.rows(query))

    def failed(self, reasons: Sequence[str]) -> Iterator[str]:
        """Yield the addresses that failed for one of *reasons*, also if they are to be retried."""
        marks = ", ".join("?" * len(reasons))
        query = f"SELECT url FROM addresses WHERE state IN (?, ?) AND reason IN ({marks})"  # noqa: S608
        return (url for (url,) in self._database.rows(query, (FAILED, RETRY, *reasons)))

    def reasons(self, state: str) -> list[tuple[str, int, str]]:
        """Return reason, count and an example address for a state, the most frequent first."""
        query = (
            "SELECT reason, count(*), min(url) FROM addresses WHERE state = ?"
            " GROUP BY reason ORDER BY count(*) DESC"
        )
        return list(self._database.rows(query, (state,)))
