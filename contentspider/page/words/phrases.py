"""What boilerplate says of itself, in the web's most frequent languages: ``data/phrases.json``.

The file groups phrases by what they tell (``related``, ``comment``, ...), and in a group by
language. A phrase is a regular expression for texts in lower case (to match without regard to case
takes five times as long), with alternatives in groups only. It stands anywhere in a text, or only
where it *begins_text* (behind anything that is no letter or digit; *after_a_number* allows for
"12 comments"), as *whole_words* or as the beginning of longer ones.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

from contentspider.page.words._phrases import Phrases


def read_data(name: str) -> Any:
    """Return what a JSON file of the package's data says."""
    return json.loads(files("contentspider.page.words").joinpath("data", name).read_text("utf-8"))


def compile_phrases(
    phrases: dict[str, list[str]], *, begins_text: bool, after_a_number: bool, whole_words: bool
) -> re.Pattern[str]:
    r"""Return the pattern that finds any of the *phrases*, which are given by language.

    >>> compile_phrases(
    ...     {"en": ["by"], "de": ["von"]}, begins_text=True, after_a_number=False, whole_words=True
    ... ).pattern
    '^\\W*(?:by|von)\\b'
    """
    every = "|".join(phrase for language in phrases.values() for phrase in language)
    return re.compile(
        (r"^\W*" if begins_text else "")
        + (r"(?:\d+ )?" if after_a_number else "")
        + f"(?:{every})"
        + (r"\b" if whole_words else "")
    )


# The part of a phrase that each text has which matches: up to the first choice.
LITERAL = re.compile(r"(?:(?:[^\\\[\](){}?*+|.^$]|\\[^\w\s]|\\d)(?![?*{]))*")
# Enough of a phrase to tell that most texts do not have it.
MAX_BEGINNING = 8


def beginning(phrase: str) -> str:
    r"""Return what each text begins with that the regular expression *phrase* matches, each digit
    as a zero; an empty text for what could be anything.

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
    _heads = {beginning(phrase) for each in _group["phrases"].values() for phrase in each}
    _flags = (_group["begins_text"], _group["after_a_number"])
    _KINDS.append((NOISE_PHRASES[_name].search, _heads, *_flags))
# Tells which of `NOISE_PHRASES` a text has, many times as fast as these.
SAYINGS = Phrases(_KINDS)
