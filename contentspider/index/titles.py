"""Finds the titles that the words of a query may be."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from contentspider.index.words import phrase_of, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# Separates a title from the name of its site in the tab of a browser.
SEPARATOR = re.compile(r"\s+(?:[-|–—·•»«~/]|:{2,}|-{2,3})\s+")
# May separate them, but titles and queries often contain these signs for other reasons.
WEAK_SEPARATOR = re.compile(rf"{SEPARATOR.pattern}|:\s+|\s*[\[\](){{}}]\s*")
MAX_PARTS = 8  # further separators of a query are ignored
# What engines add to the score of a page whose title is a part of the query between separators, and
# twice if it is the whole query: more than scores of words are.
TITLE_SCORE = 1_000.0
# The same for a title, a heading or a text of a link that is the query; for a title that is a part
# of the query between weak separators; for a title that begins with the query; and for a title that
# the query begins or ends with. Scores of words are 5 to 100.
NAMED_SCORE, PART_SCORE, LONGER_SCORE, INSIDE_SCORE = 100.0, 80.0, 60.0, 30.0
# Only a query of more words may contain other words beside a title.
MANY_WORDS = 4
# The least share of the words of a query in a part between weak separators, and the most words of a
# query that other titles are looked for in.
PART_SHARE, MAX_WORDS = 0.5, 16
# A title of more pages distinguishes none of them.
MAX_PAGES = 3


class Titled(NamedTuple):
    """The pages with titles that a query may mean: what their scores rise by, by their keys (an
    engine chooses its keys). *wholes* stand for the texts that the query may be (`whole_text`):
    pages with such a title, heading or text of a link score higher. *titles* stand for the titles
    of pages that are found although they may lack other words of the query.
    """

    scores: Mapping[str | int, float] = {}
    wholes: Sequence[str] = ()
    titles: Sequence[str] = ()


def title_parts(text: str, separator: re.Pattern[str] = SEPARATOR) -> list[str]:
    """Return the parts of a query between the separators of titles, without parts that lack words.

    >>> title_parts("A bridge - Example News"), title_parts("well-known")
    (['A bridge', 'Example News'], ['well-known'])
    """
    spaced = " ".join(text.split())  # a separator would look at runs of spaces again and again
    return [part for part in separator.split(spaced, MAX_PARTS - 1) if split_words(part)]


def possible_titles(text: str) -> dict[tuple[str, ...], float]:
    """Return the phrases of titles that a query may be, and what such a title is worth.

    >>> possible_titles("Tea: news - Example")[("tea", "news", "example")]
    2000.0
    >>> [" ".join(phrase) for phrase in possible_titles("Tea at home")]
    ['tea at home', 'tea', 'at home', 'tea at', 'home']
    """
    query = phrase_of(text)
    worth: dict[tuple[str, ...], float] = {query: 2 * TITLE_SCORE} if query else {}
    for start, phrase in _runs(title_parts(text)):
        # The name of the site, which may be the title of its first page, mostly stands behind.
        share = len(phrase) / len(query)
        if start == 0 or share >= PART_SHARE:
            worth.setdefault(phrase, TITLE_SCORE * (1 + share / 2 + (start == 0) / 2))
    for _, phrase in _runs(title_parts(text, WEAK_SEPARATOR)):
        if len(phrase) / len(query) >= PART_SHARE:
            worth.setdefault(phrase, PART_SCORE)
    if len(query) <= MAX_WORDS:
        for at in range(1, len(query)):
            for phrase in (query[:at], query[at:]):
                worth.setdefault(phrase, INSIDE_SCORE)
    return worth


def _runs(parts: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the number of the first part, and the phrase, of each run of parts."""
    for start, end in combinations(range(len(parts) + 1), 2):
        if phrase := phrase_of(" ".join(parts[start:end])):
            yield start, phrase


def title_scores(
    worth: Mapping[tuple[str, ...], float],
    query: tuple[str, ...],
    candidates: Iterable[tuple[str | int, str]],
) -> dict[str | int, float]:
    """Return additions to the scores of *candidates*, which are keys and titles of pages. Titles
    get one if they are among the `possible_titles` (*worth*), or begin with all words of *query*.

    >>> title_scores({("tea",): 2000.0}, ("tea",), [(1, "Tea"), (2, "Tea set"), (3, "Hot tea")])
    {1: 2000.0, 2: 60.0}
    """
    phrases = {key: phrase_of(title) for key, title in candidates}
    counts = Counter(phrases.values())
    scores = {}
    for key, words in phrases.items():
        if words in worth and (words == query or counts[words] <= MAX_PAGES):
            scores[key] = worth[words]
        elif words[: len(query)] == query:
            scores[key] = LONGER_SCORE
    return scores
