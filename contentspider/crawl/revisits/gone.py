"""Which known pages a crawl did not find again; none in doubt is gone, as indexes delete these."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

from contentspider.crawl.base.outcomes import NOT_THERE, OFFSITE, PERMANENT, status_reason
from contentspider.recrawl.changes import MOVED, NEW
from contentspider.site.models.record import page_id
from contentspider.state.crawls.outcome import FINISHED, INCOMPLETE, RETRIED, Ending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.state.history.history import History
    from contentspider.state.history.known import KnownPage
    from contentspider.state.history.takeover import Takeover
    from contentspider.state.ledger.frontier import Address
    from contentspider.state.ledger.ledger import Ledger
    from contentspider.state.ledger.visits import Seen

    # Why the page of an address is none of the crawl's: see `SiteSpider.exclusion`.
    Exclusion: TypeAlias = Callable[[str, bool], str]

logger = logging.getLogger(__name__)

LOST_REASONS = tuple(status_reason(status) for status in NOT_THERE)
MOVE_REASONS = tuple(status_reason(status) for status in PERMANENT)
RETRIED_REASONS = tuple(status_reason(status) for status in RETRIED)
# What was answered in a page's place.
REPLACED = ("soft_404", "login", "duplicate", "not_html", "pdf", "feed", "offsite_redirect")
WITHDRAWN = ("noindex",)  # what the site says itself: the page is not to be kept
MAX_HOPS = 10
FEW = 5  # so few pages may go at once, whatever their share of the site
MAX_GONE_SHARE = 0.3  # if more of the known pages would be gone, none is, without --force
MAX_ERROR_SHARE = 0.05  # a crawl that could not read more of its pages is not complete


def no_exclusion(address: str, is_over: bool) -> str:
    """Exclude no page; see `SiteSpider.exclusion`."""
    return ""


@dataclass(frozen=True, slots=True)
class Move:
    """A known page that is at the address of another one now, and how that was said."""

    known: KnownPage
    id: str
    url: str
    reason: str


class GonePages:
    """Judges the known pages that a crawl, which ended so, did not find again."""

    def __init__(
        self,
        history: History,
        ledger: Ledger,
        options: CrawlOptions,
        ending: Ending,
        exclusion: Exclusion = no_exclusion,
    ) -> None:
        self._ledger = ledger
        self._options = options
        self._live = history.live_count()
        errors = ending.unread / max(ledger.visits.count() + ending.unread, 1)
        # All was seen that there is: what no page links to is missing.
        self.is_complete = (
            ending.reason == FINISHED
            and not options.due
            and not ending.queued
            and not ending.held
            and errors <= MAX_ERROR_SHARE
        )
        self._is_over = ending.word in (FINISHED, INCOMPLETE) or self.is_complete
        self._exclusion_of = exclusion
        self._unseen = list(filter(self._is_unseen, history.live()))
        # By the ids of the pages that they have moved to.
        self._moves: dict[str, list[Move]] = {}
        for known in self._unseen:
            if (move := self._move_of(known)) is not None:
                self._moves.setdefault(move.id, []).append(move)

    def _is_unseen(self, known: KnownPage) -> bool:
        if self._ledger.visits.has(known.id):
            return False
        if self._exclusion_of(known.url, self._is_over):
            return True
        if not self._is_over:
            return False
        # A crawl of pages that are due says nothing of those that it did not ask.
        return not self._options.due or self._ledger.frontier.find(known.url) is not None

    def _move_of(self, known: KnownPage) -> Move | None:
        """Return where a known page has moved, if a page of this crawl is there."""
        target, reason = self._end_of(self._ledger.frontier.find(known.url))
        visits = self._ledger.visits
        if target is None:
            return None
        there = visits.at(target.row) or visits.of(page_id(target.url))
        if there is None and target.canonical:
            there, reason = visits.of(page_id(target.canonical)), "canonical"
        if there is None and target.reason == "duplicate" and target.target:
            # Its text has changed, and a new address of it was read first.
            there, reason = visits.of(page_id(target.target), NEW), target.reason
        return Move(known, *there, reason) if there is not None and there[0] != known.id else None

    def _end_of(self, address: Address | None) -> tuple[Address | None, str]:
        """Return where permanent redirects lead from an address, and the first one's reason."""
        reason = address.reason if address is not None else ""
        for _ in range(MAX_HOPS):
            if address is None or address.state != "redirected":
                return address, reason
            if address.reason not in MOVE_REASONS or not address.target:
                return None, ""
            address = self._ledger.frontier.find(address.target)
        return None, ""

    def as_moved(self, seen: Seen) -> Seen:
        """Return a visit of a new page as that of a known one that redirects there, if one does."""
        if seen.visit.change != NEW or seen.visit.id not in self._moves:
            return seen
        move = self._moves[seen.visit.id].pop(0)
        visit = replace(
            seen.visit,
            change=MOVED,
            first_seen=move.known.first_seen,
            previous_id=move.known.id,
            previous_hash=move.known.content_hash,
            reason=move.reason,
        )
        return replace(seen, visit=visit)

    def take(self, takeover: Takeover, arrived: set[str]) -> dict[str, int]:
        """Record what is gone or moved, but for what *arrived* elsewhere; return the numbers."""
        counts = {"gone": 0, "moved": 0, "kept": 0, "doubted": 0}
        for move in chain.from_iterable(self._moves.values()):
            if move.known.id not in arrived:
                takeover.move(move.known, move.id, move.url, move.reason)
                arrived.add(move.known.id)
                counts["moved"] += 1
        left = [known for known in self._unseen if known.id not in arrived]
        lost = [(known, reason) for known in left if (reason := self._lost(known))]
        counts["kept"] = len(left) - len(lost)
        if not self._options.force and len(lost) > max(FEW, MAX_GONE_SHARE * self._live):
            logger.error(
                f"{len(lost)} of the {self._live} known pages would be gone (a larger share than"
                f" {MAX_GONE_SHARE:g}): none is taken to be. If the site has lost them, say"
                f" 'contentspider changes --accept-gone', or crawl with --force. Such as"
                f" {lost[0][0].url} ({lost[0][1]})"
            )
            for known, reason in lost:
                takeover.doubt(known, reason)
            counts["doubted"], lost = len(lost), []
        for known, reason in lost:
            takeover.mark_gone(known, reason)
            counts["gone"] += 1
        if self.is_complete:
            self._count_missing(takeover, left)
        return counts

    def _count_missing(self, takeover: Takeover, left: Sequence[KnownPage]) -> None:
        """Count in the history how often each page was missing: no page links to it any more,
        whether it still answers, or the server answers something else in its place.
        """
        for page in self._ledger.visits.orphans():
            takeover.count_missing(page)
        for known in left:
            address = self._ledger.frontier.find(known.url)
            if address is None:
                continue
            if not self._ledger.visits.answer_of(address.row).is_orphan:
                takeover.count_found(known.id)
            elif _is_answered(address):
                takeover.count_missing(known.id)

    def _lost(self, known: KnownPage) -> str:
        """Return why a page is gone; empty if it may not be."""
        if reason := self._exclusion_of(known.url, self._is_over):
            return reason
        address = self._ledger.frontier.find(known.url)
        if address is None:
            # It was not asked for: see `Revisits.unseen`.
            limit = self._options.missing_crawls
            is_lost = self.is_complete and 0 < limit <= known.missing + 1
            return f"no page linked to it in {known.missing + 1} crawls" if is_lost else ""
        target, how = self._end_of(address)
        if target is None or target.is_open:
            return ""
        if target.state == "failed" and target.reason in LOST_REASONS:
            return target.reason
        if target.state == "skipped" and target.reason in WITHDRAWN:
            return target.reason
        if target.state == "skipped" and how in MOVE_REASONS and target.reason.startswith(OFFSITE):
            return f"{how} to {target.url}"
        return ""


def _is_answered(address: Address) -> bool:
    """Tell whether the server answered for an address with something other than its page."""
    if address.is_open:
        return False
    if address.state == "failed":
        return address.reason.startswith("HTTP 4") and address.reason not in RETRIED_REASONS
    return address.state == "redirected" or address.reason in REPLACED
