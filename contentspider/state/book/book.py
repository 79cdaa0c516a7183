"""The book of a crawl: its addresses, its items, and the pages of its sites, in one SQLite file."""

from __future__ import annotations

import json
import logging
import os
import uuid
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contentspider.ground.errors import DAMAGE, StateError
from contentspider.ground.times import now
from contentspider.state.book.alternating import AlternatingTexts
from contentspider.state.book.anchors import Anchors
from contentspider.state.book.answers import Answers, SitemapDates
from contentspider.state.book.broken import BrokenAddresses, DeadLinks, RefusedModels
from contentspider.state.book.changes import Changes
from contentspider.state.book.contents import Contents
from contentspider.state.book.copies import Copies
from contentspider.state.book.database import PAGE_BYTES, Database
from contentspider.state.book.frontier import Claims, Frontier
from contentspider.state.book.items import Items
from contentspider.state.book.known import KnownPages
from contentspider.state.book.own_texts import OwnAnswers, OwnTexts
from contentspider.state.book.pages import BY_END, Pages
from contentspider.state.book.sample import PageSample
from contentspider.state.book.schema import CRAWL_TABLES
from contentspider.state.book.sites import Sites
from contentspider.state.book.visits import Visits

logger = logging.getLogger(__name__)

PORTION = 2_000  # rows that are deleted at a time
# The columns that name contents.
CONTENT_COLUMNS = {
    "pages": "content, previous, page, item, links",
    "answers": "links",
    "held_items": "page",
    "items": "line",
    "sample": "page",
}
# The indexes that only the end of a crawl needs, which creates them.
INDEXES_AT_THE_END = ("by_url", "by_host", "items_by_page")
ENDING_FACT = "ending"  # a run has begun to write the end of the crawl


@dataclass(frozen=True, slots=True)
class Run:
    """One execution of a crawl; *ended* is None while the process runs, or if it was killed."""

    number: int
    started: str
    pid: int
    ended: str | None
    reason: str | None


class Runs:
    """The runs of the present crawl, and the facts that a run stores for the next."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.current = 0
        self.crawl = database.count("SELECT max(number) FROM crawls")

    def begin_crawl(self) -> None:
        """Record the start of a crawl."""
        statement = "INSERT INTO crawls (key) VALUES (?)"
        self.crawl = self._database.do(statement, (uuid.uuid4().hex,)).lastrowid or 0

    def begin(self) -> None:
        """Record the start of this process' run."""
        if not self.crawl:
            self.begin_crawl()
        statement = "INSERT INTO runs (crawl, started, pid) VALUES (?, ?, ?)"
        values = (self.crawl, now(), os.getpid())
        self.current = self._database.do(statement, values).lastrowid or 0

    def end(self, reason: str) -> None:
        """Record how this process' run ended."""
        statement = "UPDATE runs SET ended = ?, reason = ? WHERE number = ?"
        self._database.do(statement, (now(), reason, self.current))

    def all(self) -> list[Run]:
        """Return the runs of the crawl, first to last."""
        query = (
            "SELECT number, started, pid, ended, reason FROM runs WHERE crawl = ? ORDER BY number"
        )
        return [Run(*row) for row in self._database.rows(query, (self.crawl,))]

    def last(self) -> Run | None:
        """Return the last run, or None if the crawl has none."""
        return next(reversed(self.all()), None)

    def set_fact(self, name: str, value: object) -> None:
        """Store a JSON value under a name."""
        self._database.do("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def fact(self, name: str) -> Any:
        """Return the value stored under a name, or None; raises `StateError` if it is damaged."""
        text = self._database.value("SELECT value FROM facts WHERE name = ?", (name,))
        try:
            return json.loads(text) if text else None
        except DAMAGE as error:
            raise StateError(
                f"{self._database.name} is damaged ({name}: {error}); delete it to start over",
                code="damaged",
            ) from error


class Book:
    """The book in the file *path*, or in memory (None). See `Database` for its modes and errors.

    `contentspider.state.crawls.books` opens books, and imports the files of earlier versions. If a
    book is larger than *max_bytes*, it keeps the items of further pages, but not their blocks.
    """

    def __init__(
        self,
        path: Path | None,
        durable: bool = True,
        read_only: bool = False,
        max_bytes: int = 10**9,
    ) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self.database = database = Database(path, durable, read_only)
        self.check, self.close = database.check, database.close
        self.commit, self.sync = database.commit, database.sync
        with database.report_damage():
            self._open()

    def _open(self) -> None:
        database = self.database
        self.contents = contents = Contents(database)
        self.frontier = Frontier(database)
        self.claims = Claims(database)
        self.items = Items(database, self.frontier, contents)
        self.sample = PageSample(database, contents)
        self.own_texts = OwnTexts(database)
        self.runs = Runs(database)
        self.answers = Answers(database, contents)
        self.sitemap_dates = SitemapDates(database)
        self.pages = Pages(database, contents)
        self.changes = Changes(database)
        self.visits = Visits(self.pages, self.changes)
        self.visits.crawl = self.runs.crawl
        self.anchors = Anchors(database, contents, self.pages)
        self.copies = Copies(database, self.anchors)
        self.known = KnownPages(database, self.pages, contents, self.copies)
        self.sites = Sites(database)
        self.alternating = AlternatingTexts(database)
        self.own_answers = OwnAnswers(database)
        self.dead_links = DeadLinks(database)
        self.broken = BrokenAddresses(database)
        self.refused = RefusedModels(database)

    @property
    def stored_pages(self) -> PageSample | KnownPages:
        """The pages with their blocks: the sample of the last crawl, or the known pages without
        one.
        """
        return self.sample if self.sample.sites() else self.known

    @property
    def has_room(self) -> bool:
        """Whether the book may keep the blocks of further pages."""
        return self.database.count("PRAGMA page_count") * PAGE_BYTES < self._max_bytes

    def rollback(self) -> None:
        """Drop all changes since the last commit; a resumed crawl makes them again."""
        self.database.rollback()
        self.contents.forget()
        self.pages.forget()

    def begin_run(self) -> list[str]:
        """Requeue the work of the last run; return the addresses that may have killed processes."""
        last = self.runs.last()
        self.runs.begin()
        self.visits.run, self.visits.crawl = self.runs.current, self.runs.crawl
        killers = self.frontier.recover(died=last is not None and last.ended is None)
        self.items.recover()
        self.frontier.requeue_failed()
        self.commit()
        return killers

    def end_run(self, reason: str) -> None:
        """Record how this run ended, and commit."""
        self.runs.end(reason)
        self.commit()

    def begin_crawl(self) -> None:
        """Begin a new crawl: drop the frontier and the items of the last one, and the versions
        and records of one that was not published.
        """
        do, since = self.database.do, (self.pages.published,)
        for table in CRAWL_TABLES:
            do(f"DELETE FROM {table}")  # noqa: S608 - our own names
        for table in ("pages", "changes", "anchors", "copies"):
            do(f"DELETE FROM {table} WHERE run > ?", since)  # noqa: S608 - our own names
        do("DELETE FROM crawls WHERE ended = ''")
        do("DELETE FROM runs WHERE number < ? AND crawl NOT IN (SELECT number FROM crawls)", since)
        self._open()
        self.runs.begin_crawl()
        self.commit()

    def begin_ending(self) -> None:
        """Begin to write the end of the crawl. Drop the rows that an interrupted attempt has
        written: nobody has seen them.
        """
        do, since = self.database.do, (self.pages.published,)
        if self.runs.fact(ENDING_FACT):
            do("DELETE FROM changes WHERE run > ? AND origin = ?", (*since, BY_END))
            do("DELETE FROM pages WHERE run > ? AND origin = ?", (*since, BY_END))
            do("DELETE FROM anchors WHERE run > ?", since)
            do("DELETE FROM copies WHERE run > ?", since)
            do("UPDATE changes SET reason = '' WHERE run > ? AND change = 'new'", since)
            known = (
                "coalesce((SELECT {} FROM pages AS known WHERE known.id = pages.id AND"
                " known.run <= (SELECT run FROM published) ORDER BY known.run DESC LIMIT 1), {})"
            ).format
            do(
                f"UPDATE pages SET doubt = '', anchors = {known('anchors', repr(''))},"  # noqa: S608
                f" missing_in = {known('missing_in', 0)},"
                f" seq = iif(seq = record, seq, {known('seq', 0)}) WHERE run > ?",
                since,
            )
        self.pages.forget()
        self.runs.set_fact(ENDING_FACT, True)

    @property
    def is_complete(self) -> bool:
        """Whether the last published crawl saw the whole site."""
        query = "SELECT is_complete FROM crawls WHERE ended != '' ORDER BY number DESC LIMIT 1"
        return bool(self.database.value(query))

    def publish(self, is_complete: bool) -> None:
        """Show the crawl's results to readers, and commit. *is_complete*: the crawl saw the whole
        site.
        """
        do, number = self.database.do, self.runs.crawl
        do("UPDATE published SET run = ?", (self.runs.current,))
        statement = "UPDATE crawls SET ended = ?, is_complete = ? WHERE number = ?"
        do(statement, (now(), is_complete, number))
        do("DELETE FROM facts WHERE name = ?", (ENDING_FACT,))
        self.commit()
        self.pages.forget()

    def clean(self, is_over: bool) -> Iterator[None]:
        """Delete what nobody needs any more: versions of pages that newer ones replace, records of
        pages that earlier crawls found unchanged, counts of links that are gone, contents without a
        page, and (if the crawl *is_over*) the data that only its requests needed. Yields and
        commits after each portion, so that the caller can pause, or stop.
        """
        if is_over:
            for table in ("claims", "answers", "sitemap_dates"):
                self.database.do(f"DELETE FROM {table}")  # noqa: S608 - our own names
            for index in INDEXES_AT_THE_END:
                self.database.do(f"DROP INDEX IF EXISTS {index}")
        self.copies.clean()
        for _ in self.anchors.clean():
            self.commit()
            yield
        while self.changes.forget_unchanged(PORTION):
            self.commit()
            yield
        yield from self._delete(
            "pages",
            "run <= (SELECT run FROM published) AND EXISTS (SELECT 1 FROM pages AS newer"
            " WHERE newer.id = pages.id AND newer.run > pages.run"
            " AND newer.run <= (SELECT run FROM published))",
        )
        yield from self._delete_contents()
        while self.database.give_back(PORTION):
            yield

    def _delete(self, table: str, which: str) -> Iterator[None]:
        """Delete the rows of a table that fulfil a condition, in portions by their numbers."""
        last = self.database.count(f"SELECT max(number) FROM {table}")  # noqa: S608 - our own names
        for first in range(0, last + 1, PORTION):
            self.database.do(
                f"DELETE FROM {table} WHERE number >= ? AND number < ? AND {which}",  # noqa: S608
                (first, first + PORTION),
            )
            self.commit()
            yield

    def _delete_contents(self) -> Iterator[None]:
        """Delete the contents that nothing names, in portions. A content names its base."""
        rows = self.database.rows
        query = "SELECT number FROM contents ORDER BY number"
        numbers = array("q", (number for (number,) in rows(query)))
        used = bytearray(len(numbers))
        for table, columns in CONTENT_COLUMNS.items():
            for named in rows(f"SELECT {columns} FROM {table}"):  # noqa: S608 - our own names
                for number in filter(None, named):
                    if (place := _place(numbers, number)) is not None:
                        used[place] = 1
                yield
        # The newest first: a base may have a base itself, and a content is newer than its base.
        query = "SELECT number, base FROM contents WHERE base NOT NULL ORDER BY number DESC"
        for number, base in rows(query):
            place, base_place = _place(numbers, number), _place(numbers, base)
            if place is not None and base_place is not None:
                used[base_place] |= used[place]
            yield
        for first in range(0, len(numbers), PORTION):
            portion = zip(
                numbers[first : first + PORTION], used[first : first + PORTION], strict=False
            )
            unused = json.dumps([number for number, is_used in portion if not is_used])
            statement = "DELETE FROM contents WHERE number IN (SELECT value FROM json_each(?))"
            self.database.do(statement, (unused,))
            self.commit()
            yield


def _place(numbers: array[int], number: int) -> int | None:
    """Return the place of a number in sorted *numbers*, None if it is missing."""
    place = bisect_left(numbers, number)
    return place if place < len(numbers) and numbers[place] == number else None
