"""The versions of the pages in a book: published ones, and versions of the present crawl."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from contentspider.ground.errors import DAMAGE
from contentspider.recrawl.changes import LIVE, UNCHANGED
from contentspider.recrawl.judge import Facts
from contentspider.site.models.identity import UNFILTERED
from contentspider.state.book.contents import ITEM, TEXT

if TYPE_CHECKING:
    from contentspider.state.book.contents import Contents
    from contentspider.state.book.database import Database

RECENT_PAGES = 256  # versions of pages that stay in memory
# What wrote a version, or a change record: the visit of a page, another model of its site, or the
# end of a crawl. The end begins anew if it was interrupted.
BY_VISIT, BY_MODEL, BY_END = "visit", "model", "end"
# Whether an item of the page has passed the pipelines: not yet, dropped, or released.
PENDING, DROPPED, RELEASED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class PageVersion:
    """A page as a run has found it.

    *number* is the number of its row (0: not stored). *run* wrote it, by *origin* (`BY_VISIT`
    or another).
    *crawl* is the last crawl that visited the page, *address* the row of its address there. *state*
    is "live", "gone" or "moved". *missing* counts the complete crawls that found no link to the
    page, the last one the crawl *missing_in*. *changes*, *changed_days* and *still_days* are as
    in `ChangeIntervals`. *doubt* is the reason why the page would be gone; it is set if too many
    pages would have gone in one crawl. *anchors* are the texts of links to the page.

    *seq* is the number of the change record for indexes, *record* this version's record (0: none).
    *facts* is JSON of `Facts` that the end of the crawl may judge in another way, or "".
    *content*, *previous* (the content before the last change), *page*, *item* and *links* are
    numbers of `Contents`. A content may be the number of the item that has the text. *reading* is
    a `Reading`, or b"".
    """

    number: int
    id: str
    run: int
    crawl: int
    origin: str
    address: int | None
    url: str
    site: str
    state: str
    first_seen: str
    last_seen: str = ""
    last_fetched: str = ""
    changed_at: str = ""
    content_hash: str = ""
    text_hash: str = ""
    layout_hash: str = ""
    model: str = ""
    etag: str = ""
    last_modified: str = ""
    missing: int = 0
    missing_in: int = 0
    changes: int = 0
    changed_days: float = 0.0
    still_days: float = 0.0
    doubt: str = ""
    anchors: str = ""
    item_hash: str = ""
    item_state: int = PENDING
    seq: int = 0
    record: int = 0
    facts: str = ""
    content: int | None = None
    previous: int | None = None
    page: int | None = None
    item: int | None = None
    links: int | None = None
    reading: bytes = b""


NAMES = [field.name for field in fields(PageVersion)][1:]
COLUMNS = ", ".join(["number", *NAMES])
MARKS = ", ".join("?" * len(NAMES))
VALUES = attrgetter(*NAMES)
# The newest published version of each page.
PUBLISHED = (
    "run <= (SELECT run FROM published) AND NOT EXISTS (SELECT 1 FROM pages AS newer"
    " WHERE newer.id = pages.id AND newer.run > pages.run"
    " AND newer.run <= (SELECT run FROM published))"
)
IS_LIVE = f"{PUBLISHED} AND state = 'live'"


@dataclass(frozen=True, slots=True)
class PageAnchors:
    """The texts of the links to a live page, in the newest version of it, the row *number*. The
    version *is_changed* if it is not published, and indexes will read it anyway.
    """

    number: int
    anchors: str
    is_changed: bool


class Pages:
    """The versions of a book's pages.

    The *known* version of a page is the published one: a crawl compares the page with it. The
    *found* version is the one that the present crawl has written and not published.
    """

    def __init__(self, database: Database, contents: Contents) -> None:
        self._database = database
        self._contents = contents
        self.published = database.count("SELECT run FROM published")
        # A crawl asks for the known version of each page some ten times.
        self._recent = lru_cache(RECENT_PAGES)(self._known)
        # The found versions that were stored last. A visit stores one several times.
        self._stored: OrderedDict[str, PageVersion] = OrderedDict()

    def forget(self) -> None:
        """Clear the caches after a rollback or a publication."""
        self.published = self._database.count("SELECT run FROM published")
        self._recent.cache_clear()
        self._stored.clear()

    def known(self, page_id: str) -> PageVersion | None:
        """Return the published version of a page, or None."""
        return self._recent(page_id)

    def _known(self, page_id: str) -> PageVersion | None:
        which = "id = ? AND run <= ? ORDER BY run DESC LIMIT 1"
        return self._first(which, page_id, self.published)

    def found(self, page_id: str) -> PageVersion | None:
        """Return the version of a page that is not published, or None."""
        return self._stored.get(page_id) or self._first(
            "id = ? AND run > ? ORDER BY run DESC LIMIT 1", page_id, self.published
        )

    def newest(self, page_id: str) -> PageVersion | None:
        """Return the newest version of a page, published or not; None if there is none."""
        return self._first("id = ? ORDER BY run DESC LIMIT 1", page_id)

    def _first(self, which: str, *values: object) -> PageVersion | None:
        return next(self.select(which, *values), None)

    def select(self, which: str, *values: object) -> Iterator[PageVersion]:
        """Yield the versions that fulfil a condition in SQL."""
        query = f"SELECT {COLUMNS} FROM pages WHERE {which}"  # noqa: S608 - our own conditions
        for row in self._database.rows(query, values):
            yield PageVersion(*row)

    def all_found(self, which: str = "", *values: object) -> Iterator[PageVersion]:
        """Yield the versions that are not published, in the order of their rows. Others may be
        added and changed meanwhile. *which* is a further condition in SQL, with AND before it.
        """
        first = self._database.count(
            "SELECT min(number) FROM pages WHERE run > ?", (self.published,)
        )
        query = (
            f"SELECT {COLUMNS} FROM pages WHERE +run > ? {which} AND number > ?"  # noqa: S608
            " ORDER BY number LIMIT 1"
        )
        for row in self._database.following(query, first - 1, self.published, *values):
            yield PageVersion(*row)

    def at(self, number: int) -> PageVersion | None:
        """Return the version in a row, or None."""
        return self._first("number = ?", number)

    def outdated(self, site: str, model: str, is_visited: bool) -> list[int]:
        """Return the rows of a site's versions that another model than *model* has filtered: of the
        found versions, or (not *is_visited*) of the live pages that have none.
        """
        which = "run > (SELECT run FROM published) AND origin = 'visit'"
        if not is_visited:
            which = (
                f"{IS_LIVE} AND NOT EXISTS (SELECT 1 FROM pages AS found"  # noqa: S608
                " WHERE found.id = pages.id AND found.run > (SELECT run FROM published)"
                " AND found.origin != 'end')"
            )
        query = f"SELECT number FROM pages WHERE site = ? AND model NOT IN (?, ?) AND {which}"  # noqa: S608
        rows = self._database.rows(f"{query} ORDER BY number", (site, model, UNFILTERED))
        return [number for (number,) in rows]

    def link_changes(self) -> Iterator[tuple[str, str, int | None, str | None, int | None]]:
        """Yield id, state and links of each found version, and state and links of the known one."""
        return self._database.rows(
            "SELECT found.id, found.state, found.links, known.state, known.links"
            " FROM pages AS found LEFT JOIN pages AS known ON known.id = found.id"
            " AND known.run = (SELECT max(run) FROM pages AS version"
            " WHERE version.id = found.id AND version.run <= ?) WHERE found.run > ?",
            (self.published, self.published),
        )

    def plain_counts(self) -> list[tuple[str, int]]:
        """Return how many found pages of each site have no facts."""
        query = "SELECT site, count(*) FROM pages WHERE run > ? AND facts = '' AND origin = ?"
        return list(self._database.rows(f"{query} GROUP BY site", (self.published, BY_VISIT)))

    def visit_count(self, site: str) -> int:
        """Return how many pages of a site the present crawl has visited."""
        query = "SELECT count(*) FROM pages WHERE run > ? AND site = ? AND origin = ?"
        return self._database.count(query, (self.published, site, BY_VISIT))

    def put(self, version: PageVersion) -> PageVersion:
        """Store a version: in its row, or in a new one. Return it with the number of its row."""
        if version.number:
            self._update(version)
        else:
            statement = f"INSERT INTO pages ({COLUMNS}) VALUES (NULL, {MARKS})"  # noqa: S608
            row = self._database.do(statement, VALUES(version)).lastrowid or 0
            version = replace(version, number=row)
        if version.run > self.published:
            self._stored[version.id] = version
            if len(self._stored) > RECENT_PAGES:
                self._stored.popitem(last=False)
        return version

    def _update(self, version: PageVersion) -> None:
        """Write a version into its row: only the columns that have changed, if they are known. The
        others, and their indexes, cost time.
        """
        before = self._stored.get(version.id)
        changed: dict[str, object] = dict(zip(NAMES, VALUES(version), strict=True))
        if before is not None and before.number == version.number:
            stored = zip(NAMES, VALUES(before), strict=True)
            changed = dict(changed.items() - stored)
        if changed:
            sets = ", ".join(f"{name} = ?" for name in changed)
            statement = f"UPDATE pages SET {sets} WHERE number = ?"  # noqa: S608 - our own names
            self._database.do(statement, (*changed.values(), version.number))

    def renew(self, page_id: str, run: int, **values: Any) -> PageVersion | None:
        """Store other *values* for a page, in its found version, or in a new one that the end of
        the crawl writes. Return that version; None if the book does not have the page.
        """
        version = self.newest(page_id)
        if version is None:
            return None
        if version.run <= self.published:
            values = {"number": 0, "run": run, "origin": BY_END, "record": 0, **values}
        return self.put(replace(version, **values))

    def anchors_of(self, page_id: str) -> PageAnchors | None:
        """Return the texts of the links to a page; None if it is not live."""
        row = self._database.row(
            "SELECT number, anchors, run > ? AND seq = record, state FROM pages WHERE id = ?"
            " ORDER BY run DESC LIMIT 1",
            (self.published, page_id),
        )
        return PageAnchors(row[0], row[1], bool(row[2])) if row and row[3] == LIVE else None

    def set_anchors(self, version: PageAnchors, anchors: str) -> None:
        """Write the texts of the links to a page into a version that is not published."""
        self._stored.clear()
        statement = "UPDATE pages SET anchors = ? WHERE number = ?"
        self._database.do(statement, (anchors, version.number))

    def remove(self, version: PageVersion) -> None:
        """Delete a version."""
        self._stored.pop(version.id, None)
        self._database.do("DELETE FROM pages WHERE number = ?", (version.number,))

    def is_visited(self, page_id: str, crawl: int) -> bool:
        """Tell whether a crawl has visited a page."""
        query = "SELECT crawl FROM pages WHERE id = ? ORDER BY run DESC LIMIT 1"
        return bool(self._database.value(query, (page_id,)) == crawl)

    def visited_at(self, address: int, crawl: int) -> tuple[str, str] | None:
        """Return id and URL of the page that a crawl has visited at an address' row, or None."""
        query = "SELECT id, url FROM pages WHERE address = ? AND crawl = ? ORDER BY number DESC"
        page: tuple[str, str] | None = self._database.row(query, (address, crawl))
        return page

    def visits(self, crawl: int) -> int:
        """Return how many pages a crawl has visited."""
        query = "SELECT count(DISTINCT id) FROM pages WHERE crawl = ?"
        return self._database.count(query, (crawl,))

    def text(self, number: int | None) -> str:
        """Return the text of a content, or of the item that has it; raises one of `DAMAGE`."""
        if number is None:
            return ""
        data = self._contents.get(number)
        if self._contents.kind(number) == ITEM:
            return str(json.loads(data)["content"])
        return data.decode("utf-8", "surrogatepass")

    def put_text(self, text: str) -> int:
        """Store a text and return its number."""
        return self._contents.put(TEXT, text.encode("utf-8", "surrogatepass"))


def is_changed(change: str) -> bool:
    """Tell whether a change record of this kind concerns indexes."""
    return change != UNCHANGED


def is_live(version: PageVersion | None) -> bool:
    """Tell whether a page is known, and not gone or moved."""
    return version is not None and version.state == LIVE


def dump_facts(facts: Facts) -> str:
    """Return facts as JSON; "" for facts that tell nothing more than the change record."""
    told = (facts.numbered, facts.slots, facts.recut, facts.lines, facts.is_remodelled)
    if not any(told):
        return ""
    return json.dumps({each.name: getattr(facts, each.name) for each in fields(facts)})


def load_facts(text: str) -> Facts:
    """Return the facts that `dump_facts` wrote; raises ValueError if they are damaged."""
    try:
        record = json.loads(text)
        record.pop("is_recut", None)  # of earlier versions, and `recut` is missing there
        lists = {
            name: tuple(record.get(name, ())) for name in ("numbered", "slots", "recut", "lines")
        }
        own_fields = tuple((name, before, now) for name, before, now in record["fields"])
        return Facts(**{**record, **lists, "fields": own_fields})
    except DAMAGE as error:
        raise ValueError(f"facts are damaged: {error}") from error
