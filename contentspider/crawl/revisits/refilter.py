"""Filters the visited and the known pages of a crawl again, by the models that it has learned."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.recrawl.changes import REFILTERED
from contentspider.recrawl.difference import change_ratio
from contentspider.site.models.record import (
    UNFILTERED,
    content_hash,
    content_of,
    own_values,
    page_fields,
    refilled,
)

if TYPE_CHECKING:
    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.learning.models import SiteState
    from contentspider.recrawl.judge import Change
    from contentspider.site.models.failures import Failures
    from contentspider.site.models.record import Extraction
    from contentspider.state.history.history import History
    from contentspider.state.history.page_records import PageRecord
    from contentspider.state.history.writer import HistoryWriter
    from contentspider.state.ledger.visits import StoredVisit, Visit

logger = logging.getLogger(__name__)


class _Keeping:
    """Notes an error of one page in the block, and suppresses it: the page must not cost the
    history of all others. Errors of the machine stop the crawl.
    """

    def __init__(self, url: str, failures: Failures) -> None:
        self._url, self._failures = url, failures

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, (ContentSpiderError, OSError, MemoryError)):
            return False
        if isinstance(error, Exception):
            self._failures.note_page(self._url, error, "the history keeps the page as it was")
        return isinstance(error, Exception)


class Refilter:
    """Filters pages of a crawl and of its *history* by the current models of their sites. A page
    that breaks our code stays as it was, and is noted in *failures*.
    """

    def __init__(
        self,
        history: History,
        states: Mapping[str, SiteState],
        options: CrawlOptions,
        failures: Failures,
    ) -> None:
        self._history = history
        self._failures = failures
        self._states = states
        self._options, self._optional_fields = options, options.optional_fields

    def keeping(self, url: str) -> _Keeping:
        """Return a context that notes an error of the page at *url*, and suppresses it."""
        return _Keeping(url, self._failures)

    def fields(self, state: SiteState, page: Page) -> dict[str, Any]:
        """Return the item fields of a page under the current model of its site, without the fields
        that cannot be made.
        """
        return self._fields(state, page, self._extract(state, page))

    def own_values(self, state: SiteState, page: Page) -> dict[str, Any]:
        """Return the values of the user's own fields of a page under the current model."""
        return dict(own_values(page, self._extract(state, page)))

    def _fields(
        self, state: SiteState, page: Page, extraction: Extraction | None
    ) -> dict[str, Any]:
        failed: list[str] = []

        def note(name: str, page: Page, error: Exception) -> None:
            failed.append(name)
            self._failures.note_field(name, page, error)

        fields = page_fields(
            page, state.key, extraction, state.version, self._optional_fields, report=note
        )
        return {name: value for name, value in fields.items() if name not in failed}

    def _extract(self, state: SiteState, page: Page) -> Extraction | None:
        if state.model is None:
            return None
        return state.model.extract(page, self._options.learning.keep_teasers)

    def content(self, page: Page, site: str) -> str:
        """Return a page's main content, "" before the first item of its site."""
        state = self._states.get(site)
        return content_of(page, self._extract(state, page)) if state is not None else ""

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

    def previous_page(self, visit: Visit) -> Page | None:
        """Return the page of the previous visit, even at another address; None if it is new."""
        if visit.facts.is_new:
            return None
        return self._history.stored(visit.previous_id or visit.id)

    def is_outdated(self, site: str, model: str) -> bool:
        """Tell whether a page of a site was filtered by another model than the current one."""
        state = self._states.get(site)
        return (
            state is not None
            and state.model is not None
            and model not in (state.version, UNFILTERED)
        )

    def new_fields(
        self, state: SiteState, page: Page, old_content_hash: str
    ) -> dict[str, Any] | None:
        """Return the item fields of a page under the current model; None if the content of the
        page stays the same.
        """
        extraction = self._extract(state, page)
        if content_hash(content_of(page, extraction)) == old_content_hash:
            return None
        return self._fields(state, page, extraction)

    def refilled(
        self, record: StoredVisit, item: dict[str, Any] | None, change: Change
    ) -> dict[str, Any] | None:
        """Return the *item* of a visited page with its *change* and the fields of the current
        model; None if the page or the model is missing, or the page breaks our code.
        """
        state, page = self._states.get(record.visit.site), self.page(record)
        if state is None or page is None or item is None:
            return None
        with self.keeping(record.visit.url):
            fields = self.fields(state, page)
            fields |= {"change": change.change, "change_ratio": change.ratio}
            return refilled(item, fields)
        return None

    def filter_unvisited(
        self, takeover: HistoryWriter, is_visited: Callable[[str], bool]
    ) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Filter the known pages that this run has not visited by the current models. Yield the id
        of each, and its item fields if it has another content now. *is_visited* takes an id.
        """
        for state in self._states.values():
            if state.model is None or not state.is_stored:
                continue  # the next crawl will not have this model
            for known_page in list(self._history.live(state.key, state.version)):
                if known_page.model == UNFILTERED or is_visited(known_page.id):
                    continue
                if takeover.is_live(known_page.id):
                    fields = None
                    with self.keeping(known_page.url):
                        fields = self._filter_known(takeover, state, known_page)
                    yield known_page.id, fields

    def _filter_known(
        self, takeover: HistoryWriter, state: SiteState, known_page: PageRecord
    ) -> dict[str, Any] | None:
        """Filter a known page by the current model; return its fields if its content changes."""
        page = self._history.stored(known_page.id)
        if page is None:
            return None
        fields = self.new_fields(state, page, known_page.content_hash)
        if fields is None:
            takeover.note_model(known_page, state.version)
            return None
        ratio = change_ratio(self._history.content(known_page.id) or "", fields["content"])
        takeover.refilter(known_page, state.version, fields, ratio)
        return fields | {"change": REFILTERED, "change_ratio": ratio}
