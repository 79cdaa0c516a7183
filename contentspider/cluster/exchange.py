"""An exchange of a worker with the crawl in PostgreSQL: what it has done, and what it is to do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from contentspider.cluster.tables import (
    ADDRESSES,
    ANSWERS,
    CLAIMS,
    HELD,
    OWN_TEXTS,
    STATE,
    TABLES,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from contentspider.cluster.connection import Cursor
    from contentspider.cluster.messages import Answer, Ask
    from contentspider.cluster.tables import Row

SUSPECTS = 4  # addresses that a worker takes at a time with which one was lost
# Of workers that were lost with it in hand, after which an address is set aside: one that kills is
# sent alone after two, others are rarely in hand so often.
MAX_DEATHS = 5
# Whether there is something to do that is not in this worker's hands. Asked so that each part takes
# an index, whatever PostgreSQL thinks of the table.
IS_OPEN = (
    "(SELECT number FROM addresses WHERE state = 'queued' AND host <> ALL(%(lost)s)"
    " ORDER BY priority DESC, number LIMIT 1) IS NOT NULL OR (SELECT worker FROM addresses"
    " WHERE state = 'taken' AND worker <> %(worker)s AND host <> ALL(%(lost)s)"
    " ORDER BY worker LIMIT 1) IS NOT NULL"
)


class Exchange:
    """The steps of an exchange of a *worker*, in one transaction."""

    def __init__(self, cursor: Cursor, worker: int) -> None:
        self._cursor, self._worker = cursor, worker

    def take_over(self, answer: Answer) -> None:
        """Take what workers hold that are lost, and let their addresses be taken."""
        self._cursor.execute(
            "SELECT number FROM runs WHERE ended IS NULL AND lease < clock_timestamp()"
            " ORDER BY number FOR UPDATE SKIP LOCKED"
        )
        for (lost,) in self._cursor.fetchall():
            self._cursor.execute(
                "UPDATE runs SET ended = clock_timestamp(),"
                " reason = coalesce(reason, 'its lease was over') WHERE number = %s",
                [lost],
            )
            self._cursor.execute(
                "DELETE FROM addresses WHERE worker = %s AND state = 'taken' AND request IS NULL",
                [lost],
            )
            self._cursor.execute(
                "UPDATE addresses SET deaths = deaths + 1, worker = NULL,"
                " state = CASE WHEN deaths + 1 < %s THEN 'queued' ELSE 'failed' END,"
                " reason = CASE WHEN deaths + 1 < %s THEN reason ELSE %s END,"
                " request = CASE WHEN deaths + 1 < %s THEN request END"
                " WHERE worker = %s AND state = 'taken'",
                [
                    MAX_DEATHS,
                    MAX_DEATHS,
                    f"{MAX_DEATHS} workers died with it in hand",
                    MAX_DEATHS,
                    lost,
                ],
            )
            self._cursor.execute(
                "UPDATE addresses SET state = 'queued', worker = NULL"
                " WHERE worker = %s AND state = 'failed' AND request IS NOT NULL",
                [lost],
            )
            self._cursor.execute("DELETE FROM turns WHERE worker = %s", [lost])
            given = f"SET worker = %s WHERE worker = %s RETURNING {HELD.names}"
            self._cursor.execute(f"UPDATE held_items {given}", [self._worker, lost])
            answer.items += self._cursor.fetchall()
            given = (
                f"SET worker = %s WHERE worker = %s AND state = 'held' RETURNING {ADDRESSES.names}"
            )
            self._cursor.execute(f"UPDATE addresses {given}", [self._worker, lost])
            answer.held += self._cursor.fetchall()

    def write(self, ask: Ask) -> dict[int, str]:
        """Write the rows that a worker changed; return those of its addresses that are copies, each
        with the address of the page: another worker had it, or the claim, before.
        """
        copied: dict[int, str] = {}
        for table in TABLES:
            if table is ADDRESSES:
                copied |= self._write_addresses(ask.rows[table.name], ask.again)
                continue
            rows = table.without(ask.rows[table.name], copied)
            self._insert(table, rows, f"ON CONFLICT {table.on_conflict}")
            if table is CLAIMS and rows:
                copied |= self._lost_claims(rows)
        if ask.gone:
            self._cursor.execute(
                "DELETE FROM held_items WHERE number = ANY(%s) AND worker = %s",
                [ask.gone, self._worker],
            )
        for model in ask.models:
            statement = "INSERT INTO models (site, manifest, weights, worker)"
            self._cursor.execute(f"{statement} VALUES (%s, %s, %s, %s)", [*model, self._worker])
        return copied

    def _write_addresses(self, rows: Sequence[Row], again: Sequence[int]) -> dict[int, str]:
        """Write addresses: new ones for all, and what became of those in the worker's hands; return
        those that are in others' hands: requests that are no data wait where they were found.
        """
        found = [row for row in rows if row[STATE] == "queued"]
        ours = [row for row in rows if row[STATE] != "queued"]
        self._insert(ADDRESSES, found, "ON CONFLICT DO NOTHING", worker=None)
        # What is known, and to be fetched again, is another address; what was not is there by now.
        twice = [(row[0], row[1] + os.urandom(8), *row[2:]) for row in found if row[0] in again]
        self._insert(ADDRESSES, twice, "ON CONFLICT DO NOTHING", worker=None)
        if not ours:
            return {}
        given = ("priority", "state", "reason", "request", "target", "canonical")
        values = ", ".join(f"{name} = excluded.{name}" for name in given)
        self._insert(
            ADDRESSES,
            ours,
            f"ON CONFLICT (fingerprint) DO UPDATE SET {values}"
            " WHERE addresses.number = excluded.number AND addresses.worker = excluded.worker"
            " RETURNING number",
        )
        written = {*again, *(number for (number,) in self._cursor)}
        return {row[0]: row[2] for row in ours if row[0] not in written}

    def _insert(
        self,
        table: Table,
        rows: Iterable[Row],
        on_conflict: str,
        **worker: int | None,
    ) -> None:
        """Insert rows in the order of their keys: two workers that write the same wait for each
        other, and not in a circle.
        """
        columns = table.columns | ({"worker": "bigint"} if table.has_worker else {})
        owner = (worker.get("worker", self._worker),) if table.has_worker else ()
        order = 1 if table is ADDRESSES else 0
        given = [(*row, *owner) for row in map(_clean, rows)]
        if not given:
            return
        given.sort(key=lambda row: row[order : order + 3])
        arrays = ", ".join(f"%s::{kind}[]" for kind in columns.values())
        self._cursor.execute(
            f"INSERT INTO {table.name} ({', '.join(columns)})"  # noqa: S608 - our own names
            f" SELECT * FROM unnest({arrays}) {on_conflict}",
            [list(column) for column in zip(*given, strict=True)],
        )

    def _lost_claims(self, rows: Sequence[Row]) -> dict[int, str]:
        ours: dict[bytes, int] = dict(rows)
        self._cursor.execute(
            "SELECT claim, address, coalesce(url, '') FROM claims"
            " LEFT JOIN addresses ON addresses.number = claims.address WHERE claim = ANY(%s)",
            [list(ours)],
        )
        return {ours[claim]: url for claim, other, url in self._cursor if other != ours[claim]}

    def read_own(self, answer: Answer) -> None:
        """Read all that is in the worker's hands: the last answer may not have arrived."""
        columns = ADDRESSES.names
        own = f"SELECT {columns} FROM addresses WHERE worker = %s AND state ="  # noqa: S608 - our own names
        answer.taken += self._cursor.execute(f"{own} 'taken'", [self._worker]).fetchall()
        answer.held += self._cursor.execute(f"{own} 'held'", [self._worker]).fetchall()
        held = f"SELECT {HELD.names} FROM held_items WHERE worker = %s"  # noqa: S608 - our own names
        answer.items += self._cursor.execute(held, [self._worker]).fetchall()

    def read_answers(self, answer: Answer) -> None:
        """Read the answers that gave the pages of the items that are the worker's own now."""
        pages = [page_address for *_, page_address in answer.items]
        if pages:
            found = f"SELECT {ANSWERS.names} FROM answers WHERE address = ANY(%s)"  # noqa: S608 - our own names
            answer.answers = self._cursor.execute(found, [pages]).fetchall()

    def take(self, ask: Ask) -> list[Row]:
        """Take addresses that wait for the worker: few of those with which others were lost."""
        taken: list[Row] = []
        suspects = ask.suspects + ask.deadly
        for which, room in (
            ("deaths = 0", ask.room),
            ("deaths = 1", min(ask.room, SUSPECTS - suspects)),
            ("deaths > 1", min(ask.room, 1 - ask.deadly)),
        ):
            if room <= 0:
                continue
            names = ", ".join(f"addresses.{name}" for name in ADDRESSES.columns)
            self._cursor.execute(
                "WITH next AS MATERIALIZED (SELECT number FROM addresses WHERE state = 'queued'"  # noqa: S608 - our own words
                f" AND {which} AND host <> ALL(%s) ORDER BY priority DESC, number LIMIT %s"
                " FOR UPDATE SKIP LOCKED)"
                " UPDATE addresses SET state = 'taken', worker = %s FROM next"
                f" WHERE addresses.number = next.number RETURNING {names}",
                [ask.closed, room, self._worker],
            )
            taken += self._cursor.fetchall()
        return taken

    def read_news(self, ask: Ask, answer: Answer) -> None:
        """Read what others wrote since the last time, in transactions that are over by now."""
        (answer.horizon,) = row_of(
            self._cursor, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
        )
        new = (
            "WHERE worker <> %s AND written >= %s::text::xid8 AND written < %s::text::xid8"
            " ORDER BY written"
        )
        values = [self._worker, ask.horizon, answer.horizon]
        self._cursor.execute(f"SELECT {OWN_TEXTS.names} FROM own_texts {new}", values)  # noqa: S608 - our own names
        answer.own_texts = self._cursor.fetchall()
        self._cursor.execute(f"SELECT site, manifest, weights FROM models {new}", values)  # noqa: S608 - our own names
        answer.models = self._cursor.fetchall()


def living(cursor: Cursor, worker: int) -> dict[int, bool]:
    """Return the numbers of the others that work on the crawl, and whether each is idle."""
    cursor.execute(
        "SELECT number, is_idle FROM runs WHERE ended IS NULL AND number <> %s"
        " AND lease > clock_timestamp()",
        [worker],
    )
    return dict(cursor.fetchall())


def is_open(cursor: Cursor, worker: int, lost: Sequence[str] = ()) -> bool:
    """Tell whether there is something to do that is not in a worker's hands, but for addresses of
    hosts that are *lost*.
    """
    (found,) = row_of(cursor, f"SELECT {IS_OPEN}", {"lost": list(lost), "worker": worker})
    return bool(found)


def row_of(
    cursor: Cursor, statement: str, values: Sequence[object] | Mapping[str, object] = ()
) -> Row:
    """Return the one row that a statement gives."""
    found: list[Row] = cursor.execute(statement, values).fetchall()
    return found[0]


def _clean(row: Row) -> Iterable[object]:
    """Return a row without the one character that PostgreSQL's texts cannot have."""
    return (
        value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value
        for value in row
    )
