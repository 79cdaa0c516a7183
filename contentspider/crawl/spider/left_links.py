"""Links that a crawl does not follow because of its options or of an extra that is missing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.datatypes import LocalCache

from contentspider.state.outcome import DOCUMENTS_LEFT_STAT, IMPOSSIBLE_STAT, ROUTES_LEFT_STAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy.statscollectors import StatsCollector

logger = logging.getLogger(__name__)

MAX_KNOWN = 50_000
# The log message of each stat, with a place for the first address.
MESSAGES = {
    DOCUMENTS_LEFT_STAT: (
        "links to documents such as %s are not followed: pip install"
        " 'contentspider[documents]' reads PDF and office files"
    ),
    IMPOSSIBLE_STAT: "links such as %s are not followed: they name no host that can exist",
    ROUTES_LEFT_STAT: (
        "links to routes of scripts such as %s are not followed, because their page was not"
        " rendered: crawl with --render auto, or with --render always if that does not follow"
        " them (CONTENTSPIDER_RENDER)"
    ),
}


class LeftLinks:
    """Counts the addresses that pages link to and that the crawl does not request, in *stat*. Logs
    the first one.
    """

    def __init__(self, stats: StatsCollector, stat: str) -> None:
        self._stats = stats
        self._stat = stat
        self._known: LocalCache[str, None] = LocalCache(MAX_KNOWN)

    def note(self, addresses: Iterable[str], is_in_scope: Callable[[str], bool]) -> None:
        """Count each of the *addresses* once, if it is in the scope of the crawl."""
        for address in addresses:
            if address in self._known or not is_in_scope(address):
                continue
            if not self._known:
                logger.info(MESSAGES[self._stat], address)
            self._known[address] = None
            self._stats.inc_value(self._stat)
