"""The draft of a history: rows that a crawl will add to it, in a file of their own."""

from __future__ import annotations

import json
import logging
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.state.history.anchors import merge
from contentspider.state.history.copies import replace_copies
from contentspider.state.ledger.database import Database, LedgerBusyError, LedgerFullError, remove
from contentspider.state.schema import DRAFT

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

SUFFIX = ".draft"
# Tables whose rows replace the rows of the history with the same key.
COPIED_TABLES = ("counters", "distrusted", "stale", "lastmods", "pages", "changes")
BASIS_FACT = "basis"
DIGEST_BYTES = 7  # the digest of the basis must fit into an integer of SQLite

logger = logging.getLogger(__name__)


class Draft:
    """The rows that a crawl changes in a *history*, until `copy` writes them into it.

    The rows are in a file beside the history, so that readers of the history do not see them
    before. `keep` commits the rows. If the process dies, the next process continues with the
    committed rows, unless the history or the *basis* has changed. The basis is JSON of everything
    that the rows depend on.
    """

    def __init__(self, history: Database, basis: object) -> None:
        self._history = history
        text = json.dumps([basis, self._position()])
        digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
        number = int.from_bytes(digest[:DIGEST_BYTES], "big")
        self.database = _opened(history.path)
        if self.fact(BASIS_FACT) not in (0, number):
            self.database.close(delete=True)
            self.database = _opened(history.path)
        self.do = self.database.do
        if not self.fact(BASIS_FACT):
            self._begin()
            self.set_fact(BASIS_FACT, number)

    def _position(self) -> list[Any]:
        """Return which crawls the history has, and the number of its last change."""
        crawls = self._history.rows("SELECT key, visits, ended, is_complete FROM crawls")
        return [*map(list, crawls), self._last_change()]

    def _last_change(self) -> int:
        query = "SELECT seq FROM sqlite_sequence WHERE name = 'changes'"
        return self._history.count(query)

    def _begin(self) -> None:
        """Copy the dictionaries of the history, and continue the numbers of its changes."""
        for row in self._history.rows("SELECT number, id, kind, words FROM dictionaries"):
            self.do("INSERT INTO dictionaries VALUES (?, ?, ?, ?)", row)
        self.do("INSERT INTO sqlite_sequence VALUES ('changes', ?)", (self._last_change(),))

    def fact(self, name: str) -> int:
        """Return the number that is stored under a name, 0 if there is none."""
        return self.database.count("SELECT value FROM facts WHERE name = ?", (name,))

    def set_fact(self, name: str, value: int) -> None:
        """Store a number under a name."""
        self.do("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def row(self, page_id: str, columns: str) -> Any:
        """Return columns of a page, from the draft or else from the history; None if neither has
        the page.
        """
        query = f"SELECT {columns} FROM pages WHERE id = ?"  # noqa: S608 - our own names
        return self.database.row(query, (page_id,)) or self._history.row(query, (page_id,))

    def take(self, page_id: str) -> None:
        """Copy the row of a page from the history, so that it can be changed here."""
        if self.database.row("SELECT 1 FROM pages WHERE id = ?", (page_id,)) is None:
            row = self._history.row("SELECT * FROM pages WHERE id = ?", (page_id,))
            if row is not None:
                _insert(self.database, "pages", row)

    def keep(self) -> None:
        """Commit the rows, so that they survive a kill."""
        self.database.commit()
        self.database.sync()

    def copy(self) -> Generator[None]:
        """Write all rows into the history, in its open transaction.

        Yields after each row, so that the caller can pause.
        """
        do, last_change = self._history.do, self._last_change()
        for row in self.database.rows("SELECT id, kind, words FROM dictionaries ORDER BY number"):
            do("INSERT OR IGNORE INTO dictionaries (id, kind, words) VALUES (?, ?, ?)", row)
        yield from replace_copies(self._history, self.database)
        for table in COPIED_TABLES:
            for row in self.database.rows(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
                _insert(self._history, table, row)
                yield
        yield from merge(self._history, self.database, last_change)

    def delete(self) -> None:
        """Close and delete the file."""
        self.database.close(delete=True)

    def close(self) -> None:
        """Close the file; a later process may continue with the rows that were kept."""
        self.database.close()


def _insert(database: Database, table: str, row: Sequence[object]) -> None:
    """Insert a row into a table; it replaces the row with the same key."""
    marks = ", ".join("?" * len(row))
    database.do(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", row)  # noqa: S608 - our names


class DraftCheck:
    """Deletes the draft of the *history* at a path if the draft is damaged. `run` reads the whole
    file. It can run in a thread, and `interrupt` ends it, so that nothing is deleted.
    """

    def __init__(self, history: Path | None) -> None:
        self._path = _path_of(history)
        self._database: Database | None = None
        self._is_interrupted = False

    def run(self) -> None:
        """Check the draft, if there is one.

        Raises `LedgerBusyError` if another process writes the draft, and `LedgerFullError` if it
        cannot be read.
        """
        if self._path is None or not self._path.exists():
            return
        try:
            # If a process was killed while it made the file, SQLite must write to the file before
            # it can read it.
            self._database = Database(self._path, schema=DRAFT)
            self._database.check()
            self._database.close()
        except (LedgerBusyError, LedgerFullError):
            raise
        except ContentSpiderError as error:
            if not self._is_interrupted:
                _remove_damaged(self._path, error)

    def interrupt(self) -> None:
        """End `run` in another thread."""
        self._is_interrupted = True
        if self._database is not None:
            self._database.interrupt_check()


def _path_of(history: Path | None) -> Path | None:
    return history.with_name(history.name + SUFFIX) if history else None


def _opened(history: Path | None) -> Database:
    """Return the draft of the history at a path. A file that is not a draft is replaced."""
    path = _path_of(history)
    try:
        return Database(path, schema=DRAFT)
    except (LedgerBusyError, LedgerFullError):
        raise
    except ContentSpiderError as error:
        assert path is not None
        _remove_damaged(path, error)
        return Database(path, schema=DRAFT)


def _remove_damaged(path: Path, error: ContentSpiderError) -> None:
    logger.info("%s; it is deleted", error)
    remove(path)
