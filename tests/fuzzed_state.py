"""Books that are damaged or malicious, and all that is read of them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from contentspider.crawl.base.items import ContentItem
from contentspider.crawl.revisits.due_pages import due_pages
from contentspider.ground.compression import pack_text
from contentspider.ground.errors import ContentSpiderError
from contentspider.index.schema import document_fields
from contentspider.page.input.page import Page
from contentspider.recrawl.judge import Facts
from contentspider.recrawl.lastmod import LastmodCounts
from contentspider.run.results import last_crawl
from contentspider.site.models.identity import page_id
from contentspider.site.own.texts import OwnText
from contentspider.state.book.answers import Answer
from contentspider.state.book.book import Book
from contentspider.state.book.items import ItemBinding
from contentspider.state.book.own_texts import OwnAnswer
from contentspider.state.crawls.books import crawl_status, open_crawl
from contentspider.state.crawls.entries import Entries
from contentspider.state.crawls.export import export_items
from contentspider.state.files.formats import Output
from tests.garbling import PIECES, flipped
from tests.recrawled import FINISHED, SITE, OneCrawl, address
from tests.sites import article, prose
from tests.visited import Seen, see

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    # Makes an input by a seed and reads it; writes a changed file.
    One = Callable[[random.Random], object]
    Change = Callable[[random.Random, Path], object]

ODD_CELLS: list[Any] = [
    *(None, 0, -1, 1.5, 2**63 - 1, float("inf"), "", "x", "../../x", "0001-01-01", b"", b"\xff\0"),
    *("null", "[]", "{}", '{"dict": 1}', "[1, 2, 3]", "9999-12-31T23:59:59+00:00", "2026-03-01"),
    *(pack_text(text) for text in ("null", "[]", "{}", '{"url": 1}', "[[1]]", "\ud800")),
    pack_text("[" * 5_000),
]
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT * FROM n"
# What a table may be replaced with, and what may hang on one.
TRICKS = [
    f"DROP TABLE {{0}}; CREATE VIEW {{0}} AS {ENDLESS}",
    "CREATE TRIGGER t AFTER INSERT ON {0} BEGIN DELETE FROM {0}; END",
    "CREATE TRIGGER t AFTER UPDATE ON {0} BEGIN INSERT INTO {0} SELECT * FROM {0}; END",
    "DROP TABLE {0}; CREATE VIRTUAL TABLE {0} USING fts5(a)",
    "DROP TABLE {0}; CREATE TABLE {0} (a, b)",
    "ALTER TABLE {0} ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(100000))) VIRTUAL",
    "DROP TABLE {0}",
    "PRAGMA user_version = 0",
    "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE TABLE x(' WHERE name='{0}'",
]


def made_crawl(path: Path) -> Path:
    """Return the file of a crawl that was stopped, with all kinds of rows."""
    with closing(Book(path)) as book:
        book.begin_run()
        states = ("fetched", "retry", "skipped", "held", "queued", "taken")
        for number, state in enumerate(states):
            url = f"http://{SITE}/{number}"
            row = book.frontier.enqueue(b"%d" % number, url, number % 2, '{"meta": {"dict": {}}}')
            if state != "queued":
                book.frontier.queue.take()
            if state not in ("queued", "taken"):
                book.frontier.finish(row, state, "duplicate", f"http://{SITE}/0")
            book.claims.claim([b"claim %d" % number], row, url)
            page = Page.from_html(article(number), url)
            hand = ItemBinding(page, row, row, f"key {number}", page_id=str(number))
            if state == "held":
                book.items.hold(SITE, ContentItem(url), hand)
            else:
                book.items.record(hand, json.dumps({"url": url, "id": "1"}).encode() + b"\n")
            book.sample.offer(SITE, page)
            links = book.answers.put_links({url: ("One",)}, None)
            book.answers.put(row, Answer("e", "m", links, ((url, "HTTP 301"),)))
            facts = Facts("page", 0.5, is_new=True, numbered=("p 1",))
            see(
                book,
                Seen(
                    str(number), text=prose(number), page=page, values={"facts": facts, "url": url}
                ),
            )
            book.sitemap_dates.note(str(number), has_changed=True)
            book.own_texts.add(SITE, [OwnText(url, prose(number), "feed")], "http://e.org/feed")
        book.own_texts.note(OwnAnswer(SITE, "http://e.org/feed", "e", "m"))
        book.runs.set_fact("output", ["/nowhere/x.jsonl", 1, "digest"])
        book.end_run("shutdown")
    return whole(path)


def whole(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def read_crawl(path: Path, folder: Path) -> None:
    """Read all of a crawl, as commands and a crawl that is resumed do it."""
    last_crawl(path)
    for command in (
        crawl_status,
        lambda path: export_items(path, [Output.parse(str(folder / "x.jsonl"))]),
    ):
        with suppress(ContentSpiderError):
            command(path)
    book, _ = open_crawl(path, True, 10**9)
    with closing(book):
        book.begin_run()
        for site in book.items.held_counts():
            list(book.items.held_pages(site))
            list(book.items.release(site))
        list(book.items.lines())
        book.items.released("1")
        book.items.refill("1", {"content": "x"})
        book.frontier.find(f"http://{SITE}/1")
        book.frontier.queue.answered(SITE, 5)
        book.frontier.queue.take({"other.org"})
        book.sample.offer(SITE, Page.from_html(article(9), f"http://{SITE}/9"), has_own_text=True)
        for site in book.sample.sites():
            list(book.sample.sample(site))
            list(book.sample.visited(site))
        list(book.own_texts.answers())
        for number in range(3):
            book.own_texts.of_page(SITE, f"http://{SITE}/{number}")
        book.own_texts.of_site(SITE)
        crawl = book.runs.crawl
        for what in (
            book.pages.all_found(),
            book.answers.copies(crawl),
            book.sitemap_dates.changed(),
        ):
            list(what)
        list(book.answers.orphans(crawl))
        list(book.sitemap_dates.outcomes(book.pages.published))
        book.pages.visited_at(1, crawl)
        book.runs.fact("output")
        book.begin_ending()
        for _ in book.clean(is_over=True):
            pass
        book.end_run("finished")


def made_site(path: Path) -> Path:
    """Return the file of a book that has published two crawls of a site."""
    for numbers in ([0, 1, 2, 3], [0, 1, 4, 5]):
        crawl = OneCrawl(path)
        for number in numbers:
            html = article(number, prose(len(path.parent.name), number, crawl.at))
            crawl.see(f"/{number}", html, Answer("e", "m"), links=(address("/1"),))
        crawl.end()
    with closing(Book(path)) as book:
        text = OwnText(address("/1"), prose(1), "feed")
        book.own_answers.replace([OwnAnswer(SITE, address("/feed"), "e", "m", (text,))])
        book.runs.begin()
        book.sites.add_counter(SITE, "p 1")
        numbers = book.runs.current, book.runs.crawl
        book.copies.add("copy", page_id(address("/0")), address("/copy"), *numbers)
        book.sites.distrust(["other.org"])
        book.sites.set_lastmods(SITE, LastmodCounts(20.0, 0.0, 6.0, 1.0))
        book.publish(is_complete=False)
        book.end_run("finished")
    return whole(path)


def read_site(path: Path) -> None:
    """Read all of a book that is published, as indexes and the next crawl do it."""
    with suppress(ContentSpiderError), closing(Entries(path)) as entries:
        for entry in entries.after(0):
            json.dumps(document_fields(entry.item or {}))
        list(entries.of([page_id(address("/1"))]))
        list(entries.live())
        entries.follows(entries.position())
        entries.last_crawl()
        entries.last, entries.count(), entries.live_count(), entries.gone_count(0)
    with suppress(ContentSpiderError), closing(Book(path, read_only=True)) as book:
        list(book.changes.records())
    crawl = OneCrawl(path)
    try:
        due_pages(crawl.book.known, crawl.options)
        crawl.revisits.own_answers.at(address("/feed"))
        crawl.revisits.lastmods.note(address("/1"), "2026-03-01")
        for number in (0, 1, 6):
            crawl.see(f"/{number}", article(number))
            crawl.revisits.is_deferred(address(f"/{number}"))
            page = Page.from_html("<p>Not found", address(f"/{number}"))
            crawl.revisits.replaced.kind(page, page.url, False, lambda: "")
        list(crawl.revisits.pages_to_visit())
        asyncio.run(crawl.revisits.end(FINISHED))
    finally:
        crawl.close()


def odd_bytes(made: Path) -> Change:
    whole = made.read_bytes()
    return lambda draw, path: path.write_bytes(flipped(draw, whole, [whole], PIECES))


def odd_rows(made: Path) -> Change:
    """Change rows, and sometimes tables, in ways that SQLite takes for whole."""
    whole, tables = made.read_bytes(), {}
    with closing(sqlite3.connect(made)) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
            columns = connection.execute(f"SELECT name FROM pragma_table_info('{name}')")  # noqa: S608
            tables[name] = [column for (column,) in columns]

    def change(draw: random.Random, path: Path) -> None:
        path.write_bytes(whole)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("PRAGMA journal_mode = MEMORY")
            for _ in range(draw.choice([1, 1, 2, 5])):
                table = draw.choice(list(tables))
                column = draw.choice(tables[table])
                value, text = draw.choice(ODD_CELLS), "CAST(? AS TEXT)"
                mark = text if isinstance(value, bytes) and draw.random() < 0.5 else "?"
                which = f"(SELECT max({column}) FROM {table})" if draw.random() < 0.5 else column  # noqa: S608
                update = f"UPDATE OR IGNORE {table} SET {column} = {mark} WHERE {column} IS {which}"  # noqa: S608
                with suppress(sqlite3.Error):
                    connection.execute(update, (value,))
            if draw.random() < 0.1:
                with suppress(sqlite3.Error):
                    connection.executescript(draw.choice(TRICKS).format(table))

    return change


def emptied(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def crawls(change: Callable[[Path], Change]) -> Callable[[Path], One]:
    def kind(folder: Path) -> One:
        path = folder / "crawls" / "x.sqlite"
        changed = change(made_crawl(path))

        def one(draw: random.Random) -> None:
            emptied(path.parent)
            changed(draw, path)
            read_crawl(path, folder)

        return one

    return kind


def sites(change: Callable[[Path], Change]) -> Callable[[Path], One]:
    def kind(folder: Path) -> One:
        path = folder / "crawls" / "x.sqlite"
        path.parent.mkdir()
        changed = change(made_site(path))

        def one(draw: random.Random) -> None:
            emptied(path.parent)
            changed(draw, path)
            read_site(path)

        return one

    return kind
