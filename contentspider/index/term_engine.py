"""Engines that search the terms that contentspider makes of the words of a query."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from contentspider.index.corrections import correct, typed_texts, with_completions
from contentspider.index.engine import Engine, Results
from contentspider.index.questions import subject_of
from contentspider.index.reranking import MAX_RERANKED, reranked
from contentspider.index.schema import FACETS
from contentspider.index.titles import (
    INSIDE_SCORE,
    MANY_WORDS,
    PART_SCORE,
    TITLE_SCORE,
    Titled,
    possible_titles,
    title_parts,
    title_scores,
)
from contentspider.index.words import phrase_of, split_words, whole_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from contentspider.index.engine import Query
    from contentspider.index.words import Term

# If fewer pages have all words of a query, pages with some of them follow. Measured with 3 and 10.
FEW_PAGES = 3
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
            return self._reranked(query, [], Titled())
        groups = self._groups(query, languages)
        query = replace(query, words=subject_of(asked, languages))
        if not groups:
            return Results([], 0, {name: {} for name in FACETS})
        texts = [asked, *(typed_texts(asked, groups[-1]) if query.is_typing else ())]
        titles = Titled() if query.order else self._titled(texts, query)
        results = self._reranked(query, groups, titles)
        if results.total:
            return self._followed_by_some_words(results, query, groups, titles)
        corrected = correct(query.words, languages, self._vocabulary, query.synonyms)
        if [corrected.terms] != groups:
            results = self._reranked(query, [corrected.terms], titles)
        if not results.total and len(corrected.terms) > 1:
            results = self._reranked(query, [[term] for term in corrected.terms], titles)
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
            first = self._reranked(replace(query, limit=FEW_PAGES, offset=0), groups, titles).hits
        end = query.offset + query.limit
        some_words = [[term] for term in dict.fromkeys(chain.from_iterable(groups))]
        results = self._reranked(replace(query, limit=end, offset=0), some_words, titles)
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

    def _titled(self, texts: Sequence[str], query: Query) -> Titled:
        """Return the pages that match the filters of a query, and whose titles are one of the
        *texts* that it may mean, or a part of it.
        """
        scores: dict[str | int, float] = {}
        wholes: list[str] = []
        titles: list[str] = []
        for text in texts:
            phrase, worth = phrase_of(text), possible_titles(text)
            if not phrase:
                continue
            candidates = list(self._titles_with(map(whole_text, worth), query))
            longer = list(self._titles_beginning(phrase, query))
            # A phrase of many titles distinguishes none of them; the rest of them is not read.
            candidates += longer if len(longer) < MAX_TITLES else ()
            scores |= title_scores(worth, phrase, candidates)
            wholes.append(whole_text(phrase))
            least = INSIDE_SCORE if len(phrase) > MANY_WORDS else PART_SCORE
            titles += (
                whole_text(phrase_of(title))
                for key, title in candidates
                if least <= scores.get(key, 0.0) < 2 * TITLE_SCORE
            )
        return Titled(scores, wholes, list(dict.fromkeys(titles)))

    def _titles_with(self, wholes: Iterable[str], query: Query) -> Iterable[tuple[str | int, str]]:
        """Return key and title of pages that match the filters of a query, and whose titles are one
        of the *wholes* (`whole_text`); the `MAX_TITLES` longest titles if there are more.

        It is empty for engines that cannot search titles by themselves.
        """
        return ()

    def _titles_beginning(
        self, phrase: tuple[str, ...], query: Query
    ) -> Iterable[tuple[str | int, str]]:
        """Return the same for titles that begin with a *phrase*, maybe others that have it; the
        `MAX_TITLES` shortest titles if there are more.
        """
        return ()

    def _reranked(self, query: Query, groups: Sequence[Sequence[Term]], titles: Titled) -> Results:
        """Return the results of `_search_terms`, the first ones reranked."""
        if not groups or query.order or query.offset >= MAX_RERANKED:
            return self._search_terms(query, groups, titles)
        end = query.offset + query.limit
        first = replace(query, limit=max(end, MAX_RERANKED), offset=0)
        results = self._search_terms(first, groups, titles)
        hits = reranked(results.hits, query.words)
        return replace(results, hits=hits[query.offset : end])

    @abstractmethod
    def _search_terms(
        self, query: Query, groups: Sequence[Sequence[Term]], titles: Titled
    ) -> Results:
        """Return the documents that contain all terms of one of the *groups*; all documents if
        there is none. Pages with *titles* come first.
        """

    def _vocabulary(self, prefix: str) -> Mapping[str, int]:
        """Return the words of the index that begin with a *prefix*, and how many documents have
        each.

        It is empty for engines that cannot list their words.
        """
        return {}
