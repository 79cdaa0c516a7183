"""Requests for the own texts of a crawl's sites, and storage of the texts in the book."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.base.engine import asked_address, header
from contentspider.crawl.base.outcomes import NOT_MODIFIED_STATUS
from contentspider.crawl.middlewares.conditional import conditional_headers
from contentspider.crawl.middlewares.pages import THREAD_BYTES
from contentspider.ground.addresses import absolute
from contentspider.site.own.sources import SOURCES, Announced, Source
from contentspider.state.book.own_texts import OwnAnswer

if TYPE_CHECKING:
    from scrapy.http import Response

    from contentspider.crawl.base.links import Head
    from contentspider.crawl.queue.keeper import BookKeeper
    from contentspider.ground.scope import Scope
    from contentspider.ground.sites import SiteKeys
    from contentspider.site.own.texts import OwnText

logger = logging.getLogger(__name__)

MAX_OWN_BYTES = 5_000_000
PAGES_READ = 20  # pages per site that are searched for announcements of own texts
MAX_ADDRESSES = 10  # addresses per page and kind of source
FACT = "own_texts "  # and the site key: the addresses that were requested


class OwnTexts:
    """Requests and stores the own texts of a crawl's sites, within a budget of requests per site.

    Only texts of pages in the crawl's *scope* are stored. A source (`Source`) that fails is logged
    and costs no page.
    """

    def __init__(self, keeper: BookKeeper, scope: Scope, keys: SiteKeys) -> None:
        self._keeper = keeper
        self._scope = scope
        self._keys = keys
        self._count = keeper.stats.inc_value
        self._budget = keeper.options.own_texts
        self._sources: list[Source] = []
        for name in SOURCES.names() if self._budget else ():
            with _log_failure(name):
                self._sources.append(SOURCES.load(name)())
        # Addresses that robots.txt forbids, and lists (llms.txt) that sites do not have.
        self._refunded: set[str] = set()
        self._pages: Counter[str] = Counter()

    def addresses(
        self, url: str, head: Head, is_start: bool, feeds: Collection[str] = ()
    ) -> Iterator[str]:
        """Yield the addresses of own texts that a page announces, within its site's budget."""
        site = self._keys.key(url)
        if not self._sources or self._pages[site] >= PAGES_READ or self._keeper.is_broken:
            return
        self._pages[site] += 1
        announced = self._announced(url, head, is_start)
        yield from self.within_budget(address for address in announced if address not in feeds)

    def within_budget(self, addresses: Iterable[str]) -> Iterator[str]:
        """Yield the addresses on the crawl's sites that may be requested, and take them off the
        budgets of their sites.
        """
        for address in addresses:
            if self._scope.has_site(address) and self._reserve(self._keys.key(address), address):
                self._count("contentspider/own_texts/requests")
                yield address

    def _reserve(self, site: str, address: str) -> bool:
        """Count an address in its site's budget. Return False if it must not be requested."""
        runs = self._keeper.book.runs
        with self._keeper.guarded:
            requested = runs.fact(FACT + site) or []
            is_spent = len(requested) >= self._budget
            if is_spent or address in requested or address in self._refunded:
                return False
            runs.set_fact(FACT + site, [*requested, address])
            return True
        return False

    def refund(self, address: str) -> None:
        """Restore the budget of the site for an address that cost nothing, and request it no more:
        robots.txt forbids it, or it is a list that the site does not have.
        """
        self._refunded.add(address)
        if not self._keeper.is_broken:
            runs, name = self._keeper.book.runs, FACT + self._keys.key(address)
            with self._keeper.guarded:
                requested = [url for url in runs.fact(name) or [] if url != address]
                runs.set_fact(name, requested)

    def _announced(self, url: str, head: Head, is_start: bool) -> Iterator[str]:
        links = ((rel, kind, absolute(head.base, href)) for rel, kind, href in head.links)
        # A generator's API (WordPress, ...) has an address relative to the start page only.
        generator = head.generator if is_start else ""
        announced = Announced(url, tuple(link for link in links if link[2]), generator, is_start)
        for source in self._sources:
            addresses: list[str] = []
            with _log_failure(source.name):
                addresses = list(islice(source.addresses(announced), MAX_ADDRESSES))
            yield from (absolute(url, address) for address in addresses)

    def headers(self, address: str) -> dict[str, str]:
        """Return the headers that request a source only if it has changed since the last crawl."""
        previous = self._previous(address)
        return conditional_headers(previous) if previous is not None and previous.texts else {}

    async def store_answer(self, response: Response) -> list[str]:
        """Store the own texts of an answer; for status 304, the texts of the last crawl. Return the
        addresses of their pages.
        """
        if response.status == NOT_MODIFIED_STATUS:
            return self.store_previous(asked_address(response))
        if len(response.body) > THREAD_BYTES:
            return self._store_texts(response, await run_in_thread(self._read, response))
        return self.store_now(response)

    def store_now(self, response: Response) -> list[str]:
        """Store the own texts of a complete answer, without a thread."""
        return self._store_texts(response, self._read(response))

    def store_previous(self, address: str) -> list[str]:
        """Store the own texts that the last crawl read; return the addresses of their pages."""
        previous = self._previous(address)
        if previous is None:
            return []
        return self._store(previous.texts, address, previous.etag, previous.last_modified)

    def _previous(self, address: str) -> OwnAnswer | None:
        revisits = self._keeper.revisits
        if not self._sources or revisits is None or self._keeper.is_broken:
            return None
        return revisits.own_answers.at(address)

    def _read(self, response: Response) -> list[OwnText]:
        """Return the own texts in an answer, from the first source that reads any."""
        for source in self._sources:
            with _log_failure(source.name):
                content_type = header(response, "Content-Type")
                if texts := source.read(response.body, response.url, content_type):
                    return texts
        return []

    def _store_texts(self, response: Response, texts: Sequence[OwnText]) -> list[str]:
        etag, modified = header(response, "ETag"), header(response, "Last-Modified")
        return self._store(texts, asked_address(response), etag, modified)

    def _store(
        self, texts: Sequence[OwnText], address: str, etag: str, last_modified: str
    ) -> list[str]:
        """Store the texts of pages in scope by site; return the addresses of these pages."""
        by_site: dict[str, list[OwnText]] = {}
        for text in texts:
            if self._scope.has(text.url):
                by_site.setdefault(self._keys.key(text.url), []).append(text)
        addresses = [text.url for site_texts in by_site.values() for text in site_texts]
        if moved := self._at_old_domain(texts, address):
            by_site.setdefault(self._keys.key(address), []).extend(moved)
        if not by_site or self._keeper.is_broken:
            return []
        with self._keeper.guarded:
            stored_texts = self._keeper.book.own_texts
            for site, site_texts in by_site.items():
                stored_texts.add(site, site_texts, address)
                self._count("contentspider/own_texts/texts", len(site_texts))
            stored_texts.note(OwnAnswer(self._keys.key(address), address, etag, last_modified))
            return addresses
        return []

    def _at_old_domain(self, texts: Sequence[OwnText], address: str) -> list[OwnText]:
        """Return the texts of an answer whose addresses are still at a site's old domain.

        There are such texts if more than half of the addresses are out of scope, and are on one
        other site. The learner uses such a text only for a page with the same title.
        """
        if not self._scope.has_site(address):
            return []
        moved = [text for text in texts if not self._scope.has_site(text.url)]
        sites = {self._keys.key(text.url) for text in moved}
        if len(sites) != 1 or 2 * len(moved) <= len(texts):  # links to articles of other sites
            return []
        logger.info(
            "%s: %d links lead to %s; they may belong to pages of this site with the same path and"
            " title",
            address,
            len(moved),
            *sites,
        )
        return moved


@contextmanager
def _log_failure(name: str) -> Iterator[None]:
    """Log a failure of the source *name*, which may come from a plug-in, and go on."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - a plug-in may raise anything
        logger.warning("own texts of the kind %s cannot be read: %r", name, error)
