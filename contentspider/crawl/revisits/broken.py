"""Records which addresses failed in a crawl that read all else, and which of them answer again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from contentspider.crawl.base.outcomes import is_of_server
from contentspider.ground.counts import counted
from contentspider.site.models.identity import page_id
from contentspider.state.book.broken import FAILED_CRAWLS, few
from contentspider.state.outcome import FINISHED, KNOWN_BROKEN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from contentspider.crawl.revisits.gone import Pause
    from contentspider.state.book.broken import BrokenAddresses
    from contentspider.state.book.frontier import Frontier
    from contentspider.state.outcome import Ending

logger = logging.getLogger(__name__)


class BrokenPages:
    """The addresses that a crawl could not read, of the sites that *site_of* tells apart.

    Start addresses (*starts*) are never known as broken: without them nothing is read.
    """

    def __init__(
        self,
        broken: BrokenAddresses,
        frontier: Frontier,
        starts: Collection[str],
        site_of: Callable[[str], str],
    ) -> None:
        self._broken = broken
        self._frontier = frontier
        self._starts = frozenset(map(page_id, starts))
        self._site_of = site_of
        # The addresses that failed in this crawl, with the reasons, and the addresses it left out.
        self._failed: dict[str, str] = {}
        self._waiting: list[str] = []

    async def write(self, ending: Ending, is_complete: bool, pause: Pause) -> dict[str, int]:
        """Write the addresses into the book. Return how many are known as broken, and how many
        only since this crawl. *is_complete*: the crawl has seen all links.
        """
        for url, reason in self._frontier.unread_addresses():
            if is_of_server(reason) and page_id(url) not in self._starts:
                self._failed[url] = reason
            await pause()
        for address in list(self._broken.all()):
            self._compare(address.url, is_complete)
            await pause()
        new = 0
        if ending.reason == FINISHED and not ending.queued and not ending.held:
            new = await self._add(pause)
        return {"broken": len(self._broken.known()), "newly_broken": new}

    def _compare(self, url: str, is_complete: bool) -> None:
        """Compare an address that failed in an earlier crawl with its outcome in this one."""
        address = self._frontier.find(url)
        if address is None:
            if is_complete:
                self._broken.remove(url)  # no page links to it any more
        elif address.reason == KNOWN_BROKEN:
            self._waiting.append(url)
        elif address.reason.startswith(KNOWN_BROKEN):
            self._failed[url] = address.reason.removeprefix(KNOWN_BROKEN)[2:-1]
        elif not address.is_open:
            self._broken.remove(url)

    async def _add(self, pause: Pause) -> int:
        """Record the failed addresses, if they are few; return how many are newly broken."""
        new = []
        addresses = (*self._failed, *self._waiting)
        for url in sorted(few(addresses, self._frontier.read_counts(), self._site_of)):
            if url in self._failed and self._broken.add(url, self._failed[url]):
                new.append(url)
            await pause()
        if new:
            logger.warning(
                f"{counted(len(new), 'addresses')} known as broken from now on, because of"
                f" failures in {FAILED_CRAWLS} crawls that read the rest of their site, for"
                f" example {new[0]}"
                f" ({self._failed[new[0]]}). They are requested less and less often, and are no"
                " failures of a crawl; 'contentspider status' lists them"
            )
        return len(new)
