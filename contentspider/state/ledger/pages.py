"""A sample of each site's pages in SQLite, used for learning and reports."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.site.sample import ORDER_BYTES, sample_order

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database

logger = logging.getLogger(__name__)

SITE_PAGES, ALL_PAGES = 200, 2_000  # pages kept of one site, and of all sites of a crawl
PAGES_WITH_TEXT = 40  # pages with an own text that come first: the learner uses no more of them
FRONT = bytes(ORDER_BYTES)
AFTER_FRONT = FRONT[1:] + b"\1"


class PageSample:
    """A sample of each site's pages: pages with an own text first, then in `sample_order`."""

    def __init__(
        self, database: Database, site_pages: int = SITE_PAGES, all_pages: int = ALL_PAGES
    ) -> None:
        self._database = database
        self._do = database.do
        self._site_pages, self._all_pages = site_pages, all_pages
        query = "SELECT site, count(*) FROM pages GROUP BY site"
        self._counts: dict[str, int] = dict(database.rows(query))
        # The bound of each full sample, by site: only pages before it in `sample_order` are added.
        self._bounds: dict[str, bytes] = {}
        most = max(self._counts.values(), default=0)
        is_full = sum(self._counts.values()) >= all_pages
        for site, count in self._counts.items():
            if count >= site_pages or (is_full and count == most):
                self._bounds[site] = self._last(site)

    def offer(self, site: str, page: Page, has_own_text: bool = False) -> None:
        """Keep a page if it belongs to its site's sample. For most pages this costs one hash."""
        place = sample_order(page.url)
        if has_own_text:
            place = self._front_place(site, place)
        bound = self._bounds.get(site)
        if bound is not None and place >= bound:
            return
        values = (site, place, page.url, page.dump())
        added = self._do("INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?)", values)
        if not added.rowcount:
            return
        count = self._counts[site] = self._counts.get(site, 0) + 1
        if count > self._site_pages:
            self._drop_last(site)
        elif sum(self._counts.values()) > self._all_pages:
            self._drop_last(max(self._counts, key=lambda key: (self._counts[key], key)))
        elif count == self._site_pages:
            self._bounds[site] = self._last(site)

    def _front_place(self, site: str, order: bytes) -> bytes:
        """Return the place of a page with an own text: at the front, if there is room."""
        place = FRONT + order
        which = "FROM pages WHERE site = ? AND place < ?"
        query = f"SELECT count(*), max(place), max(place = ?) {which}"
        count, last, is_known = self._database.row(query, (place, site, AFTER_FRONT))
        if is_known:
            return place
        move = "UPDATE OR REPLACE pages SET place = ? WHERE site = ? AND place = ?"
        if count >= PAGES_WITH_TEXT:
            if place > last:
                return order
            self._do(move, (last[ORDER_BYTES:], site, last))
        self._do(move, (place, site, order))  # the page may have come before its own text
        return place

    def _drop_last(self, site: str) -> None:
        last = self._last(site)
        self._do("DELETE FROM pages WHERE site = ? AND place = ?", (site, last))
        self._counts[site] -= 1
        is_full = self._counts[site] == self._site_pages
        self._bounds[site] = self._last(site) if is_full else last

    def _last(self, site: str) -> bytes:
        return bytes(self._database.value("SELECT max(place) FROM pages WHERE site = ?", (site,)))

    def sample(self, site: str) -> Iterator[Page]:
        """Yield the sampled pages of a site in the order of their addresses; skip damaged ones."""
        query = "SELECT url, page FROM pages WHERE site = ? ORDER BY url"
        for url, data in self._database.rows(query, (site,)):
            try:
                page = Page.load(data)
            except ContentSpiderError as error:
                logger.error("%s: %s is left out: %s", self._database.name, url, error)
                continue
            yield page

    def sites(self) -> list[str]:
        """Return the sites that have sampled pages."""
        return sorted(site for site, count in self._counts.items() if count)

    def urls(self) -> Iterator[str]:
        """Yield the addresses of the sampled pages."""
        return (url for (url,) in self._database.rows("SELECT url FROM pages"))
