"""Sites whose models each crawl refuses. After some crawls this is no longer a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.state.book.broken import FAILED_CRAWLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.state.book.database import Database


@dataclass(frozen=True, slots=True)
class RefusedModel:
    """A *site* whose model was refused in so many *crawls* in a row, the last one the crawl with
    the number *last_crawl*.
    """

    site: str
    crawls: int
    last_crawl: int


class RefusedModels:
    """The sites in a book whose models were refused when they were last learned."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> Iterator[RefusedModel]:
        """Yield all sites, also those whose models were refused in fewer crawls than it takes to
        be known.
        """
        rows = self._database.rows("SELECT site, crawls, last_crawl FROM refused ORDER BY site")
        return (RefusedModel(*row) for row in rows)

    def known(self) -> list[RefusedModel]:
        """Return the sites whose models are known to be refused."""
        return [model for model in self.all() if model.crawls >= FAILED_CRAWLS]

    def add(self, site: str, crawl: int) -> int:
        """Record that a model was refused in a *crawl*, by its number; return in how many crawls in
        a row before it. A resumed run belongs to its crawl.
        """
        before = next((model for model in self.all() if model.site == site), None)
        crawls = before.crawls - (before.last_crawl == crawl) if before else 0
        self._database.do(
            "INSERT OR REPLACE INTO refused VALUES (?, ?, ?)", (site, crawls + 1, crawl)
        )
        return crawls

    def remove(self, site: str) -> None:
        """Forget a site, since its model is not refused any more."""
        self._database.do("DELETE FROM refused WHERE site = ?", (site,))
