"""Documents: one table of their fields, from which each engine makes its own mapping."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

from contentspider.index.errors import EngineError
from contentspider.index.words import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

# Of the mapping: what was indexed under another one has to be indexed anew.
VERSION = 2


class SchemaMismatchError(EngineError):
    """An index has other fields than this version of contentspider writes; it is left as it is."""


class Kind(str, Enum):
    """What a field is for: to be searched by its words, matched whole, ordered, or only shown."""

    TEXT = "text"
    KEYWORD = "keyword"
    DATE = "date"
    NUMBER = "number"
    STORED = "stored"


@dataclass(frozen=True, slots=True)
class Field:
    """A field; words count by their text's *weight*, facets are counted and narrow results."""

    name: str
    kind: Kind
    weight: float = 0.0
    is_list: bool = False
    is_facet: bool = False


FIELDS = (
    Field("id", Kind.KEYWORD),
    # Whose log the version counts in; a crawl deletes its own documents only.
    Field("crawl", Kind.KEYWORD),
    Field("version", Kind.NUMBER),
    Field("hash", Kind.KEYWORD),
    Field("url", Kind.KEYWORD),
    Field("site", Kind.KEYWORD, is_facet=True),
    Field("title", Kind.TEXT, weight=4.0),
    Field("headings", Kind.TEXT, weight=2.0, is_list=True),
    Field("description", Kind.TEXT, weight=1.0),
    Field("keywords", Kind.TEXT, weight=1.0, is_list=True),
    Field("content", Kind.TEXT, weight=1.0),
    Field("language", Kind.KEYWORD, is_facet=True),
    Field("page_type", Kind.KEYWORD, is_facet=True),
    Field("section", Kind.KEYWORD, is_list=True),
    Field("author", Kind.KEYWORD, is_list=True),
    Field("published_at", Kind.DATE),
    Field("modified_at", Kind.DATE),
    Field("first_seen", Kind.DATE),
    Field("changed_at", Kind.DATE),
    # All else of an item as it is, in one object: nothing is searched in it.
    Field("more", Kind.STORED),
)
BY_NAME = {field.name: field for field in FIELDS}
# What the index itself keeps of a document; the others are the page's.
OWN = ("id", "crawl", "version", "hash")
TEXTS = tuple(field for field in FIELDS if field.kind is Kind.TEXT)
# A listing repeats what other pages say. Measured: research/NOTES.md, Search.
LISTING, LISTING_WEIGHT = "listing", 0.6
FACETS = tuple(field.name for field in FIELDS if field.is_facet)
DATES = tuple(field.name for field in FIELDS if field.kind is Kind.DATE)


@dataclass(frozen=True, slots=True)
class Stored:
    """The state of a document in an index: its *id*, the *crawl* whose history it comes from, its
    *version* (the number in that crawl's change log), and the *hash* of its fields.
    """

    id: str
    crawl: str
    version: int
    hash: str


@dataclass(frozen=True, slots=True)
class Document(Stored):
    """A page as an index holds it."""

    fields: Mapping[str, Any] = field(repr=False)

    def record(self) -> dict[str, Any]:
        """Return all fields that the document has, by name."""
        return {name: getattr(self, name) for name in OWN} | dict(self.fields)

    def words(self) -> dict[str, str]:
        """Return our words of each text, by its name, with spaces between them."""
        language = self.fields.get("language", "")
        return {
            text.name: " ".join(words(joined(self.fields.get(text.name)), language))
            for text in TEXTS
        }


def document_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a page's document from those of its item: each in its type, empty ones
    left out; what is not in the schema is in ``more``.

    >>> document_fields({"url": "http://e.org/", "keywords": "a", "price": 3})
    {'url': 'http://e.org/', 'keywords': ['a'], 'more': {'price': 3}}
    >>> document_fields({"published_at": "2026-01-02T03:04+02:00", "modified_at": "2026"})
    {'published_at': '2026-01-02T01:04:00+00:00', 'more': {'modified_at': '2026'}}
    """
    fields: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, value in item.items():
        known = BY_NAME.get(name)
        if value in (None, "", [], {}) or name in OWN:
            continue
        if known is None or known.kind is Kind.STORED:
            more[name] = value
        elif known.is_list:
            fields[name] = list(map(_text, value if isinstance(value, list) else [value]))
        elif known.kind is not Kind.DATE:
            fields[name] = _text(value)
        elif date := _date(value):
            fields[name] = date
        else:
            more[name] = value
    if more:
        fields["more"] = more
    return fields


def joined(value: object) -> str:
    """Return the text of a field; the entries of a list are lines."""
    return "\n".join(value) if isinstance(value, list) else str(value or "")


def _text(value: object) -> str:
    # A half emoji (a lone surrogate) is no UTF-8: engines refuse it.
    return str(value).encode("utf-8", "replace").decode()


def _date(value: object) -> str:
    """Return a date as all engines have it: in UTC, to the second; "" if it is none."""
    try:
        date = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        zoned = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
        return zoned.astimezone(timezone.utc).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index says of itself: its schema's *version*, an *identity*, new when it is, and by
    the names of crawls *marks*: texts that say up to where it has their histories.
    """

    version: int
    identity: str
    marks: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def new(cls) -> Self:
        """Return the manifest of an index that is made now."""
        return cls(VERSION, uuid.uuid4().hex)

    def with_mark(self, crawl: str, mark: str) -> Self:
        """Return it with another mark of a crawl."""
        return replace(self, marks={**self.marks, crawl: mark})

    def dump(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str, shown: str) -> Self:
        """Return the manifest of the index that is *shown* as that, from its JSON; raises
        `EngineError` if it is none of ours, `SchemaMismatchError` if it is of another schema.
        """
        try:
            record = json.loads(text)
            version, identity = int(record["version"]), str(record["identity"])
            found = cls(version, identity, dict(record.get("marks", {})))
        except (ValueError, TypeError, KeyError) as error:
            raise EngineError(
                f"{shown} is there, but contentspider has not made it: name another index"
            ) from error
        if found.version != VERSION:
            raise SchemaMismatchError(
                f"{shown} has schema {found.version}, and this version of contentspider writes"
                f" schema {VERSION}: make it anew with 'contentspider index rebuild', or name"
                " another index"
            )
        return found
