"""The fields of documents: one table, from which each engine makes its own mapping."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass
from enum import Enum
from typing import TYPE_CHECKING

from contentspider.index.errors import EngineError

if TYPE_CHECKING:
    from typing_extensions import Self

# A larger one is another mapping: what was indexed under the one before has to be indexed anew.
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
    """A field of documents: its *name* and *kind*; how much a word in it counts (*weight*, of
    texts); whether it holds several values (*is_list*), and whether results are counted and
    narrowed by it (*is_facet*).
    """

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
# A listing repeats what other pages say: they are found before it. Measured: research/NOTES.md,
# Search.
LISTING, LISTING_WEIGHT = "listing", 0.6
FACETS = tuple(field.name for field in FIELDS if field.is_facet)
DATES = tuple(field.name for field in FIELDS if field.kind is Kind.DATE)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an index says of itself: the *version* of its schema, and its own *identity*: an index
    that is made anew at the same place is another one.
    """

    version: int
    identity: str

    @classmethod
    def new(cls) -> Self:
        """Return the manifest of an index that is made now."""
        return cls(VERSION, uuid.uuid4().hex)

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
            found = cls(int(record["version"]), str(record["identity"]))
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
