"""The steps of an exchange: a worker shares its results and takes addresses."""

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
    from contentspider.cluster.messages import Reply, Report
    from contentspider.cluster.tables import Row

# A suspect is an address that a lost worker had in hand. A worker has at most this many.
SUSPECTS = 4
# An address is set aside after it was in the hands of this many lost workers. An address that
# crashes workers is sent alone after the second loss; other addresses are rarely lost that often.
MAX_DEATHS = 5
# Tells whether an address waits, or is in the hands of another worker. Each subquery is written to
# use an index even if PostgreSQL's statistics of the table are outdated.
IS_OPEN = (
    "(SELECT number FROM addresses WHERE state = 'queued' AND host <> ALL(%(lost)s)"
    " ORDER BY priority DESC, number LIMIT 1) IS NOT NULL OR (SELECT worker FROM addresses"
    " WHERE state = 'taken' AND worker <> %(worker)s AND host <> ALL(%(lost)s)"
    " ORDER BY worker LIMIT 1) IS NOT NULL"
)


class Exchange:
    """The SQL steps of a *worker*'s exchange, all in the transaction of a *cursor*."""

    def __init__(self, cursor: Cursor, worker: int) -> None:
        self._cursor, self._worker = cursor, worker

    def take_over(self, reply: Reply) -> None:
        """End the runs whose lease is over, take their held items, and queue their addresses."""
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
                " WHERE worker = %s AND state = 'retry'",
                [lost],
            )
            self._cursor.execute("DELETE FROM turns WHERE worker = %s", [lost])
            owner = f"SET worker = %s WHERE worker = %s RETURNING {HELD.names}"
            self._cursor.execute(f"UPDATE held_items {owner}", [self._worker, lost])
            reply.items += self._cursor.fetchall()
            owner = (
                f"SET worker = %s WHERE worker = %s AND state = 'held' RETURNING {ADDRESSES.names}"
            )
            self._cursor.execute(f"UPDATE addresses {owner}", [self._worker, lost])
            reply.held += self._cursor.fetchall()

    def write(self, report: Report) -> dict[int, str]:
        """Write the rows that a worker has changed. Return the numbers of its addresses that are
        copies, each with the address of the page: another worker had claimed it before.
        """
        copied: dict[int, str] = {}
        for table in TABLES:
            if table is ADDRESSES:
                copied |= self._write_addresses(report.rows[table.name], report.unfiltered)
                continue
            rows = table.without(report.rows[table.name], copied)
            self._insert(table, rows, f"ON CONFLICT {table.on_conflict}")
            if table is CLAIMS and rows:
                copied |= self._refused_claims(rows)
        if report.gone:
            self._cursor.execute(
                "DELETE FROM held_items WHERE number = ANY(%s) AND worker = %s",
                [report.gone, self._worker],
            )
        for model in report.models:
            statement = "INSERT INTO models (site, manifest, weights, worker)"
            self._cursor.execute(f"{statement} VALUES (%s, %s, %s, %s)", [*model, self._worker])
        return copied

    def _write_addresses(self, rows: Sequence[Row], unfiltered: Sequence[int]) -> dict[int, str]:
        """Write new addresses for all workers, and the states of the worker's own addresses. Return
        the addresses that another worker has.

        The numbers *unfiltered* are of requests with ``dont_filter``. Requests that cannot be
        serialised stay with the worker that made them.
        """
        queued = [row for row in rows if row[STATE] == "queued"]
        own = [row for row in rows if row[STATE] != "queued"]
        self._insert(ADDRESSES, queued, "ON CONFLICT DO NOTHING", worker=None)
        # A known address that is to be fetched again needs another fingerprint. A new address has
        # just been inserted under its number, so that its second row is ignored.
        repeated = [
            (row[0], row[1] + os.urandom(8), *row[2:]) for row in queued if row[0] in unfiltered
        ]
        self._insert(ADDRESSES, repeated, "ON CONFLICT DO NOTHING", worker=None)
        if not own:
            return {}
        columns = ("priority", "state", "reason", "request", "target", "canonical")
        values = ", ".join(f"{name} = excluded.{name}" for name in columns)
        self._insert(
            ADDRESSES,
            own,
            f"ON CONFLICT (fingerprint) DO UPDATE SET {values}"
            " WHERE addresses.number = excluded.number AND addresses.worker = excluded.worker"
            " RETURNING number",
        )
        written = {*unfiltered, *(number for (number,) in self._cursor)}
        return {row[0]: row[2] for row in own if row[0] not in written}

    def _insert(
        self,
        table: Table,
        rows: Iterable[Row],
        on_conflict: str,
        **worker: int | None,
    ) -> None:
        """Insert rows in the order of their keys, so that two workers that write the same rows
        cannot deadlock.
        """
        columns = table.columns | ({"worker": "bigint"} if table.has_worker else {})
        owner = (worker.get("worker", self._worker),) if table.has_worker else ()
        order = 1 if table is ADDRESSES else 0
        values = [(*row, *owner) for row in map(_clean, rows)]
        if not values:
            return
        values.sort(key=lambda row: row[order : order + 3])
        arrays = ", ".join(f"%s::{kind}[]" for kind in columns.values())
        self._cursor.execute(
            f"INSERT INTO {table.name} ({', '.join(columns)})"  # noqa: S608 - our own names
            f" SELECT * FROM unnest({arrays}) {on_conflict}",
            [list(column) for column in zip(*values, strict=True)],
        )

    def _refused_claims(self, rows: Sequence[Row]) -> dict[int, str]:
        """Return the addresses whose claims another address has, each with that address."""
        own_claims: dict[bytes, int] = dict(rows)
        self._cursor.execute(
            "SELECT claim, address, coalesce(url, '') FROM claims"
            " LEFT JOIN addresses ON addresses.number = claims.address WHERE claim = ANY(%s)",
            [list(own_claims)],
        )
        return {
            own_claims[claim]: url
            for claim, owner, url in self._cursor
            if owner != own_claims[claim]
        }

    def read_own(self, reply: Reply) -> None:
        """Read all addresses and items of the worker again, since it may have missed the last
        reply.
        """
        columns = ADDRESSES.names
        own = f"SELECT {columns} FROM addresses WHERE worker = %s AND state ="  # noqa: S608 - our own names
        reply.taken += self._cursor.execute(f"{own} 'taken'", [self._worker]).fetchall()
        reply.held += self._cursor.execute(f"{own} 'held'", [self._worker]).fetchall()
        items = f"SELECT {HELD.names} FROM held_items WHERE worker = %s"  # noqa: S608 - our own names
        reply.items += self._cursor.execute(items, [self._worker]).fetchall()

    def read_answers(self, reply: Reply) -> None:
        """Read the answers for the pages of the held items that the worker has now."""
        pages = [page_address for *_, page_address in reply.items]
        if pages:
            query = f"SELECT {ANSWERS.names} FROM answers WHERE address = ANY(%s)"  # noqa: S608 - our own names
            reply.answers = self._cursor.execute(query, [pages]).fetchall()

    def take(self, report: Report) -> list[Row]:
        """Take queued addresses for the worker, but only few suspects (see `SUSPECTS`)."""
        rows: list[Row] = []
        suspects = report.suspects + report.deadly
        for which, room in (
            ("deaths = 0", report.room),
            ("deaths = 1", min(report.room, SUSPECTS - suspects)),
            ("deaths > 1", min(report.room, 1 - report.deadly)),
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
                [report.closed, room, self._worker],
            )
            rows += self._cursor.fetchall()
        return rows

    def read_news(self, report: Report, reply: Reply) -> None:
        """Read the own texts and models that other workers have added since the last exchange."""
        (reply.horizon,) = row_of(
            self._cursor, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
        )
        new = (
            "WHERE worker <> %s AND written >= %s::text::xid8 AND written < %s::text::xid8"
            " ORDER BY written"
        )
        values = [self._worker, report.horizon, reply.horizon]
        self._cursor.execute(f"SELECT {OWN_TEXTS.names} FROM own_texts {new}", values)  # noqa: S608 - our own names
        reply.own_texts = self._cursor.fetchall()
        self._cursor.execute(f"SELECT site, manifest, weights FROM models {new}", values)  # noqa: S608 - our own names
        reply.models = self._cursor.fetchall()


def live_workers(cursor: Cursor, worker: int) -> dict[int, bool]:
    """Return the numbers of the other workers of the crawl, and whether each is idle."""
    cursor.execute(
        "SELECT number, is_idle FROM runs WHERE ended IS NULL AND number <> %s"
        " AND lease > clock_timestamp()",
        [worker],
    )
    return dict(cursor.fetchall())


def has_open_addresses(cursor: Cursor, worker: int, lost: Sequence[str] = ()) -> bool:
    """Tell whether an address waits, or is in the hands of another worker. Addresses of *lost*
    hosts do not count.
    """
    (is_open,) = row_of(cursor, f"SELECT {IS_OPEN}", {"lost": list(lost), "worker": worker})
    return bool(is_open)


def row_of(
    cursor: Cursor, statement: str, values: Sequence[object] | Mapping[str, object] = ()
) -> Row:
    """Return the only row of a statement's result."""
    rows: list[Row] = cursor.execute(statement, values).fetchall()
    return rows[0]


def _clean(row: Row) -> Iterable[object]:
    """Return a row without NUL characters, which PostgreSQL cannot store in a text."""
    return (
        value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value
        for value in row
    )
