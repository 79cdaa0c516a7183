"""How a crawl came out, as the exit code of ``contentspider crawl``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from contentspider.state.crawls.ending import FINISHED, OUTAGE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Outcome(IntEnum):
    """How a crawl came out; the value is the exit code (2 is argparse's, for a wrong option)."""

    COMPLETE = 0
    ERROR = 1
    NOTHING_READ = 3
    INCOMPLETE = 4
    INTERRUPTED = 5
    MONITOR_FAILED = 6


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
}
# Why a page was not read, where the next attempt may read it: the network's troubles, and the
# answers that Scrapy asks again after (RETRY_HTTP_CODES).
TRANSIENT = (
    "timeout",
    "unreachable",
    "broken",
    "cut_short",
    *(f"status_{code}" for code in (408, 429, 500, 502, 503, 504, 522, 524)),
)
# Scrapy's words for the ends that the user of a crawl has set.
LIMITS = ("max_pages", "closespider_timeout", "closespider_itemcount", "closespider_pagecount")
# Stats of each site's quality: its F1, and on how many pages that was measured (0: predicted).
F1_STAT, PAGES_STAT = "contentspider/quality/f1/", "contentspider/quality/pages/"
# How a signal ends a crawl; at a second one there is no time for a reason.
SHUTDOWN = ("shutdown", None)


@dataclass(frozen=True, slots=True)
class Left:
    """What a crawl's ledger has left at its end: addresses in the queue, and held items."""

    queued: int = 0
    held: int = 0


def decide(stats: Mapping[str, Any], left: Left) -> tuple[Outcome, list[str]]:
    """Return how a crawl came out by Scrapy's *stats* and by what is *left*, and why, in words."""
    if reasons := _errors(stats):
        return Outcome.ERROR, reasons
    reason = stats.get("finish_reason")
    if reason in SHUTDOWN:
        return Outcome.INTERRUPTED, [
            f"{left.queued} addresses in the queue, {left.held} items held"
        ]
    is_resumed = stats.get("contentspider/ledger/resumed")
    read = stats.get("item_scraped_count") or stats.get("contentspider/items/unchanged")
    if not read and not is_resumed and not left.held:
        return Outcome.NOTHING_READ, ["no page was read"]
    if reasons := _lost(stats, left):
        return Outcome.INCOMPLETE, reasons
    if failed := stats.get("contentspider/monitors/failed"):
        return Outcome.MONITOR_FAILED, [f"{failed} monitors failed"]
    return Outcome.COMPLETE, []


def _errors(stats: Mapping[str, Any]) -> list[str]:
    reasons = []
    if any(name.startswith("feedexport/failed_count") for name in stats):
        reasons.append("the items could not be written; the log above says why")
    if stats.get("contentspider/ledger/failed"):
        reasons.append(str(stats["contentspider/ledger/failed"]))
    return reasons


def _lost(stats: Mapping[str, Any], left: Left) -> list[str]:
    # The ledger knows what was read when it was asked again.
    failed = sum(stats.get(f"contentspider/pages/unread/{kind}", 0) for kind in TRANSIENT)
    unread = stats.get("contentspider/ledger/unread", failed)
    reason = stats.get("finish_reason")
    found = {
        "pages could not be read for reasons that may pass": unread,
        "sites were not learned, and their items not filtered": stats.get(
            "contentspider/sites/failed", 0
        ),
        "sites' corrections (overrides.toml) could not be used": stats.get(
            "contentspider/overrides/broken", 0
        ),
        "models or histories could not be brought into their store, and are kept here": stats.get(
            "contentspider/remote/unsent", 0
        ),
        "pages broke the spider": stats.get("spider_exceptions/count", 0),
        "items were lost to errors": stats.get("contentspider/items/lost", 0),
        "hosts did not answer for longer than the crawl waits": stats.get(
            "contentspider/hosts/down", 0
        ),
        "addresses are in the queue": left.queued if reason not in LIMITS else 0,
        "items are held": left.held,
    }
    reasons = [f"{count:,} {what}" for what, count in found.items() if count]
    if reason not in (FINISHED, OUTAGE, *LIMITS):
        reasons.append(f"Scrapy ended it ({reason})")
    return reasons
