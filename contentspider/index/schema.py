"""The schema of documents: one table of fields. Each engine derives its own mapping from it."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

from contentspider.index.errors import EngineError
from contentspider.index.own_fields import typed_values
from contentspider.index.sections import page_sections
from contentspider.index.words import searchable_words

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from typing_extensions import Self

    from contentspider.index.sections import Section

# The version of the schema. An index of another version has to be rebuilt.
VERSION = 8


class SchemaMismatchError(EngineError):
    """An index has another schema than this version of contentspider writes, or vectors of another
    embedder than the user names. It is not changed.

    *crawls* names the crawls that the index was filled from.
    """

    code = "index-schema"

    def __init__(self, message: str, crawls: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.crawls = frozenset(crawls)


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
        """Return the searchable words of each text field, joined by spaces, by the field's name."""
        return self._words_of(self.fields)

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
        return {
            text.name: " ".join(searchable_words(join_lines(texts.get(text.name)), language))
            for text in TEXT_FIELDS
        }


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


@dataclass(frozen=True, slots=True)
class Manifest:
    """The record that an index stores about itself.

    *version* is the version of its schema. *identity* is a random text that a new or rebuilt index
    gets. *marks* maps names of crawls to texts that tell how much of each book the index has.
    *embedder* is the name of the embedder that made the vectors of the index, or "" for no vectors.
    *own_types* maps the names of the user's own fields to the types of their values.
    """

    version: int
    identity: str
    marks: Mapping[str, str] = field(default_factory=dict)
    embedder: str = ""
    own_types: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def new(cls, embedder: str = "") -> Self:
        """Return the manifest for a new index, with a new identity and no marks."""
        return cls(VERSION, uuid.uuid4().hex, embedder=embedder)

    def with_mark(self, crawl: str, mark: str) -> Self:
        """Return a copy of the manifest with another mark for a crawl."""
        return replace(self, marks={**self.marks, crawl: mark})

    def with_own_types(self, types: Mapping[str, Iterable[str]]) -> Self:
        """Return a copy of the manifest that also has these *types* of own fields, by name."""
        names = sorted({*self.own_types, *types})
        merged = {
            name: sorted({*self.own_types.get(name, ()), *types.get(name, ())}) for name in names
        }
        return replace(self, own_types=merged)

    def dump(self) -> str:
        """Return the manifest as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str, display_url: str, older: Collection[int] = ()) -> Self:
        """Return the manifest in a JSON text; *display_url* names the index in messages.

        Raises `EngineError` if contentspider did not write the text, and `SchemaMismatchError` if
        the index has another schema. *older* schemas are used like the present one.
        """
        try:
            record = json.loads(text)
            version, identity = int(record["version"]), str(record["identity"])
            marks, embedder = dict(record.get("marks", {})), str(record.get("embedder", ""))
            own_types = dict(record.get("own_types", {}))
            manifest = cls(version, identity, marks, embedder, own_types)
        except (ValueError, TypeError, KeyError) as error:
            raise EngineError(
                f"{display_url} exists, but contentspider did not create it, or its manifest is"
                " damaged: name another index"
            ) from error
        if manifest.version not in (VERSION, *older):
            raise SchemaMismatchError(
                f"{display_url} has schema {manifest.version}, but this version of contentspider"
                f" writes schema {VERSION}: run 'contentspider index rebuild {display_url}', or"
                " name another index",
                manifest.marks,
            )
        return manifest
