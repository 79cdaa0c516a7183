"""Copies of known pages: of pages with the same text, the known page keeps its item."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from contentspider.ground.errors import DAMAGE
from contentspider.recrawl.changes import LIVE
from contentspider.recrawl.difference import text_hash
from contentspider.recrawl.places import differences
from contentspider.site.models.identity import page_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contentspider.crawl.revisits.gone import Pause
    from contentspider.crawl.revisits.refilter import Refilter
    from contentspider.page.input.page import Page
    from contentspider.state.book.book import Book

MIN_TEXT_CHARS = 200  # a shorter text, such as a menu, does not identify a page


class KnownCopies:
    """Finds the known pages whose copies are at new addresses. An address counts as a copy if an
    earlier crawl read the same text there.
    """

    def __init__(self, book: Book, refilter: Refilter) -> None:
        self._book = book
        self._known = book.known
        self._refilter = refilter

    def _is_visited(self, page_id: str) -> bool:
        return self._book.pages.is_visited(page_id, self._book.runs.crawl)

    def unread_original(self, page: Page, url: str, site: str) -> str:
        """Return the id of the known page that *page* copies. It is "" if there is none, or if this
        crawl has read the known page already.
        """
        original = self._original(url, text_hash(page), site)
        return "" if not original or self._is_visited(original) else original

    def read_original(self, page: Page, url: str, site: str) -> str:
        """Return the id of the known page that *page* copies, if this crawl has read the known page
        and their contents are the same; "" otherwise.
        """
        original = self._original(url)
        if not original or not self._is_visited(original):
            return ""
        content = self._refilter.content(page, site)
        if len(content) < MIN_TEXT_CHARS:
            return ""
        known_content = self._newest_content(original)
        # If the server answered 304 for the original, the book has older counters for it.
        differing = differences((known_content, content), (None, page), str)
        return original if not differing.slots else ""

    def _newest_content(self, page: str) -> str:
        """Return the content of a visited page, "" if it is damaged."""
        version = self._book.pages.found(page)
        with suppress(*DAMAGE):
            if version is not None and version.content is not None:
                return self._book.pages.text(version.content)
        return self._known.content(page) or ""

    def addresses(self, original: str, read_now: Iterable[str]) -> list[str]:
        """Return the addresses of the copies of a page, sorted.

        *read_now* has the copies that this crawl found. Copies of earlier crawls are added, except
        for addresses that have become pages of their own in this crawl.
        """
        earlier = [
            url
            for url in self._known.copies_of(original)
            if not self._is_visited(page_id(url)) and page_id(url) != original
        ]
        return sorted({*read_now, *earlier})

    def pages(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the id of each page with copies in this crawl, and the addresses of all copies."""
        for original, copies in groupby(self._read_now(), key=itemgetter(1)):
            yield original, self.addresses(original, (url for url, _ in copies))

    async def write(self, is_complete: bool, pause: Pause) -> None:
        """Write the copies of pages in this crawl to the book. *pause* is called after each."""
        run, crawl = self._book.runs.current, self._book.runs.crawl
        for copy, original in self._read_now():
            self._book.copies.add(page_id(copy), original, copy, run, crawl)
            await pause()
        for _ in self._book.copies.forget_old(run, crawl, is_complete):
            await pause()

    def _read_now(self) -> list[tuple[str, str]]:
        return list(self._book.answers.copies(self._book.runs.crawl))

    def _original(self, url: str, text: str = "", site: str = "") -> str:
        """Return `KnownPages.original_of` an address, "" if the address is a known page itself."""
        known_page = self._known.page(page_id(url))
        if known_page is not None and known_page.state == LIVE:
            return ""
        return self._known.original_of(page_id(url), text, site)
