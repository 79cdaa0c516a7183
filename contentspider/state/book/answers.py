"""The answers of a crawl's addresses, and the dates that sitemaps give for pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from contentspider.state.address_state import AddressState
from contentspider.state.book.contents import LINKS

if TYPE_CHECKING:
    from contentspider.state.book.contents import Contents
    from contentspider.state.book.database import Database

ANSWER = "etag, last_modified, links, moved_from, is_orphan, is_check, is_unsent, reading"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of an address: its validators, the number of its *links* in `Contents` (see
    `link_lines`), and the addresses and ways it moved from.

    *is_orphan*: no page links to the page. *is_unsent*: the server answered "not modified".
    *is_check*: the page was fetched although the server called it unmodified. *reading* is what
    `Reading.with_claims` reads, or b"".
    """

    etag: str = ""
    last_modified: str = ""
    links: int | None = None
    moved_from: tuple[tuple[str, str], ...] = ()
    is_orphan: bool = False
    is_check: bool = False
    is_unsent: bool = False
    reading: bytes = b""


class Answers:
    """The answers of a crawl, by the rows of their addresses."""

    def __init__(self, database: Database, contents: Contents) -> None:
        self._database = database
        self._contents = contents
        self._do = database.do

    def put(self, row: int, answer: Answer) -> None:
        """Store the answer for an address."""
        moved_from = json.dumps(answer.moved_from) if answer.moved_from else None
        flags = answer.is_orphan, answer.is_check, answer.is_unsent
        self._do(
            f"INSERT OR REPLACE INTO answers (address, {ANSWER})"  # noqa: S608 - our own names
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(row, answer.etag, answer.last_modified, answer.links, moved_from),
                *(*flags, answer.reading),
            ),
        )

    def put_links(self, links: Mapping[str, Iterable[str]], known: int | None) -> int | None:
        """Store the links of a page, and return their number; None for no links. *known* is the
        number of the links that the page had before: it is returned if they are the same.
        """
        text = "\n".join(link_lines(links)).encode("utf-8", "surrogatepass")
        if not text:
            return None
        return known if self._is(known, text) else self._contents.put(LINKS, text)

    def _is(self, number: int | None, text: bytes) -> bool:
        try:
            return number is not None and self._contents.get(number) == text
        except (LookupError, ValueError):
            return False

    def of(self, row: int | None) -> Answer:
        """Return the stored answer for an address, or an empty one."""
        query = f"SELECT {ANSWER} FROM answers WHERE address = ?"  # noqa: S608 - our own names
        found = self._database.row(query, (row,)) if row is not None else None
        if found is None:
            return Answer()
        etag, modified, links, moved, is_orphan, is_check, is_unsent, reading = found
        moved_from = tuple((url, how) for url, how in json.loads(moved)) if moved else ()
        flags = bool(is_orphan), bool(is_check), bool(is_unsent)
        return Answer(etag or "", modified or "", links, moved_from, *flags, reading)

    def note_reading(self, row: int, reading: bytes) -> None:
        """Store the spider's reading of the page at an address (`Answer.reading`)."""
        self._do("UPDATE answers SET reading = ? WHERE address = ?", (reading, row))

    def forget_validators(self, row: int) -> None:
        """Delete the validators of an address, so that the next crawl gets its page in full."""
        statement = "UPDATE answers SET etag = '', last_modified = '' WHERE address = ?"
        self._do(statement, (row,))

    def orphans(self, crawl: int) -> Iterator[str]:
        """Yield the ids of the pages visited in a crawl that no page links to."""
        query = (
            "SELECT DISTINCT id FROM answers CROSS JOIN pages ON pages.address = answers.address"
            " WHERE is_orphan AND pages.crawl = ?"
        )
        return (page_id for (page_id,) in self._database.rows(query, (crawl,)))

    def copies(self, crawl: int) -> Iterator[tuple[str, str]]:
        """Yield the addresses of duplicates with the id of the original page, ordered by the id."""
        self._do("CREATE INDEX IF NOT EXISTS by_url ON addresses (url)")
        # CROSS JOIN fixes the order: there are far more pages than duplicates.
        return self._database.rows(
            "SELECT DISTINCT copy.url, pages.id FROM addresses AS copy"
            " CROSS JOIN addresses AS original ON original.url = copy.target"
            " CROSS JOIN pages ON pages.address = original.number AND pages.crawl = ?"
            " WHERE copy.state = ? AND copy.reason = 'duplicate' ORDER BY pages.id, copy.url",
            (crawl, AddressState.SKIPPED),
        )


class SitemapDates:
    """Whether the sitemaps that a crawl reads say that known pages have changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, page_id: str, has_changed: bool) -> None:
        """Store whether a sitemap says that a page has changed. If sitemaps differ, the page counts
        as changed.
        """
        self._database.do(
            "INSERT INTO sitemap_dates VALUES (?, ?)"
            " ON CONFLICT DO UPDATE SET has_changed = max(has_changed, excluded.has_changed)",
            (page_id, has_changed),
        )

    def has_changed(self, page_id: str) -> bool | None:
        """Return whether sitemaps say that a page has changed; None if no sitemap dates it."""
        query = "SELECT has_changed FROM sitemap_dates WHERE id = ?"
        flag = self._database.value(query, (page_id,))
        return None if flag is None else bool(flag)

    def changed(self) -> Iterator[str]:
        """Yield the ids of the pages that have changed according to their sitemaps."""
        query = "SELECT id FROM sitemap_dates WHERE has_changed"
        return (page_id for (page_id,) in self._database.rows(query))

    def outcomes(self, published: int) -> Iterator[tuple[str, bool, str, str]]:
        """Yield site, whether a change was announced, change and cause of the dated pages that a
        crawl has visited and not published.
        """
        rows = self._database.rows(
            "SELECT pages.site, has_changed, change, change_cause FROM sitemap_dates"
            " JOIN pages ON pages.id = sitemap_dates.id AND pages.run > ?"
            " JOIN changes ON changes.seq = pages.record AND changes.origin = 'visit'",
            (published,),
        )
        return ((site, bool(flag), change, cause) for site, flag, change, cause in rows)


def link_lines(links: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Return a line for each link: its address, and then its texts, with tabs between them.

    >>> read_links(link_lines({"http://e.org/": ["Home", "Start"], "http://e.org/a": []}))
    {'http://e.org/': ('Home', 'Start'), 'http://e.org/a': ()}
    """
    return tuple("\t".join((address, *texts)) for address, texts in links.items())


def read_links(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the texts of each link, by its address, from the lines of `link_lines`."""
    links = {}
    for line in lines:
        address, *texts = line.split("\t")
        links[address] = tuple(texts)
    return links
