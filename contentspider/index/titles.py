"""Finds the titles that the words of a query may be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from contentspider.index.words import phrase_of, split_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What parts a title from the name of its site in the tab of a browser.
SEPARATOR = re.compile(r"\s+(?:[-|–—·•»«~]|:{2,}|-{2,3})\s+")
MAX_PARTS = 8  # further separators of a query are ignored


class Titled(NamedTuple):
    """The keys of pages whose titles are the query, maybe without the name of the site behind it
    (*equal*), and of pages whose titles begin with the query, or are its end (*alike*). An engine
    chooses its keys.
    """

    equal: Sequence[str | int] = ()
    alike: Sequence[str | int] = ()


class PossibleTitles(NamedTuple):
    """The phrases that the title of a page may be: the whole query, or its *beginnings* up to a
    separator, the longest first; its *ends* behind a separator.
    """

    beginnings: Sequence[tuple[str, ...]]
    ends: Sequence[tuple[str, ...]]


def title_parts(text: str) -> list[str]:
    """Return the parts of a query between the separators of titles, without parts that lack words.

    >>> title_parts("A bridge - Example News"), title_parts("well-known")
    (['A bridge', 'Example News'], ['well-known'])
    """
    return [part for part in SEPARATOR.split(text.strip(), MAX_PARTS - 1) if split_words(part)]


def possible_titles(text: str) -> PossibleTitles:
    """Return the phrases of titles that a query may be.

    >>> possible_titles("A bridge - Example News").beginnings
    [('a', 'bridge', 'example', 'news'), ('a', 'bridge')]
    >>> possible_titles("A bridge - Example News").ends
    [('example', 'news')]
    """
    parts = title_parts(text)
    beginnings = (parts[:end] for end in range(len(parts), 0, -1))
    ends = (parts[start:] for start in range(1, len(parts)))
    return PossibleTitles(_phrases(beginnings), _phrases(ends))


def _phrases(runs: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    phrases = (phrase_of(" ".join(run)) for run in runs)
    return list(dict.fromkeys(phrase for phrase in phrases if phrase))


def titled(phrases: PossibleTitles, candidates: Iterable[tuple[str | int, str]]) -> Titled:
    """Return which of the *candidates*, keys and titles of pages, have a title that is one of the
    *phrases*, or that begins with the whole query.

    >>> titled(possible_titles("Tea"), [(1, "Tea"), (2, "Tea at home"), (3, "Green tea")])
    Titled(equal=[1], alike=[2])
    """
    equal: list[str | int] = []
    alike: list[str | int] = []
    whole = phrases.beginnings[0]
    for key, title in candidates:
        words = phrase_of(title)
        if words in phrases.beginnings:
            equal.append(key)
        elif words in phrases.ends or words[: len(whole)] == whole:
            alike.append(key)
    return Titled(equal, alike)
