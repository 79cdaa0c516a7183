"""Writing a crawl's results into a history, in one transaction."""

from __future__ import annotations

import json
import zlib
from dataclasses import astuple, replace
from typing import TYPE_CHECKING, Any

from contentspider.ground.packed import COMPRESSION, pack_text
from contentspider.ground.times import days_between, now
from contentspider.recrawl.changes import BY_MODEL, BY_PAGE, CHANGED, GONE, MOVED, NEW, UNCHANGED
from contentspider.recrawl.fingerprint import fingerprint
from contentspider.site.models.record import HASH_PART, item_hash, refilled
from contentspider.state.history.moved import NewPages
from contentspider.state.ledger.visits import pack_lines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.recrawl.lastmod import Truth
    from contentspider.state.history.known import KnownPage
    from contentspider.state.ledger.database import Database
    from contentspider.state.ledger.visits import Seen, Visit

# Copies that were not found in this many complete crawls are deleted.
COPIES_KEPT = 3


class Takeover:
    """Writes what the *crawl* of that key found into the history in a *database*, in one
    transaction until `commit`. A crawl may be taken over again, with what it found since.

    Records of pages that were unchanged in earlier crawls are deleted from the log.
    """

    def __init__(self, database: Database, crawl: str, is_complete: bool, max_bytes: int) -> None:
        self._database = database
        self._do = database.do
        self._max_bytes = max_bytes
        self._begin(crawl, is_complete)
        self._first = database.count("SELECT max(seq) FROM changes") + 1
        self._new_pages: NewPages | None = None

    def _begin(self, crawl: str, is_complete: bool) -> None:
        known = self._database.count("SELECT number FROM crawls WHERE key = ?", (crawl,))
        if known:
            self._number = known
            self._do(
                "UPDATE crawls SET ended = ?, is_complete = ? WHERE number = ?",
                (now(), is_complete, known),
            )
            return
        self._do("DELETE FROM changes WHERE change = 'unchanged'")
        added = self._do(
            "INSERT INTO crawls (key, visits, ended, is_complete) VALUES (?, 0, ?, ?)",
            (crawl, now(), is_complete),
        )
        self._number = added.lastrowid or 0

    def take(self, seen: Seen) -> Visit:
        """Take over a visit, record how the page changed, and return it."""
        visit = seen.visit
        self._do("UPDATE crawls SET visits = ? WHERE number = ?", (seen.number, self._number))
        self._do(
            "INSERT OR IGNORE INTO pages (id, url, site, state, first_seen, fetches, changes,"
            " missing) VALUES (?, ?, ?, 'live', ?, 0, 0, 0)",
            (visit.id, visit.url, visit.site, visit.first_seen),
        )
        before = self._value("content", visit.previous_id or visit.id)
        if visit.change != NEW and visit.cause != BY_PAGE:
            changed_at = self._value("changed_at", visit.previous_id or visit.id)
            visit = replace(visit, changed_at=changed_at or visit.changed_at)
        if visit.change != UNCHANGED and seen.content is not None:
            self._do(
                "UPDATE pages SET previous = ?, previous_hash = ? WHERE id = ?",
                (before, visit.previous_hash, visit.id),
            )
        if seen.content is not None:
            self._set_content(visit.id, seen.content)
        if seen.page is not None:
            page = seen.page if self._has_room() else None
            self._do("UPDATE pages SET page = ? WHERE id = ?", (page, visit.id))
        is_changed = visit.change == CHANGED and visit.cause == BY_PAGE
        days = self._days_since(visit)
        self._do(
            "UPDATE pages SET url = ?, state = 'live', last_seen = ?, changed_at = ?,"
            " content_hash = ?, text_hash = ?, model = ?, etag = ?, last_modified = ?, links = ?,"
            " fetches = fetches + 1, changes = changes + ?, changed_days = changed_days + ?,"
            " still_days = still_days + ?, first_seen = ? WHERE id = ?",
            (
                visit.url,
                visit.at,
                visit.changed_at,
                visit.content_hash,
                visit.text_hash,
                visit.model,
                seen.answer.etag,
                seen.answer.last_modified,
                pack_lines(seen.answer.links),
                is_changed,
                days if is_changed else 0.0,
                0.0 if is_changed else days,
                visit.first_seen,
                visit.id,
            ),
        )
        if not seen.answer.is_unsent:
            self._do("UPDATE pages SET last_fetched = ? WHERE id = ?", (visit.at, visit.id))
        if not seen.answer.is_orphan:
            self._do("UPDATE pages SET missing = 0 WHERE id = ?", (visit.id,))
        seq = self._record(
            at=visit.at,
            id=visit.id,
            url=visit.url,
            change=visit.change,
            change_ratio=visit.ratio,
            change_cause=visit.cause,
            previous_hash=visit.previous_hash,
            content_hash=visit.content_hash,
            first_seen=visit.first_seen,
            changed_at=visit.changed_at,
            reason=visit.reason,
            previous_id=visit.previous_id,
        )
        if visit.previous_id and visit.previous_id != visit.id:
            self._do(
                "UPDATE pages SET state = 'moved', seq = ? WHERE id = ?", (seq, visit.previous_id)
            )
        if seen.is_item_known:
            self._take_item(visit.id, seen.item, seq, visit.change != UNCHANGED)
        return visit

    def _take_item(
        self, page_id: str, item: dict[str, Any] | None, seq: int, is_changed: bool
    ) -> None:
        """Write the item of a page with the number of its record. If the page is not *is_changed*,
        its item is written only if fields other than the content differ: numbers in it may.
        """
        new = item_hash(item) if item is not None else ""
        old = self._value("item_hash", page_id)
        if is_changed or new[:HASH_PART] != old[:HASH_PART]:
            self._do(
                "UPDATE pages SET item = ?, item_hash = ?, seq = ? WHERE id = ?",
                (_packed(item) if item is not None else None, new, seq, page_id),
            )

    def _set_content(self, page_id: str, content: str) -> None:
        self._do(
            "UPDATE pages SET content = ?, fingerprint = ? WHERE id = ?",
            (pack_text(content), fingerprint(content), page_id),
        )

    def _days_since(self, visit: Visit) -> float:
        """Return the days since the last visit of a page; 0 if it is new, or came back."""
        last_seen = self._value("last_seen", visit.id)
        if not last_seen or visit.change not in (CHANGED, UNCHANGED):
            return 0.0
        return max(days_between(last_seen, visit.at), 0.0)

    def _value(self, column: str, page_id: str) -> Any:
        """Return the value of a page's column, None if the page is not known."""
        row = self._do(f"SELECT {column} FROM pages WHERE id = ?", (page_id,)).fetchone()  # noqa: S608
        return row[0] if row else None

    def _has_room(self) -> bool:
        pages = self._database.count("PRAGMA page_count")
        return pages * self._database.count("PRAGMA page_size") < self._max_bytes

    def move(self, known: KnownPage, new_id: str, new_url: str, reason: str) -> None:
        """Record that a known page has moved to another address."""
        target = self._do(
            "SELECT content_hash, changed_at FROM pages WHERE id = ?", (new_id,)
        ).fetchone() or ("", known.changed_at)
        seq = self._record(
            at=now(),
            id=new_id,
            url=new_url,
            change=MOVED,
            change_cause=BY_PAGE,
            previous_hash=known.content_hash,
            content_hash=target[0],
            first_seen=known.first_seen,
            changed_at=target[1],
            reason=reason,
            previous_id=known.id,
        )
        self._do("UPDATE pages SET state = 'moved', seq = ? WHERE id = ?", (seq, known.id))

    def mark_gone(self, known: KnownPage, reason: str) -> None:
        """Record that a page is gone; call it after all visits are taken over.

        If a new page has its text, the page moved without a redirect: the records of both name the
        other's address.
        """
        at = now()
        if self._new_pages is None:
            self._new_pages = NewPages(self._database, self._number)
        if (successor := self._new_pages.successor(known.id)) is not None:
            reason += f"; its text is at {successor.url}"
            self._do(  # not what an earlier take-over has recorded: that was read
                "UPDATE changes SET reason = ?"
                " WHERE seq >= ? AND id = ? AND change = 'new' AND reason = ''",
                (f"its text was at {known.url}", self._first, successor.id),
            )
        seq = self._record(
            at=at,
            id=known.id,
            url=known.url,
            change=GONE,
            change_ratio=1.0,
            change_cause=BY_PAGE,
            previous_hash=known.content_hash,
            first_seen=known.first_seen,
            changed_at=at,
            reason=reason,
        )
        self._do(
            "UPDATE pages SET state = 'gone', changed_at = ?, seq = ? WHERE id = ?",
            (at, seq, known.id),
        )

    def miss(self, page_id: str) -> None:
        """Count a complete crawl in which no page linked to a page; each crawl counts once."""
        self._do(
            "UPDATE pages SET missing = missing + 1, missing_in = ?"
            " WHERE id = ? AND missing_in IS NOT ?",
            (self._number, page_id, self._number),
        )

    def refilter(
        self, known: KnownPage, model: str, fields: Mapping[str, Any], ratio: float
    ) -> None:
        """Write the item *fields* that another model makes of a page without a visit; record a
        change if the content differs.
        """
        content_hash, content = fields["content_hash"], fields["content"]
        self._do("UPDATE pages SET model = ? WHERE id = ?", (model, known.id))
        if content_hash == known.content_hash:
            return
        self._do(
            "UPDATE pages SET content_hash = ?, previous_hash = content_hash, previous = content"
            " WHERE id = ?",
            (content_hash, known.id),
        )
        self._set_content(known.id, content)
        seq = self._record(
            at=now(),
            id=known.id,
            url=known.url,
            change=CHANGED,
            change_ratio=ratio,
            change_cause=BY_MODEL,
            previous_hash=known.content_hash,
            content_hash=content_hash,
            first_seen=known.first_seen,
            changed_at=known.changed_at,
        )
        before = self._value("item", known.id)
        if before is not None:
            item = refilled(json.loads(zlib.decompress(before)), fields)
            self._take_item(known.id, item, seq, is_changed=True)

    def count(self, site: str, place: str) -> None:
        """Record a place of a site that holds a counter."""
        self._do("INSERT OR IGNORE INTO counters VALUES (?, ?)", (site, place))

    def copy(self, page_id: str, original_id: str) -> None:
        """Note that a page was a copy of another one, which stands for both."""
        self._do(
            "INSERT OR REPLACE INTO copies VALUES (?, ?, ?)", (page_id, original_id, self._number)
        )

    def distrust(self, site: str) -> None:
        """Record that a site's server answered "not modified" for changed pages."""
        self._do("INSERT OR IGNORE INTO distrusted VALUES (?)", (site,))

    def judge(self, site: str, truth: Truth) -> None:
        """Keep how often a site's sitemaps were right."""
        self._do("INSERT OR REPLACE INTO lastmods VALUES (?, ?, ?, ?, ?)", (site, *astuple(truth)))

    def _record(self, **values: object) -> int:
        names = ", ".join(["crawl", *values])
        marks = ", ".join("?" * (len(values) + 1))
        added = self._do(
            f"INSERT INTO changes ({names}) VALUES ({marks})",  # noqa: S608 - our own names
            (self._number, *values.values()),
        )
        return added.lastrowid or 0

    def commit(self) -> None:
        """Keep all that was taken over."""
        self._do(
            "DELETE FROM copies WHERE crawl <"
            " (SELECT number FROM crawls WHERE is_complete ORDER BY number DESC LIMIT 1 OFFSET ?)",
            (COPIES_KEPT - 1,),
        )
        self._database.commit()
        self._database.sync()


def _packed(item: dict[str, Any]) -> bytes:
    return zlib.compress(
        json.dumps(item, ensure_ascii=False).encode("utf-8", "replace"), COMPRESSION
    )
