"""Text as the rest of contentspider counts it: tokens, length, what ends a sentence."""

from __future__ import annotations

import re

# Chinese, Japanese, Korean and Thai write no spaces between words: each character is a token.
UNSPACED = r"\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
TOKEN = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
# A word of the published features, which know no unspaced scripts.
WORD = re.compile(r"\w+")
SENTENCE_END = frozenset(".!?…。！？؟।\"”»'’)")
# Four characters of spaced scripts carry about as much as one of Chinese.
WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]")

# Text of this length is somebody's sentence: two pages that have it do not have it by chance.
SENTENCE_CHARS = 60


def text_weight(text: str) -> int:
    """Return the length of *text* in characters of a spaced script (a wide character counts as
    three).
    """
    return len(text) if text.isascii() else len(text) + 2 * len(WIDE.findall(text))


def tokens(text: str) -> list[str]:
    """Return the lower-cased words of *text*; each CJK or Thai character is a token of its own."""
    return TOKEN.findall(text.lower())
