"""What boilerplate says of itself, in the web's most frequent languages: ``data/phrases.json``.

The file groups phrases by what they tell (``related``, ``comment``, ...), and in a group by
language. A phrase is a regular expression for texts in lower case (to match without regard to case
takes five times as long): anywhere in a text, or only where it *begins_text* (behind anything that
is no letter or digit; *after_a_number* allows for "12 comments"), and as *whole_words* or as the
beginning of longer ones.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any


def read_data(name: str) -> Any:
    """Return what a JSON file of the package's data says."""
    return json.loads(files("contentspider.page").joinpath("data", name).read_text("utf-8"))


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


NOISE_PHRASES: dict[str, re.Pattern[str]] = {
    name: compile_phrases(**group) for name, group in read_data("phrases.json").items()
}


# Two patterns tell of most texts that they say nothing of the kind, in a quarter of the time. The
# second is one flat list of phrases: of such a one the engine knows with what letters they begin.
_BEGINNINGS = re.compile(
    "|".join(each.pattern for each in NOISE_PHRASES.values() if each.pattern[0] == "^")
)
_ANYWHERE = re.compile(
    "|".join(
        phrase + (r"\b" if group["whole_words"] else "")
        for group in read_data("phrases.json").values()
        if not group["begins_text"]
        for phrases in group["phrases"].values()
        for phrase in phrases
    )
)
SILENT = (False,) * len(NOISE_PHRASES)


def said(text: str) -> tuple[bool, ...]:
    """Tell for each of `NOISE_PHRASES` whether *text*, in lower case, has it."""
    if not _BEGINNINGS.match(text) and not _ANYWHERE.search(text):
        return SILENT
    return tuple([pattern.search(text) is not None for pattern in NOISE_PHRASES.values()])
