"""A crawl in PostgreSQL: who works on it, what waits, what is done. Every step is a transaction
that begins with the lease of its worker: one whose lease others have ended changes nothing more.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.crawls.outcome import FINISHED, Ending
from contentspider.state.ledger.database import LedgerFullError, SchemaError
from contentspider.state.stores.remote import without_secrets
from contentspider_cluster.tables import (
    ADDRESSES,
    CLAIMS,
    FACTS,
    HELD,
    OWN_TEXTS,
    SCHEMA,
    TABLES,
    VERSION,
    Table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Row = tuple[Any, ...]
    Cursor = psycopg.Cursor[Any]

LEASE_SECS = 30.0
RENEWALS = 3  # in the time of a lease, where nothing else renews it
SUSPECTS = 4  # addresses that a worker takes at a time with which one was lost
# Of workers that were lost with it in hand, after which an address is set aside: one that kills is
# sent alone after two, others are rarely in hand so often.
DEATHS = 5
ROWS = 500  # that are read at a time
MAX_NAME = 63  # bytes of a name; PostgreSQL cuts longer ones
CONNECTION: dict[str, Any] = {
    "application_name": "contentspider",
    "client_encoding": "utf8",
    "connect_timeout": 8,
    "tcp_user_timeout": 8_000,  # less than a third of a lease
}

# Whether there is something to do that is not in this worker's hands. Asked so that each part takes
# an index, whatever PostgreSQL thinks of the table.
IS_OPEN = (
    "(SELECT number FROM addresses WHERE state = 'queued' AND host <> ALL(%(lost)s)"
    " ORDER BY priority DESC, number LIMIT 1) IS NOT NULL OR (SELECT worker FROM addresses"
    " WHERE state = 'taken' AND worker <> %(worker)s AND host <> ALL(%(lost)s)"
    " ORDER BY worker LIMIT 1) IS NOT NULL"
)


class StoreDownError(ContentSpiderError):
    """PostgreSQL does not answer now; what was to be done is tried again."""


class LeaseLostError(LedgerFullError):
    """Others have taken over what this worker had in hand, since its lease was over."""

    ending = "lease_lost"


class Leaving(Enum):
    """How a worker leaves a crawl: to others, who go on or end it; to end it itself; or with
    something left to do, and nobody there.
    """

    TO_OTHERS = 0
    TO_END = 1
    UNFINISHED = 2


class Joined(NamedTuple):
    """A worker's number, the crawl's key (for its history), and whether others had begun it."""

    worker: int
    crawl: str
    is_resumed: bool


@dataclass(slots=True)
class Ask:
    """What a worker tells and asks at a time: the *rows* that it changed, by table (their keys are
    *changed*), the numbers of held items that are *gone*, *models* (site, manifest, weights; None:
    it cannot be learned); for how many addresses it has *room*, not of the hosts that are *closed*.
    Hosts that are *lost* are not waited for. Up to *horizon* it knows what others wrote. One that
    *is_idle* has nothing in hand; one that *is_leaving* takes nothing over.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    changed: list[Row] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    models: list[tuple[str, str | None, bytes | None]] = field(default_factory=list)
    room: int = 0
    suspects: int = 0
    deadly: int = 0
    closed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    horizon: int = 0
    is_idle: bool = False
    is_leaving: bool = False


@dataclass(slots=True)
class Answer:
    """What a worker is told: the addresses that are its own now (*taken*; *held* with items that a
    lost one held), other's own texts and models, addresses that were *copied* (they are the pages
    of others); whether the crawl *is_open* (some addresses wait, or are in hand), and whether
    another worker *is_busy*: if that is lost, there will be something to do.
    """

    taken: list[Row] = field(default_factory=list)
    held: list[Row] = field(default_factory=list)
    items: list[Row] = field(default_factory=list)
    own_texts: list[Row] = field(default_factory=list)
    models: list[tuple[str, str | None, bytes | None]] = field(default_factory=list)
    copied: dict[int, str] = field(default_factory=dict)
    is_open: bool = True
    is_busy: bool = True
    horizon: int = 0


def check_url(url: str) -> None:
    """Raise `ContentSpiderError` if a URL is none of PostgreSQL."""
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("postgresql", "postgres") and parts.port != 0
        conninfo_to_dict(url)
    except (psycopg.ProgrammingError, ValueError):
        is_right = False
    if not is_right:
        raise ContentSpiderError(
            "it is no address of PostgreSQL: give postgresql://HOST:PORT/DATABASE (user and"
            " password in the environment: PGUSER, PGPASSWORD)"
        )


class Connected:
    """A connection that is made anew when it was lost, for one thread at a time; all in a *schema*
    of its own. Raises `StoreDownError` while there is none.
    """

    def __init__(self, url: str, schema: str, stall_secs: float = LEASE_SECS) -> None:
        encoded = schema.encode()
        if len(encoded) > MAX_NAME:
            end = blake2b(encoded, digest_size=8).hexdigest()
            schema = encoded[: MAX_NAME - len(end) - 1].decode("utf-8", "ignore") + "-" + end
        self.schema = schema
        self._url = url
        # A process that was stopped in a transaction must not stop the others for long.
        self._stall = f"-c idle_in_transaction_session_timeout={int(stall_secs * 500)}"
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """Give a cursor in a transaction, which is committed at the end."""
        with self._lock:
            try:
                connection = self._connected()
                with connection.transaction(), connection.cursor() as cursor:
                    yield cursor
            except psycopg.Error as error:
                self._drop()
                said = without_secrets(f"{type(error).__name__}: {error}")
                raise StoreDownError(
                    f"the frontier in PostgreSQL does not answer: {said}"
                ) from None
            except BaseException:
                self._drop()
                raise

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url, autocommit=True, options=self._stall, **CONNECTION
            )
            name = sql.Identifier(self.schema)
            self._connection.execute(sql.SQL("SET search_path TO {}").format(name))
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._drop()

    def make(self, cursor: Cursor, tables: str, mark: str) -> bool:
        """Make the schema with its *tables* unless that of a name, *mark*, is there; tell whether
        it was not. Until the transaction ends, others that want to wait.
        """
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self.schema])
        name = self.schema.replace('"', '""')
        cursor.execute("SELECT to_regclass(%s)", [f'"{name}".{mark}'])
        if (cursor.fetchone() or [None])[0] is not None:
            return False
        cursor.execute(
            sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(self.schema))
        )
        cursor.execute(tables)
        return True


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
                version, ended = _row(cursor, "SELECT version, ended FROM crawl")
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
            (key,) = _row(cursor, "SELECT key FROM crawl")
            if not self._living(cursor):
                cursor.execute(
                    "UPDATE addresses SET state = 'queued', worker = NULL"
                    " WHERE state = 'failed' AND request IS NOT NULL"
                )
            process = f"{socket.gethostname()} {os.getpid()}"
            (self._worker,) = _row(
                cursor,
                "INSERT INTO runs (process, lease)"
                " VALUES (%s, clock_timestamp() + %s::interval) RETURNING number",
                [process, self._lease],
            )
        return Joined(self._worker, key, not is_new)

    def _living(self, cursor: Cursor) -> dict[int, bool]:
        """Return the numbers of the others that work on the crawl, and whether each is idle."""
        cursor.execute(
            "SELECT number, is_idle FROM runs WHERE ended IS NULL AND number <> %s"
            " AND lease > clock_timestamp()",
            [self._worker],
        )
        return dict(cursor.fetchall())

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
        is_over = threading.Event()

        def renew() -> None:
            while not is_over.wait(self._lease_secs / RENEWALS):
                with suppress(StoreDownError, LeaseLostError), self._leased():
                    pass

        thread = threading.Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()

    def exchange(self, ask: Ask) -> Answer:
        """Write what a worker has done, and give it what it is to do; the lease is renewed."""
        is_sure, self._is_sure = self._is_sure, False
        with self._leased() as cursor:
            answer = Answer()
            cursor.execute(
                "UPDATE runs SET is_idle = %s WHERE number = %s", [ask.is_idle, self._worker]
            )
            if not ask.is_leaving:
                self._take_over(cursor, answer)
            answer.copied = self._write(cursor, ask)
            if not is_sure:
                self._read_own(cursor, answer)
            answer.taken += self._take(cursor, ask)
            self._read_news(cursor, ask, answer)
            (answer.is_open,) = _row(
                cursor, f"SELECT {IS_OPEN}", {"lost": ask.lost, "worker": self._worker}
            )
            answer.is_busy = not all(self._living(cursor).values())
        self._is_sure = True
        return answer

    def _take_over(self, cursor: Cursor, answer: Answer) -> None:
        """Take what workers hold that are lost, and let their addresses be taken."""
        cursor.execute(
            "SELECT number FROM runs WHERE ended IS NULL AND lease < clock_timestamp()"
            " ORDER BY number FOR UPDATE SKIP LOCKED"
        )
        for (lost,) in cursor.fetchall():
            cursor.execute(
                "UPDATE runs SET ended = clock_timestamp(),"
                " reason = coalesce(reason, 'its lease was over') WHERE number = %s",
                [lost],
            )
            cursor.execute(
                "DELETE FROM addresses WHERE worker = %s AND state = 'taken' AND request IS NULL",
                [lost],
            )
            cursor.execute(
                "UPDATE addresses SET deaths = deaths + 1, worker = NULL,"
                " state = CASE WHEN deaths + 1 < %s THEN 'queued' ELSE 'failed' END,"
                " reason = CASE WHEN deaths + 1 < %s THEN reason ELSE %s END,"
                " request = CASE WHEN deaths + 1 < %s THEN request END"
                " WHERE worker = %s AND state = 'taken'",
                [DEATHS, DEATHS, f"{DEATHS} workers died with it in hand", DEATHS, lost],
            )
            cursor.execute(
                "UPDATE addresses SET state = 'queued', worker = NULL"
                " WHERE worker = %s AND state = 'failed' AND request IS NOT NULL",
                [lost],
            )
            cursor.execute("DELETE FROM turns WHERE worker = %s", [lost])
            given = f"SET worker = %s WHERE worker = %s RETURNING {HELD.names}"
            cursor.execute(f"UPDATE held_items {given}", [self._worker, lost])
            answer.items += cursor.fetchall()
            given = (
                f"SET worker = %s WHERE worker = %s AND state = 'held' RETURNING {ADDRESSES.names}"
            )
            cursor.execute(f"UPDATE addresses {given}", [self._worker, lost])
            answer.held += cursor.fetchall()

    def _write(self, cursor: Cursor, ask: Ask) -> dict[int, str]:
        """Write the rows that a worker changed; return those of its addresses that are copies, each
        with the address of the page: another worker had the claim before.
        """
        copied: dict[int, str] = {}
        for table in TABLES:
            rows = ask.rows.get(table.name, [])
            if table is ADDRESSES:
                self._write_addresses(cursor, rows)
                continue
            if copied and "address" in table.columns:
                place = list(table.columns).index("address")
                rows = [row for row in rows if row[place] not in copied]
            self._insert(cursor, table, rows, f"ON CONFLICT {table.on_conflict}")
            if table is CLAIMS and rows:
                copied = self._lost_claims(cursor, rows)
        if ask.gone:
            cursor.execute(
                "DELETE FROM held_items WHERE number = ANY(%s) AND worker = %s",
                [ask.gone, self._worker],
            )
        for model in ask.models:
            statement = "INSERT INTO models (site, manifest, weights, worker)"
            cursor.execute(f"{statement} VALUES (%s, %s, %s, %s)", [*model, self._worker])
        return copied

    def _write_addresses(self, cursor: Cursor, rows: Sequence[Row]) -> None:
        """Write addresses: new ones for all, and what became of those in the worker's hands."""
        place = list(ADDRESSES.columns).index("state")
        found = [row for row in rows if row[place] == "queued"]
        ours = [row for row in rows if row[place] != "queued"]
        self._insert(cursor, ADDRESSES, found, "ON CONFLICT (fingerprint) DO NOTHING", worker=None)
        given = ("priority", "state", "reason", "request", "target", "canonical")
        values = ", ".join(f"{name} = excluded.{name}" for name in given)
        self._insert(
            cursor,
            ADDRESSES,
            ours,
            f"ON CONFLICT (fingerprint) DO UPDATE SET {values}"
            " WHERE addresses.number = excluded.number AND addresses.worker = excluded.worker",
        )

    def _insert(
        self,
        cursor: Cursor,
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
        cursor.execute(
            f"INSERT INTO {table.name} ({', '.join(columns)})"  # noqa: S608 - our own names
            f" SELECT * FROM unnest({arrays}) {on_conflict}",
            [list(column) for column in zip(*given, strict=True)],
        )

    def _lost_claims(self, cursor: Cursor, rows: Sequence[Row]) -> dict[int, str]:
        ours: dict[bytes, int] = dict(rows)
        cursor.execute(
            "SELECT claims.claim, addresses.number, addresses.url FROM claims"
            " JOIN addresses ON addresses.number = claims.address WHERE claim = ANY(%s)",
            [list(ours)],
        )
        return {ours[claim]: url for claim, other, url in cursor if other != ours[claim]}

    def _read_own(self, cursor: Cursor, answer: Answer) -> None:
        """Read all that is in the worker's hands: the last answer may not have arrived."""
        columns = ADDRESSES.names
        own = f"SELECT {columns} FROM addresses WHERE worker = %s AND state ="  # noqa: S608 - our own names
        answer.taken += cursor.execute(f"{own} 'taken'", [self._worker]).fetchall()
        answer.held += cursor.execute(f"{own} 'held'", [self._worker]).fetchall()
        held = f"SELECT {HELD.names} FROM held_items WHERE worker = %s"  # noqa: S608 - our own names
        answer.items += cursor.execute(held, [self._worker]).fetchall()

    def _take(self, cursor: Cursor, ask: Ask) -> list[Row]:
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
            cursor.execute(
                "WITH next AS MATERIALIZED (SELECT number FROM addresses WHERE state = 'queued'"  # noqa: S608 - our own words
                f" AND {which} AND host <> ALL(%s) ORDER BY priority DESC, number LIMIT %s"
                " FOR UPDATE SKIP LOCKED)"
                " UPDATE addresses SET state = 'taken', worker = %s FROM next"
                f" WHERE addresses.number = next.number RETURNING {names}",
                [ask.closed, room, self._worker],
            )
            taken += cursor.fetchall()
        return taken

    def _read_news(self, cursor: Cursor, ask: Ask, answer: Answer) -> None:
        """Read what others wrote since the last time, in transactions that are over by now."""
        (answer.horizon,) = _row(
            cursor, "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
        )
        new = (
            "WHERE worker <> %s AND written >= %s::text::xid8 AND written < %s::text::xid8"
            " ORDER BY written"
        )
        values = [self._worker, ask.horizon, answer.horizon]
        cursor.execute(f"SELECT {OWN_TEXTS.names} FROM own_texts {new}", values)  # noqa: S608 - our own names
        answer.own_texts = cursor.fetchall()
        cursor.execute(f"SELECT site, manifest, weights FROM models {new}", values)  # noqa: S608 - our own names
        answer.models = cursor.fetchall()

    def slots(self, wanted: Mapping[str, int], spacing: float) -> dict[str, list[float]]:
        """Reserve times for requests to hosts, *spacing* seconds apart for all workers; return how
        many seconds from now each is.
        """
        found = {}
        for host, count in sorted(wanted.items()):
            with self._store.transaction() as cursor:
                (end,) = _row(
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
            ender, ended = _row(cursor, "SELECT ender, ended FROM crawl FOR UPDATE")
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
            others = self._living(cursor)
            if ended is None and all(others.values()) and ender not in others:
                (is_left,) = _row(
                    cursor,
                    f"SELECT {IS_OPEN} OR EXISTS (SELECT 1 FROM held_items)",  # noqa: S608 - our own words
                    {"lost": [], "worker": self._worker},
                )
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
        keys = ORDERS.get(table.name, (table.key,))
        columns = ", ".join(keys)
        while True:
            with self._leased() as cursor:
                which = (
                    "" if last is None else f"WHERE ({columns}) > ({', '.join(['%s'] * len(keys))})"
                )
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


# By what rows are read in portions, where it is not their key.
ORDERS = {
    "pages": ("site", "place"),
    "items": ("number",),
    "visits": ("number",),
    FACTS.name: ("worker", "name"),
}


def _row(
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
