"""Which known pages are due for a visit, by how often they change and by sitemaps' dates."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.times import days_between, now
from contentspider.recrawl.changes import BY_FIELDS, BY_PAGE, CHANGED, LIVE, UNCHANGED
from contentspider.recrawl.intervals import Bounds, intervals
from contentspider.recrawl.lastmod import LastmodCounts, has_changed_since
from contentspider.site.models.identity import page_id

if TYPE_CHECKING:
    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.revisits.gone import Pause
    from contentspider.state.book.book import Book
    from contentspider.state.book.known import KnownPages

logger = logging.getLogger(__name__)

# One of this many "unchanged" pages is fetched, as some servers call every page unchanged.
CHECKED_EACH = 50
MIN_INTERVAL = 0.04  # days between two visits of a page, about an hour


def due_pages(known: KnownPages, options: CrawlOptions) -> list[str]:
    """Return the addresses of the known pages that are due, the most overdue first."""
    today, visits = now(), list(known.visits())
    bounds = Bounds(MIN_INTERVAL, options.max_interval, options.mean_interval)
    days = np.array([days_between(visited, today) for _, visited, _ in visits])
    overdue = days / intervals([spell for _, _, spell in visits], bounds)
    # A visit in the future comes from a wrong clock.
    overdue[days < 0] = np.inf
    order = np.argsort(-overdue, kind="stable")
    return [visits[index][0] for index in order if overdue[index] >= 1]


class Lastmods:
    """Uses the ``lastmod`` dates of sitemaps, if most earlier dates of the site were right."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._known = book.known
        self._dates = book.sitemap_dates
        self._counts = dict(book.sites.lastmods)

    def note(self, url: str, lastmod: str) -> None:
        """Record a sitemap's date for an address, if the address has a known page and the date is
        usable.
        """
        known_page = self._known.page(page_id(url))
        # A visit in the future comes from a wrong clock.
        if known_page is not None and known_page.state == LIVE and known_page.last_seen <= now():
            has_changed = has_changed_since(lastmod, known_page.last_seen)
            if has_changed is not None:
                self._dates.note(known_page.id, has_changed)

    def choose(self, due: Iterable[str]) -> Iterator[str]:
        """Yield the pages that have changed according to sitemaps, and the *due* pages. If a
        trusted sitemap calls due pages unchanged, only one in `CHECKED_EACH` of them is visited.
        """
        for known_id in self._dates.changed():
            known_page = self._known.page(known_id)
            if known_page is not None and self._counts_of(known_page.site).is_worth_a_visit:
                yield known_page.url
        unchanged = 0
        for url in due:
            known_page = self._known.page(page_id(url))
            is_trusted = known_page is not None and self._counts_of(known_page.site).is_trusted
            if is_trusted and self._dates.has_changed(page_id(url)) is False:
                unchanged += 1
                if unchanged % CHECKED_EACH != 1:
                    continue
            yield url
        if unchanged:
            logger.info(
                "%d due pages are unchanged according to sitemaps with reliable dates; only one in"
                " %d of them is visited",
                unchanged,
                CHECKED_EACH,
            )

    async def count(self, pause: Pause) -> dict[str, LastmodCounts]:
        """Count, by site, how often sitemap dates were right, in this crawl and before."""
        counts = dict(self._book.sites.lastmods)
        for site, was_expected, change, cause in self._dates.outcomes(self._book.pages.published):
            has_changed = change == CHANGED and cause in (BY_PAGE, BY_FIELDS)
            if has_changed or change == UNCHANGED:
                counts[site] = counts.get(site, LastmodCounts()).plus(was_expected, has_changed)
            await pause()
        return counts

    def _counts_of(self, site: str) -> LastmodCounts:
        return self._counts.get(site, LastmodCounts())
