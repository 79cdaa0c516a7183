"""Checks people's overrides: before a crawl begins, and when pages have moved away from them."""

from __future__ import annotations

from collections import Counter
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
    from collections.abc import Iterator, Sequence

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
    """The overrides that hold for no page of a *book* any more, because the pages have moved in its
    last crawl. They do not follow the pages by themselves.
    """

    def __init__(self, book: Book, options: CrawlOptions) -> None:
        self._book, self._keys = book, SiteKeys(options.site_by)
        self._store = open_models(options.models_dir, options.state_dir)
        self._moved = list(book.changes.moved_addresses(book.runs.crawl))

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield the sites with such overrides, each with a sentence that says what to do."""
        hosts = Counter((host_of(old), host_of(new)) for old, new in self._moved)
        where = ", ".join(f"from {old} to {new}" for (old, new), _ in hosts.most_common(3))
        moved = f"{counted(len(self._moved), 'pages')} moved {where}"
        targets = Counter(self._keys.key(new) for _, new in self._moved)
        for site in {self._keys.key(old) for old, _ in self._moved} | set(targets):
            place = self._store.place(site) / OVERRIDES
            patterns, has_pages = self._left(site)
            if patterns and has_pages:
                names = ", ".join(map(repr, patterns))
                yield (
                    site,
                    f"{moved}: change the patterns {names} in {place}, which fit no page now",
                )
            elif patterns and not any(map(self._rules, targets)):
                target = self._store.place(targets.most_common(1)[0][0]) / OVERRIDES
                yield (
                    site,
                    f"{moved}: move {place} to {target}, and change the hosts in its patterns",
                )

    def _rules(self, site: str) -> Sequence[Rule]:
        """Return the rules of a site. The crawl itself has told of files that cannot be read."""
        with suppress(OverridesError, RemoteError):
            if overrides := self._store.overrides(site):
                return overrides.tables
        return ()

    def _left(self, site: str) -> tuple[list[str], bool]:
        """Return the patterns of a site's rules that fit pages that have moved, and no live page of
        the site; and whether the site has live pages.
        """
        addresses = [old for old, _ in self._moved]
        left = [rule for rule in self._rules(site) if any(map(rule.holds_for, addresses))]
        has_pages = False
        for page in self._book.known.live_unsorted() if left else ():
            if self._keys.key(page.url) == site:
                has_pages = True
                left = [rule for rule in left if not rule.holds_for(page.url)]
        return [rule.pattern for rule in left], has_pages
