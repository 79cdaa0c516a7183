"""What a history knows of a page, and which new page has the text of one that is gone."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE
from contentspider.ground.packed import unpack, unpack_text
from contentspider.recrawl.difference import change_ratio
from contentspider.recrawl.fingerprint import Fingerprints, fingerprint

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database

MIN_CHARS = 200  # a shorter text ("Sold out") does not identify a page
MAX_RATIO = 0.2  # the share of the text that may differ


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


def read_item(packed: bytes | None) -> dict[str, Any] | None:
    """Return a page's item; None if there is none, or it is damaged: indexes leave it out."""
    with suppress(*DAMAGE):
        found = json.loads(unpack(packed)) if packed is not None else None
        return found if isinstance(found, dict) else None
    return None


class NewPages:
    """The pages that are new in the crawl of that *number*, found by their content."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        query = (
            "SELECT pages.id, pages.url, pages.site"
            " FROM changes JOIN pages ON pages.id = changes.id"
            " WHERE changes.crawl = ? AND change = 'new' AND state = 'live' ORDER BY pages.url"
        )
        # Made where pages are gone: in most crawls none are.
        found = {page: self._fingerprint(page[0]) for page in database.rows(query, (number,))}
        self._pages = [page for page, one in found.items() if one]
        self._fingerprints = Fingerprints([one for one in found.values() if one])

    def successor(self, page_id: str) -> tuple[str, str] | None:
        """Return id and address of a site's new page with nearly the content of a known one."""
        own = self._fingerprint(page_id) if self._pages else ""
        if not own:
            return None
        site = self._database.value("SELECT site FROM pages WHERE id = ?", (page_id,))
        before = self._content(page_id)
        for at in self._fingerprints.near(own):
            new_id, url, its_site = self._pages[at]
            is_other = its_site == site and new_id != page_id
            if is_other and change_ratio(before, self._content(new_id)) <= MAX_RATIO:
                return new_id, url
        return None

    def _fingerprint(self, page_id: str) -> str:
        content = self._content(page_id)
        return fingerprint(content) if len(content) >= MIN_CHARS else ""

    def _content(self, page_id: str) -> str:
        packed = self._database.value("SELECT content FROM pages WHERE id = ?", (page_id,))
        try:
            return unpack_text(packed) if packed else ""
        except DAMAGE:
            return ""
