"""Engines that search the terms that contentspider makes of the words of a query."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from contentspider.index.corrections import correct, with_completions
from contentspider.index.engine import Engine, Results
from contentspider.index.questions import subject_of
from contentspider.index.schema import FACETS
from contentspider.index.titles import Titled, possible_titles, title_parts, titled
from contentspider.index.words import split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from contentspider.index.engine import Query
    from contentspider.index.words import Term

# A page whose title is the query comes before all other pages, and a page with a title that is
# alike before the rest (`Titled`): engines add this to the scores, twice for an equal title.
# Scores of words stay below it.
TITLE_SCORE = 1_000.0
# If fewer pages have all words of a query, pages with some of them follow. Measured with 3 and 10.
# A query of fewer words has no word to spare.
FEW_PAGES, MANY_WORDS = 3, 4
NOTE = "Few pages have all of these words. Pages with some of them follow."
# The shortest titles with a phrase that are compared with the query.
MAX_TITLES = 20


class TermEngine(Engine):
    """An engine that stores `Document.searchable_words`, and searches the terms of a query in them.

    If few documents have all of many words, documents with some of them follow. If none has all
    words, a search completes or corrects words that the index lacks
    (`contentspider.index.corrections`).
    """

    searches_terms = True

    def _search_words(self, query: Query) -> Results:
        """Return the results of a query whose filters exist; see `search`."""
        languages = self._query_languages(query)
        asked = query.words
        if not asked.strip():
            return self._search_terms(query, [], Titled())
        groups = self._groups(query, languages)
        query = replace(query, words=subject_of(asked, languages))
        if not groups:
            return Results([], 0, {name: {} for name in FACETS})
        titles = Titled() if query.order else self._titled(asked, query)
        results = self._search_terms(query, groups, titles)
        if results.total:
            return self._followed_by_some_words(results, query, groups, titles)
        corrected = correct(query.words, languages, self._vocabulary, query.synonyms)
        if [corrected.terms] != groups:
            results = self._search_terms(query, [corrected.terms], titles)
        if not results.total and len(corrected.terms) > 1:
            results = self._search_terms(query, [[term] for term in corrected.terms], titles)
        return replace(results, corrected=corrected.text) if results.total else results

    def _followed_by_some_words(
        self, found: Results, query: Query, groups: Sequence[Sequence[Term]], titles: Titled
    ) -> Results:
        """Return the results of a query. If they are few for many words, documents that have some
        of the words follow.
        """
        is_short = len(split_words(query.words)) < MANY_WORDS
        if found.total >= FEW_PAGES or is_short or query.order:
            return found
        first = found.hits
        if len(first) < found.total:
            first = self._search_terms(
                replace(query, limit=FEW_PAGES, offset=0), groups, titles
            ).hits
        end = query.offset + query.limit
        some_words = [[term] for term in dict.fromkeys(chain.from_iterable(groups))]
        results = self._search_terms(replace(query, limit=end, offset=0), some_words, titles)
        if results.total == found.total:
            return found
        ids = {hit.record["id"] for hit in first}
        others = (hit for hit in results.hits if hit.record["id"] not in ids)
        return replace(results, hits=[*first, *others][query.offset : end], note=NOTE)

    def _groups(self, query: Query, languages: Sequence[str]) -> list[list[Term]]:
        """Return the terms of each part of a query: one of the parts may name a site, so documents
        need all words of one part only. The last word of the last part may be incomplete.
        """
        parts = title_parts(query.words) or [query.words]
        *parts, last = (subject_of(part, languages) for part in parts)
        groups = [query.synonyms.terms(part, languages) for part in parts]
        terms = query.synonyms.terms(last, languages)
        if terms and query.is_typing:
            typed = last + query.words[len(query.words.rstrip()) :]
            terms = with_completions(typed, languages, self._vocabulary, query.synonyms)
        return [group for group in (*groups, terms) if group]

    def _titled(self, text: str, query: Query) -> Titled:
        """Return the pages that match the filters of a query, and whose titles are its *text*."""
        phrases = possible_titles(text)
        if not phrases.beginnings:
            return Titled()
        equal: list[str | int] = []
        alike: list[str | int] = []
        for phrase in [*phrases.beginnings, *phrases.ends]:
            candidates = list(self._titles_with(phrase, query))
            found = titled(phrases, candidates)
            equal += found.equal
            # A phrase of many titles distinguishes none of them; the rest of them is not read.
            alike += found.alike if len(candidates) < MAX_TITLES else ()
        return Titled(equal, alike)

    def _titles_with(
        self, phrase: tuple[str, ...], query: Query
    ) -> Iterable[tuple[str | int, str]]:
        """Return key and title of pages that match the filters of a query, and whose titles have a
        *phrase*; the `MAX_TITLES` shortest titles if there are more.

        It is empty for engines that cannot search titles by themselves.
        """
        return ()

    @abstractmethod
    def _search_terms(
        self, query: Query, groups: Sequence[Sequence[Term]], titles: Titled
    ) -> Results:
        """Return the documents that contain all terms of one of the *groups*; all documents if
        there is none. Pages with *titles* come first (`TITLE_SCORE`).
        """

    def _vocabulary(self, prefix: str) -> Mapping[str, int]:
        """Return the words of the index that begin with a *prefix*, and how many documents have
        each.

        It is empty for engines that cannot list their words.
        """
        return {}
