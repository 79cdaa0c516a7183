"""Finds hosts that a crawl has left, because their site is at another host now."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from contentspider.ground.addresses import host_of
from contentspider.recrawl.difference import text_hash
from contentspider.state.book.pages import BY_VISIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from contentspider.state.book.book import Book
    from contentspider.state.book.pages import PageVersion

MIN_SHARE = 0.5  # this share of a host's known pages must be on another host, with the same text


class LeftHosts:
    """The hosts whose *known* pages the crawl of a *book* has not read at all.

    A host has moved if at least half of its pages, each with another text, were read on other hosts
    with the same text. A page is then at the address with its path, or with its text. `targets` has
    these pages by the ids of the known ones, and `moved` the new host of each of the `hosts` that
    has moved.
    """

    def __init__(self, book: Book, known: Iterable[PageVersion]) -> None:
        self.targets: dict[str, PageVersion] = {}
        self.moved: dict[str, str] = {}
        self.hosts: frozenset[str] = frozenset()
        left: dict[str, list[PageVersion]] = defaultdict(list)
        for page in known:
            left[host_of(page.url)].append(page)
        if not left:
            return
        values = (book.runs.crawl, book.pages.published, BY_VISIT)
        by_path: dict[str, PageVersion] = {}
        by_text: dict[str, PageVersion] = {}
        for visited in book.pages.select("crawl = ? AND run > ? AND origin = ?", *values):
            left.pop(host_of(visited.url), None)
            by_path.setdefault(_path(visited.url), visited)
            for text in (visited.content_hash, visited.text_hash):
                by_text.setdefault(text, visited)
        self.hosts = frozenset(left)
        for host, pages in left.items():
            self._compare(host, pages, by_path, by_text)

    def _compare(
        self,
        host: str,
        pages: list[PageVersion],
        by_path: Mapping[str, PageVersion],
        by_text: Mapping[str, PageVersion],
    ) -> None:
        """Note whether a host has moved, and where its *pages* are now."""
        targets, texts = {}, set()
        for page in pages:
            target = by_path.get(_path(page.url))
            if target is None or not is_same(page, target):
                copy = by_text.get(page.content_hash) or by_text.get(page.text_hash)
                target = copy or target
            if target is not None:
                targets[page.id] = target
                # Many pages may have one content, such as none, and identify no site by it.
                if page.text_hash == target.text_hash:
                    texts.add(page.text_hash)
                elif page.content_hash == target.content_hash:
                    texts.add(page.content_hash)
        if len(texts) >= MIN_SHARE * len(pages):
            self.targets |= targets
            hosts = Counter(host_of(target.url) for target in targets.values())
            self.moved[host] = hosts.most_common(1)[0][0]


def texts_read(book: Book, texts: Collection[str]) -> set[str]:
    """Return which of the *texts* (`PageVersion.text_hash`) the crawl of a *book* has read so far,
    also on pages whose items are held.
    """
    values = (book.runs.crawl, book.pages.published, BY_VISIT)
    visited = book.pages.select("crawl = ? AND run > ? AND origin = ?", *values)
    held = chain.from_iterable(map(book.items.held_pages, book.items.held_counts()))
    hashes = chain((version.text_hash for version in visited), map(text_hash, held))
    return {each for each in hashes if each in texts}


def is_same(page: PageVersion, other: PageVersion) -> bool:
    """Tell whether two pages have the same text, or the same main content."""
    return page.text_hash == other.text_hash or page.content_hash == other.content_hash


def _path(url: str) -> str:
    """Return an address without its scheme and host."""
    return url.partition("://")[2].partition("/")[2]
