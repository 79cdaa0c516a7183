"""What an index asks of a search engine: one class an engine, found by the scheme of a URL."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from contentspider.ground.extras import MissingExtraError, require
from contentspider.ground.plugins import PlugIns
from contentspider.index.errors import EngineError
from contentspider.index.schema import FACETS, Document, Manifest, Stored
from contentspider.index.words import stemmer_of, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from contentspider.index.words import Term

Written = TypeVar("Written")


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that an engine does not take, by its *id*, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched: *words* (none: all documents), in documents with these *filters*
    (``{"site": "example.org"}``, of the schema's facets); at most *limit* from *offset* on.
    """

    words: str
    filters: Mapping[str, str] = field(default_factory=dict)
    limit: int = 10
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found: its fields, and how well it fits."""

    record: Mapping[str, Any]
    score: float


@dataclass(frozen=True, slots=True)
class Results:
    """The best *hits*, how many there are in all, and how many with each value of each facet."""

    hits: Sequence[Hit]
    total: int
    facets: Mapping[str, Mapping[str, int]]


class Engine(ABC):
    """An index in a search engine; *url* says where. Nothing is asked before `open`.

    Every method may raise `EngineDownError` or `EngineError`. One thread at a time uses it.
    *max_documents* and *max_bytes* bound what `upsert` is given; *_shown* is the URL to show.
    """

    max_documents = 500
    max_bytes = 8_000_000
    _shown: str

    @abstractmethod
    def __init__(self, url: str) -> None: ...

    @abstractmethod
    def open(self, is_writer: bool) -> str:
        """Connect, anew if it is open, and return the index's identity. A writer makes an index
        that is not there; for a reader that is an `EngineError`. Raises `SchemaMismatchError`.
        """

    @abstractmethod
    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Put documents in, each in the place of the one with its id unless that has a larger
        version; return those that the engine does not take: the others are in. An `EngineError` is
        of the whole batch, of which the bad ones are searched for by halves.
        """

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> None:
        """Take out the documents with these ids that are there."""

    def flush(self) -> None:  # noqa: B027 - many have nothing to do
        """Make what was written so far safe, and found by searches."""

    @abstractmethod
    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """Return the state of the documents with these ids that are there, as written last."""

    @abstractmethod
    def documents(self, crawl: str = "") -> Iterator[Stored]:
        """Yield the state of all documents, or of those of a *crawl*, as of the last `flush`."""

    @abstractmethod
    def get(self, document_id: str) -> Mapping[str, Any] | None:
        """Return the fields of a document as they were written (``more`` among them)."""

    @abstractmethod
    def manifest(self) -> str:
        """Return what the index says of itself, as `Manifest.dump` made it."""

    @abstractmethod
    def keep_manifest(self, text: str) -> None:
        """Put another manifest in the place of the present one: it is safe on return."""

    def identity(self) -> str:
        """Return the identity of the index as it is now; see `open`."""
        return Manifest.load(self.manifest(), self._shown).identity

    def mark(self, crawl: str) -> str:
        """Return what `set_mark` was given last for a crawl; "" if the index has no mark of it."""
        return Manifest.load(self.manifest(), self._shown).marks.get(crawl, "")

    def set_mark(self, crawl: str, mark: str) -> None:
        """Make safe what was written, and then keep a mark of a crawl in the index itself."""
        self.flush()
        manifest = Manifest.load(self.manifest(), self._shown)
        self.keep_manifest(manifest.with_mark(crawl, mark).dump())

    @abstractmethod
    def rebuild(self) -> AbstractContextManager[tuple[Engine, str]]:
        """Return a new, empty index to fill, opened, and its identity. When the context ends
        without an exception, it takes the place of this one at once, which is searched until then.
        """

    @abstractmethod
    def close(self) -> None:
        """End the connection."""

    def search(self, query: Query) -> Results:
        """Return the documents that hold all words, or else some; nothing in them is a command."""
        if unknown := query.filters.keys() - set(FACETS):
            raise EngineError(f"results are not narrowed by {', '.join(sorted(unknown))}")
        found = terms(query.words, self._languages(query)) if query.words.strip() else []
        if query.words.strip() and not found:
            return Results([], 0, {name: {} for name in FACETS})
        results = self._found(query, found, is_all=True)
        if not results.total and len(found) > 1:
            results = self._found(query, found, is_all=False)
        return results

    @abstractmethod
    def _found(self, query: Query, wanted: Sequence[Term], is_all: bool) -> Results:
        """Return the documents that have all of the terms *wanted*, or some."""

    @abstractmethod
    def _present_languages(self) -> Iterable[str]:
        """Return the languages of the index's documents."""

    def _languages(self, query: Query) -> list[str]:
        """Return the languages of the documents that are searched, as far as they have stems."""
        named = query.filters.get("language")
        return list(filter(stemmer_of, [named] if named else self._present_languages()))

    def _identity_of(self, manifest: str) -> str:
        """Return the identity that the manifest of an index says; see `Manifest.load`."""
        return Manifest.load(manifest, self._shown).identity

    def _absent(self) -> EngineError:
        return EngineError(
            f"{self._shown}: there is no index; 'contentspider index sync' fills one"
        )

    def _newest(
        self, documents: Sequence[Document], write: Callable[[Document], Written]
    ) -> tuple[dict[str, Written], list[Refused]]:
        """Return by id, as *write* makes them, the documents of which neither the index nor the
        batch has newer ones, for engines without versions; and those that cannot be written.
        """
        there = self.find([document.id for document in documents])
        versions = {name: stored.version for name, stored in there.items()}
        written: dict[str, Written] = {}
        refused: list[Refused] = []
        for document in documents:
            if versions.get(document.id, document.version) <= document.version:
                try:
                    written[document.id] = write(document)
                    versions[document.id] = document.version
                except (TypeError, ValueError, OverflowError) as error:
                    refused.append(Refused(document.id, f"it cannot be written: {error}"))
        return written, refused


# The engines of this package by the scheme of their URLs, and the extra that each needs.
SHIPPED = {
    "sqlite": "contentspider.index.sqlite:SQLiteEngine",
    "tantivy": "contentspider.index.engines.tantivy:TantivyEngine",
    "postgresql": "contentspider.index.engines.postgresql:PostgreSQLEngine",
    "typesense": "contentspider.index.engines.typesense:TypesenseEngine",
    "meilisearch": "contentspider.index.engines.meilisearch:MeilisearchEngine",
    "opensearch": "contentspider.index.engines.opensearch:OpenSearchEngine",
    "elasticsearch": "contentspider.index.engines.opensearch:OpenSearchEngine",
}
HTTPS = "+https"
OVER_HTTPS = ("typesense", "meilisearch", "opensearch", "elasticsearch")
EXTRA_OF = {scheme: scheme for scheme in SHIPPED if scheme != "sqlite"} | {"tantivy": "search"}
ENGINES: PlugIns[type[Engine]] = PlugIns(
    "contentspider.engines",
    SHIPPED | {scheme + HTTPS: SHIPPED[scheme] for scheme in OVER_HTTPS},
)


def connect(url: str) -> Engine:
    """Return the engine that an index's URL names; raises `EngineError` if the URL is wrong, or a
    package is missing.
    """
    scheme, colon, rest = url.partition(":")
    if not colon or not rest.strip("/"):
        raise EngineError(
            f"{shown(url)!r} is no index: give an engine and a place, such as sqlite:pages.db;"
            f" there is {', '.join(ENGINES.names())}"
        )
    # A file's path may have spaces.
    if re.search(r"[@?&#\s\0]" if rest.startswith("//") else r"[@?&#\0]", rest):
        raise EngineError(
            f"the URL of the {scheme} index has '@', '?', '#' or a space in it: give only where it"
            " is, and credentials in the environment (docs/indexing.md)"
        )
    try:
        if extra := EXTRA_OF.get(scheme.removesuffix(HTTPS)):
            require(extra, f"the {scheme} index")
        return ENGINES.load(scheme)(url)
    except (LookupError, MissingExtraError) as error:
        raise EngineError(f"{shown(url)}: {error}") from error


def shown(url: str) -> str:
    """Return an index's URL as it may be shown: without what could be a password.

    >>> shown("opensearch://me:secret@host/pages?key=1")
    'opensearch://host/pages'
    """
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"^([^:]*:(?://)?)[^/]*@", r"\1", bare)
