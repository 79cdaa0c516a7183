"""The schema of documents: one table of fields. Each engine derives its own mapping from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from contentspider.index.own_fields import typed_values
from contentspider.index.sections import page_sections
from contentspider.index.words import phrase_of, searchable_words, split_words, whole_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from contentspider.index.sections import Section


class Kind(str, Enum):
    """The use of a field: full-text search, exact match, order by date or number, or display."""

    TEXT = "text"
    KEYWORD = "keyword"
    DATE = "date"
    NUMBER = "number"
    STORED = "stored"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a document.

    *weight* is the relevance of a word in this text, relative to other texts. Searches count the
    values of a facet, and filter by it.
    """

    name: str
    kind: Kind
    weight: float = 0.0
    is_list: bool = False
    is_facet: bool = False


FIELDS = (
    Field("id", Kind.KEYWORD),
    # The version counts the changes of this crawl; a crawl deletes only its own documents.
    Field("crawl", Kind.KEYWORD),
    Field("version", Kind.NUMBER),
    Field("hash", Kind.KEYWORD),
    Field("url", Kind.KEYWORD),
    Field("site", Kind.KEYWORD, is_facet=True),
    # The user's own fields by name. Engines also store their values by type (`own_values`).
    Field("fields", Kind.STORED),
    Field("title", Kind.TEXT, weight=4.0),
    Field("headings", Kind.TEXT, weight=2.0, is_list=True),
    Field("description", Kind.TEXT, weight=1.0),
    Field("keywords", Kind.TEXT, weight=1.0, is_list=True),
    Field("content", Kind.TEXT, weight=1.0),
    # The texts of the links that lead to the page from other pages.
    Field("anchors", Kind.TEXT, weight=2.0, is_list=True),
    Field("language", Kind.KEYWORD, is_facet=True),
    Field("page_type", Kind.KEYWORD, is_facet=True),
    Field("section", Kind.KEYWORD, is_list=True),
    Field("author", Kind.KEYWORD, is_list=True),
    Field("published_at", Kind.DATE),
    Field("modified_at", Kind.DATE),
    Field("first_seen", Kind.DATE),
    Field("changed_at", Kind.DATE),
    # All other fields of an item in one object, which no search reads.
    Field("more", Kind.STORED),
)
FIELDS_BY_NAME = {field.name: field for field in FIELDS}
# The fields of a document's state; all other fields describe the page.
STATE_FIELDS = ("id", "crawl", "version", "hash")
TEXT_FIELDS = tuple(field for field in FIELDS if field.kind is Kind.TEXT)
# The names of a page: its title, its headings and the texts of links to it.
NAME_FIELDS = tuple(field.name for field in TEXT_FIELDS if field.weight > 1)
# What `name_in_address` cuts off the end of an address, such as ``/index.html`` or ``.php``.
NO_NAME = re.compile(r"(?:(?:^|/)(?:index|default)?(?:\.\w{2,5})?|\.\w{2,5})$", re.IGNORECASE)
# The sections of a page that are searched by themselves.
MAX_SECTIONS = 1_000
# The score of documents with these page types is multiplied by this: listings repeat the texts of
# other pages, and the item of a site (``--site-item``) repeats the text of all its pages.
# Measured: research/NOTES.md, Search.
DEMOTED_TYPES, DEMOTED_WEIGHT = ("listing", "site"), 0.6
FACETS = tuple(field.name for field in FIELDS if field.is_facet)
DATE_FIELDS = tuple(field.name for field in FIELDS if field.kind is Kind.DATE)


@dataclass(frozen=True, slots=True)
class DocumentState:
    """The state of a document in an index, without the fields of its page.

    *crawl* names the crawl whose book the document comes from. *version* is the number of its
    last change in that book. *hash* is the hash of the page's fields.
    """

    id: str
    crawl: str
    version: int
    hash: str


@dataclass(frozen=True, slots=True)
class Document(DocumentState):
    """A page as it is written to an index: its state, and its *fields* by name."""

    fields: Mapping[str, Any] = field(repr=False)

    def record(self) -> dict[str, Any]:
        """Return the state and the fields of the document, by name."""
        return {name: getattr(self, name) for name in STATE_FIELDS} | dict(self.fields)

    def own_values(self) -> dict[str, dict[str, Any]]:
        """Return the values of the user's own fields by type (`own_fields.typed_values`)."""
        return typed_values(self.fields.get("fields"))

    def searchable_words(self) -> dict[str, str]:
        """Return the searchable words of each text field, joined by spaces, by the field's name.

        Each entry of `NAME_FIELDS` also has a word that stands for all of it (`whole_text`). The
        name in the address of the page counts as the text of a link to it.
        """
        names = [*self.fields.get("anchors", ()), name_in_address(str(self.fields.get("url", "")))]
        return self._words_of({**self.fields, "anchors": names})

    def sections(self) -> list[Section]:
        """Return the sections of the page that are searched by themselves.

        A page with less than two sections has none: it is its own section.
        """
        sections = page_sections(self.fields)[:MAX_SECTIONS]
        return sections if len(sections) > 1 else []

    def searchable_sections(self) -> list[dict[str, str]]:
        """Return the searchable words of each section of the page, as `searchable_words` does.

        A section has the page's title, its headings and its text.
        """
        title = self.fields.get("title", "")
        return [
            self._words_of(
                {"title": title, "headings": list(section.headings), "content": section.text}
            )
            for section in self.sections()
        ]

    def _words_of(self, texts: Mapping[str, Any]) -> dict[str, str]:
        language = self.fields.get("language", "")
        words_of: dict[str, str] = {}
        for name in (text.name for text in TEXT_FIELDS):
            text = join_lines(texts.get(name))
            words = searchable_words(text, language)
            if name in NAME_FIELDS:
                entries = (whole_text(phrase_of(entry)) for entry in text.split("\n"))
                words += dict.fromkeys(filter(None, entries))
            words_of[name] = " ".join(words)
        return words_of


def document_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the fields of an item to the fields of a document.

    Each value gets the type of its field. Empty values are left out. Fields that are not in the
    schema, and dates that cannot be read, go into ``more``.

    >>> document_fields({"url": "http://e.org/", "keywords": "a", "price": 3})
    {'url': 'http://e.org/', 'keywords': ['a'], 'more': {'price': 3}}
    >>> document_fields({"published_at": "2026-01-02T03:04+02:00", "modified_at": "2026"})
    {'published_at': '2026-01-02T01:04:00+00:00', 'more': {'modified_at': '2026'}}
    """
    fields: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, value in item.items():
        if value in (None, "", [], {}) or name in STATE_FIELDS:
            continue
        if name == "fields" and isinstance(value, dict):
            fields[name] = value
        elif typed_value := _typed_value(name, value):
            fields[name] = typed_value
        else:
            more[name] = value
    if more:
        fields["more"] = more
    return fields


def _typed_value(name: str, value: object) -> str | list[str]:
    """Return a value in the type of its field, or "" if the value belongs in ``more``."""
    schema_field = FIELDS_BY_NAME.get(name)
    if schema_field is None or schema_field.kind is Kind.STORED:
        return ""
    if schema_field.is_list:
        entries = value if isinstance(value, list) else [value]
        return [valid_utf8(entry) for entry in entries]
    return _utc_date(value) if schema_field.kind is Kind.DATE else valid_utf8(value)


def name_in_address(url: str) -> str:
    """Return the words of the last part of an address that have letters.

    >>> name_in_address("http://e.org/staff/327-pat-murray.html"), name_in_address("http://e.org/")
    ('pat murray', '')
    """
    try:
        path = unquote(urlsplit(url).path)
    except ValueError:  # documents of other programs may have any text as an address
        return ""
    last = NO_NAME.sub("", path).rpartition("/")[2]
    return " ".join(word for word in split_words(last) if not word.isnumeric())


def join_lines(value: object) -> str:
    """Return the value of a text field as one text, with one line per entry of a list."""
    return "\n".join(value) if isinstance(value, list) else str(value or "")


def valid_utf8(value: object) -> str:
    """Return a value as text, with "?" for lone surrogates, which engines refuse."""
    return str(value).encode("utf-8", "replace").decode()


def _utc_date(value: object) -> str:
    """Return a date as ISO 8601 in UTC, to the second, or "" if *value* is not a date."""
    try:
        date = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        zoned = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
        return zoned.astimezone(timezone.utc).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""
