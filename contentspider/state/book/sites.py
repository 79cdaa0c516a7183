"""The facts of each site in a book: counters, template, and whether its server is trusted."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING

from contentspider.recrawl.lastmod import LastmodCounts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.state.book.database import Database


class Sites:
    """The knowledge of earlier crawls about their sites.

    *distrusted*: sites whose servers answered "not modified" for changed pages. *stale*: sites
    whose template has lines that their model does not know. *lastmods*: how often the sitemaps of
    each site were right.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.distrusted, self.stale = (
            frozenset(site for (site,) in database.rows(f"SELECT site FROM {table}"))  # noqa: S608
            for table in ("distrusted", "stale")
        )
        self.lastmods: dict[str, LastmodCounts] = {
            site: LastmodCounts(*counts)
            for site, *counts in database.rows("SELECT * FROM lastmods")
        }

    def counters(self) -> dict[str, set[str]]:
        """Return the places of counters by site: differences at these places are ignored."""
        places: dict[str, set[str]] = {}
        for site, place in self._database.rows("SELECT site, place FROM counters"):
            places.setdefault(site, set()).add(place)
        return places

    def add_counter(self, site: str, place: str) -> None:
        """Record a place of a site that holds a counter."""
        self._database.do("INSERT OR IGNORE INTO counters VALUES (?, ?)", (site, place))

    def distrust(self, sites: Iterable[str]) -> None:
        """Record the sites whose servers answered "not modified" for changed pages."""
        for site in sites:
            self._database.do("INSERT OR IGNORE INTO distrusted VALUES (?)", (site,))

    def set_stale(self, sites: Iterable[str]) -> None:
        """Record the sites whose models do not know all lines of their template."""
        self._database.do("DELETE FROM stale")
        for site in sites:
            self._database.do("INSERT INTO stale VALUES (?)", (site,))

    def set_lastmods(self, site: str, counts: LastmodCounts) -> None:
        """Store how often a site's sitemaps were right."""
        statement = "INSERT OR REPLACE INTO lastmods VALUES (?, ?, ?, ?, ?)"
        self._database.do(statement, (site, *astuple(counts)))
