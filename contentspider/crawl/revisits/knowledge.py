"""Finds the counters and the changed lines of the template, from all pages of a crawl."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

from contentspider.recrawl.counters import Counters
from contentspider.recrawl.template import TemplateLines

if TYPE_CHECKING:
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.state.ledger.visits import StoredVisit, Visits


def find_counters(
    visits: Visits, distrusted: Collection[str], refilter: Refilter
) -> dict[str, set[str]]:
    """Return the places of counters, by site. A *distrusted* site has called changed pages
    unchanged, so its "not modified" answers do not show counters.
    """
    finders = _counter_finders(visits, distrusted)
    for record in visits.after(0) if finders else ():
        finder = finders.get(record.visit.site)
        if finder is not None:
            _count_places(finder, record, refilter)
    return {site: finder.places() for site, finder in finders.items()}


def _counter_finders(visits: Visits, distrusted: Collection[str]) -> dict[str, Counters]:
    """Return a finder of counters for each site whose pages have places with changed numbers."""
    changed: dict[str, list[tuple[str, ...]]] = {}
    same: dict[str, list[tuple[str, ...]]] = {}
    for site, places, _, is_check in visits.differences():
        if not places:
            continue
        changed.setdefault(site, []).append(places)
        if is_check and site not in distrusted:
            same.setdefault(site, []).append(places)
    return {site: Counters(places, same.get(site, ())) for site, places in changed.items()}


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


def find_templates(visits: Visits) -> dict[str, TemplateLines]:
    """Return, by site, the lines that its template added to pages or removed from them."""
    pages: Counter[str] = Counter()
    changed: dict[str, list[tuple[str, ...]]] = {}
    for site, _, lines, _ in visits.differences():
        pages[site] += 1
        if lines:
            changed.setdefault(site, []).append(lines)
    return {site: TemplateLines(page_lines, pages[site]) for site, page_lines in changed.items()}
