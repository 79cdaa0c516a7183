"""The requests of known pages that no page of a crawl has linked to, at the end of the crawl."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING

from scrapy import Request

from contentspider.crawl.base.meta import ASKED_META_KEY, ORPHAN_META_KEY
from contentspider.crawl.queue.outage import FAILURES
from contentspider.crawl.queue.requests import ignore
from contentspider.crawl.revisits.gone import RETRIED_REASONS, has_answered
from contentspider.ground.addresses import host_of
from contentspider.ground.counts import counted
from contentspider.state.address_state import AddressState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider

    from contentspider.crawl.revisits.revisits import Revisits
    from contentspider.state.book.frontier import Frontier
    from contentspider.state.book.pages import PageVersion

logger = logging.getLogger(__name__)

# The page may be on a host that the spider has left, and is asked for once, in its own time.
ASKED_META = dict.fromkeys([ASKED_META_KEY, ORPHAN_META_KEY, "allow_offsite", "dont_retry"], True)
# Seconds for the first request to a host that the spider has left. Most such hosts are silent.
FIRST_TIMEOUT_SECS = 20


class UnlinkedPages:
    """Requests the known pages that a crawl has not visited.

    The site spider reads them (`SiteSpider.orphan_request`). Nobody knows which callback of another
    spider reads a page, and with what, so only the status of the answer counts there.

    A host that has answered nothing else may be down for good. Pages whose text is on another host
    now are not requested. One of the others is requested first, and then, while the host answers,
    `FAILURES` at a time: `HostPauses` does not wait for a host with so few addresses.
    """

    def __init__(self, spider: Spider | None, revisits: Revisits, frontier: Frontier) -> None:
        self._request_of = getattr(spider, "orphan_request", None)
        self._revisits, self._frontier = revisits, frontier
        self._has_begun = False
        # By host: the pages that were requested last, and the pages that wait for their answers.
        self._asked: dict[str, list[str]] = {}
        self._waiting: dict[str, list[str]] = {}

    @property
    def waiting(self) -> int:
        """How many pages wait for an answer of their host."""
        return sum(map(len, self._waiting.values()))

    def requests(self) -> Iterator[Request]:
        """Yield the requests to send now. Later calls yield requests that had to wait."""
        if self._has_begun:
            yield from self._next_asked()
        elif self._request_of is not None:
            self._has_begun = True
            yield from filter(None, map(self._request_of, self._revisits.pages_to_visit()))
        else:
            self._has_begun = True
            yield from self._first_asked()

    def _first_asked(self) -> Iterator[Request]:
        by_host: dict[str, list[PageVersion]] = defaultdict(list)
        for page in self._revisits.pages_to_ask():
            if self._frontier.find(page.url) is None:
                by_host[host_of(page.url)].append(page)
        for host, pages in by_host.items():
            if self._frontier.queue.answered(host, 1):
                yield from (ask(page.url) for page in pages)
            elif urls := self._revisits.without_moved(pages):
                self._asked[host], self._waiting[host] = urls[:1], urls[1:]
                first = ask(urls[0])
                first.meta["download_timeout"] = FIRST_TIMEOUT_SECS
                yield first

    def _next_asked(self) -> Iterator[Request]:
        for host, urls in list(self._waiting.items()):
            if not urls or not all(map(self._has_answered, self._asked[host])):
                del self._waiting[host]
                if urls:
                    known = counted(len(urls), "known pages")
                    logger.info("%s does not answer: %s of it are not requested", host, known)
                continue
            self._asked[host], self._waiting[host] = urls[:FAILURES], urls[FAILURES:]
            yield from map(ask, self._asked[host])

    def _has_answered(self, url: str) -> bool:
        """Tell whether the server has answered the request of an address, and is not down."""
        address = self._frontier.find(url)
        return (
            address is not None
            and has_answered(address)
            and address.state not in (AddressState.QUEUED, AddressState.TAKEN)
            and address.reason not in RETRIED_REASONS
        )


def ask(url: str) -> Request:
    """Return a request whose answer only tells whether a page is still there."""
    return Request(url, ignore, errback=ignore, meta=dict(ASKED_META))
