"""How contentspider cleans, splits and measures text."""

from __future__ import annotations

import re

# Chinese, Japanese, Korean and Thai write no spaces between words: each character is a token.
UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
# A word as the features of published papers count it: a run of letters in any script.
WORD = re.compile(r"\w+")
SENTENCE_END = frozenset(".!?…。！？؟।\"”»'’)")
# Scripts in which a character says about as much as three or four letters.
WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
# Soft hyphen, zero-width space, word joiner, byte order mark; Persian needs ZWNJ and ZWJ.
INVISIBLE = "\xad\u200b\u2060\ufeff"

# Two pages do not share a text of this length by chance.
SENTENCE_CHARS = 60


def _without_invisible(text: str) -> str:
    if not text.isascii():
        for character in INVISIBLE:  # `str.translate` would take 20 times as long
            text = text.replace(character, "")
    return text


def clean_text(text: str) -> str:
    """Return *text* with white space folded to single spaces and invisible characters removed."""
    return " ".join(_without_invisible(text).split())


def clean_preformatted(text: str) -> str:
    """Return *text* with its lines and indentation, without blank first and last lines."""
    lines = [line.rstrip() for line in _without_invisible(text).splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    # Deleting half a million blank lines from the front one by one would take minutes.
    first = next((number for number, line in enumerate(lines) if line), 0)
    return "\n".join(lines[first:])


def text_weight(text: str) -> int:
    """Return the length of *text* in characters; Chinese, Japanese and Korean ones count thrice."""
    if text.isascii():
        return len(text)
    return len(text) + 2 * sum(run.end() - run.start() for run in WIDE.finditer(text))


def tokens(text: str) -> list[str]:
    """Return the lower-cased words of *text*; each CJK or Thai character is a token of its own."""
    return TOKEN.findall(text.lower())
