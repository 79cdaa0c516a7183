"""Dead links: what is not there is asked again after as long as it has not been there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from contentspider.ground.times import days_between, now
from contentspider.site.models.record import page_id

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database

MAX_DAYS = 30.0
FORGOTTEN_DAYS = 3 * MAX_DAYS
RANDOM = re.compile(r"/[0-9a-f]{32}$")  # crawls ask for such to see what an error page is like
# Crawls of pages that are due may come each hour: they ask once a day.
MIN_DUE_DAYS = 1.0


class DeadLinks:
    """The addresses that were not there when a crawl asked, in a history."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self, is_due: bool) -> frozenset[str]:
        """Return the ids of those that are not to be asked now, by a crawl of what *is_due*."""
        at, least = now(), MIN_DUE_DAYS if is_due else 0.0
        return frozenset(
            dead
            for dead, first, last in self._database.rows("SELECT id, first, last FROM dead")
            if 0 <= days_between(last, at) < min(max(days_between(first, last), least), MAX_DAYS)
        )

    def take(self, addresses: Iterable[str]) -> None:
        """Note that these were not there; forget those that are pages by now, or that no page has
        led to for `FORGOTTEN_DAYS`.
        """
        at, do = now(), self._database.do
        for address in addresses:
            if RANDOM.search(address):
                continue
            do(
                "INSERT INTO dead VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET last = excluded.last",
                (page_id(address), at, at),
            )
        do("DELETE FROM dead WHERE id IN (SELECT id FROM pages WHERE state = 'live')")
        do("DELETE FROM dead WHERE julianday(?) - julianday(last) > ?", (at, FORGOTTEN_DAYS))
