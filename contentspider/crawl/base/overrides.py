"""Checks people's overrides: before a crawl begins, and when pages have moved away from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING

from contentspider.ground.addresses import host_of
from contentspider.ground.counts import counted
from contentspider.ground.errors import OverridesError
from contentspider.ground.sites import SiteKeys
from contentspider.page.input.overrides import OVERRIDES
from contentspider.state.stores.models import open_models
from contentspider.state.stores.remote import RemoteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from scrapy import Spider

    from contentspider.crawl.base.options import CrawlOptions
    from contentspider.page.input.corrections import Rule
    from contentspider.state.book.book import Book


def check_overrides(spider: Spider | None, options: CrawlOptions) -> None:
    """Raise `OverridesError` if the overrides of a site that the spider starts at, or that its
    ``allowed_domains`` name, cannot be used.
    """
    keys, store = SiteKeys(options.site_by), open_models(options.models_dir, options.state_dir)
    domains = (f"https://{domain}/" for domain in getattr(spider, "allowed_domains", None) or ())
    for key in dict.fromkeys(map(keys.key, (*getattr(spider, "start_urls", ()), *domains))):
        store.overrides(key)


class LeftOverrides:
    """The overrides that hold for no page of a *book* any more, because the pages have moved. They
    do not follow the pages by themselves, so each crawl tells them until a person has mended them.
    """

    def __init__(self, book: Book, options: CrawlOptions) -> None:
        self._book, self._keys = book, SiteKeys(options.site_by)
        self._store = open_models(options.models_dir, options.state_dir)
        self._moved = book.changes.moved_addresses()

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield the sites with such overrides, each with a sentence that says what to do."""
        moves: dict[str, dict[str, str]] = defaultdict(dict)
        for old, new in self._moved.items():
            for site in (self._keys.key(old), self._keys.key(new)):
                moves[site][old] = new
        for site in sorted(moves):
            if text := self._advice(site, moves[site]):
                yield site, text

    def _advice(self, site: str, moves: Mapping[str, str]) -> str:
        """Return what to do with the overrides of a site after these *moves* of pages from or to
        the site; "" if nothing is to be done.
        """
        patterns, has_pages = self._left(site, moves)
        if not patterns:
            return ""
        hosts = Counter((host_of(old), host_of(new)) for old, new in moves.items())
        where = ", ".join(f"from {old} to {new}" for (old, new), _ in hosts.most_common(3))
        moved = f"{counted(len(moves), 'pages')} moved {where}"
        place = self._store.place(site) / OVERRIDES
        if has_pages:
            names = ", ".join(map(repr, patterns))
            return f"{moved}: change the patterns {names} in {place}, which fit no page now"
        targets = Counter(map(self._keys.key, moves.values()))
        if any(map(self._rules, targets)):  # a person has thought of it
            return ""
        target = self._store.place(targets.most_common(1)[0][0]) / OVERRIDES
        return f"{moved}: move {place} to {target}, and change the hosts in its patterns"

    def _rules(self, site: str) -> Sequence[Rule]:
        """Return the rules of a site. The crawl itself has told of files that cannot be read."""
        with suppress(OverridesError, RemoteError):
            if overrides := self._store.overrides(site):
                return overrides.tables
        return ()

    def _left(self, site: str, moved: Iterable[str]) -> tuple[list[str], bool]:
        """Return the patterns of a site's rules that fit *moved* addresses, and no live page of the
        site; and whether the site has live pages.
        """
        left = [rule for rule in self._rules(site) if any(map(rule.holds_for, moved))]
        has_pages = False
        for page in self._book.known.live_unsorted():
            if not left:
                break
            if self._keys.key(page.url) == site:
                has_pages = True
                left = [rule for rule in left if not rule.holds_for(page.url)]
        return [rule.pattern for rule in left], has_pages
