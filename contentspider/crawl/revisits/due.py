"""Which known pages are due, by how often they change and by the dates of sitemaps."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from contentspider.ground.times import days_between, now
from contentspider.recrawl.changes import BY_PAGE, CHANGED, LIVE, UNCHANGED
from contentspider.recrawl.intervals import Bounds, intervals
from contentspider.recrawl.lastmod import LastmodCounts, has_changed_since
from contentspider.site.models.record import page_id

if TYPE_CHECKING:
    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.state.history.history import History
    from contentspider.state.history.takeover import Takeover
    from contentspider.state.ledger.visits import Visit, Visits

logger = logging.getLogger(__name__)

CHECKED_EACH = 50  # one in so many "unchanged" pages is fetched: some servers say it of any
MIN_INTERVAL = 0.04  # days for which no known page is due: an hour


def due_pages(history: History, options: CrawlOptions) -> list[str]:
    """Return the addresses of the live pages that are due, the most overdue first."""
    at, known = now(), list(history.visits())
    bounds = Bounds(MIN_INTERVAL, options.max_interval, options.mean_interval)
    days = np.array([days_between(visited, at) for _, visited, _ in known])
    waited = days / intervals([spell for _, _, spell in known], bounds)
    # A visit in the future is of a clock that was wrong.
    waited[days < 0] = np.inf
    order = np.argsort(-waited, kind="stable")
    return [known[index][0] for index in order if waited[index] >= 1]


class Lastmods:
    """The dates that sitemaps name of known pages: counts how often they are true."""

    def __init__(self, history: History, visits: Visits) -> None:
        self._history = history
        self._visits = visits
        self._truths = dict(history.lastmods)
        self._judged: set[str] = set()

    def note(self, url: str, lastmod: str) -> None:
        """Note the date of an address, if it is that of a known page, and says something."""
        known = self._history.page(page_id(url))
        # A visit in the future is of a clock that was wrong.
        if known is not None and known.state == LIVE and known.last_seen <= now():
            has_changed = has_changed_since(lastmod, known.last_seen)
            if has_changed is not None:
                self._visits.note_lastmod(known.id, has_changed)

    def choose(self, due: Iterable[str]) -> Iterator[str]:
        """Yield pages that have changed by sitemaps, and the *due* ones, few that have not."""
        for known_id in self._visits.changed_by_lastmod():
            known = self._history.page(known_id)
            if known is not None and self._truth(known.site).is_worth_a_visit:
                yield known.url
        unchanged = 0
        for url in due:
            known = self._history.page(page_id(url))
            is_believed = known is not None and self._truth(known.site).is_trusted
            if is_believed and self._visits.has_changed(page_id(url)) is False:
                unchanged += 1
                if unchanged % CHECKED_EACH != 1:
                    continue
            yield url
        if unchanged:
            said = (
                f"say sitemaps, which have been right; each {CHECKED_EACH}th of them is asked for"
            )
            logger.info("of the pages that are due %d have not changed, %s", unchanged, said)

    def judge(self, visit: Visit) -> None:
        """Count whether what was said of a page is true."""
        was_said = self._visits.has_changed(visit.id)
        has_changed = visit.change == CHANGED and visit.cause == BY_PAGE
        if was_said is not None and (has_changed or visit.change == UNCHANGED):
            self._truths[visit.site] = self._truth(visit.site).plus(was_said, has_changed)
            self._judged.add(visit.site)

    def take(self, takeover: Takeover) -> None:
        """Take over into the history how often the sites' dates were true."""
        for site in sorted(self._judged):
            takeover.set_lastmods(site, self._truths[site])

    def _truth(self, site: str) -> LastmodCounts:
        return self._truths.get(site, LastmodCounts())
