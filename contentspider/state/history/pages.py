"""The pages that a history keeps as a whole, and their items, for export and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nsmallest
from typing import TYPE_CHECKING

from contentspider.site.sample import sample_order
from contentspider.state.compression import RecordCompressor
from contentspider.state.ledger.pages import SITE_PAGES

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.state.ledger.database import Database

KEPT = "FROM pages WHERE state = 'live' AND page IS NOT NULL"


class KeptPages:
    """The live pages that a history keeps as a whole; *stored* reads a page by its id."""

    def __init__(self, database: Database, stored: Callable[[str], Page | None]) -> None:
        self._database = database
        self._stored = stored
        self._packing = RecordCompressor(database)

    def line(self, page_id: str) -> bytes | None:
        """Return the JSON line of a page's item, or None; raises one of `DAMAGE`."""
        packed = self._database.value("SELECT item FROM pages WHERE id = ?", (page_id,))
        return self._packing.unpack(packed) if packed is not None else None

    def sites(self) -> list[str]:
        """Return the sites that have kept pages."""
        return sorted(site for (site,) in self._database.rows(f"SELECT DISTINCT site {KEPT}"))

    def sample(self, site: str) -> Iterator[Page]:
        """Yield a sample of a site's kept pages, in the order of their addresses."""
        rows = self._database.rows(f"SELECT url, id {KEPT} AND site = ?", (site,))
        for _, name in sorted(nsmallest(SITE_PAGES, rows, lambda row: sample_order(row[0]))):
            if (page := self._stored(name)) is not None:
                yield page
