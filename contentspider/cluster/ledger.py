"""The ledger of a worker: its addresses and results in SQLite, and which of them are not shared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from contentspider.cluster.messages import Report
from contentspider.cluster.tables import (
    ADDRESSES,
    ANSWERS,
    DEATHS,
    FACTS,
    HELD,
    OWN_TEXTS,
    STATE,
    TABLES,
    Table,
)
from contentspider.page.input.page import Page
from contentspider.state.ledger.frontier import SHARED, Frontier
from contentspider.state.ledger.ledger import Ledger
from contentspider.state.ledger.pages import PageSample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from contentspider.cluster.messages import Model, Reply
    from contentspider.cluster.tables import Row
    from contentspider.state.address_state import AddressState
    from contentspider.state.ledger.database import Database

# The lower bits of a row's number count the rows of a run; the upper bits are the run's number.
ROWS_BITS = 40
QUERIES = {
    table.name: f"SELECT {table.names} FROM {table.name} WHERE {table.key} = ?"  # noqa: S608 - our own names
    for table in TABLES
}
# Facts of a single process, which are not shared.
OWN_FACTS = ("output",)
CHANGED = """
CREATE TEMP TABLE changed (place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, key,
    UNIQUE (name, key))
"""


class SharedFrontier(Frontier):
    """The addresses of a worker. New addresses are shared at once, and any worker may take them.
    Requests that cannot be serialised stay with this worker.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        # Rows of new requests with ``dont_filter``: they are sent even if their addresses are known
        # to another worker.
        self.unfiltered: set[int] = set()

    def new_state(self, request: str | None) -> AddressState:
        """Return `SHARED` for a request that any worker can take."""
        return super().new_state(request) if request is None else SHARED

    def enqueue(
        self,
        fingerprint: bytes,
        url: str,
        priority: int,
        request: str | None,
        again: bool = False,
        source_row: int | None = None,
    ) -> int:
        """Queue an address as `Frontier.enqueue` does, and note a new one with ``dont_filter``."""
        is_unfiltered = again and not self.knows(fingerprint)
        row = super().enqueue(fingerprint, url, priority, request, again, source_row)
        if is_unfiltered:
            self.unfiltered.add(row)
        return row


class SharedLedger(Ledger):
    """The ledger of a *worker* in a crawl whose full ledger is in PostgreSQL. The file at *path*
    has the worker's own addresses and results; at the end of a crawl, one worker fills it with all.
    """

    frontier_class = SharedFrontier
    frontier: SharedFrontier

    def __init__(self, path: Path, worker: int) -> None:
        super().__init__(path)
        database = self._database
        first = worker << ROWS_BITS
        for table in (ADDRESSES, HELD):
            database.do("INSERT INTO sqlite_sequence VALUES (?, ?)", (table.name, first))
        database.do(CHANGED)
        for table in TABLES:
            for event in ("INSERT", "UPDATE"):
                self._note_changes(table, event, "NEW")
        self._note_changes(HELD, "DELETE", "OLD")
        # Addresses whose page another worker has: further changes of them are not shared.
        self._copied: set[int] = set()
        # Addresses that lost workers had in hand, with the number of these workers.
        self._suspects: dict[int, int] = {}
        self._horizon = 0
        self._models: list[Model] = []
        self.commit()

    def _note_changes(self, table: Table, event: str, row: str) -> None:
        values = f"('{table.name}', {row}.{table.key})"
        note = f"INSERT OR IGNORE INTO changed (name, key) VALUES {values}"  # noqa: S608 - our own names
        self._database.do(
            f"CREATE TEMP TRIGGER {table.name}_{event} AFTER {event} ON {table.name}"
            f" BEGIN {note}; END"
        )

    @property
    def is_changed(self) -> bool:
        """Whether the ledger has changes that have not been shared."""
        return self._database.row("SELECT 1 FROM changed") is not None or bool(self._models)

    def waiting(self) -> dict[str, int]:
        """Return how many addresses this worker has queued, by host."""
        query = "SELECT host, count(*) FROM addresses WHERE state = 'queued' GROUP BY host"
        return dict(self._database.rows(query))

    def share_model(self, site: str, manifest: str | None, weights: bytes | None) -> None:
        """Share a site's model in the next exchange; None if the site cannot be learned."""
        self._models.append((site, manifest, weights))

    def report(self, room: int = 0, **fields: Any) -> Report:
        """Return the changes to share, for an exchange that may take *room* addresses. The changes
        count as shared afterwards: see `undo_report`. *fields* are further fields of `Report`.
        """
        changed = list(self._database.rows("SELECT name, key FROM changed ORDER BY place"))
        rows, gone = self._changed_rows(changed)
        self._database.do("DELETE FROM changed")
        models, self._models = self._models, []
        addresses, unfiltered = rows[ADDRESSES.name], self.frontier.unfiltered
        numbers = [row[0] for row in addresses if row[0] in unfiltered]
        # Requests that cannot be serialised are not for others, and stay in the set.
        unfiltered.difference_update(row[0] for row in addresses if row[STATE] == "queued")
        suspects = [deaths for number, deaths in self._suspects.items() if self._is_open(number)]
        return Report(
            changed=changed,
            rows=rows,
            gone=gone,
            models=models,
            unfiltered=numbers,
            room=max(room - self.frontier.queue.length, 0),
            suspects=suspects.count(1),
            deadly=len(suspects) - suspects.count(1),
            horizon=self._horizon,
            **fields,
        )

    def _changed_rows(
        self, changed: Iterable[tuple[str, Any]]
    ) -> tuple[dict[str, list[Row]], list[int]]:
        """Return the rows to share, by table, and the numbers of held items that were deleted."""
        rows: dict[str, list[Row]] = {table.name: [] for table in TABLES}
        gone: list[int] = []
        for name, key in changed:
            row = self._database.row(QUERIES[name], (key,))
            if row is not None:
                rows[name].append(row)
            elif name == HELD.name:
                gone.append(key)
        rows = {table.name: table.without(rows[table.name], self._copied) for table in TABLES}
        rows[ADDRESSES.name] = [_shared_row(row) for row in rows[ADDRESSES.name]]
        rows[FACTS.name] = [row for row in rows[FACTS.name] if row[0] not in OWN_FACTS]
        # An item that cannot be serialised stays in memory, and its address open.
        rows[HELD.name] = [row for row in rows[HELD.name] if row[4]]
        return rows, gone

    def undo_report(self, report: Report) -> None:
        """Mark the changes of a report as not shared, because the exchange failed."""
        for change in report.changed:
            self._database.do("INSERT OR IGNORE INTO changed (name, key) VALUES (?, ?)", change)
        self._models = report.models + self._models
        self.frontier.unfiltered.update(report.unfiltered)

    def apply(self, reply: Reply) -> None:
        """Add the rows of a reply."""
        database = self._database
        last = database.count("SELECT max(place) FROM changed")
        added = 0
        for row in reply.taken:
            if self._is_in_hand(row[0]):
                continue
            # The row replaces a queued request of its address that cannot be serialised.
            waits = "SELECT 1 FROM addresses WHERE fingerprint = ? AND state = 'queued'"
            added += database.row(waits, (row[1],)) is None
            self._put(ADDRESSES, [(*row[:STATE], "queued", *row[STATE + 1 :])])
            if deaths := row[DEATHS]:
                self._suspects[row[0]] = deaths
        self.frontier.queue.refill(added)
        self._put(ADDRESSES, (row for row in reply.held if not self._is_in_hand(row[0])))
        # A reply may repeat an item that was released in the meantime.
        self._put(HELD, (row for row in reply.items if not self.items.has_item(row[1])))
        self._put(ANSWERS, reply.answers)
        for site, url, source, origin, record in reply.own_texts:
            self.own_texts.insert(site, url, source, origin, record)
        self._horizon = reply.horizon
        # Rows that came from PostgreSQL need not be shared.
        database.do("DELETE FROM changed WHERE place > ?", (last,))
        for number, url in reply.copied.items():
            self._skip_copy(number, url)

    def _is_in_hand(self, number: int) -> bool:
        query = "SELECT 1 FROM addresses WHERE number = ? AND state != ?"
        return self._database.row(query, (number, SHARED)) is not None

    def _is_open(self, number: int) -> bool:
        """Tell whether this worker still has to fetch an address."""
        query = "SELECT 1 FROM addresses WHERE number = ? AND state IN ('queued', 'taken')"
        return self._database.row(query, (number,)) is not None

    def _put(self, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        marks = ", ".join("?" * len(table.columns))
        statement = f"INSERT OR REPLACE INTO {table.name} ({table.names}) VALUES ({marks})"  # noqa: S608 - our own names
        for row in rows:
            self._database.do(statement, row)

    def _skip_copy(self, number: int, url: str) -> None:
        """Skip an address whose page another worker has claimed before, at *url*."""
        if number in self._copied:
            return  # the store refuses each change of the address again
        self._copied.add(number)
        waits = "SELECT count(*) FROM addresses WHERE number = ? AND state = 'queued'"
        self.frontier.queue.refill(-self._database.count(waits, (number,)))
        self._database.do(
            "UPDATE addresses SET state = 'skipped', reason = 'duplicate', target = ?,"
            " request = NULL WHERE number = ?",
            (url, number),
        )
        for table in ("held_items", "items", "visits"):
            self._database.do(f"DELETE FROM {table} WHERE address = ?", (number,))  # noqa: S608 - our own names

    def add_to_sample(
        self, site: str, pages: Iterable[bytes], is_example: Callable[[str], bool]
    ) -> None:
        """Offer pages of other workers to the sample of a site. It prefers pages with an own text,
        and pages for whose addresses *is_example* is true.
        """
        for data in pages:
            page = Page.load(data)
            is_first = self.own_texts.has(site, page.url) or is_example(page.url)
            if page.content.blocks:
                self.pages.offer(site, page, is_first)
        self.commit()

    def begin_filling(self) -> None:
        """Empty the ledger, so that `fill` can add the rows of all workers."""
        for table in TABLES:
            for event in ("INSERT", "UPDATE", "DELETE"):
                self._database.do(f"DROP TRIGGER IF EXISTS {table.name}_{event}")
            if table is not FACTS:
                self._database.do(f"DELETE FROM {table.name}")  # noqa: S608 - our own names
        # Every worker that fills it numbers visits equally: the history stores the last number.
        self._database.do("DELETE FROM sqlite_sequence WHERE name = 'visits'")

    def fill(self, table: Table, rows: list[Row]) -> None:
        """Add shared rows of a table. The facts of all workers are merged."""
        if table is FACTS:
            for name, value in rows:
                own_value = self.runs.fact(name)
                self.runs.set_fact(name, _merged(own_value, json.loads(value)))
        elif table is OWN_TEXTS:
            for row in rows:
                self.own_texts.insert(*row)
        else:
            self._put(table, rows)

    def end_filling(self) -> None:
        """Update the counts after `fill`, and queue the addresses that were in hand."""
        self._database.do(
            "UPDATE addresses SET state = 'queued' WHERE state IN ('taken', ?)", (SHARED,)
        )
        waiting = self._database.count("SELECT count(*) FROM addresses WHERE state = 'queued'")
        self.frontier.queue.refill(waiting - self.frontier.queue.length)
        # A page whose own text came later was shared at two places of the sample.
        self._database.do(
            "DELETE FROM pages WHERE EXISTS (SELECT 1 FROM pages AS other WHERE"
            " other.site = pages.site AND other.url = pages.url AND other.place < pages.place)"
        )
        self.pages = PageSample(self._database)
        self.commit()


def _shared_row(row: Row) -> Row:
    """Return the row of an address with the state that other workers see. An address that is queued
    in this worker is taken for the others.
    """
    state = {"queued": "taken", SHARED: "queued"}.get(row[STATE], row[STATE])
    return (*row[:STATE], state, *row[STATE + 1 :])


def _merged(value: Any, other: Any) -> Any:
    """Return the merged values that two workers have for one fact."""
    if isinstance(value, list) and isinstance(other, list):
        return [*value, *(entry for entry in other if entry not in value)]
    if isinstance(value, dict) and isinstance(other, dict):
        return {**other, **value}
    return other if value is None else value
