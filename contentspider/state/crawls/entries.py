"""The pages of a book for search indexes, numbered by their last changes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.recrawl.changes import LIVE
from contentspider.site.models.identity import HASH_PART
from contentspider.state.book.anchors import RECORD_KIND
from contentspider.state.book.changes import IS_PUBLISHED, BookPosition
from contentspider.state.book.losses import BY_PERSON
from contentspider.state.book.pages import IS_LIVE, PUBLISHED
from contentspider.state.crawls.books import hidden_sites, read_book
from contentspider.state.outcome import FINISHED

if TYPE_CHECKING:
    from contentspider.state.book.book import Run

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page for an index. *seq* is the number of its last change; *item* is None if it is gone."""

    id: str
    seq: int
    hash: str
    item: dict[str, Any] | None


class Entries:
    """The indexed pages of the book at *path*, read only; raises the errors of `Database`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        book = self._book = read_book(path)
        self._database = book.database
        self._contents = book.contents
        self.close = book.close

    @property
    def last(self) -> int:
        """Return the number of the last change."""
        return self._database.count(f"SELECT max(seq) FROM pages WHERE {PUBLISHED}")  # noqa: S608

    def count(self, after: int = 0) -> int:
        """Return how many pages have changed after the change number *after*."""
        return self._database.count(
            f"SELECT count(*) FROM pages WHERE seq > ? AND {PUBLISHED}",  # noqa: S608
            (after,),
        )

    def live_count(self) -> int:
        """Return how many pages belong in an index."""
        return self._database.count(f"SELECT count(*) {INDEXED}")

    def gone_count(self, after: int) -> int:
        """Return how many pages have gone after the change number *after*. Pages whose text is at
        a new address do not count, but a new page replaces one page only.
        """
        gone = f"FROM pages WHERE state = 'gone' AND seq > ? AND {PUBLISHED}"
        moved = (
            f"SELECT count(DISTINCT content_hash) {gone} AND content_hash IN"  # noqa: S608 - ours
            f" (SELECT content_hash FROM pages WHERE seq > ? AND {IS_LIVE})"
        )
        count = self._database.count(f"SELECT count(*) {gone}", (after,))
        return count - self._database.count(moved, (after, after))

    def unaccepted_count(self, after: int) -> int:
        """Return how many pages have gone after the change number *after*, without those whose loss
        a person has accepted (`accept_gone`).
        """
        accepted = self._database.count(
            f"SELECT count(*) FROM pages WHERE state = 'gone' AND seq > ? AND {PUBLISHED}"  # noqa: S608
            " AND seq IN (SELECT seq FROM changes WHERE origin = ?)",
            (after, BY_PERSON),
        )
        return max(self.gone_count(after) - accepted, 0)

    def moved_count(self, after: int) -> int:
        """Return how many pages are at a new address since the change number *after*."""
        left = self._database.count(
            f"SELECT count(*) FROM pages WHERE state != 'live' AND seq > ? AND {PUBLISHED}",  # noqa: S608
            (after,),
        )
        return left - self.gone_count(after)

    def has_all(self, since: str) -> bool:
        """Tell whether a crawl that ended at time *since* or later has seen the whole site."""
        query = "SELECT count(*) FROM crawls WHERE is_complete AND ended >= ?"
        return bool(self._database.count(query, (since,)))

    def unseen(self, since: str) -> Iterator[str]:
        """Yield the ids of indexed pages that no crawl has seen since a time."""
        rows = self._database.rows(f"SELECT id {INDEXED} AND last_seen < ?", (since,))
        return (page_id for (page_id,) in rows)

    def position(self) -> BookPosition:
        """Return the position of the book in its change log; the book must have pages."""
        query = "SELECT key, ended FROM crawls WHERE ended != '' ORDER BY number DESC LIMIT 1"
        key, ended = self._database.row(query) or ("", "")
        return BookPosition(key, ended, self.last, self._made_at(self.last))

    def follows(self, before: BookPosition) -> bool:
        """Tell whether this book has passed the position *before*."""
        ended = self._database.value("SELECT ended FROM crawls WHERE key = ?", (before.key,))
        # A resumed crawl gets a later end and keeps all of its change records.
        has_gone_on = ended is not None and self._made_at(before.seq) == before.at
        return has_gone_on or ended == before.ended

    def _made_at(self, seq: int) -> str:
        return str(self._database.value("SELECT at FROM changes WHERE seq = ?", (seq,)) or "")

    def last_crawl(self) -> dict[str, Any] | None:
        """Return when the last crawl ``ended``, and its number of ``changes`` of each kind."""
        row = self._database.row(
            "SELECT number, ended FROM crawls WHERE ended != '' ORDER BY number DESC LIMIT 1"
        )
        if row is None:
            return None
        query = (
            f"SELECT change, count(*) FROM changes WHERE crawl = ? AND change != ?"  # noqa: S608
            f" AND {IS_PUBLISHED} GROUP BY 1 ORDER BY 1"
        )
        return {"ended": row[1], "changes": dict(self._database.rows(query, (row[0], RECORD_KIND)))}

    def last_run(self) -> Run | None:
        """Return the last run of the crawl."""
        return self._book.runs.last()

    def told(self) -> dict[str, Any] | None:
        """Return the results of the last crawl; None if none has ended."""
        run, results, pages = self.last_run(), self.last_crawl(), self.live_count()
        if results is None and run is not None and run.ended:
            results = {"ended": run.ended, "changes": {}}
        if results is None:
            return None
        hidden = hidden_sites(self._book)
        outcome = (run.reason or "") if run is not None else ""
        if not pages and outcome == FINISHED:
            outcome = "content_hidden" if hidden else "nothing_read"
        told = {"hidden": hidden, "outcome": outcome}
        return {"name": self.path.stem, "pages": pages, **results, **told}

    def after(self, number: int) -> Iterator[Entry]:
        """Yield the pages that have changed after a change number, in order; skip damaged ones."""
        return self._read("seq > ? ORDER BY seq", number)

    def of(self, page_ids: Sequence[str]) -> Iterator[Entry]:
        """Yield the pages with these ids that the book has."""
        for page_id in page_ids:
            yield from self._read("id = ?", page_id)

    def live(self) -> Iterator[tuple[str, str]]:
        """Yield id and hash of the pages that belong in an index."""
        rows = self._database.rows(f"SELECT id, item_hash, anchors {INDEXED}")
        return ((page_id, _document_hash(*values)) for page_id, *values in rows)

    def _read(self, which: str, value: object) -> Iterator[Entry]:
        rows = self._database.rows(f"{ENTRIES} AND {which}", (value,))
        yield from filter(None, map(self._entry, rows))

    def _entry(self, row: Sequence[Any]) -> Entry | None:
        page_id, seq, item_hash, state, number, first_seen, changed_at, anchors = row
        if state != LIVE or number is None:
            return Entry(page_id, seq, "", None)
        try:
            item = json.loads(self._contents.get(number))
            # The item was stored before its crawl ended, so these dates may be older in it.
            item |= {"first_seen": first_seen, "changed_at": changed_at}
            if anchors:
                item["anchors"] = anchors.split("\n")
        except DAMAGE as error:
            message = (
                "%s: the item of page %s is damaged (%s) and left out; a crawl that sees a change"
                " of the page writes it again"
            )
            logger.error(message, self.path, page_id, error)
            return None
        return Entry(page_id, seq, _document_hash(item_hash, anchors), item)


def _document_hash(item_hash: str, anchors: str) -> str:
    """Return a hash of an item and of the link texts of its page."""
    if not anchors:
        return item_hash
    return f"{item_hash}-{sha256(anchors.encode()).hexdigest()[:HASH_PART]}"


INDEXED = f"FROM pages WHERE {IS_LIVE} AND item IS NOT NULL"
ENTRIES = (
    "SELECT id, seq, item_hash, state, item, first_seen, changed_at, anchors FROM pages"  # noqa: S608
    f" WHERE {PUBLISHED}"
)


def last_crawl(book: Path) -> dict[str, Any] | None:
    """Return the results of the last crawl in a book; None if the book cannot be read, or if none
    of its crawls has ended.
    """
    with suppress(ContentSpiderError, *DAMAGE), closing(Entries(book)) as entries:
        return entries.told()
    return None
