"""Cleans, splits and measures text: white space, tokens, weight, ends of sentences."""

from __future__ import annotations

import re

# Chinese, Japanese, Korean and Thai are written without spaces: each character is a token.
UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
# A word in the published features, which treat a text without spaces as one word.
WORD = re.compile(r"\w+")
SENTENCE_END = frozenset(".!?…。！？؟।\"”»'’)")
# Chinese, Japanese and Korean characters: one says about as much as three Latin letters.
WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
# Soft hyphen, zero-width space, word joiner, byte order mark. The zero-width joiners are left out,
# since Persian needs them.
INVISIBLE = "\xad\u200b\u2060\ufeff"

# Two pages with the same text of at least this length do not have it by coincidence.
SENTENCE_CHARS = 60


def _without_invisible(text: str) -> str:
    """Return *text* without the characters in `INVISIBLE`."""
    if not text.isascii():
        for character in INVISIBLE:  # `str.translate` would take 20 times as long
            text = text.replace(character, "")
    return text


def clean_text(text: str) -> str:
    """Return *text* with white space folded to single spaces and invisible characters removed."""
    return " ".join(_without_invisible(text).split())


def clean_preformatted(text: str) -> str:
    """Return preformatted *text* without invisible characters, trailing spaces, and blank lines at
    its beginning and end. Line breaks and indentation stay.
    """
    lines = [line.rstrip() for line in _without_invisible(text).splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    # One slice, because deleting half a million blank lines one by one takes minutes.
    first = next((number for number, line in enumerate(lines) if line), 0)
    return "\n".join(lines[first:])


def text_weight(text: str) -> int:
    """Return the length of *text*; characters in `WIDE`, such as Chinese, count three times."""
    if text.isascii():
        return len(text)
    return len(text) + 2 * sum(run.end() - run.start() for run in WIDE.finditer(text))


def tokens(text: str) -> list[str]:
    """Return the words of *text* in lower case. Each CJK or Thai character is a separate token."""
    return TOKEN.findall(text.lower())
