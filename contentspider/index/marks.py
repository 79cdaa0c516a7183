"""The manifest of an index, and its marks: which changes of each book it has.

This module does not import the search, so that ``contentspider status`` starts fast.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from contentspider.index.errors import EngineError
from contentspider.state.book.changes import BookPosition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from typing_extensions import Self

    from contentspider.state.crawls.entries import Entries

# The version of the schema. An index of another version has to be rebuilt.
VERSION = 10


class SchemaMismatchError(EngineError):
    """An index has another schema than this version of contentspider writes, or vectors of another
    embedder than the user names. It is not changed.

    *crawls* names the crawls that the index was filled from.
    """

    code = "index-schema"

    def __init__(self, message: str, crawls: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.crawls = frozenset(crawls)


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


@dataclass
class Mark:
    """The state of a crawl's book that an index holds, stored in the index itself.

    *stand* is the state of the book at the last update. *refused* maps ids of documents to the
    engine's reasons for refusing them until then. *documents* is the number of documents that the
    crawl had in the index then; None if an older version of contentspider wrote the mark. *foreign*
    counts the pages whose documents belonged to other crawls, by crawl.
    """

    stand: BookPosition
    refused: dict[str, str] = field(default_factory=dict)
    documents: int | None = None
    foreign: dict[str, int] = field(default_factory=dict)

    def dump(self) -> str:
        """Return the mark as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> Mark | None:
        """Return the mark in a JSON text, or None if the text is not a mark."""
        try:
            record = json.loads(text)
            stand, refused = BookPosition.of(record["stand"]), dict(record["refused"])
            documents = record.get("documents")
            foreign = {str(crawl): int(n) for crawl, n in record.get("foreign", {}).items()}
            return cls(stand, refused, None if documents is None else int(documents), foreign)
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


def changes_behind(entries: Entries, text: str) -> int:
    """Return how many changed pages of a book an index does not have yet, by the *text* of the mark
    that the index has of it ("": none).
    """
    mark = Mark.load(text)
    if mark is None or not entries.follows(mark.stand):
        return entries.live_count()
    return entries.count(after=mark.stand.seq)


def sqlite_mark(url: str, crawl: str) -> str | None:
    """Return the mark of a crawl in the SQLite index at *url*; "" if the index lacks the crawl.
    Return None for other engines, and for a file that cannot be read: its engine raises why.
    """
    scheme, _, location = url.partition(":")
    path = Path(location.removeprefix("//"))
    if scheme != "sqlite":
        return None
    try:
        if not path.is_file():
            return None
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            (text,) = database.execute("SELECT manifest FROM manifest").fetchone()
        return Manifest.load(text, url).marks.get(crawl, "")
    # TypeError: no manifest; OSError: a folder that this user may not read
    except (sqlite3.Error, TypeError, OSError, EngineError):
        return None
