"""A crawl in PostgreSQL: who works on it, what waits, what is done. Every step is a transaction
that begins with the lease of its worker: one whose lease others have ended changes nothing more.
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
    Connected,
    StoreDownError,
    repeated,
)
from contentspider.cluster.exchange import Exchange, is_open, living, row_of
from contentspider.cluster.messages import Answer, Joined, Leaving
from contentspider.cluster.tables import SCHEMA, TABLES, VERSION, Table
from contentspider.state.ledger.database import LedgerFullError, SchemaError
from contentspider.state.outcome import FINISHED, Ending

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contentspider.cluster.connection import Cursor
    from contentspider.cluster.messages import Ask
    from contentspider.cluster.tables import Row

ROWS = 500  # that are read at a time


class LeaseLostError(LedgerFullError):
    """Others have taken over what this worker had in hand, since its lease was over."""

    ending = "lease_lost"


class Store:
    """The crawl of a *name* in the PostgreSQL at a *url*, for one worker; its calls may be made in
    threads. They raise `StoreDownError`, and `LeaseLostError`.
    """

    def __init__(self, url: str, name: str, lease_secs: float = LEASE_SECS) -> None:
        self._store = Connected(url, f"contentspider {name}", lease_secs)
        self._lease_secs = lease_secs
        self._lease = f"{lease_secs} seconds"
        self._worker = 0
        self._is_sure = True  # what PostgreSQL says of what is in our hands is what we know
        self.close = self._store.close

    def join(self) -> Joined:
        """Begin to work on the crawl; one that is over begins anew. Raises `SchemaError`, too."""
        with self._store.transaction() as cursor:
            is_new = self._store.make(cursor, SCHEMA, "crawl")
            if not is_new:
                version, ended = row_of(cursor, "SELECT version, ended FROM crawl")
                if version != VERSION:
                    raise SchemaError(
                        f"the crawl in PostgreSQL (schema {self._store.schema!r}) is of another"
                        " version of contentspider: use that one, or give this crawl another name"
                        " (--name)"
                    )
                if ended is not None:
                    names = ", ".join(table.name for table in TABLES)
                    cursor.execute(f"TRUNCATE crawl, runs, models, turns, hosts, {names}")
                    is_new = True
            if is_new:
                key = uuid.uuid4().hex
                cursor.execute("INSERT INTO crawl VALUES (%s, %s)", [VERSION, key])
            (key,) = row_of(cursor, "SELECT key FROM crawl")
            if not living(cursor, self._worker):
                cursor.execute(
                    "UPDATE addresses SET state = 'queued', worker = NULL"
                    " WHERE state = 'failed' AND request IS NOT NULL"
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
        """Give a cursor in a transaction in which nobody can take over what this worker has."""
        with self._store.transaction() as cursor:
            cursor.execute(
                "UPDATE runs SET lease = clock_timestamp() + %s::interval"
                " WHERE number = %s AND ended IS NULL",
                [self._lease, self._worker],
            )
            if not cursor.rowcount:
                raise LeaseLostError(
                    "this process did not reach PostgreSQL for so long that others have taken over"
                    " what it had in hand; start it again to go on with the crawl"
                )
            yield cursor

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew the lease in a thread, while the process is busy with the end of the crawl."""
        with repeated(self._renew, self._lease_secs / RENEWALS):
            yield

    def _renew(self) -> bool:
        try:
            with self._leased():
                return True
        except LeaseLostError:
            return False
        except StoreDownError:
            return True

    def exchange(self, ask: Ask) -> Answer:
        """Write what a worker has done, and give it what it is to do; the lease is renewed."""
        is_sure, self._is_sure = self._is_sure, False
        with self._leased() as cursor:
            answer, step = Answer(), Exchange(cursor, self._worker)
            cursor.execute(
                "UPDATE runs SET is_idle = %s WHERE number = %s", [ask.is_idle, self._worker]
            )
            if not ask.is_leaving:
                step.take_over(answer)
            answer.copied = step.write(ask)
            if not is_sure:
                step.read_own(answer)
            step.read_answers(answer)
            answer.taken += step.take(ask)
            step.read_news(ask, answer)
            answer.is_open = is_open(cursor, self._worker, ask.lost)
            answer.is_busy = not all(living(cursor, self._worker).values())
        self._is_sure = True
        return answer

    def slots(self, wanted: Mapping[str, int], spacing: float) -> dict[str, list[float]]:
        """Reserve times for requests to hosts, *spacing* seconds apart for all workers; return how
        many seconds from now each is.
        """
        found = {}
        for host, count in sorted(wanted.items()):
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
            found[host] = [end - spacing * number for number in range(count, 0, -1)]
        return found

    def take_turn(self, site: str) -> bool:
        """Tell whether this worker is to learn a site: only one does at a time."""
        with self._leased() as cursor:
            cursor.execute(
                "INSERT INTO turns VALUES (%s, %s) ON CONFLICT (site) DO UPDATE"
                " SET worker = excluded.worker WHERE turns.worker = excluded.worker",
                [site, self._worker],
            )
            return cursor.rowcount == 1

    def end_turn(self, site: str) -> bool:
        """Let others learn a site; tell that it is done."""
        with self._leased() as cursor:
            cursor.execute(
                "DELETE FROM turns WHERE site = %s AND worker = %s", [site, self._worker]
            )
        return True

    def sample(self, site: str, most: int) -> list[bytes]:
        """Return pages of a site that other workers have, those with the smallest places first."""
        with self._leased() as cursor:
            cursor.execute(
                "(SELECT page FROM pages WHERE site = %(site)s ORDER BY place LIMIT %(most)s)"
                " UNION ALL (SELECT page FROM held_items WHERE site = %(site)s"
                " AND worker <> %(worker)s ORDER BY md5(key) LIMIT %(most)s)",
                {"site": site, "most": most, "worker": self._worker},
            )
            return [page for (page,) in cursor.fetchall()]

    def leave(self, reason: str) -> Leaving:
        """Give back what the worker has in hand. The first that leaves when nobody has anything to
        do is to end the crawl, and has its lease until `finish`; the run of any other ends.
        """
        with self._leased() as cursor:
            # One leaves at a time.
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
            leaving = Leaving.TO_OTHERS
            others = living(cursor, self._worker)
            if ended is None and all(others.values()) and ender not in others:
                (is_held,) = row_of(cursor, "SELECT EXISTS (SELECT 1 FROM held_items)")
                is_left = is_held or is_open(cursor, self._worker)
                # A crawl that came to a limit of its user's has some left.
                is_over = Ending(reason, 0).is_end and not (reason == FINISHED and is_left)
                leaving = Leaving.TO_END if is_over else Leaving.UNFINISHED
            if leaving is Leaving.TO_END:
                cursor.execute("UPDATE crawl SET ender = %s", [self._worker])
            else:
                self._end_run(cursor, reason)
        return leaving

    def _end_run(self, cursor: Cursor, reason: str) -> None:
        """End the worker's run; where it leaves held items it ends with its lease: others take
        them over.
        """
        cursor.execute(
            "UPDATE runs SET reason = %(reason)s, lease = clock_timestamp(), ended ="
            " CASE WHEN NOT EXISTS (SELECT 1 FROM held_items WHERE worker = %(worker)s)"
            " THEN clock_timestamp() END WHERE number = %(worker)s",
            {"reason": reason, "worker": self._worker},
        )

    def everything(self, table: Table) -> Iterator[list[Row]]:
        """Yield all rows of a table in portions, by their order in it."""
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
        """End the crawl, and the worker's run: who comes next begins anew. Tell that it is done."""
        with self._leased() as cursor:
            cursor.execute("UPDATE crawl SET ended = clock_timestamp()")
            self._end_run(cursor, reason)
        return True
