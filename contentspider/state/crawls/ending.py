"""How a crawl ended, and whether its output may replace an earlier one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Scrapy's word for a crawl that is done, and ours for one with unread pages or held items left.
FINISHED = "finished"
INCOMPLETE = "incomplete"
# Only pages of hosts that were down for longer than CONTENTSPIDER_OUTAGE_SECS are left.
OUTAGE = "outage"
# Ends that the user asked for.
ASKED_FOR = ("shutdown", "max_pages")
LIMIT_PREFIX = "closespider_"
# An output is replaced if the crawl lost at most this share of its pages: some sites always have a
# page that cannot be read.
MAX_LOST_SHARE = 0.1
STATS_PREFIX = "contentspider/ledger/"
COUNTS = ("items", "queued", "unread", "held", "unchanged")


@dataclass(frozen=True, slots=True)
class Ending:
    """Scrapy's *reason* for the end of a crawl, and what its ledger has: *items* that are out, and
    how many addresses are *queued* or could not be read (*unread*), how many items are *held*, or
    were dropped since their pages are *unchanged*.
    """

    reason: str
    items: int
    queued: int = 0
    unread: int = 0
    held: int = 0
    unchanged: int = 0

    @classmethod
    def from_stats(cls, stats: Mapping[str, Any]) -> Ending:
        """Return the end of the crawl that Scrapy's *stats* are of."""
        counts = {name: int(stats.get(STATS_PREFIX + name, 0)) for name in COUNTS}
        return cls(str(stats.get("finish_reason") or ""), **counts)

    def stats(self) -> dict[str, int]:
        """Return what `from_stats` reads, without the reason."""
        return {STATS_PREFIX + name: getattr(self, name) for name in COUNTS}

    @property
    def word(self) -> str:
        """Return the name of the run's end in the ledger; `FINISHED` if nothing is left."""
        is_left = self.queued or self.unread or self.held
        return INCOMPLETE if self.reason == FINISHED and is_left else self.reason

    @property
    def is_end(self) -> bool:
        """Tell whether the crawl came to its end or to a limit that its user set, without an
        interruption or an error.
        """
        return self.reason in (FINISHED, OUTAGE, "max_pages") or self.reason.startswith(
            LIMIT_PREFIX
        )

    def may_replace(self, is_there: bool) -> bool:
        """Tell whether the crawl's items may become an output; *is_there*: it replaces an earlier
        one.

        An earlier output is replaced by a crawl that came to its end and lost few pages, or that
        its user limited or interrupted: never by a crawl of a site that was down.
        """
        read = self.items + self.unchanged
        if not read:
            return False
        if not is_there or self.reason in ASKED_FOR or self.reason.startswith(LIMIT_PREFIX):
            return True
        lost = self.queued + self.unread + self.held
        return self.reason in (FINISHED, OUTAGE) and lost <= MAX_LOST_SHARE * read
