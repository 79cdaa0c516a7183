"""What engines with a server share: addresses, keys, plain words of a query, and snippets.

Typesense and Meilisearch also lack date fields.
"""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from contentspider.index.engine import Engine, Results
from contentspider.index.errors import EngineError, redacted_url
from contentspider.index.questions import subject_of
from contentspider.index.schema import DATE_FIELDS, FACETS, valid_utf8

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from contentspider.index.engine import Query

INDEX_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")
SPACES = re.compile(r"\s+")
# Servers put these around the words that match. Unicode has them for use inside of a program, so
# that no page has them.
MARK_START, MARK_END = "\ufdd0", "\ufdd1"
# The length of a snippet in words, for servers that count words.
SNIPPET_WORDS = 40


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


class ServerEngine(Engine):
    """An engine whose server searches words by its own rules, and marks them in the content.

    `_search_server` asks the server. Its language analysis, its tolerance of typing errors and its
    snippets decide.
    """

    older_schemas = (7, 8, 9)  # later schemas changed our own words only

    def _search_words(self, query: Query) -> Results:
        if not query.words.strip():
            return self._search_server(query, [])
        words = _plain_words(subject_of(query.words, self._query_languages(query)))
        if not words:
            return Results([], 0, {name: {} for name in FACETS})
        return self._search_server(query, words)

    @abstractmethod
    def _search_server(self, query: Query, words: Sequence[str]) -> Results:
        """Return the documents that contain these *words*, or all documents if there are none."""


def _plain_words(text: str) -> list[str]:
    """Return the words of a query between its spaces, without signs that may be syntax.

    >>> _plain_words('"sign-on" - C++ -x')
    ['sign-on', 'C++', 'x']
    """
    words = valid_utf8(text).replace("\0", " ").replace('"', " ").split()
    return [word.lstrip("-") for word in words if any(map(str.isalnum, word))]


def marked_pieces(text: str) -> list[tuple[str, bool]]:
    """Split a snippet into parts, each with True if the server marked it.

    >>> marked_pieces(f"The {MARK_START}ferry{MARK_END} left")
    [('The ', False), ('ferry', True), (' left', False)]
    """
    parts = re.split(f"[{MARK_START}{MARK_END}]", SPACES.sub(" ", text))
    return [(part, bool(number % 2)) for number, part in enumerate(parts) if part]


def content_snippet(content: str, snippets: Iterable[str]) -> list[tuple[str, bool]]:
    """Return the parts of the first of *snippets* that comes from the *content*; [] if none does.

    Fields that repeat several texts also give snippets of titles and other texts.
    """
    content = SPACES.sub(" ", content)
    for pieces in map(marked_pieces, snippets):
        if "".join(text for text, _ in pieces) in content:
            return pieces
    return []
