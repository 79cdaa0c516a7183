"""The ledger of a worker: what it works on now, in SQLite, and a note of what it has not shared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from contentspider.cluster.messages import Ask
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
from contentspider.state.ledger.frontier import SHARED
from contentspider.state.ledger.ledger import Ledger
from contentspider.state.ledger.pages import PageSample

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from contentspider.cluster.messages import Answer, Model
    from contentspider.cluster.tables import Row

# So many rows of a table a process can make: their numbers begin with that of its run.
ROWS_BITS = 40
QUERIES = {
    table.name: f"SELECT {table.names} FROM {table.name} WHERE {table.key} = ?"  # noqa: S608 - our own names
    for table in TABLES
}
# Facts that are of a process, and not of the crawl.
OWN_FACTS = ("output",)
CHANGED = """
CREATE TEMP TABLE changed (place INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, key,
    UNIQUE (name, key))
"""


class SharedLedger(Ledger):
    """A ledger whose truth is in a *store*: this one in the file *path* has what its worker works
    on, and is filled with all at the end. New addresses wait in the store for whoever takes them.
    """

    def __init__(self, path: Path, worker: int) -> None:
        super().__init__(path)
        self.frontier.is_shared = True
        database = self._database
        first = worker << ROWS_BITS
        for table in (ADDRESSES, HELD):
            database.do("INSERT INTO sqlite_sequence VALUES (?, ?)", (table.name, first))
        database.do(CHANGED)
        for table in TABLES:
            for event in ("INSERT", "UPDATE"):
                self._note_changes(table, event, "NEW")
        self._note_changes(HELD, "DELETE", "OLD")
        # Addresses whose pages others have: what still comes of them is not shared.
        self._copied: set[int] = set()
        # In whose hands workers were lost, and how often.
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
        """Tell whether there is what has not been shared."""
        return self._database.row("SELECT 1 FROM changed") is not None or bool(self._models)

    def waiting(self) -> dict[str, int]:
        """Return how many addresses wait in this worker's hands, by host."""
        query = "SELECT host, count(*) FROM addresses WHERE state = 'queued' GROUP BY host"
        return dict(self._database.rows(query))

    def publish(self, site: str, manifest: str | None, weights: bytes | None) -> None:
        """Share a site's model with the next exchange (None: it cannot be learned)."""
        self._models.append((site, manifest, weights))

    def ask(self, room: int = 0, **more: Any) -> Ask:
        """Return what is to be shared and asked for, for *room* addresses and as *more* says
        (`Ask`); what changed counts as shared now (see `take_back`).
        """
        database = self._database
        rows: dict[str, list[Row]] = {table.name: [] for table in TABLES}
        gone: list[int] = []
        changed = list(database.rows("SELECT name, key FROM changed ORDER BY place"))
        for name, key in changed:
            row = database.row(QUERIES[name], (key,))
            if row is not None:
                rows[name].append(row)
            elif name == HELD.name:
                gone.append(key)
        database.do("DELETE FROM changed")
        rows = {table.name: table.without(rows[table.name], self._copied) for table in TABLES}
        rows[ADDRESSES.name] = [_for_all(row) for row in rows[ADDRESSES.name]]
        rows[FACTS.name] = [row for row in rows[FACTS.name] if row[0] not in OWN_FACTS]
        # What is no data stays in memory, and its address open.
        rows[HELD.name] = [row for row in rows[HELD.name] if row[4]]
        models, self._models = self._models, []
        addresses, again = rows[ADDRESSES.name], self.frontier.again
        asked = [row[0] for row in addresses if row[0] in again]
        # What is no data is not for others: it is told with each change.
        again.difference_update(row[0] for row in addresses if row[STATE] == "queued")
        suspects = [deaths for number, deaths in self._suspects.items() if self._is_open(number)]
        return Ask(
            changed=changed,
            rows=rows,
            gone=gone,
            models=models,
            again=asked,
            room=max(room - self.frontier.queue.length, 0),
            suspects=suspects.count(1),
            deadly=len(suspects) - suspects.count(1),
            horizon=self._horizon,
            **more,
        )

    def take_back(self, ask: Ask) -> None:
        """Note again as changed what could not be shared."""
        for change in ask.changed:
            self._database.do("INSERT OR IGNORE INTO changed (name, key) VALUES (?, ?)", change)
        self._models = ask.models + self._models
        self.frontier.again.update(ask.again)

    def take(self, answer: Answer) -> None:
        """Take over what an exchange gave."""
        database = self._database
        last = database.count("SELECT max(place) FROM changed")
        added = 0
        for row in answer.taken:
            if self._is_in_hand(row[0]):
                continue
            # One that waits here, too, as a request that is no data, gives way.
            waits = "SELECT 1 FROM addresses WHERE fingerprint = ? AND state = 'queued'"
            added += database.row(waits, (row[1],)) is None
            self._put(ADDRESSES, [(*row[:STATE], "queued", *row[STATE + 1 :])])
            if deaths := row[DEATHS]:
                self._suspects[row[0]] = deaths
        self.frontier.queue.refill(added)
        self._put(ADDRESSES, (row for row in answer.held if not self._is_in_hand(row[0])))
        # What was let go meanwhile may be told once more.
        self._put(HELD, (row for row in answer.items if not self.items.has_item(row[1])))
        self._put(ANSWERS, answer.answers)
        for site, url, source, origin, record in answer.own_texts:
            self.own_texts.insert(site, url, source, origin, record)
        self._horizon = answer.horizon
        # What came from the store is no news for it.
        database.do("DELETE FROM changed WHERE place > ?", (last,))
        for number, url in answer.copied.items():
            self._give_up(number, url)

    def _is_in_hand(self, number: int) -> bool:
        query = "SELECT 1 FROM addresses WHERE number = ? AND state != ?"
        return self._database.row(query, (number, SHARED)) is not None

    def _is_open(self, number: int) -> bool:
        """Tell whether an address is still to be fetched by this worker."""
        query = "SELECT 1 FROM addresses WHERE number = ? AND state IN ('queued', 'taken')"
        return self._database.row(query, (number,)) is not None

    def _put(self, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        marks = ", ".join("?" * len(table.columns))
        statement = f"INSERT OR REPLACE INTO {table.name} ({table.names}) VALUES ({marks})"  # noqa: S608 - our own names
        for row in rows:
            self._database.do(statement, row)

    def _give_up(self, number: int, url: str) -> None:
        """Leave the page of an address to another one, which a worker had found to be it before."""
        if number in self._copied:
            return  # each change of it is refused
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

    def add_to_sample(self, site: str, pages: Iterable[bytes]) -> None:
        """Add pages that others have to the sample of a site, from which it is learned."""
        for data in pages:
            page = Page.load(data)
            self.pages.offer(site, page, self.own_texts.has(site, page.url))
        self.commit()

    def begin_filling(self) -> None:
        """Empty the ledger: `fill` brings all that all workers have shared."""
        for table in TABLES:
            for event in ("INSERT", "UPDATE", "DELETE"):
                self._database.do(f"DROP TRIGGER IF EXISTS {table.name}_{event}")
            if table is not FACTS:
                self._database.do(f"DELETE FROM {table.name}")  # noqa: S608 - our own names
        # Whoever fills it has the same numbers: the history notes up to which it has visits.
        self._database.do("DELETE FROM sqlite_sequence WHERE name = 'visits'")

    def fill(self, table: Table, rows: list[Row]) -> None:
        """Bring shared rows of a table; facts are joined to those that are known."""
        if table is FACTS:
            for name, value in rows:
                known = self.runs.fact(name)
                self.runs.set_fact(name, _joined(known, json.loads(value)))
        elif table is OWN_TEXTS:
            for row in rows:
                self.own_texts.insert(*row)
        else:
            self._put(table, rows)

    def end_filling(self) -> None:
        """Count anew what is there."""
        self._database.do(
            "UPDATE addresses SET state = 'queued' WHERE state IN ('taken', ?)", (SHARED,)
        )
        waiting = self._database.count("SELECT count(*) FROM addresses WHERE state = 'queued'")
        self.frontier.queue.refill(waiting - self.frontier.queue.length)
        # A page whose own text came later was shared at both its places.
        self._database.do(
            "DELETE FROM pages WHERE EXISTS (SELECT 1 FROM pages AS other WHERE"
            " other.site = pages.site AND other.url = pages.url AND other.place < pages.place)"
        )
        self.pages = PageSample(self._database)
        self.commit()


def _for_all(row: Row) -> Row:
    """Return an address as it is for all: what waits in this worker's hands is taken."""
    state = {"queued": "taken", SHARED: "queued"}.get(row[STATE], row[STATE])
    return (*row[:STATE], state, *row[STATE + 1 :])


def _joined(known: Any, other: Any) -> Any:
    """Return what two workers know under one name, together."""
    if isinstance(known, list) and isinstance(other, list):
        return [*known, *(one for one in other if one not in known)]
    if isinstance(known, dict) and isinstance(other, dict):
        return {**other, **known}
    return other if known is None else known
