"""Pages as the present model filters them, and the counters in them."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.recrawl.changes import BY_MODEL, BY_PAGE, CHANGED, NEW, UNCHANGED
from contentspider.recrawl.counters import Counters, are_counters, numbered_places
from contentspider.recrawl.difference import Difference, change_ratio
from contentspider.recrawl.template import TemplateLines
from contentspider.site.models.record import (
    UNFILTERED,
    content_hash,
    content_of,
    page_fields,
    refilled,
)

if TYPE_CHECKING:
    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.learning.models import SiteState
    from contentspider.site.models.record import Extraction
    from contentspider.state.history.history import History
    from contentspider.state.history.takeover import Takeover
    from contentspider.state.ledger.visits import Seen, Visits

logger = logging.getLogger(__name__)


class Refilter:
    """Filters pages of a crawl and its *history* by the present models of its sites."""

    def __init__(
        self, history: History, states: Mapping[str, SiteState], options: CrawlOptions
    ) -> None:
        self._history = history
        self._states = states
        self._options, self._optional_fields = options, options.optional_fields

    def fields(self, state: SiteState, page: Page) -> dict[str, Any]:
        """Return the fields of a page under the model of its site."""
        return self._fields(state, page, self._extract(state, page))

    def _fields(self, state: SiteState, page: Page, cut: Extraction | None) -> dict[str, Any]:
        return page_fields(page, state.key, cut, state.version, self._optional_fields)

    def _extract(self, state: SiteState, page: Page) -> Extraction | None:
        if state.model is None:
            return None
        return state.model.extract(page, self._options.learning.keep_teasers)

    def content(self, page: Page, site: str) -> str:
        """Return a page's main content, empty if its site has no item yet."""
        state = self._states.get(site)
        return str(self.fields(state, page)["content"]) if state is not None else ""

    def slot_of(self, site: str, path: str) -> str:
        """Return the slot of a path on a site."""
        state = self._states.get(site)
        return path if state is None or state.model is None else state.model.slot_of(path)

    def page(self, seen: Seen) -> Page | None:
        """Return the page of a visit; None if it cannot be read, or is not kept."""
        try:
            return Page.load(seen.page) if seen.page else self._history.stored(seen.visit.id)
        except ContentSpiderError as error:
            logger.warning("%s: %s", seen.visit.url, error)
            return None

    def before(self, seen: Seen) -> Page | None:
        """Return the page of a visit as it was before, wherever that was; None if it is new."""
        if seen.visit.change == NEW:
            return None
        return self._history.stored(seen.visit.previous_id or seen.visit.id)

    def visit(self, seen: Seen) -> Seen:
        """Return a visit as the present model has it, if the page came before it was learned."""
        visit = seen.visit
        state = self._states.get(visit.site)
        if state is None or state.model is None or visit.model in (state.version, UNFILTERED):
            return seen
        page = self.page(seen)
        if page is None:
            return seen
        extraction = self._extract(state, page)
        new_hash = content_hash(content_of(page, extraction))
        if new_hash == visit.content_hash:
            return replace(seen, visit=replace(visit, model=state.version))
        found = self._fields(state, page, extraction)
        change, cause, ratio = visit.change, visit.cause, visit.ratio
        if change in (CHANGED, UNCHANGED):
            if new_hash == visit.previous_hash:
                change, cause, ratio = UNCHANGED, "", 0.0
            else:
                before = self._history.content(visit.id) or ""
                change, cause = CHANGED, cause or BY_MODEL
                ratio = change_ratio(before, found["content"])
        # What the content differed in as it was cut before says nothing.
        old = self._history.stored(visit.previous_id or visit.id) if visit.numbered else None
        places: tuple[str, ...] = ()
        if old is not None:
            was = self.fields(state, old)["content"]
            places = numbered_places(was, page, found["content"], state.model.slot_of)
        differs = asdict(Difference(change, cause, ratio, places, bool(places), visit.lines))
        visit = replace(visit, content_hash=new_hash, model=state.version, **differs)
        item = refilled(seen.item, found) if seen.item is not None else None
        if item is not None and "change" in item:
            item |= {"change": change, "change_ratio": ratio}
        return replace(seen, visit=visit, content=found["content"], item=item)

    def refilled(self, seen: Seen, item: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the *item* of a visited page as the present model fills it, None if it cannot."""
        state, page = self._states.get(seen.visit.site), self.page(seen)
        if state is None or page is None or item is None:
            return None
        said = {"change": seen.visit.change, "change_ratio": seen.visit.ratio}
        return refilled(item, self.fields(state, page) | said)

    def filter_unvisited(self, takeover: Takeover, is_visited: Callable[[str], bool]) -> int:
        """Filter the live pages that were not visited (by id); return how many differ."""
        count = 0
        for state in self._states.values():
            if state.model is None or not state.is_stored:  # the next crawl has another model
                continue
            for known in list(self._history.live(state.key, state.version)):
                is_other = known.model != UNFILTERED and not is_visited(known.id)
                page = self._history.stored(known.id) if is_other else None
                if page is None:
                    continue
                extraction = self._extract(state, page)
                if content_hash(content_of(page, extraction)) == known.content_hash:
                    takeover.note_model(known, state.version)
                    continue
                found = self._fields(state, page, extraction)
                before = self._history.content(known.id) or ""
                ratio = change_ratio(before, found["content"])
                takeover.refilter(known, state.version, found, ratio)
                count += 1
        return count


def find_counters(
    visits: Visits, distrusted: Collection[str], refilter: Refilter
) -> dict[str, set[str]]:
    """Return the places of counters by site; *distrusted* sites do not tell what is unchanged."""
    changed: dict[str, list[tuple[str, ...]]] = {}
    same: dict[str, list[tuple[str, ...]]] = {}
    for site, places, _, is_check in visits.differences():
        if not places:
            continue
        changed.setdefault(site, []).append(places)
        if is_check and site not in distrusted:
            same.setdefault(site, []).append(places)
    counters = {site: Counters(places, same.get(site, ())) for site, places in changed.items()}
    for seen in visits.after(0) if counters else ():
        one = counters.get(seen.visit.site)
        if one is None:
            continue
        slot_of = partial(refilter.slot_of, seen.visit.site)
        # Nobody knows what the counters of a page that was not sent are; what is new has none.
        before = None if seen.answer.is_unsent else refilter.before(seen)
        page = refilter.page(seen) if before is not None or one.needs_more else None
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


def find_templates(visits: Visits) -> dict[str, TemplateLines]:
    """Return the lines that the templates of sites brought to pages, or took from them."""
    pages: Counter[str] = Counter()
    changed: dict[str, list[tuple[str, ...]]] = {}
    for site, _, lines, _ in visits.differences():
        pages[site] += 1
        if lines:
            changed.setdefault(site, []).append(lines)
    return {site: TemplateLines(found, pages[site]) for site, found in changed.items()}


def without_template(seen: Seen, templates: Mapping[str, TemplateLines]) -> Seen:
    """Return a visit as that of a page which another model cuts otherwise, if it differs in lines
    of its template only: the page itself has not changed.
    """
    visit, template = seen.visit, templates.get(seen.visit.site)
    if template is None or visit.change != CHANGED or visit.cause != BY_PAGE:
        return seen
    is_template = template.are_all(visit.lines)
    return replace(seen, visit=replace(visit, cause=BY_MODEL)) if is_template else seen
