"""The known pages of a book: the pages of earlier crawls, as readers of the book see them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.site.models.identity import CONTENT_FIELDS, SITE_FRAGMENT
from contentspider.site.sample import sample_order
from contentspider.state.book.answers import read_links
from contentspider.state.book.pages import IS_LIVE
from contentspider.state.book.reading import Reading
from contentspider.state.book.sample import SITE_PAGES

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.recrawl.intervals import ChangeIntervals
    from contentspider.state.book.contents import Contents
    from contentspider.state.book.copies import Copies
    from contentspider.state.book.database import Database
    from contentspider.state.book.pages import Pages, PageVersion

logger = logging.getLogger(__name__)

KEPT = f"FROM pages WHERE {IS_LIVE} AND page IS NOT NULL"


class KnownPages:
    """The published versions of pages, with their contents."""

    def __init__(
        self, database: Database, pages: Pages, contents: Contents, copies: Copies
    ) -> None:
        self._database = database
        self._contents = contents
        self._copies = copies
        self._select = pages.select
        self._text_of = pages.text
        self.page = pages.known

    def original_of(self, page_id: str, text_hash: str = "", site: str = "") -> str:
        """Return the id of the original that this page duplicates: as recorded in an earlier
        crawl, else the first live page of *site* with the same *text_hash*; empty if none.
        """
        original = self._copies.original_of(page_id)
        if original and (page := self.page(original)) is not None and page.state == "live":
            return original
        query = (
            "SELECT id FROM pages WHERE text_hash = ? AND site = ? AND state = 'live'"  # noqa: S608
            f" AND {IS_LIVE} ORDER BY first_seen, id LIMIT 1"
        )
        return self._database.value(query, (text_hash, site)) or "" if text_hash else ""

    def copies_of(self, page_id: str) -> list[str]:
        """Return the addresses of the copies of a page in earlier crawls."""
        return self._copies.of(page_id)

    def live(self, site: str = "", model: str = "") -> Iterator[PageVersion]:
        """Yield the live pages; with *site*, its pages that another model than *model* filtered."""
        which = "AND site = ? AND model != ?" if site else ""
        return self._select(f"{IS_LIVE} {which} ORDER BY url", *filter(None, (site, model)))

    def live_unsorted(self) -> Iterator[PageVersion]:
        """Yield the live pages in the order of their rows: the first one comes at once."""
        return self._select(f"{IS_LIVE} ORDER BY number")

    def doubted(self) -> Iterator[PageVersion]:
        """Yield the live pages that the last crawl would have marked as gone."""
        return self._select(f"{IS_LIVE} AND doubt != '' ORDER BY url")

    def visits(self) -> Iterator[tuple[str, str, ChangeIntervals]]:
        """Yield each live page's address, last visit, and how often its visits found a change.

        The items of sites (``--site-item``) are left out, since no request leads to them.
        """
        # Imported here: it loads numpy, which most readers of a book do not need.
        from contentspider.recrawl.intervals import ChangeIntervals, kind_of

        for url, last_seen, *spell in self._database.rows(
            "SELECT url, last_seen, still_days, changes, changed_days FROM pages"  # noqa: S608
            f" WHERE {IS_LIVE} AND url NOT LIKE ? ORDER BY url",
            (f"%{SITE_FRAGMENT}",),
        ):
            yield url, last_seen, ChangeIntervals(kind_of(url), *spell)

    def live_count(self) -> int:
        """Return how many pages are live."""
        return self._database.count(f"SELECT count(*) FROM pages WHERE {IS_LIVE}")  # noqa: S608

    def content(self, page_id: str, before: bool = False) -> str | None:
        """Return the last main content of a page, or the content *before* its last change; None if
        it is not stored, or damaged.
        """
        page = self.page(page_id)
        number = None if page is None else page.previous if before else page.content
        try:
            return self._text_of(number) if number is not None else None
        except DAMAGE as error:
            self._log("content", page_id, error)
            return None

    def stored(self, page_id: str) -> Page | None:
        """Return the last version of a page with its blocks, if the book keeps them."""
        page = self.page(page_id)
        return self.blocks(page.page, page_id) if page is not None else None

    def blocks(self, number: int | None, page_id: str) -> Page | None:
        """Return the page in a content; None if it is not kept, or damaged."""
        try:
            return self._contents.page(number) if number is not None else None
        except (ContentSpiderError, *DAMAGE) as error:
            logger.warning("%s: %s: %s", self._database.name, page_id, error)
            return None

    def item(self, page_id: str) -> dict[str, Any]:
        """Return the last item of a page; empty if it has none, or a damaged one."""
        page = self.page(page_id)
        return self.item_in(page.item if page is not None else None) or {}

    def same_content(self, page_id: str, content_hash: str, reading_key: bytes) -> dict[str, Any]:
        """Return the fields with the content of a page's last item, for a page that has not changed
        since, and whose content has the *content_hash* now. {} if they are the same, if there are
        none, or if another model, other options or another version of this package have read the
        page (see `Reading`).
        """
        page = self.page(page_id)
        if page is not None and page.content == page.item and page.content_hash == content_hash:
            return {}
        reading = Reading.load(page.reading) if page is not None else None
        if page is None or reading is None or reading.key != reading_key:
            return {}
        item = self.item_in(page.item) or {}
        return {name: item[name] for name in item if name in CONTENT_FIELDS}

    def item_in(self, number: int | None) -> dict[str, Any] | None:
        """Return the item in a content; None if it is missing or damaged. Indexes leave it out."""
        with suppress(*DAMAGE):
            item = json.loads(self._contents.get(number)) if number is not None else None
            return item if isinstance(item, dict) else None
        return None

    def has_page(self, page_id: str) -> bool:
        """Tell whether the book keeps the blocks of the last version of a page."""
        page = self.page(page_id)
        return page is not None and page.page is not None

    def links(self, page_id: str) -> dict[str, tuple[str, ...]]:
        """Return the links in the last version of a page, each with its texts."""
        page = self.page(page_id)
        if page is None or page.links is None:
            return {}
        try:
            text = self._contents.get(page.links).decode("utf-8", "surrogatepass")
            return read_links(text.split("\n"))
        except DAMAGE as error:
            self._log("links", page_id, error)
            return {}

    def _log(self, what: str, page_id: str, error: Exception) -> None:
        message = "%s: the %s of page %s is damaged: %s"
        logger.error(message, self._database.name, what, page_id, error)

    def sites(self) -> list[str]:
        """Return the sites that have pages with their blocks."""
        query = f"SELECT DISTINCT site {KEPT}"
        return sorted(site for (site,) in self._database.rows(query))

    def sample(self, site: str) -> Iterator[Page]:
        """Yield a sample of a site's pages, in the order of their addresses."""
        rows = self._database.rows(f"SELECT url, id {KEPT} AND site = ?", (site,))
        for _, name in sorted(nsmallest(SITE_PAGES, rows, lambda row: sample_order(row[0]))):
            if (page := self.stored(name)) is not None:
                yield page
