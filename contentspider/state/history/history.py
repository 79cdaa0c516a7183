"""The history of the crawls of one name: what is known of each page, and the log of its changes.

It is a file beside the ledgers and outlives them. It is written when a crawl has ended, in one
transaction.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.ground.packed import unpack_text
from contentspider.page.input.page import Page
from contentspider.recrawl.intervals import Spell, kind_of
from contentspider.recrawl.lastmod import Truth
from contentspider.state.history.known import KnownPage
from contentspider.state.history.own_answers import OwnAnswers
from contentspider.state.history.schema import HISTORY
from contentspider.state.history.takeover import Takeover
from contentspider.state.ledger.database import Database
from contentspider.state.ledger.visits import unpack_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)


class History:
    """The history in the file *path*, created if missing; see `Database` for modes and errors.

    Beyond *max_bytes* only hashes and main content of pages are kept.
    """

    def __init__(
        self, path: Path | None, read_only: bool = False, max_bytes: int = 1_000_000_000
    ) -> None:
        self.path = path
        self._database = database = Database(path, True, read_only, HISTORY)
        self._do = database.do
        self._max_bytes = max_bytes
        # How often the sitemaps of each site were right.
        self.lastmods = {
            str(site): Truth(*counts)  # type: ignore[arg-type]
            for site, *counts in database.rows("SELECT * FROM lastmods")
        }
        self.own_answers = OwnAnswers(database)
        self.check, self.close = database.check, database.close

    def page(self, page_id: str) -> KnownPage | None:
        """Return what is known of a page."""
        row = self._do(f"SELECT {KNOWN} FROM pages WHERE id = ?", (page_id,)).fetchone()  # noqa: S608
        return KnownPage(*row) if row else None

    def original_of(self, page_id: str, text_hash: str = "", site: str = "") -> str:
        """Return the id of the live page that another one was a copy of, else of the first page of
        the *site* with that text; empty if there is none.
        """
        row = self._do(
            "SELECT pages.id FROM copies JOIN pages ON pages.id = owner AND state = 'live'"
            " WHERE copies.id = ?",
            (page_id,),
        ).fetchone()
        row = (
            row
            or self._do(
                "SELECT id FROM pages WHERE text_hash = ? AND site = ? AND state = 'live'"
                " ORDER BY first_seen, id LIMIT 1",
                (text_hash, site),
            ).fetchone()
        )
        return str(row[0]) if row else ""

    def live(self) -> Iterator[KnownPage]:
        """Yield the live pages."""
        yield from (
            KnownPage(*row)  # type: ignore[arg-type]
            for row in self._database.rows(
                f"SELECT {KNOWN} FROM pages WHERE state = 'live' ORDER BY url"  # noqa: S608
            )
        )

    def of_other_models(self, site: str, model: str) -> Iterator[KnownPage]:
        """Yield the live pages of a site that were filtered by another model."""
        query = f"SELECT {KNOWN} FROM pages WHERE state = 'live' AND site = ? AND model != ?"  # noqa: S608
        # All of them at once: callers change them.
        for row in self._do(query, (site, model)).fetchall():
            yield KnownPage(*row)

    def visits(self) -> Iterator[tuple[str, str, Spell]]:
        """Yield for each live page its address, the time of its last visit, and how often it
        changed.
        """
        for url, last_seen, *spell in self._database.rows(
            "SELECT url, last_seen, still_days, changes, changed_days FROM pages"
            " WHERE state = 'live' ORDER BY url"
        ):
            yield str(url), str(last_seen), Spell(kind_of(str(url)), *spell)  # type: ignore[arg-type]

    def live_count(self) -> int:
        """Return how many pages are live."""
        return self._database.count("SELECT count(*) FROM pages WHERE state = 'live'")

    def content(self, page_id: str, before: bool = False) -> str | None:
        """Return the last main content of a page, or the one *before* its last change (None: there
        was none).
        """
        column = "previous" if before else "content"
        row = self._do(f"SELECT {column} FROM pages WHERE id = ?", (page_id,)).fetchone()  # noqa: S608
        return unpack_text(row[0]) if row and row[0] is not None else None

    def stored(self, page_id: str) -> Page | None:
        """Return the last version of a page, if all of it is kept."""
        row = self._do("SELECT page FROM pages WHERE id = ?", (page_id,)).fetchone()
        try:
            return Page.load(row[0]) if row and row[0] is not None else None
        except ContentSpiderError as error:
            logger.warning("%s: %s: %s", self._database.name, page_id, error)
            return None

    def distrusted(self) -> frozenset[str]:
        """Return the sites whose servers answered "not modified" for changed pages."""
        return frozenset(
            str(site) for (site,) in self._database.rows("SELECT site FROM distrusted")
        )

    def counters(self) -> dict[str, set[str]]:
        """Return the places of counters by site: differences there are ignored."""
        found: dict[str, set[str]] = {}
        for site, place in self._database.rows("SELECT site, place FROM counters"):
            found.setdefault(str(site), set()).add(str(place))
        return found

    def taken_over(self, crawl: str) -> int:
        """Return the number of the last visit of a crawl in the history, 0 if there is none."""
        return self._database.count("SELECT visits FROM crawls WHERE key = ?", (crawl,))

    def take_over(self, crawl: str, is_complete: bool) -> Takeover:
        """Begin to take over a crawl's results; *is_complete*: it saw the whole site."""
        return Takeover(self._database, crawl, is_complete, self._max_bytes)

    def has_page(self, page_id: str) -> bool:
        """Tell whether the last version of a page is kept as a whole."""
        return bool(
            self._database.count("SELECT page IS NOT NULL FROM pages WHERE id = ?", (page_id,))
        )

    def links(self, page_id: str) -> tuple[str, ...]:
        """Return the links of the last version of a page."""
        row = self._do("SELECT links FROM pages WHERE id = ?", (page_id,)).fetchone()
        return unpack_lines(row[0]) if row else ()

    def changes(self, since: int = 0, after: str = "") -> Iterator[dict[str, Any]]:
        """Yield the records of the change log in order: those with a number above *since*, made at
        the time *after* (ISO 8601) or later.
        """
        query = (
            f"SELECT {', '.join(RECORD)},"  # noqa: S608 - our own names
            " coalesce((SELECT url FROM pages WHERE pages.id = previous_id), '')"
            " FROM changes WHERE seq > ? AND at >= ? ORDER BY seq"
        )
        for row in self._database.rows(query, (since, after)):
            yield dict(zip((*RECORD, "previous_url"), row, strict=True))


KNOWN = ", ".join(KnownPage.__dataclass_fields__)
RECORD = (
    *("seq", "at", "id", "url", "change", "change_ratio", "change_cause", "previous_hash"),
    *("content_hash", "first_seen", "changed_at", "reason", "previous_id"),
)
