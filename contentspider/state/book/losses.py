"""Writes which known pages are gone, have moved, or may be gone, at the end of a crawl."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from contentspider.ground.times import now
from contentspider.recrawl.changes import GONE, MOVED
from contentspider.state.book.new_pages import NewPages
from contentspider.state.book.pages import BY_END

if TYPE_CHECKING:
    from contentspider.state.book.book import Book
    from contentspider.state.book.pages import PageVersion


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

    def mark_gone(self, page: PageVersion, reason: str) -> None:
        """Record that a page is gone; call it after all visits are written. If a new page has the
        same text, the reasons of both pages name the other one.
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
        seq = self._record(page, at=at, change=GONE, change_ratio=1.0, changed_at=at, reason=reason)
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
