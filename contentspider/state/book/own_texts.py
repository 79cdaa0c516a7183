"""The own texts of sites, and the answers of feeds and APIs that they came from."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from contentspider.ground.address_keys import address_key, path_key
from contentspider.ground.compression import pack_text, unpack
from contentspider.ground.errors import DAMAGE
from contentspider.site.own.texts import MAX_TEXTS, OwnText

if TYPE_CHECKING:
    from contentspider.state.book.database import Database

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """An answer of a discovery source at *address*: its validators and the stored *texts*."""

    site: str
    address: str
    etag: str = ""
    last_modified: str = ""
    texts: tuple[OwnText, ...] = ()


class OwnTexts:
    """The own texts of a crawl: the first `MAX_TEXTS` of each site and source."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._do = database.do
        # By site and `path_key`: the `address_key`, source and number of each text.
        self._texts_of: dict[str, dict[str, list[tuple[str, str, int]]]] = {}

    def add(self, site: str, texts: Iterable[OwnText], answer: str = "") -> None:
        """Store new texts of a site's pages, from the source at the address *answer*."""
        for own in texts:
            record = _pack(own.to_record())
            count, is_stored = self._database.row(
                "SELECT count(*), max(url = ? AND record = ?) FROM own_texts"
                " WHERE site = ? AND source = ?",
                (own.url, record, site, own.source),
            )
            if count < MAX_TEXTS and not is_stored:
                self.insert(site, own.url, own.source, answer, record)

    def insert(self, site: str, url: str, source: str, answer: str, record: bytes) -> None:
        """Store a row of own texts unchanged."""
        self._do(
            "INSERT INTO own_texts (site, url, source, answer, record) VALUES (?, ?, ?, ?, ?)",
            (site, url, source, answer, record),
        )
        self._texts_of.pop(site, None)

    def note(self, answer: OwnAnswer) -> None:
        """Store the address and validators of an answer; `add` stores its texts."""
        values = (answer.address, answer.site, answer.etag, answer.last_modified)
        self._do("INSERT OR REPLACE INTO own_sources VALUES (?, ?, ?, ?)", values)

    def answers(self) -> Iterator[OwnAnswer]:
        """Yield the stored answers, each with its texts."""
        query = "SELECT site, address, etag, last_modified FROM own_sources ORDER BY address"
        for row in list(self._database.rows(query)):
            yield replace(OwnAnswer(*row), texts=tuple(self._texts("answer = ?", row[1])))

    def of_site(self, site: str) -> list[OwnText]:
        """Return the own texts of a site's pages, in the order of arrival."""
        return self._texts("site = ?", site)

    def has(self, site: str, url: str) -> bool:
        """Tell whether a page may have an own text, perhaps under an old domain of its site.

        The database is read once for each site.
        """
        return path_key(url) in self._keys(site)

    def of_page(self, site: str, url: str) -> OwnText | None:
        """Return a page's own text, from the first source that has exactly one text for the page.

        Several texts of one source are parts of the page.
        """
        key = address_key(url)
        matches = [entry for entry in self._keys(site).get(path_key(url), []) if entry[0] == key]
        sources = [source for _, source, _ in matches]
        for _, source, number in matches:
            if sources.count(source) == 1 and (texts := self._texts("number = ?", number)):
                return texts[0]
        return None

    def _keys(self, site: str) -> dict[str, list[tuple[str, str, int]]]:
        keys = self._texts_of.get(site)
        if keys is None:
            keys = self._texts_of[site] = {}
            query = "SELECT number, url, source FROM own_texts WHERE site = ? ORDER BY number"
            for number, url, source in self._database.rows(query, (site,)):
                keys.setdefault(path_key(url), []).append((address_key(url), source, number))
        return keys

    def _texts(self, condition: str, value: object) -> list[OwnText]:
        query = f"SELECT record FROM own_texts WHERE {condition} ORDER BY number"  # noqa: S608
        records = (_unpack(record) for (record,) in self._database.rows(query, (value,)))
        return _read_texts(self._database.name, records)


class OwnAnswers:
    """The answers of sources in earlier crawls, in a book."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def at(self, address: str) -> OwnAnswer | None:
        """Return the last answer of the source at an address, or None."""
        query = "SELECT site, etag, last_modified, texts FROM own_answers WHERE address = ?"
        if (row := self._database.row(query, (address,))) is None:
            return None
        site, etag, last_modified, packed = row
        records = _unpack(packed)
        records = records if isinstance(records, list) else [records]
        texts = tuple(_read_texts(self._database.name, records))
        return OwnAnswer(site, address, etag, last_modified, texts)

    def replace(self, answers: Iterable[OwnAnswer]) -> None:
        """Replace the stored answers of a crawl's sites by the crawl's answers."""
        every = list(answers)
        for site in {answer.site for answer in every}:
            self._database.do("DELETE FROM own_answers WHERE site = ?", (site,))
        for answer in every:
            texts = _pack([own.to_record() for own in answer.texts])
            values = (answer.address, answer.site, answer.etag, answer.last_modified, texts)
            self._database.do("INSERT OR REPLACE INTO own_answers VALUES (?, ?, ?, ?, ?)", values)


def _pack(value: object) -> bytes:
    return pack_text(json.dumps(value))


def _unpack(packed: bytes) -> Any:
    """Return the unpacked JSON value; None for damaged data (no stored value is None)."""
    try:
        return json.loads(unpack(packed))
    except DAMAGE:
        return None


def _read_texts(name: str, records: Iterable[Any]) -> list[OwnText]:
    """Return the own texts of records; the log says how many are damaged."""
    texts = [_own_text(record) for record in records]
    if damaged := texts.count(None):
        logger.error("%s: %d own texts are damaged and left out", name, damaged)
    return [own for own in texts if own is not None]


def _own_text(record: Any) -> OwnText | None:
    try:
        return OwnText.from_record(record)
    except DAMAGE:
        return None
