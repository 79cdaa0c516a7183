"""A sample of each site's pages in SQLite, used for learning and reports."""

from __future__ import annotations

import logging
from bisect import insort
from collections.abc import Iterator
from typing import TYPE_CHECKING

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.site.sample import ORDER_BYTES, sample_order
from contentspider.state.book.contents import PAGE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.page import Page
    from contentspider.state.book.contents import Contents
    from contentspider.state.book.database import Database

logger = logging.getLogger(__name__)

# Pages kept of one site for their order; up to as many again are kept for their template.
SITE_PAGES = 200
ALL_PAGES = 3_000  # pages kept of all sites of a crawl
PAGES_WITH_TEXT = 40  # preferred pages: the learner uses no more pages with an own text
FRONT = bytes(ORDER_BYTES)


class SamplePlaces:
    """Decides which pages of a site stay in its sample. *stored* has the places of stored pages.

    *size* pages stay for their order: preferred pages first. At most as many again stay for their
    template (`TemplatePages`). The *key* of a page is its order and the number of its template. The
    place of a page is its key, after `FRONT` if the page is preferred.
    """

    def __init__(self, stored: Iterable[bytes], size: int) -> None:
        self.size = size
        self._preferred: list[bytes] = []
        self._first: list[bytes] = []
        from contentspider.site.learn.sampling import TemplatePages  # loads much; few need it

        self._of_templates: TemplatePages[bytes] = TemplatePages(size)
        for place in stored:
            key = place.removeprefix(FRONT)
            self.add(key, is_preferred=len(key) < len(place))

    def add(self, key: bytes, is_preferred: bool) -> bool:
        """Add a page. False if that does not change the places of any page."""
        if is_preferred and self._has_room(key):
            self._prefer(key)
        elif key not in self._preferred and key not in self._first:
            insort(self._first, key)
        dropped = self._of_templates.add(key, key[ORDER_BYTES:], key)
        self.limit(self.size)
        return key not in dropped or key in self._first or key in self._preferred

    def _has_room(self, key: bytes) -> bool:
        return len(self._preferred) < PAGES_WITH_TEXT or key < self._preferred[-1]

    def _prefer(self, key: bytes) -> None:
        """Prefer a page, which may have come before its own text."""
        if key in self._preferred:
            return
        if key in self._first:
            self._first.remove(key)
        insort(self._preferred, key)
        if len(self._preferred) > PAGES_WITH_TEXT:
            insort(self._first, self._preferred.pop())

    def limit(self, size: int) -> None:
        """Drop pages so that *size* pages stay for their order."""
        self.size = size
        del self._preferred[size:]
        del self._first[size - len(self._preferred) :]
        self._of_templates.limit(size)

    def all(self) -> dict[bytes, bytes]:
        """Return the places of all pages that stay, by their keys."""
        keys = [*self._of_templates.ranked(), *self._first]
        return {key: key for key in keys} | {key: FRONT + key for key in self._preferred}


class PageSample:
    """A sample of each site's pages: pages with an own text, the first pages in `sample_order`, and
    the first pages of each template (`SamplePlaces`).
    """

    def __init__(
        self,
        database: Database,
        contents: Contents,
        site_pages: int = SITE_PAGES,
        all_pages: int = ALL_PAGES,
    ) -> None:
        self._database = database
        self._contents = contents
        self._do = database.do
        self._site_pages, self._all_pages = site_pages, all_pages
        query = "SELECT site, count(*) FROM sample GROUP BY site"
        self._counts: dict[str, int] = dict(database.rows(query))
        self._places: dict[str, SamplePlaces] = {}
        # The places of the stored pages by their keys, of the sites in `_places`.
        self._stored: dict[str, dict[bytes, bytes]] = {}

    def offer(
        self,
        site: str,
        page: Page,
        has_own_text: bool = False,
        number: int | None = None,
        template: bytes = b"",
    ) -> None:
        """Keep a page if it belongs to its site's sample. For most pages this costs one hash and
        the search for the path of most text. *number* is the number of its content, if it is
        stored, and *template* its template's number, if it is known.
        """
        from contentspider.site.learn.sampling import page_template

        places = self._of_site(site)
        key = sample_order(page.url) + (template or page_template(page))
        if not places.add(key, has_own_text):
            return
        self._store(site, page, number)
        while sum(self._counts.values()) > self._all_pages:
            largest = max(self._counts, key=lambda name: (self._counts[name], name))
            places = self._of_site(largest)
            # The size of a small sample is larger than the number of its pages.
            places.limit(min(places.size, self._counts[largest]) - 1)
            self._store(largest)

    def _of_site(self, site: str) -> SamplePlaces:
        """Return the places of a site's pages; reads them from the table the first time."""
        if site not in self._places:
            rows = self._database.rows("SELECT place FROM sample WHERE site = ?", (site,))
            # A damaged place may be of any type.
            stored = [place for (place,) in rows if isinstance(place, bytes)]
            size, count = self._site_pages, len(stored)
            is_full = sum(self._counts.values()) >= self._all_pages
            if is_full and count == max(self._counts.values(), default=0):
                size = min(size, count)
            self._places[site] = SamplePlaces(stored, size)
            self._stored[site] = {place.removeprefix(FRONT): place for place in stored}
        return self._places[site]

    def _store(self, site: str, page: Page | None = None, number: int | None = None) -> None:
        """Bring the table to the present places of a site; *page* may be new."""
        places, stored = self._places[site].all(), self._stored[site]
        for key in stored.keys() - places.keys():
            self._do("DELETE FROM sample WHERE site = ? AND place = ?", (site, stored[key]))
        for key, place in places.items():
            if key not in stored and page is not None:
                number = number or self._contents.put(PAGE, page.to_json())
                values = (site, place, page.url, number)
                self._do("INSERT OR REPLACE INTO sample VALUES (?, ?, ?, ?)", values)
            elif stored.get(key, place) != place:
                move = "UPDATE sample SET place = ? WHERE site = ? AND place = ?"
                self._do(move, (place, site, stored[key]))
        self._stored[site], self._counts[site] = places, len(places)

    def sample(self, site: str) -> Iterator[Page]:
        """Yield the sampled pages of a site in the order of their addresses; skip damaged ones."""
        yield from self._read("SELECT url, page FROM sample WHERE site = ? ORDER BY url", site)

    def uniform(self, site: str) -> Iterator[Page]:
        """Yield the pages of `sample` that stay for their order.

        The other pages stay for their template, so rare templates have more pages than their share.
        """
        query = (
            "SELECT * FROM (SELECT url, page FROM sample WHERE site = ? ORDER BY place LIMIT ?)"
            " ORDER BY url"
        )
        yield from self._read(query, site, self._site_pages)

    def visited(self, site: str) -> Iterator[Page]:
        """Yield the pages of a site that this crawl has read; skip damaged ones."""
        yield from self._read(
            "SELECT url, page FROM pages WHERE run > (SELECT run FROM published)"
            " AND page IS NOT NULL AND site = ? ORDER BY number",
            site,
        )

    def _read(self, query: str, *values: object) -> Iterator[Page]:
        for url, number in self._database.rows(query, values):
            try:
                page = self._contents.page(number)
            except (ContentSpiderError, *DAMAGE) as error:
                logger.error("%s: %s is left out: %s", self._database.name, url, error)
                continue
            yield page

    def sites(self) -> list[str]:
        """Return the sites that have sampled pages."""
        return sorted(site for site, count in self._counts.items() if count)

    def urls(self) -> Iterator[str]:
        """Yield the addresses of the sampled pages."""
        return (url for (url,) in self._database.rows("SELECT url FROM sample"))
