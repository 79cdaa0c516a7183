"""The visits of a crawl in its ledger. The history takes them over at the end of the crawl."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from contentspider.ground.compression import pack_text, unpack_text
from contentspider.ground.errors import DAMAGE, StateError
from contentspider.recrawl.judge import Facts
from contentspider.state.address_state import AddressState

if TYPE_CHECKING:
    from contentspider.state.ledger.database import Database

ANSWER = "etag, last_modified, links, moved_from, is_orphan, is_check, is_unsent"
WITH_ANSWERS = "visits LEFT JOIN answers ON answers.address = visits.address"


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of a page. `contentspider.recrawl.judge` decides from its *facts* how the page
    changed. *model* is the version of the site model that filtered the page. *previous_hash*
    is the `content_hash` of the previous version; *previous_id* is the known page that moved here,
    and *reason* is the reason to believe so.
    """

    id: str
    url: str
    site: str
    at: str
    facts: Facts
    content_hash: str
    text_hash: str
    model: str
    first_seen: str
    previous_hash: str = ""
    previous_id: str = ""
    reason: str = ""
    layout_hash: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a visited page: validators, links (`link_lines`), and the addresses and ways it
    moved from.

    *is_orphan*: no page links to the page. *is_unsent*: the server answered "not modified".
    *is_check*: the page was fetched although the server called it unmodified.
    """

    etag: str = ""
    last_modified: str = ""
    links: tuple[str, ...] = ()
    moved_from: tuple[tuple[str, str], ...] = ()
    is_orphan: bool = False
    is_check: bool = False
    is_unsent: bool = False


@dataclass(frozen=True, slots=True)
class StoredVisit:
    """A visit with its number and answer; *content*, *page* and *item* are None if unchanged."""

    number: int
    visit: Visit
    answer: Answer
    content: str | None
    page: bytes | None
    is_item_known: bool = False
    item: dict[str, Any] | None = None


class Visits:
    """The visits of a crawl, stored for the history."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._do = database.do

    def answer(self, address_row: int, answer: Answer) -> None:
        """Store the answer for an address."""
        moved_from = json.dumps(answer.moved_from) if answer.moved_from else None
        values = _values(answer) | {"links": pack_lines(answer.links), "moved_from": moved_from}
        self._do(
            f"INSERT OR REPLACE INTO answers (address, {', '.join(values)})"  # noqa: S608 - our names
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (address_row, *values.values()),
        )

    def answer_of(self, address_row: int | None) -> Answer:
        """Return the stored answer for an address, or an empty one."""
        query = f"SELECT {ANSWER} FROM answers WHERE address = ?"  # noqa: S608 - our own names
        row = self._database.row(query, (address_row,))
        return _answer(*row) if row else Answer()

    def note(self, visit: Visit, row: int | None, content: str | None, page: bytes | None) -> None:
        """Store a visit; it replaces an earlier one of the same page."""
        packed = pack_text(content) if content is not None else None
        self._do(
            "INSERT OR REPLACE INTO visits (id, address, visit, content, page)"
            " VALUES (?, ?, ?, ?, ?)",
            (visit.id, row, _dump(visit), packed, page),
        )

    def forget(self, page_id: str) -> None:
        """Delete the visit of a page, which then counts as unread."""
        self._do("DELETE FROM visits WHERE id = ?", (page_id,))

    def forget_validators(self, address_row: int) -> None:
        """Delete the validators of an address, so that the next crawl gets its page in full."""
        self._do(
            "UPDATE answers SET etag = '', last_modified = '' WHERE address = ?", (address_row,)
        )

    def replace(self, number: int, visit: Visit, content: str | None) -> None:
        """Store a visit and its content in the place of the visit with a number."""
        packed = pack_text(content) if content is not None else None
        self._do(
            "UPDATE visits SET visit = ?, content = ? WHERE number = ?",
            (_dump(visit), packed, number),
        )

    def has(self, page_id: str) -> bool:
        """Tell whether a page has been visited."""
        return self._database.row("SELECT 1 FROM visits WHERE id = ?", (page_id,)) is not None

    def has_after(self, number: int, page_id: str) -> bool:
        """Tell whether a page has a visit with a larger number."""
        query = "SELECT 1 FROM visits WHERE id = ? AND number > ?"
        return self._database.row(query, (page_id, number)) is not None

    def content(self, page_id: str) -> str | None:
        """Return the main content of a visited page, or None if the page is unchanged."""
        return _text(self._database.value("SELECT content FROM visits WHERE id = ?", (page_id,)))

    def count(self) -> int:
        """Return how many pages have been visited."""
        return self._database.count("SELECT count(*) FROM visits")

    def last_number(self) -> int:
        """Return the number of the last visit, 0 without visits."""
        return self._database.count("SELECT max(number) FROM visits")

    def orphans(self) -> Iterator[str]:
        """Yield the ids of visited pages that no page links to."""
        self.create_indexes()
        # The order of the tables: a scan of all visits takes seconds before its first row.
        query = (
            "SELECT id FROM answers CROSS JOIN visits ON visits.address = answers.address"
            " WHERE is_orphan"
        )
        return (page_id for (page_id,) in self._database.rows(query))

    def unchanged(self, site: str) -> Iterator[str]:
        """Yield the ids of the visited pages of a site that the history has as they are now."""
        query = "SELECT id FROM visits WHERE page IS NULL AND json_extract(visit, '$.site') = ?"
        return (page_id for (page_id,) in self._database.rows(query, (site,)))

    def after(self, number: int) -> Iterator[StoredVisit]:
        """Yield the visits with larger numbers, in order."""
        query = (
            f"SELECT number, visit, content, page, {ANSWER} FROM {WITH_ANSWERS}"  # noqa: S608
            " WHERE number > ? ORDER BY number LIMIT 1"
        )
        return map(self._stored_visit, self._database.following(query, number))

    def _stored_visit(self, row: Sequence[Any]) -> StoredVisit:
        number, visit, content, page, *answer = row
        try:
            record = json.loads(visit)
            read_visit = Visit(**{**record, "facts": _facts(record["facts"])})
            return StoredVisit(number, read_visit, _answer(*answer), _text(content), page)
        except DAMAGE as error:
            raise StateError(
                f"{self._database.name}: visit {number} is damaged: {error}"
            ) from error

    def note_lastmod(self, page_id: str, has_changed: bool) -> None:
        """Store whether a sitemap says that a page has changed. If sitemaps differ, the page counts
        as changed.
        """
        self._do(
            "INSERT INTO lastmods VALUES (?, ?)"
            " ON CONFLICT DO UPDATE SET has_changed = max(has_changed, excluded.has_changed)",
            (page_id, has_changed),
        )

    def has_changed(self, page_id: str) -> bool | None:
        """Return whether sitemaps say that a page has changed; None if no sitemap dates it."""
        query = "SELECT has_changed FROM lastmods WHERE id = ?"
        flag = self._database.value(query, (page_id,))
        return None if flag is None else bool(flag)

    def changed_by_lastmod(self) -> Iterator[str]:
        """Yield the ids of the pages that have changed according to their sitemaps."""
        query = "SELECT id FROM lastmods WHERE has_changed"
        return (page_id for (page_id,) in self._database.rows(query))

    def differences(self) -> Iterator[tuple[str, Facts, bool]]:
        """Yield site, facts and `Answer.is_check` of each visit."""
        for site, facts, is_check in self._database.rows(
            "SELECT json_extract(visit, '$.site'), json_extract(visit, '$.facts'), is_check"  # noqa: S608
            f" FROM {WITH_ANSWERS}"
        ):
            yield site, _facts(json.loads(facts)), bool(is_check)

    def models(self, number: int) -> Iterator[tuple[int, str, str]]:
        """Yield number, site and `Visit.model` of the visits with numbers larger than *number*."""
        return self._database.rows(
            "SELECT number, json_extract(visit, '$.site'), json_extract(visit, '$.model')"
            " FROM visits WHERE number > ? ORDER BY number",
            (number,),
        )

    def at(self, address_row: int) -> tuple[str, str] | None:
        """Return the id and the URL of the page that was visited for an address' row."""
        self.create_indexes()
        return self._first("address = ?", address_row)

    def of(self, page_id: str) -> tuple[str, str] | None:
        """Return the id and the URL of a visited page."""
        return self._first("id = ?", page_id)

    def of_new(self, page_id: str) -> tuple[str, str] | None:
        """Return the id and the URL of a visited page if this crawl is the first that read it."""
        return self._first("id = ? AND json_extract(visit, '$.facts.is_new')", page_id)

    def _first(self, which: str, *values: object) -> tuple[str, str] | None:
        query = f"SELECT id, json_extract(visit, '$.url') FROM visits WHERE {which} LIMIT 1"  # noqa: S608
        page: tuple[str, str] | None = self._database.row(query, values)
        return page

    def copies(self) -> Iterator[tuple[str, str]]:
        """Yield the addresses of duplicates with the id of the original page, ordered by the id."""
        self.create_indexes()
        self._do("CREATE INDEX IF NOT EXISTS by_url ON addresses (url)")
        return self._database.rows(
            "SELECT copy.url, visits.id FROM addresses AS copy"
            " JOIN addresses AS original ON original.url = copy.target"
            " JOIN visits ON visits.address = original.number"
            " WHERE copy.state = ? AND copy.reason = 'duplicate' ORDER BY visits.id, copy.url",
            (AddressState.SKIPPED,),
        )

    def create_indexes(self) -> None:
        """Create the indexes that the end of a crawl uses. For many visits that takes seconds, so
        a run creates them when it begins.
        """
        self._do("CREATE INDEX IF NOT EXISTS by_address ON visits (address)")
        self._do("CREATE INDEX IF NOT EXISTS orphans ON answers (address) WHERE is_orphan")


def _values(record: Visit | Facts | Answer) -> dict[str, Any]:
    """Return a record's values by field name, as `asdict` does, but without slow copies."""
    return {each.name: getattr(record, each.name) for each in fields(record)}


def _dump(visit: Visit) -> str:
    return json.dumps(_values(visit) | {"facts": _values(visit.facts)})


def _text(packed: bytes | None) -> str | None:
    return unpack_text(packed) if packed else None


def _facts(record: dict[str, Any]) -> Facts:
    lists = {name: tuple(record[name]) for name in ("numbered", "lines")}
    own_fields = tuple((name, before, now) for name, before, now in record.get("fields", ()))
    return Facts(**{**record, **lists, "fields": own_fields})


def _answer(
    etag: str | None, modified: str | None, links: bytes | None, moved: str | None, *flags: int
) -> Answer:
    moved_from = tuple((url, how) for url, how in json.loads(moved)) if moved else ()
    return Answer(etag or "", modified or "", unpack_lines(links), moved_from, *map(bool, flags))


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


def pack_lines(lines: Iterable[str]) -> bytes | None:
    """Return compressed lines, or None for no lines."""
    text = "\n".join(lines)
    return pack_text(text) if text else None


def unpack_lines(packed: bytes | None) -> tuple[str, ...]:
    """Return the lines that `pack_lines` compressed."""
    return tuple(unpack_text(packed).split("\n")) if packed else ()
