"""Copies of pages: the address that was known stays the page, whichever comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.recrawl.changes import LIVE
from contentspider.recrawl.counters import numbered_places
from contentspider.recrawl.difference import text_hash
from contentspider.site.models.record import page_id

if TYPE_CHECKING:
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.page.input.page import Page
    from contentspider.state.history.history import History
    from contentspider.state.history.writer import HistoryWriter
    from contentspider.state.ledger.visits import Visits

MIN_TEXT_CHARS = 200  # a shorter text (a menu alone) does not say which page it is


class Originals:
    """Tells which known pages unknown addresses are copies of: one crawl saw one text on both."""

    def __init__(self, visits: Visits, history: History, refilter: Refilter) -> None:
        self._visits = visits
        self._history = history
        self._refilter = refilter

    def awaited(self, page: Page, url: str, site: str) -> str:
        """Return the id of the known page, not seen yet, of which a page is a copy; or nothing."""
        original = self._of(url, text_hash(page), site)
        return "" if not original or self._visits.has(original) else original

    def copied(self, page: Page, url: str, site: str) -> str:
        """Return the id of the page of this crawl of which a new one is a copy, empty if none."""
        original = self._of(url)
        if not original or not self._visits.has(original):
            return ""
        now = self._refilter.content(page, site)
        if len(now) < MIN_TEXT_CHARS:
            return ""
        whole = self._visits.content(original) or self._history.content(original) or ""
        # Its server may have said that the original has not changed: that has the counters of then.
        return original if whole == now or numbered_places(whole, page, now, str) else ""

    def take(self, takeover: HistoryWriter) -> None:
        """Take over which addresses were copies of which pages in this crawl."""
        for copy, original in self._visits.copies():
            takeover.add_copy(page_id(copy), original)

    def _of(self, url: str, text: str = "", site: str = "") -> str:
        """Return `History.original_of` an address, empty if it is a known page itself."""
        known = self._history.page(page_id(url))
        if known is not None and known.state == LIVE:
            return ""
        return self._history.original_of(page_id(url), text, site)
