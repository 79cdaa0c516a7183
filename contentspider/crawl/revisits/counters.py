"""Counters in the main content: a page where only these differ is unchanged."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from contentspider.recrawl.changes import BY_MODEL, BY_PAGE, CHANGED, UNCHANGED
from contentspider.recrawl.counters import Counters, are_counters

if TYPE_CHECKING:
    from collections.abc import Collection

    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.state.ledger.visits import Seen, Visits


def find_counters(
    visits: Visits, distrusted: Collection[str], pages: Refilter
) -> dict[str, set[str]]:
    """Return the places of counters by site, as the *visits* of a crawl show them; of the
    *distrusted* sites it is not believed that a page has not changed.
    """
    changed: dict[str, list[tuple[str, ...]]] = {}
    same: dict[str, list[tuple[str, ...]]] = {}
    for site, places, is_check in visits.numbered():
        changed.setdefault(site, []).append(places)
        if is_check and site not in distrusted:
            same.setdefault(site, []).append(places)
    counters = {site: Counters(places, same.get(site, ())) for site, places in changed.items()}
    for seen in visits.after(0) if counters else ():
        one = counters.get(seen.visit.site)
        if one is None:
            continue
        slot_of = partial(pages.slot_of, seen.visit.site)
        # Of a page that was not sent nobody knows what its counters are; what is new has none that
        # could be compared.
        before = None if seen.answer.is_unsent else pages.before(seen)
        page = pages.page(seen) if before is not None or one.needs_more else None
        if page is not None and before is not None:
            one.add(page, before, slot_of)
        if page is not None and one.needs_more:
            one.share(page, slot_of)
    return {site: one.found() for site, one in counters.items()}


def without_counters(seen: Seen, counters: dict[str, set[str]]) -> Seen:
    """Return a visit as that of a page that has not changed if it differs in counters only."""
    visit = seen.visit
    if visit.cause != BY_PAGE or not visit.numbered:
        return seen
    if not are_counters(visit.numbered, counters.get(visit.site, set())):
        return seen
    if visit.is_recut:
        return replace(seen, visit=replace(visit, cause=BY_MODEL))
    change = UNCHANGED if visit.change == CHANGED else visit.change
    return replace(seen, visit=replace(visit, change=change, cause="", ratio=0.0))
