"""The change log of a book: one record for each visit, and for each page that has gone or moved.

The position in the log tells the book from others and from copies.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE, ContentSpiderError
from contentspider.ground.times import now
from contentspider.recrawl.changes import BY_PAGE, CHANGES, UNCHANGED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from contentspider.state.book.database import Database
    from contentspider.state.book.pages import PageVersion

logger = logging.getLogger(__name__)

RECORD = (
    "seq at id url change change_ratio change_cause previous_hash content_hash first_seen"
    " changed_at reason fields previous_id"
).split()
# What wrote a record that a visit had written before: the end of the crawl, which has found that a
# known page moved to the page.
BY_MOVE = "move"
DAYS = {"today": timedelta(), "yesterday": timedelta(days=1)}
LAST_CRAWL = "(SELECT max(number) FROM crawls WHERE ended != '')"
IS_PUBLISHED = "run <= (SELECT run FROM published)"


@dataclass(frozen=True, slots=True)
class BookPosition:
    """The last crawl in a book (*key*, and the time it *ended*), and the last change of a page
    (its number *seq*, and the time *at* which it was recorded).
    """

    key: str
    ended: str
    seq: int
    at: str

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Return the position in a JSON record; raises KeyError, TypeError or ValueError."""
        text = {name: str(record[name]) for name in ("key", "ended", "at")}
        return cls(seq=int(record["seq"]), **text)


class Changes:
    """The change records in a book. Readers see the records of published runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, version: PageVersion, run: int, crawl: int, **values: object) -> int:
        """Add a change record of a page, and return its number; *values* override the values of
        its *version*.
        """
        values = {
            "run": run,
            "crawl": crawl,
            "origin": version.origin,
            "at": now(),
            "id": version.id,
            "url": version.url,
            "change_cause": BY_PAGE,
            "previous_hash": version.content_hash,
            "first_seen": version.first_seen,
            "changed_at": version.changed_at,
            **values,
        }
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        statement = f"INSERT INTO changes ({columns}) VALUES ({marks})"  # noqa: S608 - our own names
        return self._database.do(statement, tuple(values.values())).lastrowid or 0

    def revise(self, seq: int, **values: object) -> None:
        """Set other *values* of a record that is not published."""
        sets = ", ".join(f"{name} = ?" for name in values)
        statement = f"UPDATE changes SET {sets} WHERE seq = ?"  # noqa: S608 - our own names
        self._database.do(statement, (*values.values(), seq))

    def remove(self, seq: int) -> None:
        """Delete a record that is not published."""
        self._database.do("DELETE FROM changes WHERE seq = ?", (seq,))

    def kind(self, seq: int) -> tuple[str, str]:
        """Return the change and the cause of a record; "" and "" if there is none."""
        query = "SELECT change, change_cause FROM changes WHERE seq = ?"
        return self._database.row(query, (seq,)) or ("", "")

    def origin(self, seq: int) -> str:
        """Return what wrote a record, "" if there is none."""
        return str(self._database.value("SELECT origin FROM changes WHERE seq = ?", (seq,)) or "")

    def ratio(self, seq: int) -> float:
        """Return the share of the content that differs, of a record."""
        query = "SELECT change_ratio FROM changes WHERE seq = ?"
        return float(self._database.value(query, (seq,)) or 0.0)

    def mark_moved(self, seq: int) -> None:
        """Note that the end of the crawl has made a move of a record (`BY_MOVE`)."""
        self.revise(seq, origin=BY_MOVE)

    def of_visit(self, seq: int) -> tuple[str, str]:
        """Return the id of the page that has moved to a visited page, and the reason."""
        query = "SELECT previous_id, reason FROM changes WHERE seq = ?"
        return self._database.row(query, (seq,)) or ("", "")

    def moves(self) -> Generator[tuple[str, int], None, None]:
        """Yield the ids of the pages that moved to pages which are not published, each with the
        number of the record.
        """
        query = (
            "SELECT previous_id, seq FROM changes WHERE previous_id != '' AND previous_id != id"  # noqa: S608
            f" AND NOT {IS_PUBLISHED} ORDER BY seq"
        )
        yield from list(self._database.rows(query))

    def moved_addresses(self) -> dict[str, str]:
        """Return the present addresses of the pages that have moved, by their old ones."""
        query = (
            "SELECT (SELECT url FROM pages WHERE pages.id = previous_id ORDER BY pages.run DESC"
            " LIMIT 1) AS old, url FROM changes WHERE previous_id NOT IN ('', id)"
            " AND old IS NOT NULL ORDER BY seq DESC"
        )
        now: dict[str, str] = {}
        for old, new in self._database.rows(query):
            now[old] = now.get(new, new)  # a page may have moved on, or back
        return {old: new for old, new in now.items() if old != new}

    def counts(self) -> dict[str, int]:
        """Count the unpublished records by their change."""
        query = (
            f"SELECT change, count(*) FROM changes WHERE NOT {IS_PUBLISHED} AND id != ''"  # noqa: S608
            " GROUP BY change"
        )
        return dict(self._database.rows(query))

    def by_crawl(self) -> list[tuple[str, dict[str, int]]]:
        """Return for each published crawl when it ended, and its number of changes of each kind;
        unchanged pages do not count.
        """
        query = (
            "SELECT crawls.number, crawls.ended, change, count(changes.seq) FROM crawls LEFT JOIN"  # noqa: S608
            f" changes ON crawl = crawls.number AND change != '{UNCHANGED}' AND id != ''"
            f" AND {IS_PUBLISHED} WHERE crawls.ended != '' GROUP BY 1, 3 ORDER BY 1"
        )
        crawls: dict[int, tuple[str, dict[str, int]]] = {}
        for number, ended, change, count in self._database.rows(query):
            _, counts = crawls.setdefault(number, (ended, {}))
            if change:
                counts[change] = count
        return list(crawls.values())

    def ignored(self) -> int:
        """Count the unpublished records of unchanged pages with differences that do not count."""
        return self._database.count(
            f"SELECT count(*) FROM changes WHERE NOT {IS_PUBLISHED}"  # noqa: S608
            f" AND change = '{UNCHANGED}' AND reason != ''"
        )

    def last(self) -> int:
        """Return the number of the last published record."""
        return self._database.count(f"SELECT max(seq) FROM changes WHERE {IS_PUBLISHED}")  # noqa: S608

    def last_of_texts(self) -> set[int]:
        """Return the numbers of the last published record of each page that gave it another text
        that counts.
        """
        query = (
            f"SELECT max(seq) FROM changes WHERE {IS_PUBLISHED} AND change != '{UNCHANGED}'"  # noqa: S608
            " AND content_hash NOT IN ('', previous_hash) GROUP BY id"
        )
        return {seq for (seq,) in self._database.rows(query)}

    def forget_unchanged(self, most: int) -> bool:
        """Delete up to *most* records of unchanged pages, of crawls before the last one that is
        published; tell whether there were any.
        """
        statement = (
            "DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE change = 'unchanged'"  # noqa: S608
            f" AND crawl < {LAST_CRAWL} LIMIT ?)"
        )
        return self._database.do(statement, (most,)).rowcount > 0

    def records(
        self, since: int = 0, after: str = "", kinds: Sequence[str] = CHANGES
    ) -> Generator[dict[str, Any], None, None]:
        """Yield the change records of some *kinds* after number *since* that were made at time
        *after* or later. Unchanged pages have a record of the last crawl only.
        """
        query = (
            f"SELECT {', '.join(RECORD)}, coalesce((SELECT url FROM pages"  # noqa: S608 - our own names
            " WHERE pages.id = previous_id ORDER BY pages.run DESC LIMIT 1), '')"
            f" FROM changes WHERE seq > ? AND at >= ? AND {IS_PUBLISHED}"
            f" AND (change != '{UNCHANGED}' OR crawl = {LAST_CRAWL}) ORDER BY seq"
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
            f"SELECT max(seq) FROM changes WHERE crawl < {LAST_CRAWL}"  # noqa: S608
        )


def parse_since(text: str) -> tuple[int, str]:
    """Return the number and the time after which `Changes.records` yields records, from a text
    with either of them, or with "today" or "yesterday" (in UTC). Raises `ContentSpiderError`.

    >>> parse_since("12"), parse_since("2026-11-22T10:00+01:00")
    ((12, ''), (0, '2026-11-22T09:00:00+00:00'))
    """
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text), ""
    if text in DAYS:
        text = (datetime.now(timezone.utc) - DAYS[text]).date().isoformat()
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
        zoned = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
        return 0, zoned.astimezone(timezone.utc).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise ContentSpiderError(
            f"{text!r} is neither a record's number nor a date like 2026-11-22 or yesterday"
        ) from None
