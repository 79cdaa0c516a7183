"""What a history knows of a page, and which new page has the text of one that is gone."""

from __future__ import annotations

import json
from array import array
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

from rapidfuzz.distance import Indel
from rapidfuzz.process import extractOne

from contentspider.ground.errors import DAMAGE
from contentspider.ground.packed import unpack_text
from contentspider.recrawl.difference import MAX_WORDS

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database
    from contentspider.state.packing import Packing

MIN_CHARS = 200  # a shorter text ("Sold out") does not identify a page
MAX_RATIO = 0.2  # the share of the text that may differ
MAX_NEW = 20_000  # new pages that are compared: a gone one takes 15 ms for 1,000 of them


@dataclass(frozen=True, slots=True)
class KnownPage:
    """A page of the history: "live", "gone" or "moved", and *missing* in so many crawls. *doubt* is
    why it would be gone, had fewer pages been with it.
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


def read_item(packing: Packing, packed: bytes | None) -> dict[str, Any] | None:
    """Return a page's item; None if there is none, or it is damaged: indexes leave it out."""
    with suppress(*DAMAGE):
        found = json.loads(packing.unpack(packed)) if packed is not None else None
        return found if isinstance(found, dict) else None
    return None


class NewPages:
    """The pages that are new in the crawl of that *number*, found by their content."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        query = (
            "SELECT pages.site, pages.id, pages.url"
            " FROM changes JOIN pages ON pages.id = changes.id"
            " WHERE changes.crawl = ? AND change = 'new' AND state = 'live' ORDER BY pages.url"
            " LIMIT ?"
        )
        self._pages: dict[str, list[tuple[str, str]]] = {}
        self._words: dict[str, list[array[int]]] = {}
        for site, *page in database.rows(query, (number, MAX_NEW)):
            self._pages.setdefault(site, []).append((page[0], page[1]))
            self._words.setdefault(site, []).append(self._of(page[0]))

    def successor(self, page_id: str) -> tuple[str, str] | None:
        """Return id and address of a site's new page with nearly the content of a known one."""
        site = self._database.value("SELECT site FROM pages WHERE id = ?", (page_id,))
        words = self._of(page_id) if site in self._pages else None
        if not words:
            return None
        pages = zip(self._pages[site], self._words[site], strict=True)
        others = {page: of for page, of in pages if page[0] != page_id}
        scorer = Indel.normalized_distance
        found = extractOne(words, others, scorer=scorer, processor=None, score_cutoff=MAX_RATIO)
        return found[2] if found else None

    def _of(self, page_id: str) -> array[int]:
        """Return the words of a page's content as numbers; none if it identifies no page."""
        packed = self._database.value("SELECT content FROM pages WHERE id = ?", (page_id,))
        try:
            content = unpack_text(packed) if packed else ""
        except DAMAGE:
            content = ""
        words = content.split()[:MAX_WORDS] if len(content) >= MIN_CHARS else []
        return array("I", [crc32(word.encode("utf-8", "surrogatepass")) for word in words])
