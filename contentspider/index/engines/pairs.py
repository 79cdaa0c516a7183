"""Words for engines whose own way to cut texts depends on the server's locale, or knows none of
many languages: what they get has nothing but letters, digits and spaces in it.
"""

from __future__ import annotations

import re
from itertools import pairwise
from unicodedata import normalize

from contentspider.index.words import LETTERS, RUN, UNIT, UNSEEN, is_cjk

WORD = re.compile(rf"{RUN.pattern}|[^\W_{LETTERS}]+")
ACCENT = re.compile(r"[\u0300-\u036f]")
# Nobody writes longer words.
MAX_CHARS = 100
# What is searched of a query: beyond this each word costs time, and tells nothing more.
MAX_TERMS = 64


def words(text: str) -> list[str]:
    """Return the words of *text* in their order, in small letters and without accents; of scripts
    without spaces pairs of characters (see `contentspider.index.words`), and at the end the single
    ones.

    >>> words("L’été à 東京都")
    ['l', 'ete', 'a', '東京', '京都', '京', '東', '都']
    """
    found: list[str] = []
    single: set[str] = set()
    for word in WORD.findall(_folded(text)):
        if is_cjk(word):
            units = UNIT.findall(word)
            found += map("".join, pairwise(units))
            single.update(units)
        else:
            found.append(word[:MAX_CHARS])
    return found + sorted(single)


def terms(query: str) -> list[tuple[str, ...]]:
    """Return what is searched: each term is a word, or several that stand in a row.

    >>> terms("Über 東京都 都")
    [('uber',), ('東京', '京都'), ('都',)]
    """
    found: dict[tuple[str, ...], None] = {}
    for word in WORD.findall(_folded(query)):
        if is_cjk(word):
            units = UNIT.findall(word)
            found[tuple(map("".join, pairwise(units))) or tuple(units)] = None
        else:
            found[(word[:MAX_CHARS],)] = None
    return list(found)[:MAX_TERMS]


def _folded(text: str) -> str:
    bare = ACCENT.sub("", normalize("NFKD", UNSEEN.sub("", text)))
    return normalize("NFC", bare).casefold()
