"""The ledger of a crawl, in one SQLite file: every address found and its state, held items, and
released ones.

What a crawl does between two commits is forgotten together if it is killed: the pages are fetched
again, and nothing of them is in the ledger. So a page whose state says that it is done has all its
links in the queue and all its items held or released, and an item is released once by its key.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import zlib
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from contentspider.errors import ContentSpiderError, StateError
from contentspider.page.document import Page
from contentspider.storage.items import dump_item, load_item
from contentspider.storage.lock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

SCHEMA = 2
TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (run INTEGER PRIMARY KEY, started TEXT NOT NULL, pid INTEGER NOT NULL, ended TEXT, reason TEXT);
CREATE TABLE urls (id INTEGER PRIMARY KEY, fingerprint BLOB NOT NULL UNIQUE, url TEXT NOT NULL, priority INTEGER NOT NULL,
    state TEXT NOT NULL, reason TEXT, request TEXT, target TEXT, canonical TEXT, content_hash TEXT, run INTEGER NOT NULL);
CREATE INDEX queue ON urls (priority DESC, id) WHERE state = 'queued';
CREATE TABLE claims (claim BLOB PRIMARY KEY, url INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE held (number INTEGER PRIMARY KEY, key TEXT UNIQUE, url INTEGER, site TEXT NOT NULL, item TEXT NOT NULL, page BLOB NOT NULL);
CREATE INDEX held_by_site ON held (site, number);
CREATE TABLE items (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, url INTEGER, line BLOB, reason TEXT);
CREATE TABLE samples (site TEXT NOT NULL, url TEXT NOT NULL, page BLOB NOT NULL, PRIMARY KEY (site, url)) WITHOUT ROWID;
"""
# Pages of a site, and of all sites, that are kept after their release, for the report.
SAMPLE_PAGES = 200
ALL_SAMPLE_PAGES = 2_000


class LedgerFullError(ContentSpiderError):
    """The ledger cannot be written (the disk is full, or gone); what was committed before is whole."""


class LedgerBusyError(ContentSpiderError):
    """Another process has the ledger open: its crawl is running."""


@dataclass(frozen=True, slots=True)
class Held:
    """A held item, the page that it was made from, its key, and the row of the address that it came
    from.
    """

    number: int
    item: Any
    page: Page
    key: str | None
    url: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """One process' work on a crawl; without *ended* it runs, or was killed."""

    number: int
    started: str
    pid: int
    ended: str | None
    reason: str | None


def now() -> str:
    """Return the time, in UTC, as ISO 8601 to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def lock_of(path: Path) -> FileLock:
    """Return the lock of the ledger at *path*, which a crawl holds while it runs."""
    return FileLock(path.with_name(path.name + ".lock"))


def is_in_use(path: Path) -> bool:
    """Tell whether a crawl with this ledger is running."""
    lock = lock_of(path)
    is_free = lock.acquire()
    lock.release()
    return not is_free


class Ledger:
    """The ledger in the file *path*; made if it is not there. Its changes are kept by `commit`.

    *durable*: a commit is on the disk when `commit` returns, power loss or not; without, every change is kept at
    once, until the power is lost. *read_only* looks at what a running or
    dead crawl has committed. A damaged file, or one of another
    version, raises `StateError`; one that another process has open, `LedgerBusyError`.
    """

    def __init__(self, path: Path, durable: bool = True, read_only: bool = False) -> None:
        self.path = path
        self._lock = lock_of(path)
        try:
            if not read_only:
                path.parent.mkdir(parents=True, exist_ok=True)
            if not read_only and not self._lock.acquire():
                raise LedgerBusyError(
                    f"{path} is in use by another process: that crawl is running; wait for it, or"
                    " give this one another name (--name)"
                )
            self._durable = durable and not read_only
            self._connection = self._open(durable, read_only)
            self._count()
        except sqlite3.DatabaseError as error:
            self._lock.release()
            if isinstance(error, sqlite3.OperationalError):
                raise LedgerFullError(f"{path}: {error}") from error
            raise StateError(
                f"{path} is no ledger, or damaged ({error}); delete it to start anew"
            ) from error
        except OSError as error:
            raise LedgerFullError(f"{path}: {error.strerror or error}") from error
        except StateError:
            self._lock.release()
            raise
        # Items that cannot be made again from data (with an open file, of a class without a name)
        # stay in memory. Their addresses are not done before the items are out: should the process
        # die, they are fetched again.
        self._unstorable: dict[int, Any] = {}
        self._pending: dict[int, int] = {}  # how many of them an address has
        self._outcomes: dict[int, tuple[str, str | None, str | None]] = {}
        self.run = 0

    def _count(self) -> None:
        (self._queued,) = self._connection.execute(
            "SELECT count(*) FROM urls WHERE state = 'queued'"
        ).fetchone()
        (self._samples,) = self._connection.execute("SELECT count(*) FROM samples").fetchone()
        self._site_samples: dict[str, int] = dict(
            self._connection.execute("SELECT site, count(*) FROM samples GROUP BY site")
        )

    def check(self) -> None:
        """Read the whole file; raises `StateError` if it is damaged."""
        try:
            found = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            found = str(error)
        if found != "ok":
            raise StateError(f"{self.path} is damaged ({found}); delete it to start anew")

    def detach(self) -> bool:
        """Bring all that is committed into the file itself, and close; False if somebody reads it
        just now.
        """
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
        busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        self.close()
        return not busy

    def _open(self, durable: bool, read_only: bool) -> sqlite3.Connection:
        address = self.path.absolute().as_uri() + ("?mode=ro" if read_only else "")
        connection = sqlite3.connect(address, uri=True, isolation_level=None, cached_statements=64)
        if read_only:
            self._check_version(connection)
            return connection
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'OFF'}")
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            connection.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {SCHEMA}; COMMIT")
        self._check_version(connection)
        if durable:
            connection.execute("BEGIN")
        return connection

    def _check_version(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != SCHEMA:
            connection.close()
            raise StateError(
                f"{self.path} was written by another version of contentspider (schema {version},"
                f" not {SCHEMA}); finish it there, or delete it"
            )

    def _do(self, statement: str, values: Iterable[object] = ()) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, tuple(values))
        except sqlite3.DatabaseError as error:
            raise LedgerFullError(f"{self.path}: {error}") from error

    def commit(self) -> None:
        """Keep all changes since the last commit; raises `LedgerFullError` if the disk takes no
        more.
        """
        if self._connection.in_transaction:
            self._do("COMMIT")
            self._do("BEGIN")

    # Runs and facts

    def runs(self) -> list[Run]:
        """Return the runs of the crawl, first to last."""
        return [
            Run(*row)
            for row in self._do("SELECT run, started, pid, ended, reason FROM runs ORDER BY run")
        ]

    def begin_run(self) -> None:
        """Note that a process goes to work, and queue again what the last one was at."""
        self.run = (
            self._do(
                "INSERT INTO runs (started, pid) VALUES (?, ?)", (now(), os.getpid())
            ).lastrowid
            or 0
        )
        # What was in the memory of a process that is gone may be found again.
        self._do(
            "DELETE FROM urls WHERE state = 'remembered' OR (state = 'taken' AND request IS NULL)"
        )
        self._queued += self._do("UPDATE urls SET state = 'queued' WHERE state = 'taken'").rowcount
        self._do("DELETE FROM held WHERE item = ''")
        self.commit()

    def end_run(self, reason: str) -> None:
        """Note how the run ended, and commit."""
        self._do("UPDATE runs SET ended = ?, reason = ? WHERE run = ?", (now(), reason, self.run))
        self.commit()

    def set_fact(self, name: str, value: object) -> None:
        """Keep a JSON value under a name."""
        self._do("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def fact(self, name: str) -> Any:
        """Return the value under a name, None if there is none."""
        row = self._do("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return json.loads(row[0]) if row else None

    # The queue of addresses

    @property
    def queued(self) -> int:
        """Return how many addresses wait."""
        return int(self._queued)

    def enqueue(
        self,
        fingerprint: bytes,
        url: str,
        priority: int,
        request: str | None,
        again: bool = False,
        source: int | None = None,
    ) -> int:
        """Queue an address and return its row; 0 if it is known already and is not to be fetched
        *again*.

        Without a *request* the caller keeps it in memory; `take_remembered` takes it then. *source*
        is the row that the request comes from, as a retry does.
        """
        state = "queued" if request is not None else "remembered"
        added = self._insert(fingerprint, url, priority, state, request)
        if added or not again:
            return added
        number, before = self._do(
            "SELECT id, state FROM urls WHERE fingerprint = ?", (fingerprint,)
        ).fetchone()
        if number != source and before in ("queued", "remembered", "taken"):
            # Two requests for one address (with other cookies, or headers) that are both to be
            # sent.
            return self._insert(fingerprint + os.urandom(8), url, priority, state, request)
        self._do(
            "UPDATE urls SET state = ?, priority = ?, request = ?, run = ? WHERE id = ?",
            (state, priority, request, self.run, number),
        )
        self._queued += state == "queued"
        return int(number)

    def knows(self, fingerprint: bytes) -> bool:
        """Tell whether an address has been queued, whatever has become of it."""
        return (
            self._do("SELECT 1 FROM urls WHERE fingerprint = ?", (fingerprint,)).fetchone()
            is not None
        )

    def _insert(
        self, fingerprint: bytes, url: str, priority: int, state: str, request: str | None
    ) -> int:
        row = self._do(
            "INSERT OR IGNORE INTO urls (fingerprint, url, priority, state, request, run) VALUES"
            " (?, ?, ?, ?, ?, ?)",
            (fingerprint, url, priority, state, request, self.run),
        )
        if not row.rowcount:
            return 0
        self._queued += state == "queued"
        return int(row.lastrowid or 0)

    def take_remembered(self, url: int) -> None:
        """Note that an address whose request was in memory is taken."""
        self._do("UPDATE urls SET state = 'taken' WHERE id = ?", (url,))

    def put_back(self, url: int) -> None:
        """Queue again an address that was taken, and of which nothing was used."""
        self._queued += self._do(
            "UPDATE urls SET state = 'queued' WHERE id = ? AND state = 'taken' AND request IS NOT"
            " NULL",
            (url,),
        ).rowcount

    def take(self) -> tuple[int, str, str, int] | None:
        """Return row, address, request and priority of the next in the queue, None if it is empty."""
        found = self._do(
            "SELECT id, url, request, priority FROM urls WHERE state = 'queued' ORDER BY priority"
            " DESC, id LIMIT 1"
        ).fetchone()
        if found is None:
            return None
        self._do("UPDATE urls SET state = 'taken' WHERE id = ?", (found[0],))
        self._queued -= 1
        return found[0], found[1], found[2], found[3]

    def finish(
        self, url: int, state: str, reason: str | None = None, target: str | None = None
    ) -> None:
        """Set the final state of an address that was taken."""
        if url in self._pending:
            self._outcomes[url] = (state, reason, target)
            return
        self._do(
            "UPDATE urls SET state = ?, reason = ?, target = ?, request = NULL, run = ? WHERE id ="
            " ? AND state = 'taken'",
            (state, reason, target, self.run, url),
        )

    def set_canonical(self, url: int, canonical: str) -> None:
        """Note which address a page names as its canonical one."""
        self._do("UPDATE urls SET canonical = ? WHERE id = ?", (canonical, url))

    def claim(self, claims: Iterable[bytes], url: int) -> bool:
        """Claim keys for an address; False, and nothing is claimed, if another address has one of
        them.

        The same address may claim again: it was fetched before the crawl was killed.
        """
        wanted = list(claims)
        for claim in wanted:
            owner = self._do("SELECT url FROM claims WHERE claim = ?", (claim,)).fetchone()
            if owner is not None and owner[0] != url:
                return False
        for claim in wanted:
            self._do("INSERT OR IGNORE INTO claims VALUES (?, ?)", (claim, url))
        return True

    # Held items

    def hold(
        self, site: str, item: object, page: Page, key: str | None = None, url: int | None = None
    ) -> bool:
        """Store an item and its page until `settle`; False if the key is held or settled already."""
        if key is not None and self.has_item(key):
            return False
        kept: object = None
        try:
            text = dump_item(item)
            load_item(text)
        except Exception:  # noqa: BLE001 - an item class of the user's may raise anything
            kept, text = item, ""
        cursor = self._do(
            "INSERT OR IGNORE INTO held (key, url, site, item, page) VALUES (?, ?, ?, ?, ?)",
            (key, url, site, text, page.dump()),
        )
        if not cursor.rowcount:
            return False
        if kept is not None and cursor.lastrowid is not None:
            self._unstorable[cursor.lastrowid] = kept
            if url is not None:
                self._pending[url] = self._pending.get(url, 0) + 1
        return True

    def held(self) -> dict[str, int]:
        """Return how many items of each site are held."""
        return dict(self._do("SELECT site, count(*) FROM held GROUP BY site ORDER BY site"))

    def pages(self, site: str) -> Iterator[Page]:
        """Yield the held pages of a site, in the order in which they came, each once."""
        seen: set[str] = set()
        for (data,) in self._do("SELECT page FROM held WHERE site = ? ORDER BY number", (site,)):
            page = Page.load(data)
            if page.url not in seen:
                seen.add(page.url)
                yield page

    def release(self, site: str) -> Iterator[Held]:
        """Yield the held items of a site; each stays held until `settle`."""
        last = -1
        while True:
            row = self._do(
                "SELECT number, item, page, key, url FROM held WHERE site = ? AND number > ? ORDER"
                " BY number LIMIT 1",
                (site, last),
            ).fetchone()
            if row is None:
                return
            last, text, page, key, url = row
            try:
                held = Held(
                    last,
                    load_item(text) if text else self._unstorable[last],
                    Page.load(page),
                    key,
                    url,
                )
            except (ContentSpiderError, ValueError, TypeError, KeyError) as error:
                logger.error(
                    "%s: a held item of %s cannot be made again (%s); it stays held, and a resumed"
                    " crawl tries again",
                    self.path,
                    site,
                    error,
                )
                continue
            yield held

    def settle(
        self,
        held: int | None = None,
        key: str | None = None,
        url: int | None = None,
        line: bytes | None = None,
        reason: str | None = None,
    ) -> bool:
        """Note that an item is out (its *line*) or was dropped by a pipeline (the *reason*), and
        hold it no longer.

        False if the key's item was settled before: this one must not go out again.
        """
        if held is not None:
            self._do("DELETE FROM held WHERE number = ?", (held,))
            if self._unstorable.pop(held, None) is not None and url is not None:
                self._pending[url] -= 1
                if not self._pending[url]:
                    del self._pending[url]
                    if outcome := self._outcomes.pop(url, None):
                        self.finish(url, *outcome)
        if key is not None:
            packed = zlib.compress(line, 3) if line is not None else None
            return bool(
                self._do(
                    "INSERT OR IGNORE INTO items (key, url, line, reason) VALUES (?, ?, ?, ?)",
                    (key, url, packed, reason),
                ).rowcount
            )
        return True

    def mark_released(self, url: int, state: str, reason: str | None, content_hash: str) -> None:
        """Set what has become of an address whose item was held, and the hash of the item's
        content.
        """
        self._do(
            "UPDATE urls SET state = iif(state = 'held', ?, state), reason = ?, content_hash = ?"
            " WHERE id = ?",
            (state, reason, content_hash, url),
        )

    def has_item(self, key: str) -> bool:
        """Tell whether the item of a key is held, or out, or was dropped."""
        return (
            self._do(
                "SELECT 1 FROM items WHERE key = ? UNION ALL SELECT 1 FROM held WHERE key = ?",
                (key, key),
            ).fetchone()
            is not None
        )

    def lines(self) -> Iterator[bytes]:
        """Yield every released item's JSON line, in the order of release."""
        last = -1
        while row := self._do(
            "SELECT number, line FROM items WHERE number > ? AND line IS NOT NULL ORDER BY number"
            " LIMIT 1",
            (last,),
        ).fetchone():
            last = row[0]
            yield zlib.decompress(row[1])

    # What people ask

    def sample(self, site: str, page: Page) -> None:
        """Keep the page for the report, if there are not many of its site yet."""
        if self._samples < ALL_SAMPLE_PAGES and self._site_samples.get(site, 0) < SAMPLE_PAGES:
            added = self._do(
                "INSERT OR IGNORE INTO samples VALUES (?, ?, ?)", (site, page.url, page.dump())
            ).rowcount
            self._samples += added
            self._site_samples[site] = self._site_samples.get(site, 0) + added

    def samples(self, site: str) -> Iterator[Page]:
        """Yield the sampled pages of a site."""
        for (data,) in self._do("SELECT page FROM samples WHERE site = ? ORDER BY url", (site,)):
            yield Page.load(data)

    def sampled_sites(self) -> list[str]:
        """Return the sites of which there are sampled pages."""
        return [site for (site,) in self._do("SELECT DISTINCT site FROM samples ORDER BY site")]

    def states(self) -> dict[str, int]:
        """Return how many addresses are in each state."""
        return dict(
            self._do("SELECT state, count(*) FROM urls GROUP BY state ORDER BY count(*) DESC")
        )

    def reasons(self, state: str) -> list[tuple[str, int, str]]:
        """Return the reasons of a state with their numbers and an example each, the most frequent
        first.
        """
        return [
            tuple(row)
            for row in self._do(
                "SELECT reason, count(*), min(url) FROM urls WHERE state = ? GROUP BY reason ORDER"
                " BY count(*) DESC",
                (state,),
            )
        ]

    def item_count(self) -> int:
        """Return how many items are out."""
        return int(self._do("SELECT count(*) FROM items WHERE line IS NOT NULL").fetchone()[0])

    def rollback(self) -> None:
        """Forget all changes since the last commit: what could not be written is done again by a
        resumed crawl.
        """
        if self._durable:
            if self._connection.in_transaction:  # the failure may have rolled back already
                self._connection.execute("ROLLBACK")
            self._connection.execute("BEGIN")  # what comes now is not committed either

    def close(self, delete: bool = False) -> None:
        """Close the file without a commit; *delete* it, too."""
        self._connection.close()
        self._lock.release()
        if delete:
            for suffix in ("", "-wal", "-shm", ".lock"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
