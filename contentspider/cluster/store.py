"""A shared crawl in PostgreSQL: its workers, addresses and results.

Each step is a transaction that first renews the lease of its worker, so that a worker whose lease
others have ended cannot change anything.
"""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

from contentspider.cluster.connection import (
    LEASE_SECS,
    RENEWALS,
    PostgresConnection,
    StoreDownError,
    repeated_calls,
)
from contentspider.cluster.exchange import Exchange, has_open_addresses, live_workers, row_of
from contentspider.cluster.messages import Joined, LeaveResult, Reply
from contentspider.cluster.tables import SCHEMA, TABLES, VERSION, Table
from contentspider.site.learn.templates import TEMPLATE_BYTES
from contentspider.site.sample import ORDER_BYTES
from contentspider.state.ledger.database import LedgerFullError, SchemaError
from contentspider.state.outcome import FINISHED, Ending

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contentspider.cluster.connection import Cursor
    from contentspider.cluster.messages import Report
    from contentspider.cluster.tables import Row

ROWS = 500  # the number of rows that one query reads
PAGE_ROWS = 50  # the same for rows with pages, which may have megabytes


class LeaseLostError(LedgerFullError):
    """Raised when the lease of this worker is over and others have taken over its addresses."""

    code = "lease-lost"
    ending = "lease_lost"


class Store:
    """A worker's access to the crawl *name* in the PostgreSQL database at *url*. Methods may run in
    any thread. They raise `StoreDownError` and `LeaseLostError`.
    """

    def __init__(self, url: str, name: str, lease_secs: float = LEASE_SECS) -> None:
        self._store = PostgresConnection(url, f"contentspider {name}", lease_secs)
        self._lease_secs = lease_secs
        self._lease = f"{lease_secs} seconds"
        self._worker = 0
        self._has_last_reply = True  # whether the worker has got the reply of the last exchange
        self.close = self._store.close

    def join(self) -> Joined:
        """Join the crawl as a new worker. A crawl that has ended starts again. Raises `SchemaError`
        if another version of contentspider started it.
        """
        with self._store.transaction() as cursor:
            is_new = self._store.create_schema(cursor, SCHEMA, "crawl")
            if not is_new:
                version, ended = row_of(cursor, "SELECT version, ended FROM crawl")
                if version != VERSION:
                    raise SchemaError(
                        f"the crawl in PostgreSQL (schema {self._store.schema!r}) belongs to"
                        " another version of contentspider: use that version, or give this crawl"
                        " another name (--name)"
                    )
                if ended is not None:
                    names = ", ".join(table.name for table in TABLES)
                    cursor.execute(f"TRUNCATE crawl, runs, models, turns, hosts, {names}")
                    is_new = True
            if is_new:
                key = uuid.uuid4().hex
                cursor.execute("INSERT INTO crawl VALUES (%s, %s)", [VERSION, key])
            (key,) = row_of(cursor, "SELECT key FROM crawl")
            if not live_workers(cursor, self._worker):
                cursor.execute(
                    "UPDATE addresses SET state = 'queued', worker = NULL WHERE state = 'retry'"
                )
            process = f"{socket.gethostname()} {os.getpid()}"
            (self._worker,) = row_of(
                cursor,
                "INSERT INTO runs (process, lease)"
                " VALUES (%s, clock_timestamp() + %s::interval) RETURNING number",
                [process, self._lease],
            )
        return Joined(self._worker, key, not is_new)

    @contextmanager
    def _leased(self) -> Iterator[Cursor]:
        """Yield a cursor in a transaction that renews the lease, so that no worker takes over."""
        with self._store.transaction() as cursor:
            cursor.execute(
                "UPDATE runs SET lease = clock_timestamp() + %s::interval"
                " WHERE number = %s AND ended IS NULL",
                [self._lease, self._worker],
            )
            if not cursor.rowcount:
                raise LeaseLostError(
                    "this process did not reach PostgreSQL for so long that other workers have"
                    " taken over its addresses; start it again to continue the crawl"
                )
            yield cursor

    @contextmanager
    def renewed_lease(self) -> Iterator[None]:
        """Renew the lease in a thread while the context is busy with the end of the crawl."""
        with repeated_calls(self._renew, self._lease_secs / RENEWALS):
            yield

    def _renew(self) -> bool:
        try:
            with self._leased():
                return True
        except LeaseLostError:
            return False
        except StoreDownError:
            return True

    def exchange(self, report: Report) -> Reply:
        """Write the results of a worker, and return new addresses and news of other workers."""
        has_last_reply, self._has_last_reply = self._has_last_reply, False
        with self._leased() as cursor:
            reply, step = Reply(), Exchange(cursor, self._worker)
            cursor.execute(
                "UPDATE runs SET is_idle = %s WHERE number = %s", [report.is_idle, self._worker]
            )
            if not report.is_leaving:
                step.take_over(reply)
            reply.copied = step.write(report)
            if not has_last_reply:
                step.read_own(reply)
            step.read_answers(reply)
            reply.taken += step.take(report)
            step.read_news(report, reply)
            reply.is_open = has_open_addresses(cursor, self._worker, report.lost)
            reply.is_busy = not all(live_workers(cursor, self._worker).values())
        self._has_last_reply = True
        return reply

    def reserve_slots(self, counts: Mapping[str, int], spacing: float) -> dict[str, list[float]]:
        """Reserve a number of time slots for each host, *spacing* seconds apart for all workers.
        Return the times of the slots in seconds from now.
        """
        slots = {}
        for host, count in sorted(counts.items()):
            with self._store.transaction() as cursor:
                (end,) = row_of(
                    cursor,
                    "INSERT INTO hosts AS known VALUES (%(host)s,"
                    " clock_timestamp() + %(all)s * interval '1 second')"
                    " ON CONFLICT (host) DO UPDATE SET next ="
                    " greatest(known.next, clock_timestamp()) + %(all)s * interval '1 second'"
                    " RETURNING extract(epoch FROM next - clock_timestamp())::float8",
                    {"host": host, "all": count * spacing},
                )
            slots[host] = [end - spacing * number for number in range(count, 0, -1)]
        return slots

    def take_turn(self, site: str) -> bool:
        """Try to get the turn to learn a site, which one worker has at a time."""
        with self._leased() as cursor:
            cursor.execute(
                "INSERT INTO turns VALUES (%s, %s) ON CONFLICT (site) DO UPDATE"
                " SET worker = excluded.worker WHERE turns.worker = excluded.worker",
                [site, self._worker],
            )
            return cursor.rowcount == 1

    def end_turn(self, site: str) -> bool:
        """Give up the turn to learn a site. Returns True."""
        with self._leased() as cursor:
            cursor.execute(
                "DELETE FROM turns WHERE site = %s AND worker = %s", [site, self._worker]
            )
        return True

    def sample(self, site: str, most: int) -> list[bytes]:
        """Return the first *most* sample pages of a site from all workers, and the first *most*
        pages of its templates.
        """
        with self._leased() as cursor:
            cursor.execute(
                # A place ends with the order of the page and the number of its template.
                "WITH keys AS (SELECT place, substring(place FROM length(place) + 1 - %(key)s)"
                "  AS key FROM pages WHERE site = %(site)s),"
                " ranks AS (SELECT place, key, row_number() OVER"
                "  (PARTITION BY substring(key FROM %(order)s + 1) ORDER BY key) AS rank FROM keys)"
                " (SELECT page FROM pages WHERE site = %(site)s ORDER BY place LIMIT %(most)s)"
                " UNION ALL (SELECT page FROM pages JOIN ranks USING (place)"
                "  WHERE site = %(site)s ORDER BY rank, key LIMIT %(most)s)",
                {
                    "site": site,
                    "most": most,
                    "order": ORDER_BYTES,
                    "key": ORDER_BYTES + TEMPLATE_BYTES,
                },
            )
            return [page for (page,) in cursor.fetchall()]

    def held_pages(self, site: str, last: int) -> list[tuple[int, bytes]]:
        """Return pages that other workers hold of a site, each with the number of its row: at most
        `PAGE_ROWS` of them, the first after the number *last*.
        """
        with self._leased() as cursor:
            cursor.execute(
                "SELECT number, page FROM held_items WHERE site = %s AND worker <> %s"
                " AND number > %s ORDER BY number LIMIT %s",
                [site, self._worker, last, PAGE_ROWS],
            )
            return cursor.fetchall()

    def leave(self, reason: str) -> LeaveResult:
        """Return the worker's addresses to the queue. The first worker that leaves when no worker
        has anything to do must end the crawl: it keeps its lease until `finish`. Otherwise the
        worker's run ends.
        """
        with self._leased() as cursor:
            # The lock on the row lets one worker leave at a time.
            ender, ended = row_of(cursor, "SELECT ender, ended FROM crawl FOR UPDATE")
            cursor.execute("DELETE FROM turns WHERE worker = %s", [self._worker])
            cursor.execute(
                "UPDATE addresses SET state = 'queued', worker = NULL"
                " WHERE worker = %s AND state = 'taken' AND request IS NOT NULL",
                [self._worker],
            )
            cursor.execute(
                "DELETE FROM addresses WHERE worker = %s AND state = 'taken'", [self._worker]
            )
            result = LeaveResult.CONTINUED
            workers = live_workers(cursor, self._worker)
            if ended is None and all(workers.values()) and ender not in workers:
                (is_held,) = row_of(cursor, "SELECT EXISTS (SELECT 1 FROM held_items)")
                is_left = is_held or has_open_addresses(cursor, self._worker)
                # A crawl that ends at a limit, such as --max-pages, has addresses left.
                is_over = Ending(reason, 0).is_end and not (reason == FINISHED and is_left)
                result = LeaveResult.ENDS_CRAWL if is_over else LeaveResult.UNFINISHED
            if result is LeaveResult.ENDS_CRAWL:
                cursor.execute("UPDATE crawl SET ender = %s", [self._worker])
            else:
                self._end_run(cursor, reason)
        return result

    def _end_run(self, cursor: Cursor, reason: str) -> None:
        """End the worker's run. If the worker has held items, only its lease ends, so that other
        workers take them over.
        """
        cursor.execute(
            "UPDATE runs SET reason = %(reason)s, lease = clock_timestamp(), ended ="
            " CASE WHEN NOT EXISTS (SELECT 1 FROM held_items WHERE worker = %(worker)s)"
            " THEN clock_timestamp() END WHERE number = %(worker)s",
            {"reason": reason, "worker": self._worker},
        )

    def read_table(self, table: Table) -> Iterator[list[Row]]:
        """Yield all rows of a table in portions, in the order of its `Table.order`."""
        last: Row | None = None
        keys = table.order or (table.key,)
        columns = ", ".join(keys)
        while True:
            with self._leased() as cursor:
                marks = ", ".join(["%s"] * len(keys))
                which = "" if last is None else f"WHERE ({columns}) > ({marks})"
                cursor.execute(
                    f"SELECT {table.names}, {columns} FROM {table.name} {which}"  # noqa: S608 - our own names
                    f" ORDER BY {columns} LIMIT %s",
                    [*(last or ()), ROWS],
                )
                rows = cursor.fetchall()
            if not rows:
                return
            last = rows[-1][len(table.columns) :]
            yield [row[: len(table.columns)] for row in rows]

    def finish(self, reason: str) -> bool:
        """End the crawl and the worker's run; return True. The next worker starts a new crawl."""
        with self._leased() as cursor:
            cursor.execute("UPDATE crawl SET ended = clock_timestamp()")
            self._end_run(cursor, reason)
        return True
