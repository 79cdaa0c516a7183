"""Engines that search the terms that contentspider makes of the words of a query."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from contentspider.index.corrections import correct, with_completions
from contentspider.index.engine import Engine, Results
from contentspider.index.questions import subject_of
from contentspider.index.schema import FACETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contentspider.index.engine import Query
    from contentspider.index.words import Term


class TermEngine(Engine):
    """An engine that stores `Document.searchable_words`, and searches the terms of a query in them.

    If no document has all words, a search completes or corrects words that the index lacks
    (`contentspider.index.corrections`).
    """

    searches_terms = True

    def _search_words(self, query: Query) -> Results:
        """Return the results of a query whose filters exist; see `search`."""
        terms: list[Term] = []
        languages = self._query_languages(query)
        if query.words.strip():
            query = replace(query, words=subject_of(query.words, languages))
            terms = query.synonyms.terms(query.words, languages)
            if not terms:
                return Results([], 0, {name: {} for name in FACETS})
            if query.is_typing:
                terms = with_completions(query.words, languages, self._vocabulary, query.synonyms)
        results = self._search_terms(query, terms, match_all=True)
        if results.total or not terms:
            return results
        corrected = correct(query.words, languages, self._vocabulary, query.synonyms)
        if corrected.terms != terms:
            results = self._search_terms(query, corrected.terms, match_all=True)
        if not results.total and len(corrected.terms) > 1:
            results = self._search_terms(query, corrected.terms, match_all=False)
        return replace(results, corrected=corrected.text) if results.total else results

    @abstractmethod
    def _search_terms(self, query: Query, terms: Sequence[Term], match_all: bool) -> Results:
        """Return the documents that contain all *terms* if *match_all*, else any of the terms."""

    def _vocabulary(self, prefix: str) -> Mapping[str, int]:
        """Return the words of the index that begin with a *prefix*, and how many documents have
        each.

        It is empty for engines that cannot list their words.
        """
        return {}
