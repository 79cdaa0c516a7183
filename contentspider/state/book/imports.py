"""Brings the files of earlier versions, a ledger and a history, into a new book.

Versions before the book kept two files for a crawl: ``NAME.sqlite``, the ledger (schema 11), and
``history/NAME.sqlite``, its history (schema 11 or 12).
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from contentspider.ground.compression import needs_dictionary, unpack
from contentspider.ground.errors import DAMAGE
from contentspider.recrawl.changes import LIVE, UNCHANGED
from contentspider.recrawl.judge import Facts, judge
from contentspider.state.book.contents import ITEM, LINKS, PAGE
from contentspider.state.book.pages import BY_VISIT, RELEASED, PageVersion
from contentspider.state.book.visits import Visit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from contentspider.state.book.book import Book

LEDGER_VERSIONS, HISTORY_VERSIONS = (11,), (11, 12)
SAME_TABLES = "distrusted stale counters lastmods dead broken refused own_answers".split()
IMPORTED = 1  # the run that has published the data of a history
# The columns of a page that are as they were.
SAME = (
    "id url site state first_seen last_seen last_fetched changed_at content_hash text_hash"
    " layout_hash model etag last_modified missing changes changed_days still_days doubt anchors"
    " item_hash seq"
).split()
CHANGES = (
    "seq crawl at id url change change_ratio change_cause previous_hash content_hash first_seen"
    " changed_at reason previous_id fields"
).split()


class OldFile:
    """The file of an earlier version at *path*, which is only read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path)
        self._connection.row_factory = sqlite3.Row
        self.close = self._connection.close

    @property
    def version(self) -> int:
        """Return the version of the file's schema."""
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def check(self) -> None:
        """Read the whole file; raises sqlite3.DatabaseError if it is damaged."""
        (result,) = self._connection.execute("PRAGMA quick_check(1)").fetchone()
        if result != "ok":
            raise sqlite3.DatabaseError(result)

    def has(self, table: str) -> bool:
        """Tell whether the file has a table."""
        query = "SELECT 1 FROM sqlite_master WHERE name = ?"
        return self._connection.execute(query, (table,)).fetchone() is not None

    def rows(self, query: str, *values: object) -> Iterator[sqlite3.Row]:
        """Yield the rows of a query."""
        return iter(self._connection.execute(query, values))


class OldHistory(OldFile):
    """The history of an earlier version."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._words = {row["id"]: row["words"] for row in self.rows("SELECT * FROM dictionaries")}

    def unpack(self, packed: bytes | None) -> bytes | None:
        """Return a record that was compressed with one of the dictionaries; None for none, or for a
        damaged one.
        """
        with suppress(*DAMAGE):
            if packed is not None:
                number = int.from_bytes(packed[2:6], "big")
                words = self._words.get(number, b"") if needs_dictionary(packed) else b""
                return unpack(packed, words)
        return None

    def item(self, page_id: str) -> bytes:
        """Return the JSON line of a page's item, b"" if it has none."""
        row = next(self.rows("SELECT item FROM pages WHERE id = ?", page_id), None)
        return self.unpack(row["item"] if row else None) or b""


def import_history(old: OldHistory, book: Book) -> None:
    """Write the pages, changes and sites of a history into an empty book, and publish them."""
    do = book.database.do
    for row in old.rows("SELECT number, key, ended, is_complete FROM crawls"):
        do("INSERT INTO crawls VALUES (?, ?, ?, ?)", tuple(row))
    do(
        "INSERT INTO runs (number, crawl, started, pid, ended, reason)"
        " VALUES (?, 0, '', 0, '', 'imported')",
        (IMPORTED,),
    )
    do("UPDATE published SET run = ?", (IMPORTED,))
    columns = ", ".join(CHANGES)
    for row in old.rows(f"SELECT {columns} FROM changes"):  # noqa: S608 - our own names
        marks = ", ".join("?" * (len(CHANGES) + 2))
        statement = f"INSERT INTO changes (run, origin, {columns}) VALUES ({marks})"  # noqa: S608
        do(statement, (IMPORTED, BY_VISIT, *row))
    for row in old.rows("SELECT name, seq FROM sqlite_sequence WHERE name = 'changes'"):
        do("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", (row["seq"], row["name"]))
    for row in old.rows("SELECT * FROM pages ORDER BY rowid"):
        book.pages.put(_imported_page(row, old, book))
    for row in old.rows("SELECT target, text, pages FROM anchors"):
        do("INSERT INTO anchors VALUES (?, ?, ?, ?)", (row[0], row[1], IMPORTED, row[2]))
    for row in old.rows("SELECT id, original, crawl, url FROM copies"):
        do("INSERT INTO copies VALUES (?, ?, ?, ?, ?)", (row[0], IMPORTED, *row[1:]))
    for table in (
        "distrusted",
        "stale",
        "counters",
        "lastmods",
        "dead",
        "broken",
        "refused",
        "own_answers",
    ):
        if old.has(table):
            _copy(old, table, book, table)


def _copy(old: OldFile, table: str, book: Book, new_table: str) -> None:
    """Copy a table whose columns are the same."""
    for row in old.rows(f"SELECT * FROM {table}"):  # noqa: S608 - our own names
        marks = ", ".join("?" * len(row))
        book.database.do(f"INSERT INTO {new_table} VALUES ({marks})", tuple(row))  # noqa: S608


def _imported_page(row: sqlite3.Row, old: OldHistory, book: Book) -> PageVersion:
    """Return the version of a page of a history, with its contents in the book."""
    values: dict[str, Any] = {name: row[name] for name in SAME}
    put = book.contents.put
    if (page := old.unpack(row["page"])) is not None:
        values["page"] = put(PAGE, page)
    content = old.unpack(row["content"])
    item = old.unpack(row["item"])
    if item is not None:
        values["item"] = put(ITEM, item, values.get("page"))
        if content is not None and _content_of(item) == content:
            values["content"], content = values["item"], None
    if content is not None:
        values["content"] = book.pages.put_text(content.decode("utf-8", "surrogatepass"))
    if (previous := old.unpack(row["previous"])) is not None:
        values["previous"] = book.pages.put_text(previous.decode("utf-8", "surrogatepass"))
    if (links := old.unpack(row["links"])) is not None:
        values["links"] = put(LINKS, links)
    missing_in = row["missing_in"] or 0
    return PageVersion(
        number=0,
        run=IMPORTED,
        crawl=0,
        origin=BY_VISIT,
        address=None,
        missing_in=missing_in,
        item_state=RELEASED,
        **values,
    )


def _content_of(item: bytes) -> bytes | None:
    with suppress(*DAMAGE):
        return str(json.loads(item)["content"]).encode("utf-8", "surrogatepass")
    return None


def import_ledger(old: OldFile, history: OldHistory | None, book: Book) -> None:
    """Write the addresses, items and unpublished visits of a ledger into a book, after the data of
    its *history*.
    """
    do = book.database.do
    runs = list(old.rows("SELECT * FROM runs ORDER BY number"))
    crawl = _crawl_of(old, book)
    first = book.database.count("SELECT max(number) FROM runs")
    for row in runs:
        values = (
            first + row["number"],
            crawl,
            *(row[name] for name in ("started", "pid", "ended")),
        )
        do("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", (*values, row["reason"]))
    book.runs.crawl = book.visits.crawl = crawl
    book.visits.run = first + (runs[-1]["number"] if runs else 0)
    tables = {name: name for name in ("facts", "claims", "own_texts")}
    for table, new_table in (tables | {"own_answers": "own_sources"}).items():
        _copy(old, table, book, new_table)
    _copy(old, "lastmods", book, "sitemap_dates")
    for row in old.rows("SELECT * FROM addresses"):
        names = [name for name in row.keys() if name != "request"]  # noqa: SIM118 - of a row
        columns, marks = ", ".join(names), ", ".join("?" * len(names))
        statement = f"INSERT INTO addresses ({columns}) VALUES ({marks})"  # noqa: S608 - as above
        do(statement, tuple(row[name] for name in names))
        if row["request"] is not None:
            do("INSERT INTO requests VALUES (?, ?)", (row["number"], row["request"]))
    for row in old.rows("SELECT * FROM answers"):
        links = _put(book, LINKS, row["links"])
        flags = (row[name] for name in ("is_orphan", "is_check", "is_unsent"))
        values = (
            row["address"],
            row["etag"],
            row["last_modified"],
            links,
            row["moved_from"],
            *flags,
            b"",
        )
        do("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    for row in old.rows("SELECT * FROM held_items"):
        values = (*(row[name] for name in ("number", "key", "address", "site", "item")),)
        page = _put(book, PAGE, row["page"])
        do("INSERT INTO held_items VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, page, row[6]))
    for row in old.rows("SELECT site, place, url, page FROM pages"):
        page = _put(book, PAGE, row["page"])
        do("INSERT INTO sample VALUES (?, ?, ?, ?)", (*tuple(row)[:3], page))
    _import_visits(old, book)
    _import_items(old, history, book)


def _crawl_of(old: OldFile, book: Book) -> int:
    """Return the number of a ledger's crawl, which gets a row if it has published nothing."""
    row = next(old.rows("SELECT value FROM facts WHERE name = 'crawl'"), None)
    key = str(json.loads(row["value"])) if row else "imported"
    number = book.database.count("SELECT number FROM crawls WHERE key = ?", (key,))
    if number:
        return number
    return book.database.do("INSERT INTO crawls (key) VALUES (?)", (key,)).lastrowid or 0


def _put(book: Book, kind: str, packed: bytes | None) -> int | None:
    """Store a content that was compressed without a dictionary; None for none, or a damaged one."""
    with suppress(*DAMAGE, zlib.error):
        return book.contents.put(kind, unpack(packed)) if packed is not None else None
    return None


def _import_visits(old: OldFile, book: Book) -> None:
    """Write the visits of a ledger: visits that its history had taken over belong to the crawl, and
    the others are written as unpublished visits.
    """
    crawl = book.runs.crawl
    for row in old.rows("SELECT * FROM visits ORDER BY number"):
        record = json.loads(row["visit"])
        known = book.pages.known(record["id"])
        if known is not None and known.last_seen == record["at"]:
            book.pages.put(replace(known, crawl=crawl, address=row["address"]))
            book.pages.forget()
            continue
        page, content = _put(book, PAGE, row["page"]), None
        if row["content"] is not None:
            with suppress(*DAMAGE):
                content = book.pages.put_text(
                    unpack(row["content"]).decode("utf-8", "surrogatepass")
                )
        base = known if known is not None and known.state == LIVE else None
        base = book.pages.known(record["previous_id"]) if record["previous_id"] else base
        visit = Visit(
            **{name: record[name] for name in ("id", "url", "site", "at", "content_hash")},
            facts=_facts(record["facts"]),
            text_hash=record["text_hash"],
            layout_hash=record.get("layout_hash", ""),
            model=record["model"],
            base=base,
            reason=record["reason"],
            page=page if page is not None else (known.page if known else None),
            content=content,
        )
        answer = book.answers.of(row["address"])
        book.visits.write(visit, judge(visit.facts), answer, row["address"])


def _facts(record: dict[str, Any]) -> Facts:
    record.pop("is_recut", None)  # `recut` has the slots now
    lists = {name: tuple(record[name]) for name in ("numbered", "lines")}
    own_fields = tuple((name, before, now) for name, before, now in record.get("fields", ()))
    return Facts(**{**record, **lists, "fields": own_fields})


def _import_items(old: OldFile, history: OldHistory | None, book: Book) -> None:
    """Write the items of a ledger, whose lines may be stored as differences to the history's."""
    for row in old.rows("SELECT * FROM items ORDER BY number"):
        number = ours = item = None
        with suppress(*DAMAGE):
            if (packed := row["line"]) is not None:
                is_difference = needs_dictionary(packed) and history is not None
                words = history.item(row["page"]) if is_difference and history else b""
                line = unpack(packed, words)
                version = book.pages.newest(row["page"] or "")
                number = book.contents.put(ITEM, line, version.page if version else None)
                names = json.loads(row["names"]) if row["names"] else None
                ours, item = book.items.by_our_names(number, names)
        values = (row["number"], row["key"], row["address"], number, row["reason"], row["page"])
        book.database.do("INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", (*values, row["names"]))
        if row["page"]:
            is_left_out = row["reason"] == UNCHANGED
            book.visits.take_item(row["page"], item, ours, None, is_left_out)


def open_old(path: Path, versions: tuple[int, ...], table: str) -> OldFile | None:
    """Return a file of an earlier version that has a *table*; None if there is none. Raises
    sqlite3.DatabaseError if it is damaged, and ValueError if its version is unknown.
    """
    if not path.is_file():
        return None
    with closing(OldFile(path)) as old:
        if not old.has(table) or old.has("published"):
            return None
        if old.version not in versions:
            raise ValueError(f"schema {old.version}")
        old.check()
    return OldHistory(path) if table == "changes" else OldFile(path)
