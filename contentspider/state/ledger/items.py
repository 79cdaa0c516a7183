"""The items of a crawl in SQLite: held until their site is learned, then released or dropped."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contentspider.ground.compression import needs_dictionary, pack, unpack
from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.ground.json_text import json_text
from contentspider.page.input.page import Page
from contentspider.site.models.record import refilled
from contentspider.state.ledger.item_json import dump_item, load_item

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database
    from contentspider.state.ledger.frontier import Frontier

logger = logging.getLogger(__name__)

LineOf = Callable[[str], "bytes | None"]


@dataclass(slots=True)
class ItemBinding:
    """The page of an item, with the rows and keys under which the item is recorded.

    *page_row* is the row of the page's address, *address_row* the row of the address whose callback
    gave the item. *key* identifies the item, *held_row* is its row while it is held, and *may_pass*
    tells that it need not be held (any more). *page_id* is the page's id; *names* are the names of
    our fields in the item if they differ. *is_unsent*: the page comes from the history.
    """

    page: Page
    page_row: int | None = None
    address_row: int | None = None
    key: str | None = None
    held_row: int | None = None
    may_pass: bool = False
    page_id: str | None = None
    names: Mapping[str, str] | None = None
    is_unsent: bool = False


class Items:
    """A crawl's items: held, then released or dropped. Items that are not data stay in memory."""

    def __init__(self, database: Database, frontier: Frontier) -> None:
        self._database = database
        self._do = database.do
        self._frontier = frontier
        self._unstorable: dict[int, Any] = {}

    def recover(self) -> None:
        """Delete the held items that only the memory of an ended process had."""
        self._do("DELETE FROM held_items WHERE item = ''")

    def hold(self, site: str, item: object, hand: ItemBinding) -> bool:
        """Hold an item and its page until `record`; False if its key is held or recorded."""
        if hand.key is not None and self.has_item(hand.key):
            return False
        unstorable: object = None
        try:
            text = dump_item(item)
            load_item(text)
        except Exception:  # noqa: BLE001 - an item class of the user's may raise anything
            unstorable, text = item, ""
        added = self._do(
            "INSERT INTO held_items (key, address, site, item, page, page_address)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (hand.key, hand.address_row, site, text, hand.page.dump(), hand.page_row),
        )
        if unstorable is not None:
            self._unstorable[added.lastrowid or 0] = unstorable
            if hand.address_row is not None:
                self._frontier.keep_open(hand.address_row)
        return True

    def held_counts(self) -> dict[str, int]:
        """Return how many items of each site are held."""
        return dict(
            self._database.rows("SELECT site, count(*) FROM held_items GROUP BY site ORDER BY site")
        )

    def held_pages(self, site: str) -> Iterator[Page]:
        """Yield the pages of a site's held items in order, each once; skip damaged ones."""
        urls: set[str] = set()
        for row in self._held_rows(site):
            data = self._database.value("SELECT page FROM held_items WHERE number = ?", (row,))
            try:
                page = Page.load(data)
            except ContentSpiderError as error:
                self._log_damaged(site, error)
                continue
            if page.url not in urls:
                urls.add(page.url)
                yield page

    def release(self, site: str) -> Iterator[tuple[Any, ItemBinding]]:
        """Yield the held items of a site with their pages; skip damaged ones. They stay held."""
        query = "SELECT item, page, key, address, page_address FROM held_items WHERE number = ?"
        for row in self._held_rows(site):
            text, page, key, address_row, page_row = self._database.row(query, (row,))
            try:
                item = load_item(text) if text else self._unstorable[row]
                hand = ItemBinding(Page.load(page), page_row, address_row, key, row, may_pass=True)
            except (ContentSpiderError, KeyError) as error:
                self._log_damaged(site, error)
                continue
            yield item, hand

    def _held_rows(self, site: str) -> Iterator[int]:
        """Yield the rows of a site's items that are held now, while rows are added and deleted."""
        end = self._database.count("SELECT max(number) FROM held_items WHERE site = ?", (site,))
        query = (
            "SELECT number FROM held_items WHERE site = ? AND number <= ? AND number > ?"
            " ORDER BY number LIMIT 1"
        )
        for (row,) in self._database.following(query, 0, site, end):
            yield row

    def _log_damaged(self, site: str, error: Exception) -> None:
        logger.error(
            f"{self._database.name}: a held item of {site} cannot be restored ({error}); it stays"
            " held, and a resumed crawl tries again"
        )

    def record(
        self, hand: ItemBinding, line: bytes | None = None, reason: str | None = None
    ) -> bool:
        """Record an item's *line*, or the *reason* for dropping it; False if it was recorded."""
        if hand.held_row is not None:
            self._do("DELETE FROM held_items WHERE number = ?", (hand.held_row,))
            was_kept = self._unstorable.pop(hand.held_row, None) is not None
            if was_kept and hand.address_row is not None:
                self._frontier.allow_end(hand.address_row)
        if hand.key is None:
            return True
        packed = pack(line) if line is not None else None
        names = json.dumps(hand.names) if hand.names else None
        added = self._do(
            "INSERT OR IGNORE INTO items (key, address, line, reason, page, names)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (hand.key, hand.address_row, packed, reason, hand.page_id, names),
        )
        return added.rowcount > 0

    def has_item(self, key: str) -> bool:
        """Tell whether the item with a key is held, released or dropped."""
        query = "SELECT 1 FROM items WHERE key = ? UNION ALL SELECT 1 FROM held_items WHERE key = ?"
        return self._database.row(query, (key, key)) is not None

    def item_of_page(self, page_id: str, unless: str) -> tuple[bool, dict[str, Any] | None]:
        """Return whether a page's item is recorded, and the released item with our field names."""
        self._index_pages()
        row = self._database.row(
            "SELECT line, names FROM items WHERE page = ? AND reason IS NOT ?"
            " ORDER BY line IS NULL, number LIMIT 1",
            (page_id, unless),
        )
        if row is None:
            return False, None
        try:
            return True, _by_our_names(*_load_line(*row)) if row[0] is not None else None
        except DAMAGE as error:
            message = "%s: the item of page %s is damaged (%s): the history keeps the previous item"
            logger.error(message, self._database.name, page_id, error)
            return False, None

    def has_dropped(self, page_id: str, reason: str) -> bool:
        """Tell whether an item of a page was dropped for a *reason*."""
        query = "SELECT 1 FROM items WHERE page = ? AND reason = ?"
        return self._database.row(query, (page_id, reason)) is not None

    def refill(self, page_id: str, fields: Mapping[str, Any]) -> bool:
        """Put other *fields*, with our names, into the released items of a page. Return whether the
        page has such items.
        """
        self._index_pages()
        query = "SELECT number, line, names FROM items WHERE page = ? AND line IS NOT NULL"
        rows = list(self._database.rows(query, (page_id,)))
        for number, packed, names in rows:
            with suppress(*DAMAGE):  # `item_of_page` reports a damaged item
                record, ours = _load_line(packed, names)
                for name, value in refilled(_by_our_names(record, ours), fields).items():
                    record[ours.get(name, name)] = value
                line = json_text(record).encode("utf-8", "replace")
                self._do("UPDATE items SET line = ? WHERE number = ?", (pack(line), number))
        return bool(rows)

    def _index_pages(self) -> None:
        # Used only at the end of a crawl.
        self._do("CREATE INDEX IF NOT EXISTS items_by_page ON items (page)")

    def compress_lines(self, line_of: LineOf) -> Iterator[None]:
        """Compress each item with the history's line for its page, to store only the difference.
        Each step of the iterator does one item.
        """
        query = "SELECT number, line, page FROM items WHERE line IS NOT NULL AND page IS NOT NULL"
        for number, packed, page_id in self._database.rows(query):
            with suppress(*DAMAGE):
                if dictionary := line_of(page_id):
                    line = pack(unpack(packed), dictionary)
                    self._do("UPDATE items SET line = ? WHERE number = ?", (line, number))
            yield

    def lines(self, line_of: LineOf = lambda _: None) -> Iterator[bytes]:
        """Yield the JSON line of every released item in the order of release; skip damaged ones.

        *line_of* gives the history's line for a page's id, as in `compress_lines`.
        """
        query = (
            "SELECT items.number, line, page, url FROM items"
            " LEFT JOIN addresses ON addresses.number = items.address"
            " WHERE items.number > ? AND line IS NOT NULL ORDER BY items.number LIMIT 1"
        )
        for number, packed, page_id, url in self._database.following(query):
            try:
                line = unpack(packed, line_of(page_id) or b"" if needs_dictionary(packed) else b"")
            except DAMAGE as error:
                message = "%s: item %d (of %s) is damaged (%s) and left out; a new crawl writes it"
                logger.error(message, self._database.name, number, url, error)
                continue
            yield line

    def records(self, line_of: LineOf = lambda _: None) -> Iterator[dict[str, Any]]:
        """Yield every released item as a dict, as `lines` does."""
        for line in self.lines(line_of):
            try:
                record = dict(json.loads(line))
            except DAMAGE as error:
                logger.error("%s: an item is damaged (%s) and left out", self._database.name, error)
                continue
            yield record

    def last_number(self) -> int:
        """Return how many items were recorded, without reading them."""
        return self._database.count("SELECT max(number) FROM items")

    def count(self, reason: str | None = None) -> int:
        """Return how many items were released, or dropped for a *reason*."""
        which = "line IS NOT NULL" if reason is None else "reason = ?"
        values = () if reason is None else (reason,)
        return self._database.count(f"SELECT count(*) FROM items WHERE {which}", values)  # noqa: S608


def _load_line(line: bytes, names: str | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Return an item, and the names that it has for our fields, if they differ from our names."""
    return json.loads(unpack(line)), json.loads(names) if names else {}


def _by_our_names(record: Mapping[str, Any], ours: Mapping[str, str]) -> dict[str, Any]:
    own = {name: record[theirs] for name, theirs in ours.items() if theirs in record}
    other_names = record.keys() - own.keys() - set(ours.values())
    return own | {name: value for name, value in record.items() if name in other_names}
