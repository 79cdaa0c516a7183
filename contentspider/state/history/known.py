"""What a history knows of a page, and which new page has the text of one that is gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.errors import DAMAGE
from contentspider.ground.packed import unpack_text
from contentspider.recrawl.difference import change_ratio
from contentspider.recrawl.fingerprint import Fingerprints

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database

# A shorter text ("Sold out") does not identify a page.
MIN_CHARS = 200
# The share of the text that may differ.
MAX_RATIO = 0.2


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What the history knows of a page: *state* is "live", "gone" or "moved"; *missing* counts the
    last complete crawls in which no page linked to it.
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


class Successor(NamedTuple):
    """A new page with the text of one that is gone: it moved without a redirect."""

    id: str
    url: str


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
        self._pages = [(Successor(page_id, url), site) for page_id, url, site, _ in found]
        self._fingerprints = Fingerprints([one for *_, one in found])

    def successor(self, page_id: str) -> Successor | None:
        """Return the new page of the same site with nearly the same main content as a known one."""
        query = "SELECT site, fingerprint FROM pages WHERE id = ?"
        site, fingerprint = self._database.row(query, (page_id,))
        if not self._pages or not fingerprint:
            return None
        before = self._content(page_id)
        if len(before) < MIN_CHARS:
            return None
        for at in self._fingerprints.near(fingerprint):
            page, its_site = self._pages[at]
            is_other = its_site == site and page.id != page_id
            if is_other and change_ratio(before, self._content(page.id)) <= MAX_RATIO:
                return page
        return None

    def _content(self, page_id: str) -> str:
        packed = self._database.value("SELECT content FROM pages WHERE id = ?", (page_id,))
        try:
            return unpack_text(packed) if packed else ""
        except DAMAGE:
            return ""
