"""Dead links: the longer an address has been missing, the longer crawls wait to try it again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.ground.times import days_between, now
from contentspider.site.models.record import page_id

if TYPE_CHECKING:
    from contentspider.state.book.database import Database

MAX_DAYS = 30.0  # the longest time between two requests of a dead link
FORGOTTEN_DAYS = 3 * MAX_DAYS
RANDOM = re.compile(r"/[0-9a-f]{32}$")  # crawls request such addresses to get an error page
# Crawls of due pages may run each hour; they try a dead link once a day.
MIN_DUE_DAYS = 1.0


class DeadLinks:
    """The addresses in a book that were missing when a crawl requested them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, is_due: bool) -> frozenset[str]:
        """Return the page ids that a crawl must not request now; *is_due*: it crawls due pages."""
        at, least = now(), MIN_DUE_DAYS if is_due else 0.0
        return frozenset(
            dead
            for dead, first, last in self._database.rows("SELECT id, first, last FROM dead")
            if 0 <= days_between(last, at) < min(max(days_between(first, last), least), MAX_DAYS)
        )

    def add(self, address: str) -> None:
        """Record an address as missing."""
        if not RANDOM.search(address):
            at = now()
            self._database.do(
                "INSERT INTO dead VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET last = excluded.last",
                (page_id(address), at, at),
            )

    def forget(self) -> None:
        """Forget dead links that are pages by now, or that no crawl has tried for
        `FORGOTTEN_DAYS`.
        """
        do = self._database.do
        do(
            "DELETE FROM dead WHERE (SELECT state FROM pages WHERE pages.id = dead.id"
            " ORDER BY run DESC LIMIT 1) = 'live'"
        )
        do("DELETE FROM dead WHERE julianday(?) - julianday(last) > ?", (now(), FORGOTTEN_DAYS))
