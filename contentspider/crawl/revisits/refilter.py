"""Filters the visited and the known pages of a crawl again, by the models that it has learned."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.recrawl.changes import CHANGED, NEW, UNCHANGED
from contentspider.recrawl.counters import numbered_places
from contentspider.recrawl.difference import change_ratio
from contentspider.recrawl.judge import judge, refiltered
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
    from contentspider.recrawl.judge import Facts
    from contentspider.site.models.record import Extraction
    from contentspider.state.history.history import History
    from contentspider.state.history.page_records import PageRecord
    from contentspider.state.history.writer import HistoryWriter
    from contentspider.state.ledger.visits import StoredVisit, Visit

logger = logging.getLogger(__name__)


class Refilter:
    """Filters pages of a crawl and of its *history* by the current models of their sites."""

    def __init__(
        self, history: History, states: Mapping[str, SiteState], options: CrawlOptions
    ) -> None:
        self._history = history
        self._states = states
        self._options, self._optional_fields = options, options.optional_fields

    def fields(self, state: SiteState, page: Page) -> dict[str, Any]:
        """Return the item fields of a page under the current model of its site."""
        return self._fields(state, page, self._extract(state, page))

    def _fields(
        self, state: SiteState, page: Page, extraction: Extraction | None
    ) -> dict[str, Any]:
        return page_fields(page, state.key, extraction, state.version, self._optional_fields)

    def _extract(self, state: SiteState, page: Page) -> Extraction | None:
        if state.model is None:
            return None
        return state.model.extract(page, self._options.learning.keep_teasers)

    def content(self, page: Page, site: str) -> str:
        """Return a page's main content, "" before the first item of its site."""
        state = self._states.get(site)
        return str(self.fields(state, page)["content"]) if state is not None else ""

    def slot_of(self, site: str, path: str) -> str:
        """Return the slot of a tag path on a site."""
        state = self._states.get(site)
        return path if state is None or state.model is None else state.model.slot_of(path)

    def page(self, record: StoredVisit) -> Page | None:
        """Return the page of a visit; None if it is damaged or not stored."""
        try:
            return Page.load(record.page) if record.page else self._history.stored(record.visit.id)
        except ContentSpiderError as error:
            logger.warning("%s: %s", record.visit.url, error)
            return None

    def previous_page(self, record: StoredVisit) -> Page | None:
        """Return the page of the previous visit, even at another address; None if it is new."""
        if record.visit.change == NEW:
            return None
        return self._history.stored(record.visit.previous_id or record.visit.id)

    def visit(self, record: StoredVisit) -> StoredVisit:
        """Return a visit with the content that the current model gives, and with the change that
        this content shows. A visit that this model has filtered already is returned as it is.
        """
        visit = record.visit
        state = self._states.get(visit.site)
        if state is None or state.model is None or visit.model in (state.version, UNFILTERED):
            return record
        page = self.page(record)
        if page is None:
            return record
        extraction = self._extract(state, page)
        new_hash = content_hash(content_of(page, extraction))
        if new_hash == visit.content_hash:
            return replace(record, visit=replace(visit, model=state.version))
        fields = self._fields(state, page, extraction)
        facts = self._facts(visit, state, page, new_hash, fields["content"])
        change = judge(facts)
        visit = replace(visit, content_hash=new_hash, model=state.version)
        visit = visit.with_facts(facts).with_change(change)
        item = refilled(record.item, fields) if record.item is not None else None
        if item is not None and "change" in item:
            item |= {"change": change.change, "change_ratio": change.ratio}
        return replace(record, visit=visit, content=fields["content"], item=item)

    def _facts(
        self, visit: Visit, state: SiteState, page: Page, new_hash: str, content: str
    ) -> Facts:
        """Return the facts about a visited page with the *content* that the current model gives."""
        is_same = new_hash == visit.previous_hash
        ratio = 0.0
        if not is_same and visit.change in (CHANGED, UNCHANGED):
            ratio = change_ratio(self._history.content(visit.id) or "", content)
        places = self._numbered_places(visit, state, page, content) if visit.numbered else ()
        return refiltered(visit.facts, is_same, ratio, places)

    def _numbered_places(
        self, visit: Visit, state: SiteState, page: Page, content: str
    ) -> tuple[str, ...]:
        """Return the places where only numbers differ, with both versions of a page filtered by
        the current model. The earlier model's places do not apply to this content.
        """
        previous_page = self._history.stored(visit.previous_id or visit.id)
        if previous_page is None or state.model is None:
            return ()
        previous_content = self.fields(state, previous_page)["content"]
        return numbered_places(previous_content, page, content, state.model.slot_of)

    def refilled(self, record: StoredVisit, item: dict[str, Any] | None) -> dict[str, Any] | None:
        """Return the *item* of a visited page with the fields of the current model; None if the
        page or the model is missing.
        """
        state, page = self._states.get(record.visit.site), self.page(record)
        if state is None or page is None or item is None:
            return None
        change = {"change": record.visit.change, "change_ratio": record.visit.ratio}
        return refilled(item, self.fields(state, page) | change)

    def filter_unvisited(
        self, takeover: HistoryWriter, is_visited: Callable[[str], bool]
    ) -> Iterator[bool]:
        """Filter the known pages that this crawl has not visited by the current models. Yield for
        each whether it has another content now. *is_visited* takes the id of a page.
        """
        for state in self._states.values():
            if state.model is None or not state.is_stored:
                continue  # the next crawl will not have this model
            for known_page in list(self._history.live(state.key, state.version)):
                if known_page.model == UNFILTERED or is_visited(known_page.id):
                    continue
                if takeover.is_live(known_page.id):
                    yield self._filter_known(takeover, state, known_page)

    def _filter_known(
        self, takeover: HistoryWriter, state: SiteState, known_page: PageRecord
    ) -> bool:
        """Filter a known page by the current model; return whether its content changes."""
        page = self._history.stored(known_page.id)
        if page is None:
            return False
        extraction = self._extract(state, page)
        if content_hash(content_of(page, extraction)) == known_page.content_hash:
            takeover.note_model(known_page, state.version)
            return False
        fields = self._fields(state, page, extraction)
        ratio = change_ratio(self._history.content(known_page.id) or "", fields["content"])
        takeover.refilter(known_page, state.version, fields, ratio)
        return True
