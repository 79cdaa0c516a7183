"""Synonyms for searches, from a file in Solr's format, which Elasticsearch reads, too.

A line such as ``sign-on, login`` lists texts with the same meaning: a search for one of them finds
all of them. With ``colour => color``, a search for the left text searches the right text instead. A
line that begins with ``#`` is a comment. A backslash makes a comma or an arrow a part of the text.
"""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.errors import ContentSpiderError
from contentspider.index.words import (
    LETTER,
    MAX_TERMS,
    phrase_of,
    query_terms,
    split_words,
    stemmer_name,
    word_forms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from contentspider.index.words import Term

    # The stems of the words of a text.
    Stems = tuple[str, ...]

# The parts of a line: an escaped character, an arrow, a comma, the rest.
TOKEN = re.compile(r"\\(.)|(=>)|(,)|([^\\,=]+|=)")


class SynonymsError(ContentSpiderError):
    """A file of synonyms cannot be used. The message names the file and the line."""

    code = "synonyms"


class Part(NamedTuple):
    """One or several consecutive *words* of a query, and the *terms* to search for them.

    A part with *synonyms* has one term, which any of the synonyms matches.
    """

    words: tuple[str, ...]
    terms: list[Term]
    synonyms: tuple[str, ...] = ()


class Synonyms:
    """The texts to search in place of a text. *rules* maps a text to these texts.

    A text of a query matches the text of a rule if their words have the same stems in a language
    of the index. If several rules match, the rule with the most words applies.
    """

    def __init__(self, rules: Mapping[str, Sequence[str]]) -> None:
        self._rules = rules
        self._tables: dict[str, Mapping[Stems, tuple[str, ...]]] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def terms(self, query: str, languages: Sequence[str]) -> list[Term]:
        """Return the terms of a query, as `query_terms` does, with synonyms as further forms."""
        parts = self.parts(query, languages)
        return list(dict.fromkeys(term for part in parts for term in part.terms))[:MAX_TERMS]

    def parts(self, query: str, languages: Sequence[str]) -> list[Part]:
        """Return the parts of a query. A part has one word, or the words that match a rule."""
        words = split_words(query)[:MAX_TERMS]
        parts, start = [], 0
        while start < len(words):
            part = self._part(words[start : start + self._longest], languages)
            parts.append(part)
            start += len(part.words)
        return parts

    def with_synonyms(self, query: str, languages: Sequence[str]) -> str:
        """Return a query followed by the synonyms of its words."""
        parts = self.parts(query, languages)
        return " ".join([query, *(text for part in parts for text in part.synonyms)])

    def _part(self, words: Sequence[str], languages: Sequence[str]) -> Part:
        """Return the part that *words* begin with."""
        for count in range(len(words) if self._rules else 0, 0, -1):
            for name in dict.fromkeys(map(stemmer_name, ("", *languages))):
                stems = _stems(words[:count], name)
                if synonyms := self._table(name).get(stems):
                    if any(_stems(split_words(text), name) == stems for text in synonyms):
                        synonyms = (" ".join(words[:count]), *synonyms)
                    return Part(tuple(words[:count]), [_any_of(synonyms, languages)], synonyms)
        return Part((words[0],), query_terms(words[0], languages))

    @cached_property
    def _longest(self) -> int:
        """The most words of a rule's text; at least 1."""
        return max([1, *(len(split_words(text)) for text in self._rules)])

    def _table(self, name: str) -> Mapping[Stems, tuple[str, ...]]:
        """Return the synonyms by the stems that the stemmer *name* gives."""
        if name not in self._tables:
            table: dict[Stems, tuple[str, ...]] = {}
            for text, synonyms in self._rules.items():
                stems = _stems(split_words(text), name)
                table[stems] = tuple(dict.fromkeys([*table.get(stems, ()), *synonyms]))
            self._tables[name] = table
        return self._tables[name]


NO_SYNONYMS = Synonyms({})


def read_synonyms(path: str) -> Synonyms:
    """Return the synonyms in a file; raises `SynonymsError`. Without a path there are none."""
    if not path:
        return NO_SYNONYMS
    try:
        content = Path(path).read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise SynonymsError(
            f"{path} cannot be read ({error.strerror}): name a text file of synonyms"
        ) from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SynonymsError(f"{path}:{line}: is not UTF-8: save the file as UTF-8") from error
    return parse_synonyms(text, path)


def parse_synonyms(text: str, name: str = "synonyms") -> Synonyms:
    """Return the synonyms of a file's *text*. *name* is the file's name, for errors.

    >>> parse_synonyms("SSO, single sign-on").terms("sso", ["en"])
    [(('sso',), ('single', 'sign', 'on'))]
    """
    rules: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        sides = _parse_line(line)
        if problem := _problem(sides):
            raise SynonymsError(f"{name}:{number}: {problem}")
        for source in sides[0]:
            rules[source] |= dict.fromkeys(sides[-1])
    return Synonyms({source: tuple(targets) for source, targets in rules.items()})


def _problem(sides: Sequence[Sequence[str]]) -> str:
    """Return the error in a line, with the way to mend it; "" if the line is correct."""
    if len(sides) > 2:
        return "has two '=>': write each rule in a line of its own"
    if not all(split_words(text) for side in sides for text in side):
        return "has a text without a word: write words before and after each ',' and '=>'"
    if len(sides) == 1 and len(sides[0]) == 1:
        return "has one text: write several texts with commas between them, or 'text => text'"
    return ""


def _parse_line(line: str) -> list[list[str]]:
    """Return the texts on each side of the arrows of a line.

    >>> _parse_line("a, b c => d")
    [['a', 'b c'], ['d']]
    """
    sides = [[""]]
    for escaped, arrow, comma, text in TOKEN.findall(line.rstrip()):
        if arrow:
            sides.append([""])
        elif comma:
            sides[-1].append("")
        else:
            sides[-1][-1] += escaped or text
    return [[text.strip() for text in side] for side in sides]


def _stems(words: Sequence[str], name: str) -> Stems:
    return tuple(word_forms(word, name)[-1] for word in words)


def _any_of(texts: Sequence[str], languages: Sequence[str]) -> Term:
    """Return the term that any of the *texts* matches. A text of several words is a phrase."""
    forms: list[tuple[str, ...]] = []
    for text in texts:
        words = split_words(text)
        if len(words) == 1 and not LETTER.match(words[0]):
            forms += query_terms(text, languages)[0]
        else:
            forms.append(phrase_of(text))
    return tuple(dict.fromkeys(forms))
