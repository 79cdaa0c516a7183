"""Writes which known pages are gone, have moved, or may be gone, at the end of a crawl."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING
from zlib import crc32

from contentspider.ground.errors import DAMAGE
from contentspider.ground.times import now
from contentspider.recrawl.changes import GONE, MOVED
from contentspider.recrawl.difference import MAX_WORDS
from contentspider.state.book.pages import BY_END

if TYPE_CHECKING:
    from contentspider.state.book.book import Book
    from contentspider.state.book.database import Database
    from contentspider.state.book.pages import Pages, PageVersion

# Limits of the search for a new page that has the text of a gone one.
MIN_CHARS = 200  # a shorter text, such as "Sold out", does not identify a page
MAX_RATIO = 0.2  # the share of the text that may differ
MAX_NEW = 20_000  # new pages that are compared: 15 ms per gone page for 1,000 new ones

# The origin of a record that a person has accepted.
BY_PERSON = "person"


class Losses:
    """Writes the losses of a run into a *book*. Each page is written as a function of its known
    version, so that an end of a crawl that begins anew writes the same.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._run, self._crawl = book.runs.current, book.runs.crawl

    def move(self, page: PageVersion, new_id: str, new_url: str, reason: str) -> None:
        """Record that a known page has moved to another address."""
        target = self._book.pages.newest(new_id)
        seq = self._record(
            page,
            id=new_id,
            url=new_url,
            change=MOVED,
            content_hash=target.content_hash if target else "",
            changed_at=target.changed_at if target else page.changed_at,
            reason=reason,
            previous_id=page.id,
        )
        self.mark_moved(page.id, seq)

    def mark_moved(self, page_id: str, seq: int) -> None:
        """Record that a known page has moved, as the change record *seq* tells."""
        self._book.pages.renew(page_id, self._run, state=MOVED, seq=seq)

    def new_address(self, page: PageVersion) -> str:
        """Return the address of a new page with exactly the content of a known page, "" if there is
        none; call it after all visits are written.
        """
        copy = self._new_pages.copy(page)
        return copy[1] if copy else ""

    @cached_property
    def _new_pages(self) -> NewPages:
        return NewPages(self._book.database, self._book.pages, self._crawl)

    def mark_gone(self, page: PageVersion, reason: str, origin: str = BY_END) -> None:
        """Record that a page is gone; call it after all visits are written. If a new page has the
        same text, the reasons of both pages name the other one. *origin*: who says so.
        """
        at = now()
        if (successor := self._new_pages.successor(page)) is not None:
            new_id, url = successor
            reason += f"; its text is at {url}"
            # Published records stay as they are, because consumers have read them.
            self._book.database.do(
                "UPDATE changes SET reason = ? WHERE id = ? AND change = 'new' AND reason = ''"
                " AND run > (SELECT run FROM published)",
                (f"its text was at {page.url}", new_id),
            )
        seq = self._record(
            page, at=at, change=GONE, change_ratio=1.0, changed_at=at, reason=reason, origin=origin
        )
        values = {"state": GONE, "changed_at": at, "seq": seq, "doubt": ""}
        self._book.pages.renew(page.id, self._run, **values)

    def _record(self, page: PageVersion, **values: object) -> int:
        return self._book.changes.add(page, self._run, self._crawl, **{"origin": BY_END, **values})

    def doubt(self, page: PageVersion, reason: str) -> None:
        """Store the reason why a page would be gone, for `accept_gone`."""
        self._book.pages.renew(page.id, self._run, doubt=reason)

    def count_missing(self, page_id: str) -> None:
        """Count a complete crawl that found no link to a page; each crawl counts once."""
        known = self._book.pages.known(page_id)
        missing, missing_in = (known.missing, known.missing_in) if known else (0, 0)
        if missing_in != self._crawl:
            values = {"missing": missing + 1, "missing_in": self._crawl}
            self._book.pages.renew(page_id, self._run, **values)

    def reset_missing(self, page_id: str) -> None:
        """Record that a page links to a page: crawls without a link are counted from 0 again."""
        version = self._book.pages.newest(page_id)
        if version is not None and version.missing:
            self._book.pages.renew(page_id, self._run, missing=0)


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
        from rapidfuzz.distance import Indel  # readers of books do without it
        from rapidfuzz.process import extractOne

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
