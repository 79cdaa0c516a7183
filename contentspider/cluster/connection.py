"""A connection to PostgreSQL that may be lost, and what is done again and again beside it."""

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
RENEWALS = 3  # in the time of a lease, where nothing else renews it
MAX_NAME = 63  # bytes of a name; PostgreSQL cuts longer ones
CONNECTION: dict[str, Any] = {
    "application_name": "contentspider",
    "client_encoding": "utf8",
    "connect_timeout": 8,
    "tcp_user_timeout": 8_000,  # less than a third of a lease
}


class StoreDownError(ContentSpiderError):
    """PostgreSQL does not answer now; what was to be done is tried again."""


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
                raise StoreDownError(f"PostgreSQL does not answer: {said}") from None
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


@contextmanager
def repeated(call: Callable[[], bool], seconds: float) -> Iterator[None]:
    """Call a function in a thread every so many *seconds*, until the context ends or it says no."""
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
