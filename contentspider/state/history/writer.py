"""Writes a crawl's results into a history: at first into a draft, in portions."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import astuple
from typing import TYPE_CHECKING, Any

from contentspider.ground.compression import pack_text, unpack
from contentspider.ground.errors import DAMAGE
from contentspider.ground.json_text import json_text
from contentspider.ground.times import days_between, now
from contentspider.recrawl.changes import (
    BY_FIELDS,
    BY_MODEL,
    BY_PAGE,
    CHANGED,
    GONE,
    LIVE,
    MOVED,
    REFILTERED,
    UNCHANGED,
)
from contentspider.recrawl.lastmod import LastmodCounts
from contentspider.site.models.record import HASH_PART, item_hash, refilled
from contentspider.state.compression import RecordCompressor
from contentspider.state.history.anchors import AnchorCounts
from contentspider.state.history.draft import Draft
from contentspider.state.history.page_records import NewPages, PageRecord, read_item
from contentspider.state.ledger.visits import Answer, StoredVisit, Visit, pack_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping

    from contentspider.recrawl.judge import Change, Facts
    from contentspider.state.ledger.database import Database

# Columns that a visit shares with a change record, and with a page.
OF_RECORD = ("at", "previous_hash", "content_hash", "reason", "previous_id")
OF_VISIT = ("url", "first_seen", "content_hash", "text_hash", "layout_hash", "model")

VISIT_FACT, BYTES_FACT = "visit", "bytes"


class HistoryWriter:
    """Writes the results of a *crawl* into a history.

    All changes of pages go into a `Draft`. `keep` commits them there, and a later process with the
    same *basis* continues with them. `commit` writes them into the history, in one transaction.
    """

    def __init__(
        self, database: Database, crawl: str, is_complete: bool, max_bytes: int, basis: object
    ) -> None:
        self._history = database
        self._draft = Draft(database, [crawl, is_complete, basis])
        self._do = self._draft.do
        self._rows: Generator[None] = self._draft.copy()
        self._pages = RecordCompressor(self._draft.database, "pages")
        self._items = RecordCompressor(self._draft.database, "items")
        self._anchors = AnchorCounts(self._draft.database)
        # The draft has copies of pages, so its size does not tell how much the history will grow.
        self._max_growth = max_bytes - _size(database)
        self._growth = self._draft.fact(BYTES_FACT)
        query = "SELECT number FROM crawls WHERE key = ?"
        if not database.count(query, (crawl,)):
            database.do("DELETE FROM changes WHERE change = 'unchanged'")
        database.do(
            "INSERT INTO crawls (key, visits, ended, is_complete) VALUES (?, 0, ?, ?) ON CONFLICT"
            " DO UPDATE SET ended = excluded.ended, is_complete = excluded.is_complete",
            (crawl, now(), is_complete),
        )
        self._number = database.count(query, (crawl,))
        self._new_pages: NewPages | None = None
        visits = database.count("SELECT visits FROM crawls WHERE key = ?", (crawl,))
        # The number of the last visit that an earlier run of the crawl has written.
        self.published_visit = visits
        # The number of the last visit in the ledger that was added.
        self.last_visit = self._draft.fact(VISIT_FACT) or visits

    def counts(self) -> dict[str, int]:
        """Return the numbers of the changes that an earlier process has kept, by kind."""
        rows = self._draft.database.rows("SELECT change, count(*) FROM changes GROUP BY change")
        return dict(rows)

    def moved_ids(self) -> set[str]:
        """Return the earlier ids of the moved pages in the draft."""
        rows = self._draft.database.rows("SELECT DISTINCT previous_id FROM changes")
        return {previous_id for (previous_id,) in rows if previous_id}

    def stale(self) -> set[str]:
        """Return the sites of `set_stale` that an earlier process has kept."""
        return {site for (site,) in self._draft.database.rows("SELECT site FROM stale")}

    def lastmods(self) -> dict[str, LastmodCounts]:
        """Return the counts of `set_lastmods` that an earlier process has kept, by site."""
        rows = self._draft.database.rows("SELECT * FROM lastmods")
        return {site: LastmodCounts(*counts) for site, *counts in rows}

    def add_visit(self, stored: StoredVisit, change: Change) -> None:
        """Write a visit and the change of its page."""
        visit, self.last_visit = stored.visit, stored.number
        if self._values(visit.id, "state") != (LIVE,):
            self._anchors.add_page(visit.id)
        self._draft.take(visit.id)
        self._do(
            "INSERT OR IGNORE INTO pages (id, url, site, state, first_seen)"
            " VALUES (?, ?, ?, 'live', ?)",
            (visit.id, visit.url, visit.site, visit.first_seen),
        )
        before, changed_at = self._values(visit.previous_id or visit.id, "content, changed_at")
        if change.cause == BY_PAGE or not changed_at:  # otherwise the page itself is as it was
            changed_at = visit.at
        is_changed = change.change != UNCHANGED
        values: dict[str, object] = {name: getattr(visit, name) for name in OF_VISIT}
        values.update(state=LIVE, last_seen=visit.at, changed_at=changed_at)
        values.update(self._change_intervals(visit, change))
        values.update(_answer_values(stored.answer, visit.at))
        values.update(self._text_values(stored, before, is_changed))
        self._set(visit.id, **values)
        seq = self._record(
            visit,
            changed_at,
            **{name: getattr(visit, name) for name in OF_RECORD},
            change=change.change,
            change_ratio=change.ratio,
            change_cause=change.cause,
            fields=_field_changes(visit.facts),
        )
        if visit.previous_id and visit.previous_id != visit.id:
            self._set(visit.previous_id, state=MOVED, seq=seq)
        if stored.is_item_known:
            self._take_item(visit.id, stored.item, seq, is_changed)

    def _text_values(
        self, stored: StoredVisit, before: bytes | None, is_changed: bool
    ) -> dict[str, object]:
        """Return the columns for the content and the whole page; *before* is the last content."""
        values: dict[str, object] = {}
        if stored.content is not None:
            values["content"] = pack_text(stored.content)
            if is_changed:
                values["previous"] = before
        if stored.page is not None:
            values["page"] = None
            with suppress(*DAMAGE):  # a damaged page is not kept
                if self._growth < self._max_growth:
                    values["page"] = page = self._pages.pack(unpack(stored.page))
                    (size,) = self._values(stored.visit.id, "length(page)")
                    self._growth += len(page) - (size or 0)
        return values

    def _change_intervals(self, visit: Visit, change: Change) -> dict[str, object]:
        """Return the columns of `ChangeIntervals`, with the days before this visit added."""
        columns = "last_seen, changes, changed_days, still_days"
        last_seen, changes, changed_days, still_days = self._values(visit.id, columns)
        days = 0.0
        if last_seen and change.change in (CHANGED, REFILTERED, UNCHANGED):
            days = max(days_between(last_seen, visit.at), 0.0)
        if change.change == CHANGED and change.cause in (BY_PAGE, BY_FIELDS):
            return {"changes": changes + 1, "changed_days": changed_days + days}
        return {"still_days": still_days + days}

    def _take_item(
        self, page_id: str, item: dict[str, Any] | None, seq: int, is_changed: bool
    ) -> None:
        """Write a page's item if the page *is_changed*, or the item's metadata differ."""
        new = item_hash(item) if item is not None else ""
        (old,) = self._values(page_id, "item_hash")
        if not is_changed and new[:HASH_PART] == old[:HASH_PART]:
            return
        packed = None
        if item is not None:
            line = json_text(item).encode("utf-8", "replace")
            packed = self._items.pack(line)
            del item, line  # each may have 100 MB
        self._set(page_id, item=packed, item_hash=new, seq=seq)

    def _values(self, page_id: str, columns: str) -> Any:
        """Return columns of a page, all None if the history does not have it."""
        return self._draft.row(page_id, columns) or (None,) * len(columns.split(","))

    def _set(self, page_id: str, **values: object) -> None:
        """Set columns of a page."""
        self._draft.take(page_id)
        if values.keys() & {"state", "links"}:
            before = dict(
                zip(("state", "links"), self._values(page_id, "state, links"), strict=True)
            )
            self._anchors.replace(_live_links(before), _live_links(before | values))
        columns = ", ".join(f"{name} = ?" for name in values)
        self._do(f"UPDATE pages SET {columns} WHERE id = ?", (*values.values(), page_id))  # noqa: S608

    def move(self, page: PageRecord, new_id: str, new_url: str, reason: str) -> None:
        """Record that a page of the history has moved to another address."""
        content_hash, changed_at = self._values(new_id, "content_hash, changed_at")
        seq = self._record(
            page,
            page.changed_at if changed_at is None else changed_at,
            id=new_id,
            url=new_url,
            change=MOVED,
            content_hash=content_hash or "",
            reason=reason,
            previous_id=page.id,
        )
        self._set(page.id, state=MOVED, seq=seq)

    def new_address(self, page: PageRecord) -> str:
        """Return the address of a new page with exactly the content of a known page, "" if there is
        none; call it after all visits are written.
        """
        copy = self._known_new_pages().copy(page.id)
        return copy[1] if copy else ""

    def _known_new_pages(self) -> NewPages:
        if self._new_pages is None:
            self._new_pages = NewPages((self._history, self._draft.database), self._number)
        return self._new_pages

    def mark_gone(self, page: PageRecord, reason: str) -> None:
        """Record that a page is gone; call it after all visits are written. If a new page has the
        same text, the reasons of both pages name the other one.
        """
        at = now()
        if (successor := self._known_new_pages().successor(page.id)) is not None:
            new_id, url = successor
            reason += f"; its text is at {url}"
            # Records of an earlier take-over stay as they are, because consumers have read them.
            self._do(
                "UPDATE changes SET reason = ? WHERE id = ? AND change = 'new' AND reason = ''",
                (f"its text was at {page.url}", new_id),
            )
        seq = self._record(page, at, at=at, change=GONE, change_ratio=1.0, reason=reason)
        self._set(page.id, state=GONE, changed_at=at, seq=seq, doubt="")

    def doubt(self, page: PageRecord, reason: str) -> None:
        """Store the reason why a page would be gone, for `History.accept_gone`."""
        self._set(page.id, doubt=reason)

    def count_missing(self, page_id: str) -> None:
        """Count a complete crawl that found no link to a page; each crawl counts once."""
        self._draft.take(page_id)
        self._do(
            "UPDATE pages SET missing = missing + 1, missing_in = ?"
            " WHERE id = ? AND missing_in IS NOT ?",
            (self._number, page_id, self._number),
        )

    def reset_missing(self, page_id: str) -> None:
        """Record that a page links to a page: crawls without a link are counted from 0 again."""
        (missing,) = self._values(page_id, "missing")
        if missing:
            self._set(page_id, missing=0)

    def item(self, page_id: str) -> dict[str, Any] | None:
        """Return the item of a page; None if it has none, or a damaged one."""
        (packed,) = self._values(page_id, "item")
        return read_item(self._items, packed)

    def is_live(self, page_id: str) -> bool:
        """Tell whether a page of the history is still live."""
        return bool(self._values(page_id, "state") == (LIVE,))

    def note_model(self, page: PageRecord, model: str) -> None:
        """Record that another model finds the same content in a page."""
        self._set(page.id, model=model)

    def refilter(self, page: PageRecord, model: str, fields: dict[str, Any], ratio: float) -> None:
        """Record a change because another model finds other content: write its item *fields*."""
        new = fields["content_hash"]
        self.note_model(page, model)
        (before,) = self._values(page.id, "content")
        content = pack_text(fields["content"])
        self._set(page.id, content_hash=new, previous=before, content=content)
        seq = self._record(
            page,
            page.changed_at,
            change=REFILTERED,
            change_cause=BY_MODEL,
            change_ratio=ratio,
            content_hash=new,
        )
        if (item := self.item(page.id)) is not None:
            self._take_item(page.id, refilled(item, fields), seq, is_changed=True)

    def add_counter(self, site: str, place: str) -> None:
        """Record a place of a site that holds a counter."""
        self._do("INSERT OR IGNORE INTO counters VALUES (?, ?)", (site, place))

    def add_copy(self, page_id: str, original_id: str, url: str) -> None:
        """Record that a page duplicates another page. The original's item represents both."""
        values = (page_id, original_id, self._number, url)
        self._do("INSERT OR REPLACE INTO copies VALUES (?, ?, ?, ?)", values)

    def distrust(self, site: str) -> None:
        """Record that a site's server answered "not modified" for changed pages."""
        self._do("INSERT OR IGNORE INTO distrusted VALUES (?)", (site,))

    def set_stale(self, sites: Iterable[str]) -> None:
        """Record the sites whose models do not know all lines of their template."""
        self._history.do("DELETE FROM stale")
        self._do("DELETE FROM stale")
        for site in sites:
            self._do("INSERT INTO stale VALUES (?)", (site,))

    def set_lastmods(self, site: str, counts: LastmodCounts) -> None:
        """Store how often a site's sitemaps were right."""
        self._do("INSERT OR REPLACE INTO lastmods VALUES (?, ?, ?, ?, ?)", (site, *astuple(counts)))

    def _record(self, page: PageRecord | Visit, changed_at: str, **values: object) -> int:
        """Add a change record and return its number; *values* override the page's own values."""
        values = {
            "crawl": self._number,
            "at": now(),
            "id": page.id,
            "url": page.url,
            "change_cause": BY_PAGE,
            "previous_hash": page.content_hash,
            "first_seen": page.first_seen,
            "changed_at": changed_at,
            **values,
        }
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        statement = f"INSERT INTO changes ({columns}) VALUES ({marks})"  # noqa: S608 - our own names
        return self._do(statement, tuple(values.values())).lastrowid or 0

    def keep(self) -> None:
        """Commit all that was written to the draft: it survives a kill."""
        self._anchors.flush()
        self._draft.set_fact(VISIT_FACT, self.last_visit)
        self._draft.set_fact(BYTES_FACT, self._growth)
        self._draft.keep()

    def commit(self) -> None:
        """Write the draft into the history, and commit."""
        for _ in self.rows():
            pass
        self.publish()
        self.sync()
        self.delete_draft()

    def rows(self) -> Iterator[None]:
        """Write the draft into the history; each step writes one row. Call `publish` then."""
        self._anchors.flush()
        return self._rows

    def publish(self) -> None:
        """Commit the history: its readers see the crawl."""
        statement = "UPDATE crawls SET visits = ? WHERE number = ?"
        self._history.do(statement, (self.last_visit, self._number))
        self._history.commit()

    def sync(self) -> None:
        """Write the history to the disk; can run in a thread."""
        self._history.sync()

    def delete_draft(self) -> None:
        """Delete the draft, whose rows are in the history now."""
        self._draft.delete()

    def close(self) -> None:
        """Close the draft. A later process may continue with the rows that `keep` committed."""
        self._rows.close()  # an open query would keep the file locked
        self._draft.close()


def _field_changes(facts: Facts) -> str:
    """Return the changes of own fields as JSON, by name; "" for none."""
    changes = {name: [before, now] for name, before, now in facts.fields}
    return json.dumps(changes) if changes else ""


def _live_links(values: Mapping[str, Any]) -> bytes | None:
    """Return the packed links of a page with these columns; None if it is not live."""
    links: bytes | None = values["links"] if values["state"] == LIVE else None
    return links


def _size(database: Database) -> int:
    """Return the size of a database in bytes."""
    return database.count("PRAGMA page_count") * database.count("PRAGMA page_size")


def _answer_values(answer: Answer, at: str) -> dict[str, object]:
    """Return the columns of a page that a visit's answer sets."""
    values: dict[str, object] = {
        "etag": answer.etag,
        "last_modified": answer.last_modified,
        "links": pack_lines(answer.links),
        "doubt": "",
    }
    if not answer.is_unsent:
        values["last_fetched"] = at
    if not answer.is_orphan:
        values["missing"] = 0
    return values
