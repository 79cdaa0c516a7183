"""Decides which of the known pages that a crawl did not read are gone, moved, or in doubt.

An index deletes the pages that are gone. Therefore pages in doubt do not count as gone.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from contentspider.crawl.base.outcomes import NOT_THERE, OFFSITE, PERMANENT, status_reason
from contentspider.crawl.revisits.moved_hosts import LeftHosts, is_same
from contentspider.ground.addresses import host_of
from contentspider.ground.counts import counted
from contentspider.recrawl.changes import NEW
from contentspider.site.models.identity import is_site_item, page_id
from contentspider.state.book.changes import BY_MOVE
from contentspider.state.outcome import (
    FINISHED,
    INCOMPLETE,
    KNOWN_BROKEN,
    MAX_GONE_SHARE,
    RETRIED,
    Ending,
    is_large_loss,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Sequence
    from typing import TypeAlias

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.state.book.book import Book
    from contentspider.state.book.frontier import Address
    from contentspider.state.book.losses import Losses
    from contentspider.state.book.pages import PageVersion

    # Returns why an address does not belong to the crawl: see `SiteSpider.exclusion`.
    Exclusion: TypeAlias = Callable[[str, bool], str]
    Pause: TypeAlias = Callable[[], Awaitable[None]]
    # A known page that is lost, and the reason.
    Loss: TypeAlias = tuple[PageVersion, str]

logger = logging.getLogger(__name__)

LOST_REASONS = tuple(status_reason(status) for status in NOT_THERE)
MOVE_REASONS = tuple(status_reason(status) for status in PERMANENT)
RETRIED_REASONS = tuple(status_reason(status) for status in RETRIED)
# Reasons for skipping an answer that the server sent instead of the page.
REPLACED = (
    "soft_404",
    "login",
    "blank",
    "duplicate",
    "not_html",
    "pdf",
    "document",
    "feed",
    "offsite_redirect",
)
WITHDRAWN = ("noindex",)  # reasons that mean that the site wants the page to be removed
MAX_HOPS = 10
FRONT_PAGE = re.compile(r"(https?://[^/?#]+)/")
MAX_ERROR_SHARE = 0.05  # largest share of unread pages in a complete crawl


def no_exclusion(address: str, is_over: bool) -> str:
    """Return "" for every address: all known pages belong to the crawl."""
    return ""


async def no_pause() -> None:
    """Go on without a pause."""


@dataclass(frozen=True, slots=True)
class Move:
    """A known page that is now the page *id* at another address, and the reason to believe so."""

    known_page: PageVersion
    id: str
    url: str
    reason: str

    @property
    def is_redirect(self) -> bool:
        """Whether the old address redirects. Otherwise both addresses have the same text."""
        return self.reason in MOVE_REASONS

    @property
    def loss(self) -> Loss:
        """The known page and the reason for its loss, if the move merges it into another page."""
        return self.known_page, f"{self.reason} to {self.url}"


class Redirects:
    """Follows the addresses of known pages, in the *book* of a crawl, to pages that it has read."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._crawl = book.runs.crawl

    def move_of(self, known_page: PageVersion) -> Move | None:
        """Return the new address of a known page, if the crawl has read a page there."""
        target, reason = self.end_of(self._book.frontier.find(known_page.url))
        if target is None:
            return None
        visited_at = self._book.pages.visited_at(target.row, self._crawl)
        page = visited_at or self._visited(target.url)
        if page is None and target.canonical:
            page, reason = self._visited(target.canonical), "canonical"
        if page is None and target.reason == "duplicate" and target.target:
            # The text has changed, and the crawl has read it at a new address first.
            page, reason = self._visited(target.target, is_new=True), target.reason
        if page is None or page[0] == known_page.id:
            return None
        return Move(known_page, *page, reason)

    def _visited(self, url: str, is_new: bool = False) -> tuple[str, str] | None:
        """Return id and URL of the page at an address, if this crawl has visited it, and no crawl
        before if it *is_new*.
        """
        version = self._book.pages.newest(page_id(url))
        if version is None or version.crawl != self._crawl:
            return None
        if is_new and self._book.changes.kind(version.record)[0] != NEW:
            return None
        return version.id, version.url

    def end_of(self, address: Address | None) -> tuple[Address | None, str]:
        """Follow permanent redirects from an address in the book. Return the last address (None
        for a temporary or endless redirect), and the reason of the first redirect.
        """
        reason = address.reason if address is not None else ""
        for _ in range(MAX_HOPS):
            if address is None or address.state != "redirected":
                return address, reason
            if address.reason not in MOVE_REASONS or not address.target:
                return None, ""
            address = self._target(address.target)
        return None, ""

    def _target(self, url: str) -> Address | None:
        """Return the address in the book that a redirect leads to. The address of a front page
        may be there without its slash, as the user wrote it.
        """
        address = self._book.frontier.find(url)
        if address is None and (front := FRONT_PAGE.fullmatch(url)):
            address = self._book.frontier.find(front[1])
        return address


class GonePages:
    """Decides whether the known pages that a crawl has not read are gone, moved or in doubt.
    *ending* tells how the crawl ended. If the spider does not read known pages without a link
    (*reads_unlinked*), only an answer of the server tells that such a page is gone.
    """

    def __init__(
        self,
        book: Book,
        options: CrawlOptions,
        ending: Ending,
        exclusion: Exclusion = no_exclusion,
        reads_unlinked: bool = True,
    ) -> None:
        self._book = book
        self._reads_unlinked = reads_unlinked
        self._crawl = book.runs.crawl
        self._redirects = Redirects(book)
        self._left = LeftHosts(book, ())
        self._options = options
        self._live = book.known.live_count()
        unread = ending.unread + self._left_out()
        errors = unread / max(book.pages.visits(self._crawl) + unread, 1)
        # A complete crawl has read all pages that have a link. Known pages that it did not read are
        # missing.
        self.is_complete = (
            ending.reason == FINISHED
            and not options.due
            and not ending.queued
            and not ending.held
            and not ending.hidden
            and errors <= MAX_ERROR_SHARE
        )
        self._is_hidden = bool(ending.hidden)
        self._is_over = ending.word in (FINISHED, INCOMPLETE) or self.is_complete
        self._exclusion_of = exclusion
        self._unseen: list[PageVersion] = []
        # The pages that `write` has marked as gone or moved.
        self.lost_ids: set[str] = set()
        # By the id of the page at the new address.
        self._moves: dict[str, list[Move]] = {}

    def _left_out(self) -> int:
        """Return how many addresses were left out, or failed again, because they are known as
        broken. They are not failures of the crawl, but it has not seen their pages' links.
        """
        addresses = (self._book.frontier.find(each.url) for each in self._book.broken.known())
        return sum(KNOWN_BROKEN in (each.reason or "") for each in addresses if each is not None)

    async def find(self, pause: Pause = no_pause) -> None:
        """Find the known pages that the crawl has not read, and where they have moved. *pause* is
        called after each known page.
        """
        seen_hosts = set()
        for known_page in self._book.known.live_unsorted():
            if self._is_unseen(known_page):
                self._unseen.append(known_page)
            else:
                seen_hosts.add(host_of(known_page.url))
            await pause()
        self._unseen.sort(key=attrgetter("url"))
        if self.is_complete:
            left = (page for page in self._unseen if host_of(page.url) not in seen_hosts)
            self._left = LeftHosts(self._book, left)
            await pause()
        for known_page in self._unseen:
            if (move := self._move_of(known_page)) is not None:
                self._moves.setdefault(move.id, []).append(move)
            await pause()

    def _move_of(self, known_page: PageVersion) -> Move | None:
        """Return where a known page has moved: as its address says, but not if that leads to
        another page than the one with its text on the new host of its site.
        """
        move = self._redirects.move_of(known_page)
        target = self._left.targets.get(known_page.id)
        if target is None or (move is not None and move.id == target.id):
            return move
        reason = f"its site is at {host_of(target.url)} now"
        return Move(known_page, target.id, target.url, reason)

    def _is_unseen(self, known_page: PageVersion) -> bool:
        if self._book.pages.is_visited(known_page.id, self._crawl):
            return False
        if self._exclusion_of(known_page.url, self._is_over):
            return True
        if not self._is_over:
            return False
        # A crawl of due pages tells nothing about pages that it did not request.
        return not self._options.due or self._book.frontier.find(known_page.url) is not None

    def moved_to_new(self) -> list[Move]:
        """Return for each new page the first known page that has moved to it."""
        return [moves[0] for page, moves in self._moves.items() if self._is_new(page)]

    def _is_new(self, page: str) -> bool:
        """Tell whether a page was read as new, even if an end of the crawl that was interrupted has
        written the move already.
        """
        version = self._book.pages.found(page)
        if version is None:
            return False
        is_new = self._book.changes.kind(version.record)[0] == NEW
        return is_new or self._book.changes.origin(version.record) == BY_MOVE

    async def write(
        self, writer: Losses, moved_ids: set[str], pause: Pause = no_pause
    ) -> dict[str, int]:
        """Write the pages that are gone or moved into the book, and return their numbers.

        *moved_ids* are the known pages whose move a visit has shown already. All further moves
        merge pages: their target was known before, or another page has moved there. A site that
        redirects every address to its front page would lose all pages in this way, so merged pages
        count as losses. *pause* is called after each page.
        """
        counts = {"gone": 0, "moved": 0, "kept": 0, "doubted": 0}
        moves = self._further_moves(moved_ids)
        moved_ids.update(move.known_page.id for move in moves)
        unread = self._unread(moved_ids)
        gone = await self._gone(unread, pause)
        counts["kept"] = len(unread) - len(gone)
        if counts["kept"] and not self._reads_unlinked:
            logger.info(
                "%s that no page linked to: kept as before in the book and in indexes, because no"
                " answer has said otherwise",
                counted(counts["kept"], "known pages"),
            )
        losses = gone + [move.loss for move in moves if self._loses_text(move)]
        if self._is_doubtful(losses):
            losses = await self._without_new_address(losses, writer, pause)
        if self._is_doubtful(losses):
            self._hold_back(losses, writer)
            counts["doubted"] = len(losses)
            counts["excluded"] = self._excluded_count(losses)
            doubted_ids = {known_page.id for known_page, _ in losses}
            gone = [loss for loss in gone if loss[0].id not in doubted_ids]
            moves = [move for move in moves if move.known_page.id not in doubted_ids]
        counts["moved"], counts["gone"] = len(moves), len(gone)
        self.lost_ids = moved_ids | {known_page.id for known_page, _ in gone}
        for move in moves:
            writer.move(move.known_page, move.id, move.url, move.reason)
        for known_page, reason in gone:
            writer.mark_gone(known_page, reason)
            await pause()
        if self.is_complete:
            await self._count_missing(writer, unread, pause)
            self._doubt_left(writer, unread)
        return counts

    def _loses_text(self, move: Move) -> bool:
        """Tell whether the move of a page to a known one loses the text of the page."""
        target = self._book.pages.newest(move.id)
        return move.is_redirect and (target is None or not is_same(move.known_page, target))

    def _doubt_left(self, writer: Losses, unread: Sequence[PageVersion]) -> None:
        """Doubt the pages of hosts that the crawl has left, if the hosts have not answered; log
        once how to remove them.
        """
        by_host: dict[str, list[PageVersion]] = defaultdict(list)
        for page in unread:
            if page.id not in self.lost_ids:
                by_host[host_of(page.url)].append(page)
        for host in sorted(self._left.hosts & by_host.keys()):
            pages = by_host[host]
            addresses = (self._book.frontier.find(page.url) for page in pages)
            if any(map(has_answered, filter(None, addresses))):
                continue
            for page in pages:
                writer.doubt(page, f"no page of {host} was read")
            if not pages[0].missing:
                crawl = self._book.path.stem if self._book.path else "CRAWL"
                logger.warning(
                    f"{host} did not answer, and no page of it was read:"
                    f" {counted(len(pages), 'known pages')} of it stay. If its site has ended, run"
                    f" 'contentspider changes {crawl} --accept-gone'"
                )

    def _further_moves(self, moved_ids: Collection[str]) -> list[Move]:
        """Return the moves of the known pages, without the pages with *moved_ids*."""
        moves = chain.from_iterable(self._moves.values())
        return [move for move in moves if move.known_page.id not in moved_ids]

    def _unread(self, moved_ids: Collection[str]) -> list[PageVersion]:
        """Return the known pages that the crawl has not read, without the pages that moved."""
        return [known_page for known_page in self._unseen if known_page.id not in moved_ids]

    async def _gone(self, unread: Sequence[PageVersion], pause: Pause) -> list[Loss]:
        """Return the pages that are gone, of pages that the crawl has not read. If the site hides
        its pages, its answers tell nothing about them.
        """
        gone: list[Loss] = []
        if self._is_hidden:
            return gone
        for known_page in unread:
            if reason := self._gone_reason(known_page):
                gone.append((known_page, reason))
            await pause()
        return gone

    def _excluded_count(self, losses: Sequence[Loss]) -> int:
        """Return how many lost pages the user has excluded."""
        return sum(bool(self._exclusion_of(page.url, self._is_over)) for page, _ in losses)

    def _is_doubtful(self, losses: Sequence[Loss]) -> bool:
        return not self._options.force and is_large_loss(len(losses), self._live)

    async def _without_new_address(
        self, losses: Sequence[Loss], writer: Losses, pause: Pause
    ) -> list[Loss]:
        """Return the losses without the pages whose text is at a new address, as after a relaunch
        of the site. A new page replaces one page only.
        """
        addresses = {""}
        remaining = []
        for known_page, reason in losses:
            address = writer.new_address(known_page)
            if address in addresses:
                remaining.append((known_page, reason))
            addresses.add(address)
            await pause()
        return remaining

    def _hold_back(self, losses: Sequence[Loss], writer: Losses) -> None:
        """Record that losses are doubted, and log an error."""
        self._log_doubt(*losses[0], len(losses))
        for known_page, reason in losses:
            writer.doubt(known_page, reason)

    def _log_doubt(self, example: PageVersion, reason: str, count: int) -> None:
        crawl = self._book.path.stem if self._book.path else "CRAWL"
        logger.error(
            f"{count} of the {self._live} known pages would be gone (a larger share than"
            f" {MAX_GONE_SHARE:g}), for example {example.url} ({reason}): none is marked as gone."
            f" If the site has removed them, run 'contentspider changes {crawl}"
            " --accept-gone', or crawl with --force"
        )

    async def _count_missing(
        self, writer: Losses, unread: Sequence[PageVersion], pause: Pause
    ) -> None:
        """Count in the book in how many crawls each page was missing. A page is missing if no
        page links to it, even if it answers, or if the server answers with something else.
        """
        for page in self._book.answers.orphans(self._crawl):
            writer.count_missing(page)
            await pause()
        for known_page in unread:
            await pause()
            address = self._book.frontier.find(known_page.url)
            if address is None:
                if not self._reads_unlinked:
                    writer.count_missing(known_page.id)
            elif not self._book.answers.of(address.row).is_orphan:
                writer.reset_missing(known_page.id)
            elif _is_answered(address) or not self._reads_unlinked:
                writer.count_missing(known_page.id)

    def _gone_reason(self, known_page: PageVersion) -> str:
        """Return why a page that was not read is gone, "" if it may still exist."""
        if is_site_item(known_page.url):
            return self._site_item_reason()
        address = self._book.frontier.find(known_page.url)
        new_host = self._left.moved.get(host_of(known_page.url))
        if new_host and not (address is not None and address.state == "fetched"):
            return f"its site is at {new_host} now, without this page"
        if reason := self._exclusion_of(known_page.url, self._is_over):
            return reason
        return self._answer_reason(address) if address else self._missing_reason(known_page)

    def _site_item_reason(self) -> str:
        """Return why the item of a site is gone that this crawl has not yielded, "" if it may still
        be right. `pass_site_items` says which crawls yield such items.
        """
        if self._options.due:
            return ""
        if not self._options.site_item:
            return "the crawl makes no site item"
        return "its pages share no text" if self.is_complete else ""

    def _answer_reason(self, address: Address) -> str:
        """Return why the page of a requested address is gone, "" if it may still exist."""
        target, redirect = self._redirects.end_of(address)
        if target is None or target.is_open:
            return ""
        if target.state == "failed":
            return target.reason if target.reason in LOST_REASONS else ""
        if target.state != "skipped":
            return ""
        if target.reason in WITHDRAWN:
            return target.reason
        has_left_site = redirect in MOVE_REASONS and target.reason.startswith(OFFSITE)
        return f"{redirect} to {target.url}" if has_left_site else ""

    def _missing_reason(self, known_page: PageVersion) -> str:
        """Return why a page that was not requested is gone. `Revisits.pages_to_visit` leaves out
        the pages that have been missing often enough.
        """
        crawls = known_page.missing + 1
        limit = self._options.missing_crawls
        is_gone = self._reads_unlinked and self.is_complete and 0 < limit <= crawls
        return f"no page linked to it in {counted(crawls, 'crawls')}" if is_gone else ""


def has_answered(address: Address) -> bool:
    """Tell whether the server has answered the request of an address, in any way."""
    is_failed = address.state in ("failed", "retry")
    return not is_failed or address.reason.startswith("HTTP ")


def _is_answered(address: Address) -> bool:
    """Tell whether the server answered an address with something other than its page."""
    if address.is_open:
        return False
    if address.state == "failed":
        return address.reason.startswith("HTTP 4") and address.reason not in RETRIED_REASONS
    return address.state == "redirected" or address.reason in REPLACED
