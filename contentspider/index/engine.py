"""What an index asks of a search engine: one small class an engine (docs/indexing.md).

A class is found by the scheme of an index's URL, ``opensearch://localhost:9200/pages``: one of
those below, or one that another package adds with an entry point.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from contentspider.ground.plugins import PlugIns
from contentspider.index.errors import EngineError
from contentspider.index.schema import FACETS, Manifest
from contentspider.index.words import stemmer_of, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from contentspider.index.document import Document
    from contentspider.index.words import Term

Written = TypeVar("Written")


@dataclass(frozen=True, slots=True)
class Refused:
    """A document that an engine does not take, by its *id*, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Stored:
    """What tells the state of a document in an index; see `Document`."""

    id: str
    crawl: str
    version: int
    hash: str


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched: *words* (none: all documents), in documents that have these *filters*
    (``{"site": "example.org"}``, of the schema's facets); from the result *offset* on, at most
    *limit*.
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
    """What was found: the best *hits*, how many there are in all, and of these how many have each
    value of each facet.
    """

    hits: Sequence[Hit]
    total: int
    facets: Mapping[str, Mapping[str, int]]


class Engine(ABC):
    """An index in a search engine; *url* says where. Nothing is asked before `open`.

    Every method may raise `EngineDownError` or `EngineError`. One thread at a time uses it.
    *max_documents* and *max_bytes* bound what `upsert` is given at a time; *_shown* is the URL as
    it may be shown.
    """

    max_documents = 500
    max_bytes = 8_000_000
    _shown: str

    @abstractmethod
    def __init__(self, url: str) -> None: ...

    @abstractmethod
    def open(self, is_writer: bool) -> str:
        """Connect, and return the identity of the index (`Manifest.identity`). A writer makes it if
        it is not there; for a reader that is an `EngineError`. Raises `SchemaMismatchError`. An
        engine that is open is closed before.
        """

    @abstractmethod
    def upsert(self, documents: Sequence[Document]) -> Sequence[Refused]:
        """Put documents into the index, each in the place of the one with its id unless that has a
        larger version; return those that the engine does not take: the others are in. An
        `EngineError` is of the whole batch, of which the bad ones are searched for by halves.
        """

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> None:
        """Take documents out of the index; those that are not there are none."""

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
    def rebuild(self) -> AbstractContextManager[tuple[Engine, str]]:
        """Return a new, empty index to fill, opened, and its identity. It takes the place of this
        one at once, under the same name, when the context ends without an exception; until then
        this one is searched.
        """

    @abstractmethod
    def close(self) -> None:
        """End the connection."""

    def search(self, query: Query) -> Results:
        """Return the documents that hold all words, or else some of them: words of any language,
        and nothing in them is a command.
        """
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
        """Return those documents by id, as *write* makes them, that an engine without versions has
        to put in: neither the index nor the batch has newer ones; and those that cannot be written.
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


ENGINES: PlugIns[type[Engine]] = PlugIns(
    "contentspider.engines",
    {
        "tantivy": "contentspider.index.engines.tantivy:TantivyEngine",
        "sqlite": "contentspider.index.engines.sqlite:SQLiteEngine",
    },
)
# Those of the distribution contentspider-engines.
OTHERS = {"postgresql", "typesense", "opensearch", "elasticsearch", "meilisearch"}


def connect(url: str) -> Engine:
    """Return the engine that an index's URL names, not opened yet; raises `EngineError` if the URL
    is wrong, or a package is missing.
    """
    scheme, colon, rest = url.partition(":")
    if not colon or not rest.strip("/"):
        raise EngineError(
            f"{shown(url)!r} is no index: give an engine and a place, such as sqlite:pages.db;"
            f" there is {', '.join(ENGINES.names())}"
        )
    # A file's path may have spaces.
    wrong = r"[?&#\s\0]" if rest.startswith("//") else r"[?&#\0]"
    if "@" in rest.partition("?")[0] or re.search(wrong, rest):
        raise EngineError(
            f"the URL of the {scheme} index has '@', '?', '#' or a space in it: give only where it"
            " is, and credentials in the environment (docs/indexing.md)"
        )
    try:
        return ENGINES.load(scheme)(url)
    except LookupError as error:
        if (engine := scheme.removesuffix("+https")) in OTHERS:
            raise missing(engine, "contentspider-engines") from error
        raise EngineError(f"{shown(url)}: {error}") from error


def shown(url: str) -> str:
    """Return an index's URL as it may be shown: without what could be a password.

    >>> shown("opensearch://me:secret@host/pages?key=1")
    'opensearch://host/pages'
    """
    bare = re.split(r"[?#]", url, maxsplit=1)[0]
    return re.sub(r"^([^:]*:(?://)?)[^/]*@", r"\1", bare)


def missing(scheme: str, package: str) -> EngineError:
    """Return the error for an engine whose *package* is not installed: it is an extra.

    >>> print(missing("tantivy", "tantivy"))
    the tantivy index needs tantivy: pip install 'contentspider[tantivy]'
    """
    distribution = "contentspider-engines" if scheme in OTHERS else "contentspider"
    return EngineError(
        f"the {scheme} index needs {package}: pip install '{distribution}[{scheme}]'"
    )
