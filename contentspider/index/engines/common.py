"""What engines that run as servers share: where they are, when to ask again, and what Typesense and
Meilisearch lack: dates, stems, and searches in pages of several languages.
"""

from __future__ import annotations

import heapq
import os
import re
from collections import Counter
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from contentspider.index.engine import Results, shown
from contentspider.index.errors import EngineError
from contentspider.index.schema import DATES, FACETS
from contentspider.index.words import LETTER, forms_of, root, split, stemmer_of, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from contentspider.index.engine import Query

NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


def place(url: str) -> tuple[str, str]:
    """Return the server's base address and the index's name of ``engine://host:port/name``, or
    ``engine+https://host:port/name``; raises `EngineError` if *url* is not like that.

    >>> place("typesense+https://search.example.org/pages")
    ('https://search.example.org', 'pages')
    """
    scheme, _, rest = url.partition(":")
    parts = urlsplit(f"{'https' if scheme.endswith('+https') else 'http'}:{rest}")
    name = parts.path.removeprefix("/")
    try:
        is_whole = parts.hostname and parts.port != 0 and NAME.fullmatch(name)
    except ValueError:
        is_whole = False
    if not is_whole:
        engine = scheme.removesuffix("+https")
        raise EngineError(
            f"{shown(url)!r} does not say where: write {engine}://host:port/index (or"
            f" {engine}+https://), and the index in letters, digits, '_' and '-'"
        )
    return f"{parts.scheme}://{parts.netloc}", name


def key(url: str, name: str) -> str:
    """Return the environment variable of this *name*; raises `EngineError` if it is not set."""
    if value := os.environ.get(name):
        return value
    raise EngineError(f"{shown(url)} needs a key: set {name} in the environment")


def seconds(header: str | None) -> float:
    """Return how long a ``Retry-After`` header asks to wait; 0 if it gives no number of seconds.

    >>> seconds("7"), seconds("Wed, 21 Oct 2026 07:28:00 GMT"), seconds(None)
    (7.0, 0.0, 0.0)
    """
    return float(header) if header and header.isdecimal() else 0.0


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


def root_words(text: str, language: str) -> Iterator[str]:
    """Yield what engines that know neither stems nor scripts without spaces need of a *text* beside
    it: the roots of words that have stems, and pairs of characters and the single ones.

    >>> list(root_words("Two ferries à 東京", "en"))
    ['two', 'ferr', 'a', '東京', '京', '東']
    """
    name = stemmer_of(language)
    for word in split(text):
        if LETTER.match(word):
            yield from words(word)
        elif name:
            yield root(forms_of(word, name))


def by_language(
    languages: Iterable[str], ask: Callable[[Sequence[str]], str]
) -> tuple[dict[str, str], str]:
    """Return what is asked in documents of each of the *languages*, as *ask* says it for languages,
    where that differs from what is asked in all others; and that.
    """
    plain = ask(())
    asked = {language: ask([language]) for language in languages}
    return {language: words for language, words in asked.items() if words != plain}, plain


def merged(results: Sequence[Results], query: Query) -> Results:
    """Return the results of several searches of different documents as those of one."""
    hits = list(heapq.merge(*(one.hits for one in results), key=lambda hit: -hit.score))
    facets = {name: Counter[str]() for name in FACETS}
    for one in results:
        for name, counts in one.facets.items():
            facets[name].update(counts)
    return Results(
        hits[query.offset : query.offset + query.limit],
        sum(one.total for one in results),
        {name: dict(counts.most_common()) for name, counts in facets.items()},
    )
