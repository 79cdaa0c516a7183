"""The history: a SQLite file with the pages and the change log of all runs of a crawl."""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Iterator, Sequence
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

from contentspider.ground.compression import unpack_text
from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.page.input.page import Page
from contentspider.recrawl.changes import CHANGES
from contentspider.recrawl.intervals import ChangeIntervals, kind_of
from contentspider.recrawl.lastmod import LastmodCounts
from contentspider.site.models.record import SITE_FRAGMENT
from contentspider.state.compression import RecordCompressor
from contentspider.state.history.broken import BrokenAddresses
from contentspider.state.history.dead_links import DeadLinks
from contentspider.state.history.draft import DraftCheck
from contentspider.state.history.page_records import PageRecord, read_item
from contentspider.state.history.pages import KeptPages
from contentspider.state.history.refused import RefusedModels
from contentspider.state.history.writer import HistoryWriter
from contentspider.state.ledger.database import Database
from contentspider.state.ledger.own_texts import OwnAnswers
from contentspider.state.ledger.visits import read_links
from contentspider.state.schema import HISTORY

logger = logging.getLogger(__name__)

RECENT_PAGES = 256  # records of pages that stay in memory


class History:
    """The history in the file *path*. Beyond *max_bytes* it stores only hashes and main content."""

    def __init__(self, path: Path | None, read_only: bool = False, max_bytes: int = 10**9) -> None:
        self.path = path
        self._database = database = Database(path, True, read_only, HISTORY)
        self._max_bytes = max_bytes
        self._packing = RecordCompressor(database)
        # `distrusted`: sites whose servers answered "not modified" for changed pages. `stale`:
        # sites whose template has lines that their model does not know. `lastmods`: how often the
        # sitemaps of each site were right.
        with database.report_damage():
            self.distrusted, self.stale = (
                frozenset(site for (site,) in database.rows(f"SELECT site FROM {table}"))  # noqa: S608
                for table in ("distrusted", "stale")
            )
            self.lastmods: dict[str, LastmodCounts] = {
                site: LastmodCounts(*counts)
                for site, *counts in database.rows("SELECT * FROM lastmods")
            }
        self.own_answers = OwnAnswers(database)
        self.dead_links = DeadLinks(database)
        self.broken = BrokenAddresses(database)
        self.refused = RefusedModels(database)
        self.kept = KeptPages(database, self.stored)
        self.check = database.check
        self._writer: HistoryWriter | None = None
        # A crawl asks for the record of each page some ten times.
        self._recent_page = lru_cache(RECENT_PAGES)(self._read_page)

    def page(self, page_id: str) -> PageRecord | None:
        """Return a page of the history, or None."""
        # A writer changes the pages.
        return self._recent_page(page_id) if self._writer is None else self._read_page(page_id)

    def _read_page(self, page_id: str) -> PageRecord | None:
        return next(self._pages("id = ?", page_id), None)

    def _pages(self, which: str, *values: str) -> Iterator[PageRecord]:
        for row in self._database.rows(f"{PAGES} WHERE {which}", values):
            yield PageRecord(*row)

    def original_of(self, page_id: str, text_hash: str = "", site: str = "") -> str:
        """Return the id of the original that this page duplicates: as recorded in an earlier
        crawl, else the first live page of *site* with the same *text_hash*; empty if none.
        """
        copied = (
            "SELECT pages.id FROM copies JOIN pages ON pages.id = original AND state = 'live'"
            " WHERE copies.id = ?"
        )
        with_text = (
            "SELECT id FROM pages WHERE text_hash = ? AND site = ? AND state = 'live'"
            " ORDER BY first_seen, id LIMIT 1"
        )
        value = self._database.value
        return value(copied, (page_id,)) or value(with_text, (text_hash, site)) or ""

    def copies_of(self, page_id: str) -> list[str]:
        """Return the addresses of the copies of a page in earlier crawls."""
        rows = self._database.rows("SELECT url FROM copies WHERE original = ?", (page_id,))
        return [url for (url,) in rows]

    def live(self, site: str = "", model: str = "") -> Iterator[PageRecord]:
        """Yield the live pages; with *site*, its pages that another model than *model* filtered."""
        which = "AND site = ? AND model != ?" if site else ""
        return self._pages(f"state = 'live' {which} ORDER BY url", *filter(None, (site, model)))

    def visits(self) -> Iterator[tuple[str, str, ChangeIntervals]]:
        """Yield each live page's address, last visit, and how often its visits found a change.

        The items of sites (``--site-item``) are left out, since no request leads to them.
        """
        for url, last_seen, *spell in self._database.rows(
            "SELECT url, last_seen, still_days, changes, changed_days FROM pages"
            " WHERE state = 'live' AND url NOT LIKE ? ORDER BY url",
            (f"%{SITE_FRAGMENT}",),
        ):
            yield url, last_seen, ChangeIntervals(kind_of(url), *spell)

    def live_count(self) -> int:
        """Return how many pages are live."""
        return self._database.count("SELECT count(*) FROM pages WHERE state = 'live'")

    def content(self, page_id: str, before: bool = False) -> str | None:
        """Return the last main content of a page, or the content *before* its last change; None if
        it is not stored, or damaged.
        """
        return self._text("previous" if before else "content", page_id)

    def stored(self, page_id: str) -> Page | None:
        """Return the last version of a page, if the history keeps whole pages of it."""
        packed = self._value("page", page_id)
        try:
            return Page.parse(self._packing.unpack(packed)) if packed is not None else None
        except (ContentSpiderError, *DAMAGE) as error:
            logger.warning("%s: %s: %s", self._database.name, page_id, error)
            return None

    def item(self, page_id: str) -> dict[str, Any]:
        """Return the last item of a page; empty if it has none, or a damaged one."""
        return read_item(self._packing, self._value("item", page_id)) or {}

    def has_page(self, page_id: str) -> bool:
        """Tell whether the history keeps the last version of a page as a whole."""
        return bool(self._value("page IS NOT NULL", page_id))

    def links(self, page_id: str) -> dict[str, tuple[str, ...]]:
        """Return the links in the last version of a page, each with its texts."""
        text = self._text("links", page_id)
        return read_links(text.split("\n")) if text else {}

    def _text(self, column: str, page_id: str) -> str | None:
        packed = self._value(column, page_id)
        try:
            return unpack_text(packed) if packed is not None else None
        except DAMAGE as error:
            message = "%s: the %s of page %s is damaged: %s"
            logger.error(message, self._database.name, column, page_id, error)
            return None

    def _value(self, column: str, page_id: str) -> Any:
        return self._database.value(f"SELECT {column} FROM pages WHERE id = ?", (page_id,))  # noqa: S608

    def counters(self) -> dict[str, set[str]]:
        """Return the places of counters by site: differences at these places are ignored."""
        places: dict[str, set[str]] = {}
        for site, place in self._database.rows("SELECT site, place FROM counters"):
            places.setdefault(site, set()).add(place)
        return places

    def begin_writing(self, crawl: str, is_complete: bool, basis: object = None) -> HistoryWriter:
        """Begin to write a crawl's results; *is_complete*: the crawl saw the whole site. The writer
        continues with the rows that an earlier process has kept, if its *basis* was the same
        (`Draft`). Run the check of `draft_check` before.
        """
        self._close_writer()
        self._recent_page.cache_clear()
        database = self._database
        self._writer = HistoryWriter(database, crawl, is_complete, self._max_bytes, basis)
        return self._writer

    def draft_check(self) -> DraftCheck:
        """Return the check of the draft that an earlier process may have left."""
        self._close_writer()
        return DraftCheck(self.path)

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def close(self) -> None:
        """Close the history, and the draft of a writer that has not published it."""
        self._close_writer()
        self._database.close()

    def accept_gone(self) -> int:
        """Mark the pages as gone that crawls held back as doubtful; return their number."""
        doubted = list(self._pages("state = 'live' AND doubt != '' ORDER BY url"))
        if doubted:
            last = "SELECT key, is_complete FROM crawls ORDER BY number DESC LIMIT 1"
            self.draft_check().run()
            takeover = self.begin_writing(*self._database.row(last))
            for page in doubted:
                takeover.mark_gone(page, page.doubt)
            takeover.commit()
        return len(doubted)

    def changes(
        self, since: int = 0, after: str = "", kinds: Sequence[str] = CHANGES
    ) -> Generator[dict[str, Any], None, None]:
        """Yield the change records of some *kinds* after number *since* that were made at time
        *after* or later.
        """
        query = (
            f"SELECT {', '.join(RECORD)},"  # noqa: S608 - our own names
            " coalesce((SELECT url FROM pages WHERE pages.id = previous_id), '')"
            " FROM changes WHERE seq > ? AND at >= ? ORDER BY seq"
        )
        for row in self._database.rows(query, (since, after)):
            record = dict(zip((*RECORD, "previous_url"), row, strict=True))
            record["fields"] = self._field_changes(record)
            if record["change"] in kinds:
                yield record

    def _field_changes(self, record: dict[str, Any]) -> dict[str, list[Any]]:
        """Return the changed own fields of a change record, each with its values before and now;
        empty if they are damaged.
        """
        try:
            changes = json.loads(record["fields"]) if record["fields"] else {}
            return {str(name): [before, now] for name, (before, now) in changes.items()}
        except DAMAGE as error:
            message = "%s: the fields of the change %s are damaged: %s"
            logger.error(message, self._database.name, record["seq"], error)
            return {}

    def last_crawl_start(self) -> int:
        """Return the number of the last change record that is older than the last crawl."""
        return self._database.count(
            "SELECT max(seq) FROM changes WHERE crawl < (SELECT max(number) FROM crawls)"
        )


def parse_since(text: str) -> tuple[int, str]:
    """Return the number and the time after which `History.changes` yields records, from a text
    with either of them. Raises `ContentSpiderError`.

    >>> parse_since("12"), parse_since("2026-11-22T10:00+01:00")
    ((12, ''), (0, '2026-11-22T09:00:00+00:00'))
    """
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text), ""
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
        zoned = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
        return 0, zoned.astimezone(timezone.utc).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise ContentSpiderError(
            f"{text!r} is neither a record's number nor a date like 2026-11-22"
        ) from None


PAGES = f"SELECT {', '.join(PageRecord.__dataclass_fields__)} FROM pages"  # noqa: S608 - our own names
RECORD = (
    "seq at id url change change_ratio change_cause previous_hash content_hash first_seen"
    " changed_at reason fields previous_id"
).split()
