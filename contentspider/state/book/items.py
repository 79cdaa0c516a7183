"""The items of a crawl in SQLite: held until their site is learned, then released or dropped."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.ground.json_text import json_text
from contentspider.site.models.identity import refilled
from contentspider.state.book.contents import ITEM, PAGE
from contentspider.state.book.item_json import dump_item, load_item

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.state.book.contents import Contents
    from contentspider.state.book.database import Database
    from contentspider.state.book.frontier import Frontier
    from contentspider.state.book.reading import Reading

logger = logging.getLogger(__name__)

REFILLED_FACT = "refilled"


@dataclass(slots=True)
class ItemBinding:
    """The page of an item, with the rows and keys under which the item is recorded.

    *page_row* is the row of the page's address, *address_row* the row of the address whose callback
    gave the item. *key* identifies the item, *held_row* is its row while it is held, and *may_pass*
    tells that it need not be held (any more). *page_id* is the page's id; *names* are the names of
    our fields in the item if they differ. *is_unsent*: the page comes from the book. *content* is
    the number of the page in `Contents`, if it is stored, and *text* its main content, if that is
    new. *reading* is this crawl's reading of the page (None: the next one reads it again).
    *is_same_item*: the item equals the last crawl's, except in fields that differ in each crawl.
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
    content: int | None = None
    text: str | None = None
    reading: Reading | None = None
    is_same_item: bool = False


# The number of an item's line in `Contents`, and the item with our field names.
Released = tuple[int, "dict[str, Any]"]


class Items:
    """A crawl's items: held, then released or dropped. Items that are not data stay in memory."""

    def __init__(self, database: Database, frontier: Frontier, contents: Contents) -> None:
        self._database = database
        self._contents = contents
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
            (hand.key, hand.address_row, site, text, self._put(hand), hand.page_row),
        )
        if unstorable is not None:
            self._unstorable[added.lastrowid or 0] = unstorable
            if hand.address_row is not None:
                self._frontier.keep_open(hand.address_row)
        return True

    def _put(self, hand: ItemBinding) -> int:
        """Return the number of the content of an item's page, which is stored if need be."""
        if hand.content is None:
            hand.content = self._contents.put(PAGE, hand.page.to_json())
        return hand.content

    def held_counts(self) -> dict[str, int]:
        """Return how many items of each site are held."""
        return dict(
            self._database.rows("SELECT site, count(*) FROM held_items GROUP BY site ORDER BY site")
        )

    def held_pages(self, site: str) -> Iterator[Page]:
        """Yield the pages of a site's held items in order, each once; skip damaged ones."""
        urls: set[str] = set()
        for row in self._held_rows(site):
            number = self._database.value("SELECT page FROM held_items WHERE number = ?", (row,))
            try:
                page = self._contents.page(number)
            except (ContentSpiderError, *DAMAGE) as error:
                self._log_damaged(site, error)
                continue
            if page.url not in urls:
                urls.add(page.url)
                yield page

    def release(self, site: str) -> Iterator[tuple[Any, ItemBinding]]:
        """Yield the held items of a site with their pages; skip damaged ones. They stay held."""
        query = "SELECT item, page, key, address, page_address FROM held_items WHERE number = ?"
        for row in self._held_rows(site):
            text, number, key, address_row, page_row = self._database.row(query, (row,))
            try:
                item = load_item(text) if text else self._unstorable[row]
                page = self._contents.page(number)
                hand = ItemBinding(page, page_row, address_row, key, row, True, content=number)
            except (ContentSpiderError, *DAMAGE) as error:
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
        self,
        hand: ItemBinding,
        line: bytes | None = None,
        reason: str | None = None,
        base: int | None = None,
    ) -> tuple[bool, int | None]:
        """Record an item's *line*, or the *reason* for dropping it. Return whether it is new, and
        the number of the line's content. *base* is the number of a content that is like the line.
        """
        if hand.held_row is not None:
            self._do("DELETE FROM held_items WHERE number = ?", (hand.held_row,))
            was_kept = self._unstorable.pop(hand.held_row, None) is not None
            if was_kept and hand.address_row is not None:
                self._frontier.allow_end(hand.address_row)
        if hand.key is None:
            return True, None
        if self._database.value("SELECT 1 FROM items WHERE key = ?", (hand.key,)):
            return False, None
        number = self._contents.put(ITEM, line, base) if line is not None else None
        names = json.dumps(hand.names) if hand.names else None
        self._do(
            "INSERT INTO items (key, address, line, reason, page, names) VALUES (?, ?, ?, ?, ?, ?)",
            (hand.key, hand.address_row, number, reason, hand.page_id, names),
        )
        return True, number

    def has_item(self, key: str) -> bool:
        """Tell whether the item with a key is held, released or dropped."""
        query = "SELECT 1 FROM items WHERE key = ? UNION ALL SELECT 1 FROM held_items WHERE key = ?"
        return self._database.row(query, (key, key)) is not None

    def has_dropped(self, page_id: str, reason: str) -> bool:
        """Tell whether an item of a page was dropped for a *reason*."""
        self._index_pages()
        query = "SELECT 1 FROM items WHERE page = ? AND reason = ?"
        return self._database.row(query, (page_id, reason)) is not None

    def released(self, page_id: str) -> Released | None:
        """Return the first released item of a page; None without one, or for a damaged one."""
        self._index_pages()
        query = (
            "SELECT number, line, names FROM items WHERE page = ? AND line IS NOT NULL"
            " ORDER BY number LIMIT 1"
        )
        if (row := self._database.row(query, (page_id,))) is None:
            return None
        number, content, names = row
        try:
            return self.by_our_names(content, _names(names))
        except DAMAGE as error:
            self._log_lost(number, page_id, error)
            return None

    def refill(self, page_id: str, fields: Mapping[str, Any]) -> Released | None:
        """Put other *fields*, with our names, into the released items of a page. Return the first
        of them; None if the page has no such items.
        """
        self._index_pages()
        query = (
            "SELECT number, line, names FROM items WHERE page = ? AND line IS NOT NULL"
            " ORDER BY number"
        )
        first: Released | None = None
        for number, content, names in list(self._database.rows(query, (page_id,))):
            try:
                record, ours = json.loads(self._contents.get(content)), _names(names)
                item = _by_our_names(record, ours)
            except DAMAGE as error:
                self._log_lost(number, page_id, error)
                continue
            for name, value in refilled(item, fields).items():
                record[ours.get(name, name)] = value
            line = json_text(record).encode("utf-8", "replace")
            content = self._contents.put(ITEM, line, self._contents.base(content))
            self._do("UPDATE items SET line = ? WHERE number = ?", (content, number))
            first = first or self.by_our_names(content, ours)
        if first is not None:
            self._note_refilled()
        return first

    def leave_out(self, page_id: str, reason: str) -> bool:
        """Drop the released items of a page for a *reason*; tell whether there were any."""
        self._index_pages()
        query = "UPDATE items SET line = NULL, reason = ? WHERE page = ? AND line IS NOT NULL"
        has_dropped = self._do(query, (reason, page_id)).rowcount > 0
        if has_dropped:
            self._note_refilled()
        return has_dropped

    def revive(self, page_id: str, reason: str, item: Mapping[str, Any], content: int) -> None:
        """Release the item of a page that had been dropped for a *reason*. It is *item* now, with
        our names, whose line is in *content*.
        """
        self._index_pages()
        query = (
            "SELECT number, names FROM items WHERE page = ? AND reason = ? AND line IS NULL"
            " ORDER BY number LIMIT 1"
        )
        if (row := self._database.row(query, (page_id, reason))) is None:
            return
        number, ours = row[0], _names(row[1])
        if ours:
            record = {ours.get(name, name): value for name, value in item.items()}
            line = json_text(record).encode("utf-8", "replace")
            content = self._contents.put(ITEM, line, content)
        statement = "UPDATE items SET line = ?, reason = NULL WHERE number = ?"
        self._do(statement, (content, number))
        self._note_refilled()

    def _note_refilled(self) -> None:
        self._do("INSERT OR REPLACE INTO facts VALUES (?, 'true')", (REFILLED_FACT,))

    @property
    def has_refilled(self) -> bool:
        """Whether items were refilled or left out in this crawl, in any of its runs: an output that
        has them already must be written again.
        """
        query = "SELECT 1 FROM facts WHERE name = ?"
        return self._database.row(query, (REFILLED_FACT,)) is not None

    def by_our_names(
        self, number: int, names: Mapping[str, str] | None, line: bytes | None = None
    ) -> Released:
        """Return the item in a line with our field names, and the number of its content. *names*
        are the names that the item has for them. The *line* is read if it is not given.
        Raises one of `DAMAGE`.
        """
        line = self._contents.get(number) if line is None else line
        item = _by_our_names(json.loads(line), names or {})
        if names:
            line = json_text(item).encode("utf-8", "replace")
            number = self._contents.put(ITEM, line, number)
        return number, item

    def _index_pages(self) -> None:
        # Used only at the end of a crawl.
        self._do("CREATE INDEX IF NOT EXISTS items_by_page ON items (page)")

    def lines(self) -> Iterator[bytes]:
        """Yield the JSON line of every released item in the order of release; skip damaged ones."""
        query = (
            "SELECT items.number, line, url FROM items"
            " LEFT JOIN addresses ON addresses.number = items.address"
            " WHERE items.number > ? AND line IS NOT NULL ORDER BY items.number LIMIT 1"
        )
        for number, content, url in self._database.following(query):
            try:
                line = self._contents.get(content)
            except DAMAGE as error:
                self._log_lost(number, url, error)
                continue
            yield line

    def _log_lost(self, number: int, url: str, error: Exception) -> None:
        message = "%s: item %d (of %s) is damaged (%s) and left out; a new crawl writes it"
        logger.error(message, self._database.name, number, url, error)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield every released item as a dict, as `lines` does."""
        for line in self.lines():
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


def _names(names: str | None) -> dict[str, str]:
    """Return the names that an item has for our fields, if they differ from our names."""
    return json.loads(names) if names else {}


def _by_our_names(record: Mapping[str, Any], ours: Mapping[str, str]) -> dict[str, Any]:
    own = {name: record[theirs] for name, theirs in ours.items() if theirs in record}
    other_names = record.keys() - own.keys() - set(ours.values())
    return own | {name: value for name, value in record.items() if name in other_names}
