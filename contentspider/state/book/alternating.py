"""The slots of each site whose texts alternate, and what their lines were in the last crawls."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from contentspider.recrawl.alternating import History
    from contentspider.state.book.database import Database


class AlternatingTexts:
    """The slots in a book that alternate, or may turn out to do so, with the lines that they had on
    up to `MAX_PAGES` pages in up to `CRAWLS` crawls (see `contentspider.recrawl.alternating`).
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def slots(self) -> dict[str, set[str]]:
        """Return the keys of the slots that alternate, by site."""
        slots: dict[str, set[str]] = {}
        for site, slot in self._database.rows("SELECT site, slot FROM alternating"):
            slots.setdefault(site, set()).add(slot)
        return slots

    def watched(self, site: str) -> set[str]:
        """Return the keys of the slots of a site that alternate, or may turn out to do so."""
        query = "SELECT slot FROM alternating WHERE site = ?1"
        query += " UNION SELECT slot FROM slot_lines WHERE site = ?1"
        return {slot for (slot,) in self._database.rows(query, (site,))}

    def histories(self, site: str) -> dict[str, dict[str, dict[int, tuple[bytes, ...]]]]:
        """Return the `History` of each slot of a site, by the key of the slot."""
        from contentspider.recrawl.alternating import LINE_BYTES  # loads how texts are compared

        query = "SELECT slot, page, crawl, lines FROM slot_lines WHERE site = ?"
        histories: dict[str, dict[str, dict[int, tuple[bytes, ...]]]] = defaultdict(dict)
        for slot, page, crawl, lines in self._database.rows(query, (site,)):
            keys = (lines[at : at + LINE_BYTES] for at in range(0, len(lines), LINE_BYTES))
            histories[slot].setdefault(page, {})[crawl] = tuple(keys)
        return histories

    def replace(
        self, site: str, slots: Collection[str], histories: Mapping[str, History], crawl: int
    ) -> None:
        """Store which *slots* of a site alternate, and the histories until a crawl."""
        from contentspider.recrawl.alternating import CRAWLS

        for table in ("alternating", "slot_lines"):
            self._database.do(f"DELETE FROM {table} WHERE site = ?", (site,))  # noqa: S608
        for slot in slots:
            self._database.do("INSERT INTO alternating VALUES (?, ?)", (site, slot))
        for slot, history in histories.items():
            for page, crawls in history.items():
                for number, keys in crawls.items():
                    if number > crawl - CRAWLS:
                        values = (site, slot, page, number, b"".join(keys))
                        self._database.do("INSERT INTO slot_lines VALUES (?, ?, ?, ?, ?)", values)
