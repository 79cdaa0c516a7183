"""A page of a history, and the search for a new page that has the text of a gone one."""

from __future__ import annotations

import json
from array import array
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any
from zlib import crc32

from rapidfuzz.distance import Indel
from rapidfuzz.process import extractOne

from contentspider.ground.compression import unpack_text
from contentspider.ground.errors import DAMAGE
from contentspider.recrawl.difference import MAX_WORDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from contentspider.state.compression import RecordCompressor
    from contentspider.state.ledger.database import Database

MIN_CHARS = 200  # a shorter text, such as "Sold out", does not identify a page
MAX_RATIO = 0.2  # the share of the text that may differ
MAX_NEW = 20_000  # new pages that are compared: 15 ms per gone page for 1,000 new ones


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A page of the history. *state* is "live", "gone" or "moved"; *missing* counts the complete
    crawls that found no link to it. *doubt* is the reason why the page would be gone; it is
    set if too many pages would have gone in one crawl.
    """

    id: str
    url: str
    state: str
    first_seen: str
    last_seen: str
    last_fetched: str
    changed_at: str
    content_hash: str
    text_hash: str
    model: str
    etag: str
    last_modified: str
    missing: int
    site: str = ""
    doubt: str = ""
    layout_hash: str = ""


def read_item(packing: RecordCompressor, packed: bytes | None) -> dict[str, Any] | None:
    """Return a page's item, or None if it is missing or damaged; indexes leave such items out."""
    with suppress(*DAMAGE):
        item = json.loads(packing.unpack(packed)) if packed is not None else None
        return item if isinstance(item, dict) else None
    return None


class NewPages:
    """The new pages of the crawl with a *number*, to be found by their content. They are in several
    *databases*: in the history, and last in its draft.
    """

    def __init__(self, databases: Sequence[Database], number: int) -> None:
        self._databases = databases
        query = (
            "SELECT pages.site, pages.content_hash, pages.id, pages.url"
            " FROM changes JOIN pages ON pages.id = changes.id"
            " WHERE changes.crawl = ? AND change = 'new' AND state = 'live' ORDER BY pages.url"
            " LIMIT ?"
        )
        self._pages: dict[str, list[tuple[str, str]]] = {}
        self._by_hash: dict[tuple[str, str], tuple[str, str]] = {}
        self._words: dict[str, list[array[int]]] = {}
        rows = chain.from_iterable(each.rows(query, (number, MAX_NEW)) for each in databases)
        for site, content_hash, *page in islice(rows, MAX_NEW):
            self._pages.setdefault(site, []).append((page[0], page[1]))
            self._by_hash.setdefault((site, content_hash), (page[0], page[1]))
            self._words.setdefault(site, []).append(self._of(page[0]))

    def copy(self, page_id: str) -> tuple[str, str] | None:
        """Return id and URL of a new page of the same site with exactly a page's content."""
        key = self._value("site", page_id), self._value("content_hash", page_id)
        page = self._by_hash.get(key)
        return page if page and page[0] != page_id and self._of(page_id) else None

    def successor(self, page_id: str) -> tuple[str, str] | None:
        """Return id and URL of a new page of the same site with nearly a page's content."""
        if copy := self.copy(page_id):
            return copy
        site = self._value("site", page_id)
        words = self._of(page_id) if site in self._pages else None
        if not words:
            return None
        pages = zip(self._pages[site], self._words[site], strict=True)
        candidates = {page: new_words for page, new_words in pages if page[0] != page_id}
        scorer = Indel.normalized_distance
        match = extractOne(words, candidates, scorer=scorer, processor=None, score_cutoff=MAX_RATIO)
        return match[2] if match else None

    def _of(self, page_id: str) -> array[int]:
        """Return the words of a page's content as hashes; empty if they identify no page."""
        packed = self._value("content", page_id)
        try:
            content = unpack_text(packed) if packed else ""
        except DAMAGE:
            content = ""
        words = content.split()[:MAX_WORDS] if len(content) >= MIN_CHARS else []
        return array("I", [crc32(word.encode("utf-8", "surrogatepass")) for word in words])

    def _value(self, column: str, page_id: str) -> Any:
        """Return a column of a page from the last database that has the page; None without one."""
        query = f"SELECT {column} FROM pages WHERE id = ?"  # noqa: S608 - our own names
        rows = (each.row(query, (page_id,)) for each in reversed(self._databases))
        row = next(filter(None, rows), None)
        return row[0] if row else None
