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
from typing import Any, TypeAlias

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


# Enough of a phrase to tell that most texts do not have it.
MAX_BEGINNING = 8
# What a pattern is made of: groups, quantifiers, escapes, sets of characters, characters.
_PART = re.compile(r"\(\?:|\{[^}]*\}|\\.|\[(?:\\.|[^\]])*\]|.", re.DOTALL)
# The beginning of a text that matches, and whether what follows in the pattern follows it.
_Beginnings: TypeAlias = set[tuple[str, bool]]


def beginnings(phrase: str) -> set[str]:
    r"""Return what each text begins with that the regular expression *phrase* matches, any of them,
    each digit as a zero; an empty one for what could be anything.

    >>> sorted(beginnings("log ?in"))
    ['log in', 'login']
    >>> sorted(beginnings(r"(?:new )?(?:member|post)s?\b"))
    ['member', 'members', 'new memb', 'new post', 'post', 'posts']
    >>> sorted(beginnings(r"\d+ days|.x"))
    ['', '0']
    """
    parts = _PART.findall(phrase)
    found, end = _read(parts, 0)
    return {text for text, _ in found} if end == len(parts) else {""}


def _read(parts: list[str], at: int) -> tuple[_Beginnings, int]:
    """Return the beginnings of the alternatives from a part on, and where these end."""
    found: _Beginnings = set()
    heads: _Beginnings = {("", True)}
    while at < len(parts) and parts[at] != ")":
        part = parts[at]
        if part == "|":
            found |= heads
            heads = {("", True)}
            at += 1
            continue
        if part == "(?:":
            nexts, at = _read(parts, at + 1)
        else:
            nexts = {(char, char != "" or part == r"\b") for char in _characters(part)}
        at += 1
        quantifier = parts[at] if at < len(parts) else ""
        if quantifier == "?":
            nexts = nexts | {("", True)}
            at += 1
        elif quantifier in ("*", "+") or quantifier.startswith("{"):
            nexts = {(text, False) for text, _ in nexts}
            if quantifier != "+":
                nexts.add(("", True))
            at += 1
        heads = {
            ((head + text)[:MAX_BEGINNING], goes_on and len(head + text) < MAX_BEGINNING)
            for head, is_open in heads
            for text, goes_on in (nexts if is_open else {("", False)})
        }
    return found | heads, at


def _characters(part: str) -> set[str]:
    """Return the characters that a part of a pattern stands for; an empty text for none or any."""
    if part[0] == "[":
        members = re.findall(r"\\.|.", part[1:-1])
        if members[0] == "^" or "-" in members[1:-1]:
            return {""}
        return {
            char
            for each in members
            for char in (_characters(each) if each[1:] or each.isdecimal() else each)
        }
    if part[0] == "\\":
        return {"0"} if part[1] == "d" else {"" if part[1].isalnum() else part[1]}
    return {""} if part in "^$.(" else {"0" if part.isdecimal() else part}


NOISE_PHRASES: dict[str, re.Pattern[str]] = {}
_KINDS = []
for _name, _group in read_data("phrases.json").items():
    NOISE_PHRASES[_name] = compile_phrases(**_group)
    _heads = {
        head
        for phrases in _group["phrases"].values()
        for phrase in phrases
        for head in beginnings(phrase)
    }
    _KINDS.append(
        (NOISE_PHRASES[_name].search, _heads, _group["begins_text"], _group["after_a_number"])
    )
SAYINGS = Phrases(_KINDS)


def said(text: str) -> tuple[bool, ...]:
    """Tell for each of `NOISE_PHRASES` whether *text*, in lower case, has it."""
    found = SAYINGS.said(text)
    return tuple([bool(found >> kind & 1) for kind in range(SAYINGS.kinds)])
