"""What a history knows of a page, and which new page has the text of one that is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.ground.errors import DAMAGE
from contentspider.ground.packed import unpack_text
from contentspider.recrawl.difference import change_ratio
from contentspider.recrawl.fingerprint import Fingerprints

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


class NewPages:
    """The pages that are new in the crawl of that *number*, found by their content."""

    def __init__(self, database: Database, number: int) -> None:
        self._database = database
        query = (
            "SELECT pages.id, pages.url, pages.site, pages.fingerprint"
            " FROM changes JOIN pages ON pages.id = changes.id"
            " WHERE changes.crawl = ? AND change = 'new' AND state = 'live' AND fingerprint != ''"
            " ORDER BY pages.url"
        )
        found = list(database.rows(query, (number,)))
        self._pages = [page for *page, _ in found]
        self._fingerprints = Fingerprints([one for *_, one in found])

    def successor(self, page_id: str) -> tuple[str, str] | None:
        """Return id and address of a site's new page with nearly the content of a known one."""
        query = "SELECT site, fingerprint FROM pages WHERE id = ?"
        site, fingerprint = self._database.row(query, (page_id,))
        if not self._pages or not fingerprint:
            return None
        before = self._content(page_id)
        if len(before) < MIN_CHARS:
            return None
        for at in self._fingerprints.near(fingerprint):
            new_id, url, its_site = self._pages[at]
            is_other = its_site == site and new_id != page_id
            if is_other and change_ratio(before, self._content(new_id)) <= MAX_RATIO:
                return new_id, url
        return None

    def _content(self, page_id: str) -> str:
        packed = self._database.value("SELECT content FROM pages WHERE id = ?", (page_id,))
        try:
            return unpack_text(packed) if packed else ""
        except DAMAGE:
            return ""
