"""What all engines of ours have in common."""

from __future__ import annotations

import heapq
from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar

from contentspider.index.engine import Refused, Results
from contentspider.index.errors import EngineError
from contentspider.index.schema import DATES, FACETS, Manifest
from contentspider.index.words import stemmer_of, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from contentspider.index.document import Document
    from contentspider.index.engine import Query, Stored

    Term = tuple[tuple[str, ...], ...]

Written = TypeVar("Written")


class BaseEngine:
    """Asks for all words, then for some; *_shown* is the index's URL as it may be shown."""

    _shown: str

    def find(self, ids: Sequence[str]) -> Mapping[str, Stored]:
        """See `Engine.find`."""
        raise NotImplementedError

    def search(self, query: Query) -> Results:
        """See `Engine.search`; if none holds all words, those that hold some are found."""
        self._check(query)
        found = terms(query.words, self._languages(query)) if query.words.strip() else []
        if query.words.strip() and not found:
            return nothing()
        results = self._found(query, found, is_all=True)
        if not results.total and len(found) > 1:
            results = self._found(query, found, is_all=False)
        return results

    def _found(self, query: Query, wanted: Sequence[Term], is_all: bool) -> Results:
        """Return the documents that have all of the terms, or some."""
        raise NotImplementedError

    def _present_languages(self) -> Iterable[str]:
        """Return the languages of the index's documents."""
        raise NotImplementedError

    def _languages(self, query: Query) -> list[str]:
        """Return the languages of the documents that are searched, as far as they have stems."""
        named = query.filters.get("language")
        return list(filter(stemmer_of, [named] if named else self._present_languages()))

    def _by_language(
        self, query: Query, ask: Callable[[Sequence[str]], str]
    ) -> tuple[dict[str, str], str]:
        """Return what is asked in documents of each language, as *ask* says it for languages, where
        that differs from what is asked in all others; and that.
        """
        plain = ask(())
        asked = {language: ask([language]) for language in self._languages(query)}
        return {language: words for language, words in asked.items() if words != plain}, plain

    @staticmethod
    def _check(query: Query) -> None:
        if unknown := query.filters.keys() - set(FACETS):
            raise EngineError(f"results are not narrowed by {', '.join(sorted(unknown))}")

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


def merged(results: Sequence[Results], query: Query) -> Results:
    """Return the results of several searches of different documents as those of one."""
    hits = list(heapq.merge(*(one.hits for one in results), key=lambda hit: -hit.score))
    facets = {name: Counter[str]() for name in FACETS}
    for one in results:
        for name, counts in one.facets.items():
            facets[name].update(counts)
    total = sum(one.total for one in results)
    return Results(hits[query.offset : query.offset + query.limit], total, facets)


def nothing() -> Results:
    """Return the results of a search that finds nothing."""
    return Results([], 0, {name: {} for name in FACETS})


def in_seconds(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with dates as the seconds that engines without dates filter and sort by."""
    dates = {
        name: int(datetime.fromisoformat(record[name]).timestamp())
        for name in DATES
        if name in record
    }
    return record | dates


def from_seconds(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record whose dates were seconds."""
    dates = {
        name: datetime.fromtimestamp(record[name], timezone.utc).isoformat()
        for name in DATES
        if name in record
    }
    return record | dates


def joined(value: object) -> str:
    """Return the text of a field; the entries of a list are lines."""
    return "\n".join(value) if isinstance(value, list) else str(value or "")
