"""A connection to PostgreSQL that reconnects after a failure, and a thread for repeated calls."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.stores.remote import without_secrets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Cursor = psycopg.Cursor[Any]

LEASE_SECS = 30.0
RENEWALS = 3  # how often a lease is renewed before it would end
MAX_NAME = 63  # bytes of a schema's name; PostgreSQL cuts longer names
CONNECTION: dict[str, Any] = {
    "application_name": "contentspider",
    "client_encoding": "utf8",
    "connect_timeout": 8,
    "tcp_user_timeout": 8_000,  # less than a third of a lease
}


class StoreDownError(ContentSpiderError):
    """PostgreSQL does not answer now. The caller may try again."""

    code = "database-down"


def check_url(url: str) -> None:
    """Raise `ContentSpiderError` if a URL is not a PostgreSQL URL."""
    try:
        parts = urlsplit(url)
        is_right = parts.scheme in ("postgresql", "postgres") and parts.port != 0
        conninfo_to_dict(url)
    except (psycopg.ProgrammingError, ValueError):
        is_right = False
    if not is_right:
        raise ContentSpiderError(
            "it is not a PostgreSQL address: give postgresql://HOST:PORT/DATABASE (user and"
            " password in the environment: PGUSER, PGPASSWORD)"
        )


class PostgresConnection:
    """A connection that works in one *schema* and reconnects after a failure. Threads use it one
    at a time. Raises `StoreDownError` while PostgreSQL does not answer.
    """

    def __init__(self, url: str, schema: str, stall_secs: float = LEASE_SECS) -> None:
        encoded = schema.encode()
        if len(encoded) > MAX_NAME:
            end = blake2b(encoded, digest_size=8).hexdigest()
            schema = encoded[: MAX_NAME - len(end) - 1].decode("utf-8", "ignore") + "-" + end
        self.schema = schema
        self._url = url
        # PostgreSQL ends a transaction whose process was stopped, so that it cannot block others.
        self._timeout = f"-c idle_in_transaction_session_timeout={int(stall_secs * 500)}"
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None

    @contextmanager
    def transaction(self) -> Iterator[Cursor]:
        """Yield a cursor in a transaction, which is committed at the end of the context."""
        with self._lock:
            try:
                connection = self._connect()
                with connection.transaction(), connection.cursor() as cursor:
                    yield cursor
            except psycopg.Error as error:
                self._disconnect()
                reason = without_secrets(f"{type(error).__name__}: {error}")
                raise StoreDownError(f"PostgreSQL does not answer: {reason}") from None
            except BaseException:
                self._disconnect()
                raise

    def _connect(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url, autocommit=True, options=self._timeout, **CONNECTION
            )
            name = sql.Identifier(self.schema)
            self._connection.execute(sql.SQL("SET search_path TO {}").format(name))
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._disconnect()

    def create_schema(self, cursor: Cursor, tables: str, marker: str) -> bool:
        """Create the schema with its *tables* unless it has a table of the name *marker*. Return
        whether it was created. Other processes wait until the transaction ends.
        """
        cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [self.schema])
        name = self.schema.replace('"', '""')
        cursor.execute("SELECT to_regclass(%s)", [f'"{name}".{marker}'])
        if (cursor.fetchone() or [None])[0] is not None:
            return False
        cursor.execute(
            sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(self.schema))
        )
        cursor.execute(tables)
        return True


@contextmanager
def repeated_calls(call: Callable[[], bool], seconds: float) -> Iterator[None]:
    """Call a function in a thread every *seconds* until the context ends or it returns False."""
    is_over = threading.Event()

    def repeat() -> None:
        while not is_over.wait(seconds) and call():
            pass

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
