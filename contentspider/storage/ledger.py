"""The ledger of a crawl: what is held until its site has been learned, in SQLite on disk."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

from contentspider.errors import ContentSpiderError
from contentspider.page.document import Page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA = 1


class LedgerFullError(ContentSpiderError):
    """The ledger cannot be written (the disk is full, or gone); the pipeline goes on without holding."""


@dataclass(frozen=True, slots=True)
class Held:
    """A held item and the page that it was made from."""

    number: int
    item: Any
    page: Page


def _encode(value: Any) -> object:
    """Return *value* as JSON can hold it; raises TypeError for what it cannot."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {"dict": {key: _encode(entry) for key, entry in value.items()}}
    elif type(value) in (list, tuple, set, frozenset):  # a subclass would come back as another type
        return {type(value).__name__: [_encode(entry) for entry in value]}
    elif isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    elif isinstance(value, date):
        return {"date": value.isoformat()}
    elif isinstance(value, Decimal):
        return {"decimal": str(value)}
    elif isinstance(value, bytes):
        return {"bytes": value.hex()}
    raise TypeError(f"{type(value).__name__} cannot be stored as data")


DECODERS: dict[str, Any] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
}
COLLECTIONS: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "dict":
        return {key: _decode(entry) for key, entry in content.items()}
    if kind in COLLECTIONS:
        return COLLECTIONS[kind](_decode(entry) for entry in content)
    return DECODERS[kind](content)


def dump_item(item: object) -> str:
    """Return an item as JSON: its class and fields. Raises TypeError if a field is not plain data."""
    kind = type(item)
    adapter = ItemAdapter(item)
    fields = {name: _encode(adapter[name]) for name in adapter}
    # ASCII, since a half emoji (a lone surrogate) is no UTF-8.
    return json.dumps([kind.__module__, kind.__qualname__, fields])


def load_item(text: str) -> Any:
    """Return the item that `dump_item` wrote. Its class must be loaded already: nothing is imported."""
    module, name, fields = json.loads(text)
    values = {key: _decode(value) for key, value in fields.items()}
    if (module, name) == ("builtins", "dict"):
        return values
    kind: Any = sys.modules.get(module)
    for part in name.split("."):
        kind = getattr(kind, part, None)
    if not isinstance(kind, type) or not ItemAdapter.is_item_class(kind):
        raise ContentSpiderError(f"a held item is of class {module}.{name}, which this process has not loaded; import it in the spider")
    if hasattr(kind, "__dataclass_fields__"):
        initial = {key: value for key, value in values.items() if kind.__dataclass_fields__[key].init}
        item = kind(**initial)
        for key in values.keys() - initial.keys():
            setattr(item, key, values[key])
        return item
    return kind(**values)


class Ledger:
    """Held items of a crawl, by site, in the file *path* (SQLite, write-ahead log)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open()
        except (OSError, sqlite3.Error) as error:
            raise LedgerFullError(f"{path}: {error}") from error
        # Items that cannot be made again from data (with an open file, of a class without a name) stay in memory.
        self._unstorable: dict[int, Any] = {}

    def _open(self) -> None:
        # Learning reads the held pages from a worker thread while the crawl adds others.
        self._connection = sqlite3.connect(self.path, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA user_version = {SCHEMA}")
        self._connection.execute("CREATE TABLE IF NOT EXISTS held (number INTEGER PRIMARY KEY, site TEXT NOT NULL, item TEXT NOT NULL, page BLOB NOT NULL)")
        self._connection.execute("CREATE INDEX IF NOT EXISTS held_by_site ON held (site, number)")

    def hold(self, site: str, item: object, page: Page) -> None:
        """Store an item and its page until `release`; raises `LedgerFullError` if the disk takes no more."""
        kept: object = None
        try:
            text = dump_item(item)
            load_item(text)
        except Exception:  # noqa: BLE001 - an item class of the user's may raise anything
            kept, text = item, ""
        try:
            cursor = self._connection.execute("INSERT INTO held (site, item, page) VALUES (?, ?, ?)", (site, text, page.dump()))
        except sqlite3.Error as error:
            raise LedgerFullError(f"{self.path}: {error}") from error
        if kept is not None and cursor.lastrowid is not None:
            self._unstorable[cursor.lastrowid] = kept

    def sites(self) -> list[str]:
        """Return the sites that have held items."""
        return [site for (site,) in self._connection.execute("SELECT DISTINCT site FROM held ORDER BY site")]

    def count(self, site: str) -> int:
        """Return how many items of a site are held."""
        (number,) = self._connection.execute("SELECT count(*) FROM held WHERE site = ?", (site,)).fetchone()
        return int(number)

    def pages(self, site: str) -> Iterator[Page]:
        """Yield the held pages of a site in the order in which they came, each once."""
        seen: set[str] = set()
        for (data,) in self._connection.execute("SELECT page FROM held WHERE site = ? ORDER BY number", (site,)):
            page = Page.load(data)
            if page.url not in seen:
                seen.add(page.url)
                yield page

    def release(self, site: str) -> Iterator[Held]:
        """Yield the held items of a site and forget each as the next one is asked for."""
        last = -1
        while True:
            row = self._connection.execute("SELECT number, item, page FROM held WHERE site = ? AND number > ? ORDER BY number LIMIT 1", (site, last)).fetchone()
            if row is None:
                return
            last, text, page = row
            item = load_item(text) if text else self._unstorable.pop(last)
            yield Held(last, item, Page.load(page))
            with suppress(sqlite3.Error):  # a full disk: the item is out, and is not read again
                self._connection.execute("DELETE FROM held WHERE number = ?", (last,))

    def close(self) -> None:
        """Close the file, and delete it if nothing is held any more."""
        (left,) = self._connection.execute("SELECT count(*) FROM held").fetchone()
        self._connection.close()
        if not left:
            for suffix in ("", "-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
