"""The copies of pages in a book: addresses without an item, since another page, the original, has
the same text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from contentspider.state.book.anchors import NEWEST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.state.book.anchors import Anchors
    from contentspider.state.book.database import Database

COPIES_KEPT = 3  # a copy that this many complete crawls did not see again is deleted


class Copies:
    """The copies in a book. A row with the original "" tells that an address is a copy no longer.

    If links to an address lead to another page than before, the texts of these links and both pages
    are noted in `Anchors`.
    """

    def __init__(self, database: Database, anchors: Anchors) -> None:
        self._database = database
        self._anchors = anchors

    def original_of(self, copy: str) -> str:
        """Return the id of the page that an address copies, "" for none."""
        query = f"SELECT original FROM copies WHERE id = ? AND {NEWEST}"  # noqa: S608
        return str(self._database.value(query, (copy,)) or "")

    def of(self, original: str) -> list[str]:
        """Return the addresses of the copies of a page."""
        query = f"SELECT url FROM copies WHERE original = ? AND {NEWEST}"  # noqa: S608
        return [url for (url,) in self._database.rows(query, (original,))]

    def add(self, copy: str, original: str, url: str, run: int, crawl: int) -> None:
        """Record for a run that a page duplicates another page, whose item represents both."""
        before = self.original_of(copy)
        if before != original:
            self._note(copy, run, original, before or copy)
        # Readers need the newest of the earlier rows of an address.
        self._database.do(
            "DELETE FROM copies WHERE id = ? AND run < (SELECT max(run) FROM copies WHERE id = ?)",
            (copy, copy),
        )
        values = (copy, run, original, crawl, url)
        self._database.do("INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?, ?)", values)

    def forget_old(self, run: int, crawl: int, is_complete: bool) -> Iterator[None]:
        """Record for a run that addresses are no longer copies if they have become pages, or if the
        last complete crawls did not see them. Yields after each copy, so that the caller can pause.
        """
        oldest = self._database.count(
            "SELECT number FROM crawls WHERE is_complete OR (number = ? AND ?)"
            " ORDER BY number DESC LIMIT 1 OFFSET ?",
            (crawl, is_complete, COPIES_KEPT - 1),
        )
        query = (
            "SELECT id, original, crawl, url, EXISTS (SELECT 1 FROM pages"  # noqa: S608
            " WHERE pages.id = copies.id AND pages.crawl = ? AND state = 'live')"
            f" FROM copies WHERE original != '' AND {NEWEST}"
        )
        for copy, original, seen, url, is_page in list(self._database.rows(query, (crawl,))):
            if is_page or seen < oldest:
                self._note(copy, run, copy, original)
                values = (copy, run, "", seen, url)
                self._database.do("INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?, ?)", values)
            yield

    def clean(self) -> None:
        """Delete the published rows of addresses that are copies no longer."""
        self._database.do(
            "DELETE FROM copies WHERE id IN (SELECT id FROM copies WHERE original = ''"  # noqa: S608
            f" AND run <= (SELECT run FROM published) AND {NEWEST})"
        )

    def note(self, page_id: str, run: int) -> None:
        """Note that a page has become live, or is live no longer: if it is a copy, links to it lead
        to another page than before.
        """
        if original := self.original_of(page_id):
            self._note(page_id, run, original)
        else:
            self._anchors.note(page_id, "", run)

    def _note(self, copy: str, run: int, *pages: str) -> None:
        """Note the texts of the links to a copy, and the *pages* that these may lead to."""
        for page in (copy, *pages):
            self._anchors.note(page, "", run)
        for text in self._anchors.texts_of(copy):
            self._anchors.note(copy, text, run)
