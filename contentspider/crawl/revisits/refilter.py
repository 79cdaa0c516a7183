"""Filters pages by the models that a crawl has learned."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import ContentSpiderError
from contentspider.recrawl.changes import LIVE
from contentspider.site.models.identity import UNFILTERED, content_hash
from contentspider.site.models.record import content_of, own_values, page_fields
from contentspider.state.book.reading import Reading, doubts_of

if TYPE_CHECKING:
    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.crawl.learning.models import SiteState
    from contentspider.page.input.page import Page
    from contentspider.site.models.failures import Failures
    from contentspider.site.models.record import Extraction
    from contentspider.state.book.book import Book
    from contentspider.state.book.pages import PageVersion

logger = logging.getLogger(__name__)


class _Keeping:
    """Notes an error of one page in the block, and suppresses it: the page must not cost the
    result of all others. Errors of the machine stop the crawl.
    """

    def __init__(self, url: str, failures: Failures) -> None:
        self._url, self._failures = url, failures

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, (ContentSpiderError, OSError, MemoryError)):
            return False
        if isinstance(error, Exception):
            self._failures.note_page(self._url, error, "the book keeps the page as it was")
        return isinstance(error, Exception)


class Refilter:
    """Filters pages of a crawl and of its *book* by the current models of their sites. A page that
    breaks our code stays as it was, and is noted in *failures*.
    """

    def __init__(
        self,
        book: Book,
        states: Mapping[str, SiteState],
        options: CrawlOptions,
        failures: Failures,
    ) -> None:
        self._book = book
        self._failures = failures
        self._states = states
        self._keep_teasers = options.keep_teasers
        self._optional_fields = options.optional_fields

    def keeping(self, url: str) -> _Keeping:
        """Return a context that notes an error of the page at *url*, and suppresses it."""
        return _Keeping(url, self._failures)

    def fields(self, state: SiteState, page: Page) -> dict[str, Any]:
        """Return the item fields of a page under the current model of its site, without the fields
        that cannot be made.
        """
        return self._fields(state, page, state.extract(page, self._keep_teasers))

    def own_values(self, state: SiteState, page: Page) -> dict[str, Any]:
        """Return the values of the user's own fields of a page under the current model."""
        return dict(own_values(page, state.extract(page, self._keep_teasers)))

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

    def content(self, page: Page, site: str) -> str:
        """Return a page's main content, "" before the first item of its site."""
        state = self._states.get(site)
        if state is None:
            return ""
        return content_of(page, state.extract(page, self._keep_teasers))

    def slot_of(self, site: str, path: str) -> str:
        """Return the slot of a tag path on a site."""
        state = self._states.get(site)
        return path if state is None or state.model is None else state.model.slot_of(path)

    def previous_page(self, version: PageVersion) -> Page | None:
        """Return the page of the visit before, even at another address; None if it is new."""
        previous_id, _ = self._book.changes.of_visit(version.record)
        known = self._book.known.page(previous_id or version.id)
        return self._book.known.stored(known.id) if known and known.state == LIVE else None

    def is_outdated(self, site: str, model: str) -> bool:
        """Tell whether a page of a site was filtered by another model than the current one."""
        state = self._states.get(site)
        return (
            state is not None
            and state.model is not None
            and model not in (state.version, UNFILTERED)
        )

    def renewed(self, state: SiteState, page: Page, data: bytes) -> bytes:
        """Return the reading of a page whose content stays the same under the current model."""
        reading, extraction = Reading.load(data), state.extract(page, self._keep_teasers)
        if reading is None or extraction is None:
            return b""
        doubts = doubts_of(extraction)
        return replace(reading, key=state.reading_key, doubts=doubts).dump()

    def new_fields(
        self, state: SiteState, page: Page, old_content_hash: str
    ) -> dict[str, Any] | None:
        """Return the item fields of a page under the current model; None if the content of the
        page stays the same.
        """
        extraction = state.extract(page, self._keep_teasers)
        if content_hash(content_of(page, extraction)) == old_content_hash:
            return None
        return self._fields(state, page, extraction)
