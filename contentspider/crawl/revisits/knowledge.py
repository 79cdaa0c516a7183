"""What the pages of a site show together: its counters, and the changed lines of its template."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from contentspider.recrawl.changes import BY_PAGE
from contentspider.recrawl.counters import Counters
from contentspider.recrawl.judge import Knowledge, judge
from contentspider.recrawl.template import TemplateLines

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.state.ledger.visits import StoredVisit, Visits


class CrawlKnowledge:
    """The knowledge of all sites of a crawl. It begins with the *counters* of earlier crawls, by
    site; at the end of the crawl, `learn` adds everything that its own visits show.
    """

    def __init__(self, counters: Mapping[str, Collection[str]]) -> None:
        self._counters = {site: set(places) for site, places in counters.items()}
        self._templates: dict[str, TemplateLines] = {}

    def of(self, site: str) -> Knowledge:
        """Return the knowledge of a site so far."""
        return Knowledge(self._counters.get(site, ()), self._templates.get(site))

    def learn(
        self, visits: Visits, distrusted: Collection[str], refilter: Refilter
    ) -> Mapping[str, set[str]]:
        """Find the template's lines and the counters in all visits of a crawl; return the places of
        the counters by site.

        A *distrusted* site has called changed pages unchanged, so its "not modified" answers do not
        show counters.
        """
        counters = self._find_counters(visits, distrusted, refilter)
        self._templates = _find_templates(visits)
        for site, places in counters.items():
            self._counters.setdefault(site, set()).update(places)
        return counters

    def _find_counters(
        self, visits: Visits, distrusted: Collection[str], refilter: Refilter
    ) -> dict[str, set[str]]:
        finders = self._counter_finders(visits, distrusted)
        for record in visits.after(0) if finders else ():
            finder = finders.get(record.visit.site)
            if finder is not None:
                _count_places(finder, record, refilter)
        return {site: finder.places() for site, finder in finders.items()}

    def _counter_finders(self, visits: Visits, distrusted: Collection[str]) -> dict[str, Counters]:
        """Return a finder of counters for each site whose pages have places with changed numbers.
        Places that are counters already need no more proof.
        """
        changed: dict[str, list[tuple[str, ...]]] = {}
        same: dict[str, list[tuple[str, ...]]] = {}
        for site, facts, is_check in visits.differences():
            if not facts.numbered or judge(facts, self.of(site)).cause != BY_PAGE:
                continue
            changed.setdefault(site, []).append(facts.numbered)
            if is_check and site not in distrusted:
                same.setdefault(site, []).append(facts.numbered)
        return {site: Counters(places, same.get(site, ())) for site, places in changed.items()}


def _count_places(finder: Counters, record: StoredVisit, refilter: Refilter) -> None:
    """Count the places of a visited page whose numbers have changed."""
    slot_of = partial(refilter.slot_of, record.visit.site)
    # A page that the server did not send may have other numbers now; a new page lacks old ones.
    previous_page = None if record.answer.is_unsent else refilter.previous_page(record.visit)
    if previous_page is None and not finder.needs_more:
        return
    page = refilter.page(record)
    if page is None:
        return
    if previous_page is not None:
        finder.add(page, previous_page, slot_of)
    if finder.needs_more:
        finder.share(page, slot_of)


def _find_templates(visits: Visits) -> dict[str, TemplateLines]:
    """Return, by site, the lines that its template added to pages or removed from them."""
    pages: Counter[str] = Counter()
    changed: dict[str, list[tuple[str, ...]]] = {}
    for site, facts, _ in visits.differences():
        pages[site] += 1
        if facts.lines:
            changed.setdefault(site, []).append(facts.lines)
    return {site: TemplateLines(lines, pages[site]) for site, lines in changed.items()}
