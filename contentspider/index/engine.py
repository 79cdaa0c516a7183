"""The interface that every search engine implements, and the lookup of an engine by its URL."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from contentspider.ground.extras import MissingExtraError, require
from contentspider.ground.plugins import PlugIns
from contentspider.index.embedders import chosen_embedder
from contentspider.index.errors import EngineError, redacted_url
from contentspider.index.filters import check_names, check_order, fields_of
from contentspider.index.marks import Manifest
from contentspider.index.own_fields import TEXT
from contentspider.index.schema import FACETS, Document, DocumentState, valid_utf8
from contentspider.index.synonyms import NO_SYNONYMS, Synonyms
from contentspider.index.words import stemmer_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from contentspider.index.embedders import NamedEmbedder
    from contentspider.index.filters import Comparison, Condition, Order

Serialised = TypeVar("Serialised")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The *id* of a document that an engine refused, and the *reason* that the engine gave."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Query:
    """A search for *words* in the documents that match *filters*.

    An empty text matches all documents. *filters* maps the name of a facet to one value, or to
    several values, such as ``{"site": "example.org"}``. A document must have one of them. A
    language without a region matches the language in all regions: "de" also finds "de-AT". A search
    returns at most *limit* documents, and skips the first *offset* documents. With *is_typing* the
    last word may be the beginning of a word. Words with *synonyms* also find these.

    The user's own fields and the dates of pages (`contentspider.index.filters`): all *comparisons*
    must be true for a document. With an *order* documents are sorted by a field, and equal ones by
    relevance. The texts of the own fields *counted* are counted like values of facets.
    `Engine.search` sets *required*: the conditions of each comparison, with the types that the
    fields have in the index. A document must meet at least one condition of each comparison.
    """

    words: str
    filters: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    limit: int = 10
    offset: int = 0
    is_typing: bool = False
    synonyms: Synonyms = NO_SYNONYMS
    comparisons: Sequence[Comparison] = ()
    order: Order | None = None
    counted: Sequence[str] = ()
    required: Sequence[Sequence[Condition]] = ()

    @property
    def conditions(self) -> dict[str, tuple[str, ...]]:
        """Return the values of each filter. A document must have one value of every filter."""
        return {
            name: tuple(map(valid_utf8, [values] if isinstance(values, str) else values))
            for name, values in self.filters.items()
        }


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that matches a query: its fields (*record*), and the engine's relevance *score*.

    Scores are comparable within one search only. *nearest_section* is the number of the section
    (`page_sections`) that is nearest in meaning to the query, or -1 if that is not known. *snippet*
    is the engine's own snippet of the content, in parts, each with True if it matches the query. It
    is empty if the content does not match, and None if the engine makes no snippets.
    """

    record: Mapping[str, Any]
    score: float
    nearest_section: int = -1
    snippet: Sequence[tuple[str, bool]] | None = None


@dataclass(frozen=True, slots=True)
class Results:
    """The best *hits* of a search, and counts of all matching documents.

    *total* counts all matching documents. *facets* counts them by the name of a facet, then by the
    facet's value. An own field that was counted is the facet ``fields.NAME``. *corrected* is the
    text that was searched instead, if the index does not have a word of the query, but a similar
    word; otherwise "". *note* is a sentence for the user about a search that was incomplete, or
    that also found documents with some of the words; otherwise "".
    """

    hits: Sequence[Hit]
    total: int
    facets: Mapping[str, Mapping[str, int]]
    corrected: str = ""
    note: str = ""


class Engine(ABC):
    """One index of a search engine, at *url*. The constructor makes no connection; `open` does.

    Any method may raise `EngineDownError` (a retry may help) or `EngineError` (a retry does not
    help). Callers use an engine from one thread at a time. A batch for `upsert` has at most
    *max_documents* documents and about *max_bytes* bytes. A subclass sets *_display_url*: the URL
    without credentials, for messages. *searches_terms* tells whether the engine searches the terms
    that contentspider makes of a query's words (`TermEngine`), with synonyms and corrections. Other
    engines search the words by their own rules. Indexes of *older_schemas* need no rebuild.
    """

    max_documents = 500
    max_bytes = 8_000_000
    searches_terms = False
    older_schemas: Collection[int] = ()
    _display_url: str

    @abstractmethod
    def __init__(self, url: str) -> None: ...

    def use_embedder(self, embedder: NamedEmbedder) -> None:
        """Store and search vectors of an embedder, too. Raises `EngineError` if the engine cannot.

        It is called before `open`.
        """
        raise EngineError(
            f"{self._display_url} cannot store the vectors of {embedder.name}: only indexes in"
            " SQLite can (sqlite:FILE). Name such an index, or unset CONTENTSPIDER_EMBEDDER"
        )

    @abstractmethod
    def open(self, is_writer: bool) -> str:
        """Connect, or connect again, and return the identity of the index.

        A writer creates an index that does not exist. A reader raises `EngineError` then. An index
        of another schema raises `SchemaMismatchError`.
        """

    @abstractmethod
    def upsert(self, documents: Sequence[Document]) -> Sequence[Refusal]:
        """Write documents, and return a refusal for each document that the engine rejects.

        A document replaces the stored document with its id, unless the stored one has a larger
        version. The other documents of the batch are written even if some are refused. An
        `EngineError` means that the whole batch failed. The caller then splits the batch in halves
        to find the bad documents.
        """

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> None:
        """Delete the documents with these ids. Unknown ids are ignored."""

    def flush(self) -> None:  # noqa: B027 - many engines have nothing to flush
        """Make all writes durable, and visible to searches."""

    @abstractmethod
    def find(self, ids: Sequence[str]) -> Mapping[str, DocumentState]:
        """Return the state of each stored document with one of these ids.

        Writes count before they are flushed. Unknown ids are missing from the result.
        """

    @abstractmethod
    def documents(self, crawl: str = "") -> Iterator[DocumentState]:
        """Yield the state of each document of a *crawl* (all crawls if "") at the last `flush`."""

    def count(self, crawl: str) -> int:
        """Return the number of documents of a *crawl* at the last `flush`.

        A subclass may have a faster way than to read the states of all documents.
        """
        return sum(1 for _ in self.documents(crawl))

    @abstractmethod
    def records(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, Any]]:
        """Return all fields of each document with one of these ids at the last `flush`, as they
        were written, ``more`` included. There are at most *max_documents* ids. Unknown ids are
        missing from the result.
        """

    def get(self, document_id: str) -> Mapping[str, Any] | None:
        """Return all fields of a document (`records`), or None if the index does not have it."""
        return self.records([document_id]).get(document_id)

    def differing(self, documents: Sequence[Document]) -> list[str]:
        """Return the ids of the documents that the index has with other fields than these.

        Versions are not compared: equal pages of two books may have different ones.
        """
        records = self.records([document.id for document in documents]) if documents else {}
        return [
            document.id
            for document in documents
            if not have_equal_fields(records.get(document.id, {}), document.record())
        ]

    def damage(self) -> Sequence[str]:
        """Return descriptions of damage in the files of the index, beyond its documents. It may
        raise `IndexDamagedError` instead. An engine with a server leaves that to the server.
        """
        return []

    def addresses(self, offset: int, limit: int) -> Sequence[tuple[str, str]]:
        """Return address and title of at most *limit* documents, without the first *offset*.

        The order is any order that stays the same while the index does not change. A subclass may
        have a faster way than a search for all documents.
        """
        hits = self.search(Query("", limit=limit, offset=offset)).hits
        return [(str(hit.record.get("url", "")), str(hit.record.get("title", ""))) for hit in hits]

    @abstractmethod
    def manifest(self) -> str:
        """Return the manifest of the index: the text that `write_manifest` stored last."""

    @abstractmethod
    def write_manifest(self, text: str) -> None:
        """Replace the manifest of the index. The new manifest is durable when this returns."""

    def identity(self) -> str:
        """Return the present identity of the index, which changes when the index is rebuilt."""
        return Manifest.load(self.manifest(), self._display_url, self.older_schemas).identity

    def mark(self, crawl: str) -> str:
        """Return the mark that `set_mark` stored last for a crawl, or "" if there was none."""
        return Manifest.load(self.manifest(), self._display_url, self.older_schemas).marks.get(
            crawl, ""
        )

    def set_mark(self, crawl: str, mark: str) -> None:
        """Flush all writes, and then store a mark for a crawl in the index's manifest."""
        self.flush()
        self._change_manifest(lambda manifest: manifest.with_mark(crawl, mark))

    @abstractmethod
    def rebuild(self) -> AbstractContextManager[tuple[Engine, str]]:
        """Return a context that gives an empty, opened index to fill, and its identity.

        When the context ends without an exception, the new index replaces this one in one step.
        Until then searches use this one. After an exception this index stays as it is.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""

    def search(self, query: Query) -> Results:
        """Return the documents that contain all words of a query. If there are none, or few for
        many words, documents that have any of the words follow.

        A question is searched by the words of its subject (`subject_of`). The words are plain text:
        the syntax of the engine's own queries does not apply. Inflected, similar and incomplete
        words are found by the rules of the engine.
        """
        if unknown := query.filters.keys() - set(FACETS):
            raise EngineError(
                f"{', '.join(sorted(unknown))}: unknown filter; the filters are {', '.join(FACETS)}"
            )
        if query.synonyms and not self.searches_terms:
            raise EngineError(
                f"{self._display_url} cannot be searched with a file of synonyms: leave out"
                " --synonyms, and define the synonyms in the search engine"
            )
        return self._search_words(self._with_types(self._with_regions(query)))

    def own_types(self) -> Mapping[str, Sequence[str]]:
        """Return the types of the user's own fields in the index, by name."""
        return Manifest.load(self.manifest(), self._display_url, self.older_schemas).own_types

    def add_own_types(self, types: Mapping[str, Iterable[str]]) -> None:
        """Record that the index has own fields of these *types*, by name; searches need that."""
        self._change_manifest(lambda manifest: manifest.with_own_types(types))

    def _change_manifest(self, change: Callable[[Manifest], Manifest]) -> None:
        """Replace the manifest by the one that *change* returns for it. An engine with several
        writers at a time must not lose the changes of others.
        """
        manifest = Manifest.load(self.manifest(), self._display_url, self.older_schemas)
        changed = change(manifest)
        if changed != manifest:
            self.write_manifest(changed.dump())

    def _with_types(self, query: Query) -> Query:
        """Return the query with the conditions of its comparisons; raises `FilterError`."""
        if not (query.comparisons or query.order or query.counted):
            return query
        own_types = self.own_types()
        types = fields_of(own_types)
        order = [query.order.name] if query.order else []
        check_names([*(each.name for each in query.comparisons), *order], types)
        check_names(query.counted, own_types)
        if query.order:
            check_order(query.order, types[query.order.name])
        required = [each.conditions(types[each.name]) for each in query.comparisons]
        counted = [name for name in query.counted if TEXT in own_types[name]]
        return replace(query, required=required, counted=counted)

    @abstractmethod
    def _search_words(self, query: Query) -> Results:
        """Return the results of a query whose filters exist; see `search`."""

    def _with_regions(self, query: Query) -> Query:
        """Return the query, with the languages of all regions in place of a language without one.

        Tags are compared without case, and "_" stands for "-", as some sites write it.
        """
        languages = query.conditions.get("language", ())
        tags = {language: language.lower().replace("_", "-") for language in languages}
        if not languages:
            return query
        matches = [
            language
            for language in self._indexed_languages()
            if any(
                f"{language}-".lower().replace("_", "-").startswith(f"{tag}-")
                for tag in tags.values()
            )
        ]
        values = tuple(dict.fromkeys([*languages, *matches]))
        return replace(query, filters={**query.filters, "language": values})

    @abstractmethod
    def _indexed_languages(self) -> Iterable[str]:
        """Return the languages of the documents in the index."""

    def _query_languages(self, query: Query) -> list[str]:
        """Return the languages of the documents to search that have a stemmer."""
        languages = query.conditions.get("language") or self._indexed_languages()
        return [language for language in languages if stemmer_name(language)]

    def _identity_of(self, manifest: str) -> str:
        """Return the identity in a manifest; raises the errors of `Manifest.load`."""
        return Manifest.load(manifest, self._display_url, self.older_schemas).identity

    def _missing_index_error(self) -> EngineError:
        return EngineError(
            f"{self._display_url} does not exist: 'contentspider index sync' creates and fills it"
        )

    def _serialise_newest(
        self, documents: Sequence[Document], serialise: Callable[[Document], Serialised]
    ) -> tuple[dict[str, Serialised], list[Refusal]]:
        """Serialise the newest document of each id, for engines that do not compare versions.

        Returns the serialised documents by id, and refusals for the documents that cannot be
        serialised. Documents that are older than the stored one are left out.
        """
        states = self.find([document.id for document in documents])
        versions = {document_id: state.version for document_id, state in states.items()}
        lines: dict[str, Serialised] = {}
        refusals: list[Refusal] = []
        for document in documents:
            if versions.get(document.id, document.version) > document.version:
                continue
            try:
                lines[document.id] = serialise(document)
            except (TypeError, ValueError, OverflowError) as error:
                refusals.append(Refusal(document.id, f"it cannot be serialised: {error}"))
            else:
                versions[document.id] = document.version
        return lines, refusals


# The engines of this package, by the scheme of their URLs.
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
# The extra that each engine needs, by its scheme.
EXTRA_OF = {scheme: scheme for scheme in SHIPPED if scheme != "sqlite"} | {"tantivy": "search"}
ENGINES: PlugIns[type[Engine]] = PlugIns(
    "contentspider.engines",
    SHIPPED | {scheme + HTTPS: SHIPPED[scheme] for scheme in OVER_HTTPS},
)


def create_engine(url: str) -> Engine:
    """Return the engine for an index's URL, without a connection to its server.

    Raises `EngineError` if the URL is invalid, or if a package that the engine needs is missing.
    """
    scheme, colon, location = url.partition(":")
    if not colon or not location.strip("/"):
        raise EngineError(
            f"{redacted_url(url)!r} is not the URL of an index: write an engine and a location,"
            f" such as sqlite:pages.db. The engines are {', '.join(ENGINES.names())}"
        )
    # A file's path may contain spaces; a server's address may not.
    forbidden = r"[@?&#\s\0]" if location.startswith("//") else r"[@?&#\0]"
    if re.search(forbidden, location):
        raise EngineError(
            f"the URL of the {scheme} index contains '@', '?', '&', '#' or a space: write only its"
            " location, and set credentials in the environment (docs/indexing.md)"
        )
    try:
        if extra := EXTRA_OF.get(scheme.removesuffix(HTTPS)):
            require(extra, f"the {scheme} index")
        engine_class = ENGINES.load(scheme)
    except (LookupError, MissingExtraError) as error:
        raise EngineError(f"{redacted_url(url)}: {error}") from error
    except (ImportError, AttributeError) as error:
        raise _outdated_engine_error(url, f"cannot be imported ({error})") from error
    # An engine of another package may implement the interface of another version.
    if missing := sorted(getattr(engine_class, "__abstractmethods__", ())):
        raise _outdated_engine_error(url, f"has no {', '.join(missing)}")
    engine = engine_class(url)
    if embedder := chosen_embedder():
        engine.use_embedder(embedder)
    return engine


def have_equal_fields(stored: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    """Tell whether two records of a document have the same fields, apart from their versions.

    If they are of two visits of an unchanged page, the fields that each visit sets do not count.
    """
    from contentspider.site.models.identity import PASSING_FIELDS

    visits = [record.get("more", {}).get("crawled_at") for record in (stored, written)]
    ignored = {"version"} if visits[0] == visits[1] is not None else {"version", *PASSING_FIELDS}
    first, second = (_without(record, ignored) for record in (stored, written))
    # NaN is not equal to itself.
    return first == second or json.dumps(first, sort_keys=True) == json.dumps(
        second, sort_keys=True
    )


def _without(record: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return a document without the fields of some *names*, also in its field ``more``."""
    fields = {name: value for name, value in record.items() if name not in names}
    more = fields.pop("more", {})
    return fields | {"more": {name: value for name, value in more.items() if name not in names}}


def _outdated_engine_error(url: str, reason: str) -> EngineError:
    return EngineError(
        f"{redacted_url(url)}: its engine {reason}: install a version of its package for this"
        " version of contentspider (docs/extending.md)"
    )
