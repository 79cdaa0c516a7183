"""Words for engines that cut a text only at its spaces: of scripts without spaces, where nobody
says where a word ends, each two characters that stand together are one.
"""

from __future__ import annotations

import re
from unicodedata import normalize

from contentspider.page.text import UNSPACED

WORD = re.compile(rf"[{UNSPACED}]+|[^\W_{UNSPACED}]+")
IS_UNSPACED = re.compile(rf"[{UNSPACED}]")
ACCENT = re.compile(r"[\u0300-\u036f]")
# Nobody writes longer words.
MAX_CHARS = 100
# What is searched of a query: beyond this each word costs time, and tells nothing more.
MAX_TERMS = 64


def words(text: str) -> list[str]:
    """Return the words of *text* in their order, in small letters and without accents; the single
    characters of scripts without spaces come at the end.

    >>> words("L’été à 東京都")
    ['l', 'ete', 'a', '東京', '京都', '京', '東', '都']
    """
    found: list[str] = []
    single: set[str] = set()
    for word in WORD.findall(_folded(text)):
        if IS_UNSPACED.match(word):
            found += _pairs(word)
            single.update(word)
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
        is_run = IS_UNSPACED.match(word) and len(word) > 1
        found[tuple(_pairs(word)) if is_run else (word[:MAX_CHARS],)] = None
    return list(found)[:MAX_TERMS]


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _folded(text: str) -> str:
    return normalize("NFC", ACCENT.sub("", normalize("NFKD", text))).casefold()
