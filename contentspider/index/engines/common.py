"""Helpers that several engines share.

All servers need addresses and keys. Typesense and Meilisearch also lack date fields,
stems of words, and searches in pages of several languages.
"""

from __future__ import annotations

import heapq
import os
import re
from collections import Counter
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from contentspider.index.engine import Results, redacted_url
from contentspider.index.errors import EngineError
from contentspider.index.schema import DATE_FIELDS, FACETS
from contentspider.index.words import (
    LETTER,
    common_prefix,
    searchable_words,
    split_words,
    stemmer_name,
    word_forms,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from contentspider.index.engine import Hit, Query
    from contentspider.index.filters import Order

INDEX_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def parse_server_url(url: str) -> tuple[str, str]:
    """Split an index's URL into the base address of the server and the name of the index.

    The URL is ``engine://host:port/name``, or ``engine+https://host:port/name``. Raises
    `EngineError` if the URL has another form.

    >>> parse_server_url("typesense+https://search.example.org/pages")
    ('https://search.example.org', 'pages')
    """
    scheme, _, location = url.partition(":")
    parts = urlsplit(f"{'https' if scheme.endswith('+https') else 'http'}:{location}")
    name = parts.path.removeprefix("/")
    try:
        is_valid = parts.hostname and parts.port != 0 and INDEX_NAME.fullmatch(name)
    except ValueError:
        is_valid = False
    if not is_valid:
        engine = scheme.removesuffix("+https")
        raise EngineError(
            f"{redacted_url(url)!r} is not the address of an index: write"
            f" {engine}://host:port/index (or {engine}+https://). The index's name has letters,"
            " digits, '_' and '-'"
        )
    return f"{parts.scheme}://{parts.netloc}", name


def api_key(url: str, variable: str) -> str:
    """Return the API key in an environment variable; raises `EngineError` if it is not set."""
    if value := os.environ.get(variable):
        return value
    raise EngineError(f"{redacted_url(url)} needs a key: set {variable} in the environment")


def dates_to_timestamps(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with its dates as Unix timestamps, for engines without date fields."""
    dates = {
        name: int(datetime.fromisoformat(record[name]).timestamp())
        for name in DATE_FIELDS
        if name in record
    }
    return record | dates


def timestamps_to_dates(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record with its timestamps as ISO 8601 dates; reverses `dates_to_timestamps`."""
    dates = {
        name: datetime.fromtimestamp(record[name], timezone.utc).isoformat()
        for name in DATE_FIELDS
        if name in record
    }
    return record | dates


def prefix_words(text: str, language: str) -> Iterator[str]:
    """Yield the extra words of a *text* for engines without stems and without pairs of characters.

    A word of a language with a stemmer gives the common prefix of its forms. A run of a script
    without spaces gives pairs of characters, and single characters.

    >>> list(prefix_words("Two ferries à 東京", "en"))
    ['two', 'ferr', 'a', '東京', '京', '東']
    """
    stemmer = stemmer_name(language)
    for word in split_words(text):
        if LETTER.match(word):
            yield from searchable_words(word)
        elif stemmer:
            yield common_prefix(word_forms(word, stemmer))


def queries_by_language(
    languages: Iterable[str], make_query: Callable[[Sequence[str]], str]
) -> tuple[dict[str, str], str]:
    """Return the query text for each language, and the text for documents of all other languages.

    *make_query* returns the text for some languages. A language is left out if its text equals the
    text for other languages.
    """
    default_query = make_query(())
    queries = {language: make_query([language]) for language in languages}
    special = {language: query for language, query in queries.items() if query != default_query}
    return special, default_query


def has_other_languages(query: Query, texts: Collection[str]) -> bool:
    """Tell whether a query also matches documents whose language is not in *texts*, or that have
    none. *texts* has the languages with a query text of their own (`queries_by_language`).
    """
    languages = query.conditions.get("language")
    return languages is None or any(language not in texts for language in languages)


def merge_results(results: Sequence[Results], query: Query) -> Results:
    """Merge the results of several searches, which match different documents, into one."""
    key: Callable[[Hit], Any] = _relevance
    if query.order:
        key = partial(_place, query.order)
    hits = list(heapq.merge(*(result.hits for result in results), key=key))
    names = [*FACETS, *(f"fields.{name}" for name in query.counted)]
    facets = {name: Counter[str]() for name in names}
    for result in results:
        for name, counts in result.facets.items():
            facets[name].update(counts)
    return Results(
        hits[query.offset : query.offset + query.limit],
        sum(result.total for result in results),
        {name: dict(counts.most_common()) for name, counts in facets.items()},
    )


def _relevance(hit: Hit) -> float:
    return -hit.score


def _place(order: Order, hit: Hit) -> tuple[bool, float]:
    return order.key(hit.record)
