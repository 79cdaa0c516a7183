"""Phrases that are typical of boilerplate, in the web's most frequent languages.

The file ``data/phrases.json`` groups phrases by kind (``related``, ``comment``) and by language. A
phrase is a regular expression for text in lower case, since a search that ignores case takes five
times as long. Its alternatives are always inside a group. Each kind has three options:
*begins_text* (the phrase is at the beginning of a text, after punctuation at most),
*after_a_number* (a number may come first, as in "12 comments") and *whole_words* (the phrase ends
with a word, not within one).
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from contentspider.page.words._phrases import Phrases


def read_data(name: str) -> Any:
    """Return the content of a JSON file in ``words/data``."""
    return json.loads(files("contentspider.page.words").joinpath("data", name).read_text("utf-8"))


def compile_phrases(
    phrases: dict[str, list[str]], *, begins_text: bool, after_a_number: bool, whole_words: bool
) -> re.Pattern[str]:
    r"""Return a pattern that finds any of the *phrases*, which are lists by language.

    >>> compile_phrases(
    ...     {"en": ["by"], "de": ["von"]}, begins_text=True, after_a_number=False, whole_words=True
    ... ).pattern
    '^\\W*(?:by|von)\\b'
    """
    alternatives = "|".join(phrase for language in phrases.values() for phrase in language)
    return re.compile(
        (r"^\W*" if begins_text else "")
        + (r"(?:\d+ )?" if after_a_number else "")
        + f"(?:{alternatives})"
        + (r"\b" if whole_words else "")
    )


# The beginning of a phrase up to its first alternative: all matching texts begin with it.
LITERAL = re.compile(r"(?:(?:[^\\\[\](){}?*+|.^$]|\\[^\w\s]|\\d)(?![?*{]))*")
# A beginning of this length is rare enough in texts that do not contain the phrase.
MAX_BEGINNING = 8


def beginning(phrase: str) -> str:
    r"""Return the beginning that all matches of the regular expression *phrase* have in common.

    Each digit is replaced by a zero. The result is empty if matches can begin with any character.

    >>> [beginning(phrase) for phrase in ("log ?in", r"\(c\) 2\d", "(?:re|un)read", "posts?")]
    ['log', '(c) 00', '', 'post']
    """
    literal = LITERAL.match(phrase)
    text = re.sub(r"\\d|\d", "0", literal[0] if literal else "")
    return text.replace("\\", "")[:MAX_BEGINNING]


NOISE_PHRASES: dict[str, re.Pattern[str]] = {}
_KINDS = []
for _name, _group in read_data("phrases.json").items():
    NOISE_PHRASES[_name] = compile_phrases(**_group)
    _beginnings = {
        beginning(phrase) for language in _group["phrases"].values() for phrase in language
    }
    _options = (_group["begins_text"], _group["after_a_number"])
    _KINDS.append((NOISE_PHRASES[_name].search, _beginnings, *_options))
# Finds the kinds of `NOISE_PHRASES` in a text many times as fast as the patterns themselves.
PHRASE_MATCHER = Phrases(_KINDS)
