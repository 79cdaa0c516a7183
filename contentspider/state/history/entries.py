"""The pages of a history for search indexes: the item of each live page, with a number that grows
with each change, and which pages are gone.
"""

from __future__ import annotations

import json
import logging
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contentspider.recrawl.changes import GONE, LIVE
from contentspider.state.history.schema import HISTORY
from contentspider.state.ledger.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page for an index: *seq* is the number of its last record in the change log, *hash* that of
    its item. Without an *item* it belongs in no index.
    """

    id: str
    seq: int
    hash: str
    item: dict[str, Any] | None


class Entries:
    """The pages in the history at *path*, after its last crawl; nothing is written.

    Raises as `Database` does.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path, True, True, HISTORY)
        self._do = self._database.do

    @property
    def last(self) -> int:
        """Return the number of the last change."""
        return self._database.count("SELECT max(seq) FROM pages")

    def count(self, after: int = 0) -> int:
        """Return how many pages have changed since a number."""
        return self._database.count("SELECT count(*) FROM pages WHERE seq > ?", (after,))

    def live_count(self) -> int:
        """Return how many pages belong in an index."""
        return self._database.count(
            "SELECT count(*) FROM pages WHERE state = ? AND item IS NOT NULL", (LIVE,)
        )

    def gone_count(self, after: int) -> int:
        """Return how many pages have gone since a number."""
        return self._database.count(
            "SELECT count(*) FROM pages WHERE state = ? AND seq > ?", (GONE, after)
        )

    def last_crawl(self) -> dict[str, Any] | None:
        """Return when the last crawl ``ended``, and its ``changes``: how many pages were new,
        changed and so on.
        """
        row = self._do("SELECT number, ended FROM crawls ORDER BY number DESC LIMIT 1").fetchone()
        if row is None:
            return None
        changes = self._do(
            "SELECT change, count(*) FROM changes WHERE crawl = ? GROUP BY change ORDER BY change",
            (row[0],),
        )
        return {"ended": row[1], "changes": dict(changes.fetchall())}

    def after(self, number: int) -> Iterator[Entry]:
        """Yield the pages that have changed since a number, each once, in the order of their last
        changes; a damaged one is logged and left out.
        """
        for row in self._database.rows(f"{ENTRIES} WHERE seq > ? ORDER BY seq", (number,)):
            if (entry := self._entry(row)) is not None:
                yield entry

    def of(self, page_ids: Sequence[str]) -> Iterator[Entry]:
        """Yield the pages with these ids that are known."""
        for page_id in page_ids:
            row = self._do(f"{ENTRIES} WHERE id = ?", (page_id,)).fetchone()
            if row is not None and (entry := self._entry(row)) is not None:
                yield entry

    def live(self) -> Iterator[tuple[str, int, str]]:
        """Yield id, number and hash of the pages that belong in an index."""
        query = "SELECT id, seq, item_hash FROM pages WHERE state = ? AND item IS NOT NULL"
        for page_id, seq, item_hash in self._database.rows(query, (LIVE,)):
            yield str(page_id), int(str(seq)), str(item_hash)

    def _entry(self, row: Sequence[Any]) -> Entry | None:
        page_id, seq, item_hash, state, packed, first_seen, changed_at = row
        if state != LIVE or packed is None:
            return Entry(page_id, seq, "", None)
        try:
            item = json.loads(zlib.decompress(packed))
        except (zlib.error, ValueError) as error:
            logger.error(
                "%s: the item of page %s is damaged (%s) and left out; a crawl that finds the page"
                " changed writes it anew",
                self.path,
                page_id,
                error,
            )
            return None
        # The item has the values from before its crawl ended.
        item |= {"first_seen": first_seen, "changed_at": changed_at}
        return Entry(page_id, seq, item_hash, item)

    def close(self) -> None:
        """Close the file."""
        self._database.close()


ENTRIES = "SELECT id, seq, item_hash, state, item, first_seen, changed_at FROM pages"
