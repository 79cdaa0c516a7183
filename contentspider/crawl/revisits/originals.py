"""Which page an address is a copy of, from crawl to crawl: the one that was known stays the page,
whichever comes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.recrawl.changes import LIVE
from contentspider.recrawl.counters import numbered_places
from contentspider.recrawl.difference import text_hash
from contentspider.site.models.record import page_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.input.page import Page
    from contentspider.state.history.history import History
    from contentspider.state.history.takeover import Takeover
    from contentspider.state.ledger.ledger import Ledger


# A shorter text ("Not found", a menu alone) says nothing of which page it is.
MIN_TEXT_CHARS = 200


class Originals:
    """Tells of addresses that are not known which known pages they are copies of.

    Two pages are copies if a crawl saw one text on both, advertisements and all; they stay copies
    while their main content (*content_of* a page on a site) is one but for counters.
    """

    def __init__(
        self, ledger: Ledger, history: History, content_of: Callable[[Page, str], str]
    ) -> None:
        self._ledger = ledger
        self._history = history
        self._content_of = content_of

    def awaited(self, page: Page, url: str, site: str) -> str:
        """Return the id of the known page, not yet seen in this crawl, that had the text of a page
        which is not known, or of which that was a copy; empty if there is none.
        """
        own = page_id(url)
        if self._is_known(own):
            return ""
        original = self._history.original_of(own, text_hash(page), site)
        return "" if not original or self._ledger.visits.has(original) else original

    def copied(self, page: Page, url: str, site: str) -> str:
        """Return the id of the page of this crawl of which one that is not known is a copy; empty
        if there is none.
        """
        own = page_id(url)
        original = "" if self._is_known(own) else self._history.original_of(own)
        if not original or not self._ledger.visits.has(original):
            return ""
        now = self._content_of(page, site)
        if len(now) < MIN_TEXT_CHARS:
            return ""
        whole = self._ledger.visits.content(original) or self._history.content(original) or ""
        # Its server may have said that the original has not changed: that has the counters of then.
        return original if whole == now or numbered_places(whole, page, now, str) else ""

    def take(self, takeover: Takeover) -> None:
        """Take over which addresses were copies of which pages in this crawl."""
        for copy, original in self._ledger.visits.copies():
            takeover.add_copy(page_id(copy), original)

    def _is_known(self, page_id: str) -> bool:
        known = self._history.page(page_id)
        return known is not None and known.state == LIVE
