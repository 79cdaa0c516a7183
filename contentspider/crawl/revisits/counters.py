"""What a crawl says of counters in the main content: a page where only these differ is
unchanged.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from contentspider.recrawl.changes import BY_MODEL, BY_PAGE, CHANGED, UNCHANGED
from contentspider.recrawl.counters import Counters, are_counters

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from contentspider.page.input.page import Page
    from contentspider.state.ledger.ledger import Ledger
    from contentspider.state.ledger.visits import Seen


def find_counters(
    ledger: Ledger,
    distrusted: Collection[str],
    page_of: Callable[[Seen], Page | None],
    before_of: Callable[[Seen], Page | None],
    slot_of: Callable[[str, str], str],
) -> dict[str, set[str]]:
    """Return the places of counters by site, as the visits of a crawl show them.

    Of the *distrusted* sites it is not believed that a page has not changed. *page_of* gives the
    page of a visit, *before_of* that of the visit before, *slot_of* the slot of a path on a site.
    """
    changed: dict[str, list[tuple[str, ...]]] = {}
    same: dict[str, list[tuple[str, ...]]] = {}
    for site, places, is_check in ledger.visits.numbered():
        changed.setdefault(site, []).append(places)
        if is_check and site not in distrusted:
            same.setdefault(site, []).append(places)
    counters = {site: Counters(places, same.get(site, ())) for site, places in changed.items()}
    if not counters:
        return {}
    for seen in ledger.visits.after(0):
        site = seen.visit.site
        if site not in counters:
            continue
        one, slots = counters[site], partial(slot_of, site)
        # Of a page that was not sent nobody knows what its counters are; what is new has none that
        # could be compared.
        before = None if seen.answer.is_unsent else before_of(seen)
        page = page_of(seen) if before is not None or one.needs_more else None
        if page is None:
            continue
        if before is not None:
            one.add(page, before, slots)
        if one.needs_more:
            one.share(page, slots)
    return {site: one.found() for site, one in counters.items()}


def without_counters(seen: Seen, counters: dict[str, set[str]]) -> Seen:
    """Return a visit as that of a page that has not changed if it differs in counters only."""
    visit = seen.visit
    if visit.cause != BY_PAGE or not visit.numbered:
        return seen
    if not are_counters(visit.numbered, counters.get(visit.site, set())):
        return seen
    if visit.is_recut:
        visit = replace(visit, cause=BY_MODEL)
    else:
        change = UNCHANGED if visit.change == CHANGED else visit.change
        visit = replace(visit, change=change, cause="", ratio=0.0)
    return replace(seen, visit=visit)
