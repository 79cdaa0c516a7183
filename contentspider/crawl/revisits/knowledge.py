"""Finds the counters and the changed lines of the template, from all pages of a crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from contentspider.recrawl.counters import Counters
from contentspider.recrawl.template import TemplateLines

if TYPE_CHECKING:
    from contentspider.crawl.revisits.gone import Pause
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.state.ledger.visits import StoredVisit, Visits


async def find_counters(
    differences: Differences, visits: Visits, refilter: Refilter, pause: Pause
) -> dict[str, set[str]]:
    """Return the places of counters, by site. *pause* is called after each page."""
    finders = {
        site: Counters(places, differences.same.get(site, ()))
        for site, places in differences.numbered.items()
    }
    for record in visits.after(0) if finders else ():
        finder = finders.get(record.visit.site)
        if finder is not None:
            _count_places(finder, record, refilter)
        await pause()
    return {site: finder.places() for site, finder in finders.items()}


class Differences:
    """How the pages of a crawl differ from their previous versions, by site.

    *pages* counts the pages. *numbered* has the places with changed numbers of each page that has
    some, and *same* has those of pages that the server called unmodified. *lines* has the
    differing lines of each page. A *distrusted* site has called changed pages unchanged, so its
    "not modified" answers do not show counters.
    """

    def __init__(self, distrusted: Collection[str]) -> None:
        self._distrusted = distrusted
        self.pages: Counter[str] = Counter()
        self.numbered: dict[str, list[tuple[str, ...]]] = {}
        self.same: dict[str, list[tuple[str, ...]]] = {}
        self.lines: dict[str, list[tuple[str, ...]]] = {}

    async def read(self, visits: Visits, pause: Pause) -> None:
        """Read the differences of all visits. *pause* is called after each."""
        for site, places, lines, is_check in visits.differences():
            self.pages[site] += 1
            if places:
                self.numbered.setdefault(site, []).append(places)
                if is_check and site not in self._distrusted:
                    self.same.setdefault(site, []).append(places)
            if lines:
                self.lines.setdefault(site, []).append(lines)
            await pause()

    def templates(self) -> dict[str, TemplateLines]:
        """Return, by site, the lines that its template added to pages or removed from them."""
        return {site: TemplateLines(lines, self.pages[site]) for site, lines in self.lines.items()}


def _count_places(finder: Counters, record: StoredVisit, refilter: Refilter) -> None:
    """Count the places of a visited page whose numbers have changed."""
    slot_of = partial(refilter.slot_of, record.visit.site)
    # A page that the server did not send may have other numbers now; a new page lacks old ones.
    previous_page = None if record.answer.is_unsent else refilter.previous_page(record)
    if previous_page is None and not finder.needs_more:
        return
    page = refilter.page(record)
    if page is None:
        return
    if previous_page is not None:
        finder.add(page, previous_page, slot_of)
    if finder.needs_more:
        finder.share(page, slot_of)
