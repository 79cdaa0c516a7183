"""The search for a new page that has the text of a gone one."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING
from zlib import crc32

from rapidfuzz.distance import Indel
from rapidfuzz.process import extractOne

from contentspider.ground.errors import DAMAGE
from contentspider.recrawl.difference import MAX_WORDS

if TYPE_CHECKING:
    from contentspider.state.book.pages import Pages, PageVersion
    from contentspider.state.database import Database

MIN_CHARS = 200  # a shorter text, such as "Sold out", does not identify a page
MAX_RATIO = 0.2  # the share of the text that may differ
MAX_NEW = 20_000  # new pages that are compared: 15 ms per gone page for 1,000 new ones


class NewPages:
    """The new pages of a *crawl*, to be found by their content."""

    def __init__(self, database: Database, pages: Pages, crawl: int) -> None:
        self._text_of = pages.text
        query = (
            "SELECT pages.site, pages.content_hash, pages.content, pages.id, pages.url"
            " FROM changes JOIN pages ON pages.record = changes.seq AND pages.id = changes.id"
            " WHERE changes.crawl = ? AND change = 'new' AND state = 'live' ORDER BY pages.url"
            " LIMIT ?"
        )
        self._pages: dict[str, list[tuple[str, str]]] = {}
        self._by_hash: dict[tuple[str, str], tuple[str, str]] = {}
        self._words: dict[str, list[array[int]]] = {}
        for site, content_hash, content, *page in database.rows(query, (crawl, MAX_NEW)):
            self._pages.setdefault(site, []).append((page[0], page[1]))
            self._by_hash.setdefault((site, content_hash), (page[0], page[1]))
            self._words.setdefault(site, []).append(self._of(content))

    def copy(self, known: PageVersion) -> tuple[str, str] | None:
        """Return id and URL of a new page of the same site with exactly a page's content."""
        page = self._by_hash.get((known.site, known.content_hash))
        return page if page and page[0] != known.id and self._of(known.content) else None

    def successor(self, known: PageVersion) -> tuple[str, str] | None:
        """Return id and URL of a new page of the same site with nearly a page's content."""
        if copy := self.copy(known):
            return copy
        words = self._of(known.content) if known.site in self._pages else None
        if not words:
            return None
        pages = zip(self._pages[known.site], self._words[known.site], strict=True)
        candidates = {page: new_words for page, new_words in pages if page[0] != known.id}
        scorer = Indel.normalized_distance
        match = extractOne(words, candidates, scorer=scorer, processor=None, score_cutoff=MAX_RATIO)
        return match[2] if match else None

    def _of(self, number: int | None) -> array[int]:
        """Return the words of a content as hashes; empty if they identify no page."""
        try:
            content = self._text_of(number)
        except DAMAGE:
            content = ""
        words = content.split()[:MAX_WORDS] if len(content) >= MIN_CHARS else []
        return array("I", [crc32(word.encode("utf-8", "surrogatepass")) for word in words])
