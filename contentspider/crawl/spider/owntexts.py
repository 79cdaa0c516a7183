"""Own texts in a crawl: where they are asked for, and what is kept of the answers."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread

from contentspider.crawl.base.engine import asked_address, header
from contentspider.crawl.base.outcomes import NOT_MODIFIED_STATUS
from contentspider.crawl.middlewares.conditional import asking
from contentspider.crawl.middlewares.pages import THREAD_BYTES
from contentspider.ground.addresses import absolute
from contentspider.site.own.sources import SOURCES, Announced, Source
from contentspider.state.ledger.own_texts import OwnAnswer

if TYPE_CHECKING:
    from scrapy.http import Response

    from contentspider.crawl.base.links import Head
    from contentspider.crawl.queue.keeper import Keeper
    from contentspider.ground.scope import Scope
    from contentspider.ground.sites import SiteKeys
    from contentspider.site.own.texts import OwnText

logger = logging.getLogger(__name__)

MAX_OWN_BYTES = 5_000_000
PAGES_READ = 20  # pages of a site that are searched, and addresses of a kind from one
MAX_ADDRESSES = 10
FACT = "own_texts "


class OwnTexts:
    """Asks for a crawl's own texts, within its sites' budgets, and keeps those in its *scope*."""

    def __init__(self, keeper: Keeper, scope: Scope, keys: SiteKeys) -> None:
        self._keeper = keeper
        self._scope = scope
        self._keys = keys
        self._count = keeper.stats.inc_value
        self._budget = keeper.options.own_texts
        self._sources: list[Source] = []
        for name in SOURCES.names() if self._budget else ():
            with _said(name):
                self._sources.append(SOURCES.load(name)())
        self._forbidden: set[str] = set()
        self._pages: Counter[str] = Counter()

    def addresses(
        self, url: str, head: Head, is_start: bool, feeds: Collection[str] = ()
    ) -> Iterator[str]:
        """Yield the own texts' addresses that a page announces, within its site's budget."""
        site = self._keys.key(url)
        if not self._sources or self._pages[site] >= PAGES_READ or self._keeper.is_broken:
            return
        self._pages[site] += 1
        for address in self._announced(url, head, is_start):
            is_wanted = address not in feeds and self._scope.has_site(address)
            if is_wanted and self._may_ask(site, address):
                self._count("contentspider/own_texts/requests")
                yield address

    def _may_ask(self, site: str, address: str) -> bool:
        """Tell whether a site's budget has room for an address, which then is taken off it."""
        runs = self._keeper.ledger.runs
        with self._keeper.guarded:
            asked = runs.fact(FACT + site) or []
            if address in asked or address in self._forbidden or len(asked) >= self._budget:
                return False
            runs.set_fact(FACT + site, [*asked, address])
            return True
        return False

    def give_back(self, address: str) -> None:
        """Put an address back on its site's budget that robots.txt forbids: nothing was asked."""
        self._forbidden.add(address)
        if not self._keeper.is_broken:
            runs, name = self._keeper.ledger.runs, FACT + self._keys.key(address)
            with self._keeper.guarded:
                runs.set_fact(name, [one for one in runs.fact(name) or [] if one != address])

    def _announced(self, url: str, head: Head, is_start: bool) -> Iterator[str]:
        links = ((rel, kind, absolute(head.base, href)) for rel, kind, href in head.links)
        # What a generator makes stands beside the start page: other pages would lead elsewhere.
        generator = head.generator if is_start else ""
        announced = Announced(url, tuple(link for link in links if link[2]), generator)
        for source in self._sources:
            named: list[str] = []
            with _said(source.name):
                named = list(islice(source.addresses(announced), MAX_ADDRESSES))
            yield from (absolute(url, address) for address in named)

    def headers(self, address: str) -> dict[str, str]:
        """Return the headers that ask for what has changed since the last crawl."""
        known = self._known(address) if self._keeper.options.conditional else None
        return asking(known) if known is not None and known.texts else {}

    async def take(self, response: Response) -> list[str]:
        """Keep an answer's own texts, or the known ones (304); return their pages' addresses."""
        if response.status == NOT_MODIFIED_STATUS:
            return self.take_known(asked_address(response))
        if len(response.body) > THREAD_BYTES:
            return self._keep(response, await run_in_thread(self._read, response))
        return self.take_now(response)

    def take_now(self, response: Response) -> list[str]:
        """Do as `take` does with an answer that has come whole, without a thread."""
        return self._keep(response, self._read(response))

    def take_known(self, address: str) -> list[str]:
        """Keep what the last crawl knew of a source; return its pages' addresses."""
        known = self._known(address)
        if known is None:
            return []
        return self._store(known.texts, address, known.etag, known.last_modified)

    def _known(self, address: str) -> OwnAnswer | None:
        revisits = self._keeper.revisits
        if not self._sources or revisits is None or self._keeper.is_broken:
            return None
        return revisits.own_answers.at(address)

    def _read(self, response: Response) -> list[OwnText]:
        """Return the own texts in an answer, by the first source that finds any."""
        for one in self._sources:
            with _said(one.name):
                content_type = header(response, "Content-Type")
                if found := one.read(response.body, response.url, content_type):
                    return found
        return []

    def _keep(self, response: Response, texts: Sequence[OwnText]) -> list[str]:
        etag, modified = header(response, "ETag"), header(response, "Last-Modified")
        return self._store(texts, asked_address(response), etag, modified)

    def _store(
        self, texts: Sequence[OwnText], address: str, etag: str, last_modified: str
    ) -> list[str]:
        by_site: dict[str, list[OwnText]] = {}
        for own in texts:
            if self._scope.has(own.url):
                by_site.setdefault(self._keys.key(own.url), []).append(own)
        addresses = [own.url for own_texts in by_site.values() for own in own_texts]
        if moved := self._at_old_domain(texts, address):
            by_site.setdefault(self._keys.key(address), []).extend(moved)
        if not by_site or self._keeper.is_broken:
            return []
        with self._keeper.guarded:
            kept = self._keeper.ledger.own_texts
            for site, own_texts in by_site.items():
                kept.add(site, own_texts, address)
                self._count("contentspider/own_texts/texts", len(own_texts))
            kept.note(OwnAnswer(self._keys.key(address), address, etag, last_modified))
            return addresses
        return []

    def _at_old_domain(self, texts: Sequence[OwnText], address: str) -> list[OwnText]:
        """Return the texts in an answer of the crawl's sites that may be of pages that have moved:
        those with addresses elsewhere, if most are, on a single site. Learning asks for the same
        title.
        """
        if not self._scope.has_site(address):
            return []
        found = [own for own in texts if not self._scope.has_site(own.url)]
        sites = {self._keys.key(own.url) for own in found}
        if len(sites) != 1 or 2 * len(found) <= len(texts):  # links to what others write
            return []
        logger.info(
            "%s: %d links lead to %s: they may be of pages here with the same path and title",
            address,
            len(found),
            *sites,
        )
        return found


@contextmanager
def _said(name: str) -> Iterator[None]:
    """Say in the log that a source, which may be another package's, fails: it costs no page."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it fails with
        logger.warning("own texts of the kind %s cannot be read: %r", name, error)
