"""How a crawl ended: its exit code, and whether its output may replace an earlier one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from contentspider.site.own.quality import difference

# Scrapy's word for a crawl that is done, and ours for one with unread pages or held items left.
FINISHED = "finished"
INCOMPLETE = "incomplete"
OUTAGE = "outage"  # only pages of hosts that were down for too long are left
OUT_OF_MEMORY = "out_of_memory"  # the process' own limit of memory leaves it none
SHUTDOWN, MAX_PAGES, LIMIT_PREFIX = "shutdown", "max_pages", "closespider_"  # the user's ends
LIMITS = (MAX_PAGES, *(LIMIT_PREFIX + what for what in ("timeout", "itemcount", "pagecount")))
MAX_LOST_SHARE = 0.1  # at most, for an output to be replaced: some sites always lose a page
STATS_PREFIX = "contentspider/ledger/"
COUNTS = ("items", "queued", "unread", "held", "unchanged")


class Outcome(IntEnum):
    """How a crawl came out; the value is the exit code (2 is argparse's, for a wrong option)."""

    COMPLETE = 0
    ERROR = 1
    NOTHING_READ = 3
    INCOMPLETE = 4
    INTERRUPTED = 5
    MONITOR_FAILED = 6
    OUT_OF_MEMORY = 7
    GONE_DOUBTED = 8
    INDEX_BEHIND = 9


MEANINGS = {
    Outcome.COMPLETE: "complete: every page that was found was read, up to the limits you set",
    Outcome.ERROR: "error: bad usage, or output or ledger could not be written",
    Outcome.NOTHING_READ: "nothing read: no page could be read, or none may be",
    Outcome.INCOMPLETE: (
        "incomplete: pages or items were lost to failures that may pass, or a site could not be"
        " learned; --resume tries again"
    ),
    Outcome.INTERRUPTED: "interrupted: stopped from outside; --resume goes on",
    Outcome.MONITOR_FAILED: "monitor failed: the crawl is complete, and a monitor is not content",
    Outcome.OUT_OF_MEMORY: "out of memory: give the process more; --resume goes on",
    Outcome.GONE_DOUBTED: (
        "gone doubted: the crawl is complete, but so many known pages would be gone that none is"
        " taken to be; contentspider changes --accept-gone does"
    ),
    Outcome.INDEX_BEHIND: (
        "index behind: the crawl is complete, but a search index was not brought up to date, or may"
        " have documents that are old; the log says what to do"
    ),
}
# Why a page was not read where the next attempt may: the network, and RETRY_HTTP_CODES.
RETRIED = (408, 429, 500, 502, 503, 504, 522, 524)
TRANSIENT = ("timeout", "unreachable", "broken", "cut_short", *map("status_{}".format, RETRIED))
# Stats of each site's quality: its F1, and on how many pages that was measured (0: predicted); and
# how many pages it was learned from.
F1_STAT, PAGES_STAT = "contentspider/quality/f1/", "contentspider/quality/pages/"
LEARNED_STAT = "contentspider/quality/learned/"
# Before a site, a slash, and the slot where pages of a doubtful template have most of their text:
# how many pages, and the share that the site drops of what each of them alone would keep.
DOUBTFUL_STAT, LOST_STAT = "contentspider/quality/doubtful/", "contentspider/quality/lost/"
# Before the slot where pages that lost all of their text have most of it.
EMPTY_SLOTS = "contentspider/slots/empty/"
# Before the host that asks for more seconds between requests than the crawl's settings allow.
CAPPED_STAT = "contentspider/robots/delay_capped/"


@dataclass(frozen=True, slots=True)
class Ending:
    """Scrapy's *reason* for a crawl's end, and numbers of items and addresses that are left."""

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
        """Tell whether the crawl came to its end, or to a limit that its user set."""
        return self.reason in (FINISHED, OUTAGE, MAX_PAGES) or self._is_limited

    @property
    def _is_limited(self) -> bool:
        return self.reason.startswith(LIMIT_PREFIX)

    def may_replace(self, is_there: bool) -> bool:
        """Tell whether items may become an output, in place of one that *is_there*, perhaps."""
        read = self.items + self.unchanged
        if not read:
            return False
        if not is_there or self.reason in (SHUTDOWN, MAX_PAGES) or self._is_limited:
            return True
        lost = self.queued + self.unread + self.held
        return self.reason in (FINISHED, OUTAGE) and lost <= MAX_LOST_SHARE * read


@dataclass(frozen=True, slots=True)
class DoubtfulTemplate:
    """A template of a *site* that is doubtful: so many *pages* of those that the site was learned
    from have most of their text at a *slot*, and the site drops the share *lost* of what each of
    them, judged alone, would keep.
    """

    site: str
    slot: str
    pages: int
    lost: float

    def __str__(self) -> str:
        where = f"{self.pages:,} pages of {self.site} with most text at {self.slot}"
        return f"{where}; {difference(self.lost)}"


def doubtful_templates(stats: Mapping[str, Any]) -> list[DoubtfulTemplate]:
    """Return the doubtful templates of a crawl's sites, those with most pages first."""
    found = []
    for name, pages in stats.items():
        if name.startswith(DOUBTFUL_STAT) and pages:
            place = name.removeprefix(DOUBTFUL_STAT)
            site, _, slot = place.partition("/")
            found.append(DoubtfulTemplate(site, slot, pages, stats.get(LOST_STAT + place, 0.0)))
    return sorted(found, key=lambda template: (-template.pages, template.site, template.slot))


@dataclass(frozen=True, slots=True)
class Left:
    """What a crawl's ledger has left at its end: addresses in the queue, and held items."""

    queued: int = 0
    held: int = 0


def decide(stats: Mapping[str, Any], left: Left) -> tuple[Outcome, list[str]]:
    """Return how a crawl came out by Scrapy's *stats* and by what is *left*, and why, in words."""
    reason = stats.get("finish_reason")
    if reasons := _errors(stats):
        return Outcome.OUT_OF_MEMORY if reason == OUT_OF_MEMORY else Outcome.ERROR, reasons
    if reason in (SHUTDOWN, None):  # at a second signal there is no time for a reason
        return Outcome.INTERRUPTED, [
            f"{left.queued} addresses in the queue, {left.held} items held"
        ]
    is_resumed = stats.get("contentspider/ledger/resumed")
    read = stats.get("item_scraped_count") or stats.get("contentspider/items/unchanged")
    if not read and not is_resumed and not left.held:
        return Outcome.NOTHING_READ, ["no page was read"]
    if reasons := _lost(stats, left):
        return Outcome.INCOMPLETE, reasons
    if doubted := stats.get("contentspider/history/doubted"):
        return Outcome.GONE_DOUBTED, [
            f"{doubted:,} known pages would be gone, too many at once (changes --accept-gone)"
        ]
    if behind := _behind(stats):
        return Outcome.INDEX_BEHIND, behind
    if failed := stats.get("contentspider/monitors/failed"):
        return Outcome.MONITOR_FAILED, [f"{failed} monitors failed"]
    return Outcome.COMPLETE, []


def _behind(stats: Mapping[str, Any]) -> list[str]:
    """Return why search indexes are not what the history is."""
    found = {
        "search indexes were not brought up to date": stats.get("contentspider/index/failed", 0),
        "documents in search indexes may be old": stats.get("contentspider/index/kept", 0),
    }
    return [f"{count:,} {what}" for what, count in found.items() if count]


def _errors(stats: Mapping[str, Any]) -> list[str]:
    reasons = []
    if any(name.startswith("feedexport/failed_count") for name in stats):
        reasons.append("the items could not be written; the log above says why")
    if stats.get("contentspider/ledger/failed"):
        reasons.append(str(stats["contentspider/ledger/failed"]))
    return reasons


# What makes a crawl incomplete, by the stat that counts it.
LOSSES = {
    "contentspider/sites/failed": "sites were not learned, and their items not filtered",
    "contentspider/overrides/broken": "sites' corrections (overrides.toml) could not be used",
    "contentspider/remote/unsent": (
        "models or histories could not be brought into their store, and are kept here"
    ),
    "spider_exceptions/count": "pages broke the spider",
    "contentspider/items/lost": "items were lost to errors",
    "contentspider/frontier/left": "frontier has addresses, or items, that others left",
    "contentspider/hosts/down": "hosts did not answer for longer than the crawl waits",
}


def _lost(stats: Mapping[str, Any], left: Left) -> list[str]:
    # The ledger knows what was read when it was asked again.
    failed = sum(stats.get(f"contentspider/pages/unread/{kind}", 0) for kind in TRANSIENT)
    unread = stats.get("contentspider/ledger/unread", failed)
    reason = stats.get("finish_reason")
    found = [
        (unread, "pages could not be read for reasons that may pass"),
        *((stats.get(name, 0), what) for name, what in LOSSES.items()),
        (left.queued if reason not in LIMITS else 0, "addresses are in the queue"),
        (left.held, "items are held"),
    ]
    reasons = [f"{count:,} {what}" for count, what in found if count]
    if reason not in (FINISHED, OUTAGE, *LIMITS):
        reasons.append(f"Scrapy ended it ({reason})")
    return reasons
