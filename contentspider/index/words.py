"""Words for engines that know of none in texts without spaces, and snippets that show them.

Chinese, Japanese, Thai, Lao, Khmer and Burmese are written without spaces, and Korean words carry
their particles: an engine that cuts at spaces finds nothing in them. So runs of these scripts are
cut into overlapping pairs of characters (bigrams), each a word to the engine: a query of two
characters is one of its words, and longer ones are several that stand together. Single characters
would find 京東 for 東京; words out of a dictionary would miss the words that are not in it.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Snippets: what is looked for, and where, is bounded, however long a page or a query is.
MAX_TERMS = 32
MAX_TRIES = 20_000
# A cut that would go through a longer word (an address, a hash) goes through it.
MAX_WORD_CHARS = 40
# "walk" is marked in "walking" as well: engines that stem find it by that.
MIN_STEM_CHARS, MAX_ENDING_CHARS = 4, 3

HAN_KANA_HANGUL = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U000323af"
)
# Thai, Lao, Khmer, and Burmese with its extensions.
SOUTH_EAST = (
    (0x0E00, 0x0EFF),
    (0x1780, 0x17FF),
    (0x1000, 0x109F),
    (0xA9E0, 0xA9FF),
    (0xAA60, 0xAA7F),
)


def _of_category(category: str) -> str:
    return "".join(
        chr(code)
        for first, last in SOUTH_EAST
        for code in range(first, last + 1)
        if unicodedata.category(chr(code))[0] == category
    )


LETTERS = HAN_KANA_HANGUL + _of_category("L")
MARKS = "\u3099\u309a" + _of_category("M")
# A character with its vowels, tones and what stands below it (Khmer, Burmese) is one to a reader.
JOINERS = "\u17d2\u1039\u200d"
UNIT = re.compile(f"[{LETTERS}](?:[{MARKS}]|(?<=[{JOINERS}])[{LETTERS}])*")
RUN = re.compile(f"[{LETTERS}][{LETTERS}{MARKS}]*")
LETTER = re.compile(f"[{LETTERS}]")
# Where a line may break, and which form of a character is meant: not part of a word.
UNSEEN = re.compile("[\u00ad\u200b\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")
HALF_WIDTH = re.compile("[\uff66-\uffdc]+")
SPACES = re.compile(r"\s+")


def is_cjk(text: str) -> bool:
    """Tell whether there is anything in *text* that is cut into pairs of characters.

    >>> is_cjk("Tokyo 東京"), is_cjk("ราคา"), is_cjk("Москва")
    (True, True, False)
    """
    return not text.isascii() and bool(LETTER.search(text))


def segmented(text: str) -> str:
    """Return *text* with runs of Han, Kana, Hangul, Thai, Lao, Khmer and Burmese cut into pairs of
    characters, as an engine has to be given it; other words are kept as they are.

    A run's last character is there alone, too: so each character begins a word, and a query of one
    finds it as a prefix. Text comes back in the compatibility form (NFKC), so that full-width
    letters are letters. The engine's tokenizer must take marks (Unicode's M categories) to be part
    of words: unicode61 of SQLite does if told to.

    >>> segmented("ＡＢＣ株式会社 2026年")
    'ABC 株式 式会 会社 社 2026 年'
    """
    if text.isascii():
        return text
    text = _normal(text)
    parts: list[str] = []
    end = 0
    for run in RUN.finditer(text):
        units = UNIT.findall(run[0])
        parts += (text[end : run.start()], *_pairs(units), units[-1])
        end = run.end()
    parts.append(text[end:])
    return " ".join(filter(None, map(str.strip, parts)))


def query_terms(text: str) -> list[str]:
    """Return the terms of a query, each once, cut like `segmented` text; a term of one CJK
    character is to be asked for as a prefix (`is_prefix`).

    A term may have punctuation inside ("node.js", "don't"), which the engine cuts as it did in the
    text, but it begins and ends with a letter or a number.

    >>> query_terms('東京都 "node.js" (Zürich')
    ['東京', '京都', 'node.js', 'Zürich']
    """
    terms: dict[str, None] = {}
    text = _normal(text)
    end = 0
    for run in RUN.finditer(text):
        units = UNIT.findall(run[0])
        terms.update(dict.fromkeys(_spaced(text[end : run.start()])))
        terms.update(dict.fromkeys(_pairs(units) if len(units) > 1 else units))
        end = run.end()
    terms.update(dict.fromkeys(_spaced(text[end:])))
    return list(terms)


def is_prefix(term: str) -> bool:
    """Tell whether a query's term is one CJK character: words of the text only begin with it.

    >>> [is_prefix(term) for term in ("東", "東京", "a")]
    [True, False, False]
    """
    return bool(UNIT.fullmatch(term))


def snippet(text: str, terms: Sequence[str], chars: int = 240) -> list[tuple[str, bool]]:
    """Return the part of *text* that shows most of the *terms* of a query, at most about *chars*
    characters of it, as pieces of which those that are terms are marked (True).

    Upper case and accents make no difference. Where nothing is found, it is the text's beginning.
    What was left out before or behind is shown as "…"; white space is one space.

    >>> snippet("Das Café in Köln, wo wir waren.", ["cafe", "koln"], 19)
    [('…', False), ('Café', True), (' in ', False), ('Köln', True), (', wo…', False)]
    """
    text = UNSEEN.sub("", SPACES.sub(" ", unicodedata.normalize("NFC", text.strip())))
    text = HALF_WIDTH.sub(lambda run: unicodedata.normalize("NFKC", run[0]), text)
    folded = _fold(text)
    marks = sorted(
        (start, end, number)
        for number, term in enumerate(terms[:MAX_TERMS])
        for start, end in _matches(folded, _fold(term))
    )
    start, end = _window(text, marks, chars)
    pieces = [("…", False)] if start else []
    at = start
    for first, last, _ in marks:
        if last > end:
            continue
        if first > at:
            pieces.append((text[at:first], False))
        if last > at and first >= start:
            pieces.append((text[max(first, at) : last], True))
            at = last
    pieces += [(text[at:end], False), ("…" if end < len(text) else "", False)]
    return _joined(pieces)


def _normal(text: str) -> str:
    # The compatibility form takes Thai's and Lao's AM apart, which nobody types so.
    text = unicodedata.normalize("NFKC", UNSEEN.sub("", text))
    return text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")


def _pairs(units: Sequence[str]) -> list[str]:
    return [first + second for first, second in pairwise(units)]


def _spaced(text: str) -> Iterator[str]:
    """Yield the words between spaces, without the punctuation around them."""
    for word in text.split():
        inside = [at for at, char in enumerate(word) if unicodedata.category(char)[0] in "LNM"]
        if inside:
            yield word[inside[0] : inside[-1] + 1]


class _Folding(dict[int, int]):
    """Characters in lower case and without accents, each as one: what is found in the folded text
    is at the same place in the text.
    """

    def __missing__(self, code: int) -> int:
        char = chr(code)
        bare = re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFKD", char)).casefold()
        # Kana and Hangul are no letters with accents.
        composed = unicodedata.normalize("NFKC", bare)
        self[code] = ord(composed) if len(composed) == 1 else code
        return self[code]


FOLDING = _Folding()


def _fold(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(FOLDING)


def _matches(text: str, term: str) -> Iterator[tuple[int, int]]:
    """Yield where *term* stands as a word of *text*, in any place where words are not told apart,
    or with an ending.
    """
    anywhere = LETTER.match(term)
    spare = MAX_ENDING_CHARS if len(term) >= MIN_STEM_CHARS else 0
    start = text.find(term) if term else -1
    for _ in range(MAX_TRIES):
        if start < 0:
            return
        end = start + len(term)
        if anywhere:
            yield start, end
        elif not (start and text[start - 1].isalnum()):
            word_end = end
            while word_end <= end + spare and _goes_on(text, word_end):
                word_end += 1
            if word_end <= end + spare:
                yield start, word_end
        start = text.find(term, start + 1)


def _goes_on(text: str, at: int) -> bool:
    """Tell whether the word before *at* has a further letter there."""
    return at < len(text) and text[at].isalnum() and not LETTER.match(text[at])


def _window(text: str, marks: list[tuple[int, int, int]], chars: int) -> tuple[int, int]:
    """Return the beginning and the end of the part with the most different terms, of those the one
    with most marks, of those the first.
    """
    if len(text) <= chars:
        return 0, len(text)
    best, span = (0, 0), (0, 0)
    counts: dict[int, int] = {}
    last = 0
    for first, (start, _, number) in enumerate(marks):
        while last < len(marks) and (marks[last][1] <= start + chars or last <= first):
            counts[marks[last][2]] = counts.get(marks[last][2], 0) + 1
            last += 1
        if (len(counts), last - first) > best:
            best, span = (len(counts), last - first), (start, marks[last - 1][1])
        counts[number] -= 1
        if not counts[number]:
            del counts[number]
    # What is left of the room is put around the terms, less before them than behind.
    start = max(0, min(span[0] - max(chars - (span[1] - span[0]), 0) // 3, len(text) - chars))
    end = max(min(start + chars, len(text)), span[1])
    start = _break(text, start, range(start, min(start + MAX_WORD_CHARS, span[0] + 1)))
    end = _break(text, end, range(end, max(end - MAX_WORD_CHARS, span[1] - 1), -1))
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _break(text: str, default: int, places: Iterable[int]) -> int:
    """Return the first of *places* where *text* can be cut without cutting a word."""
    for at in places:
        if at in (0, len(text)):
            return at
        before, behind = text[at - 1], text[at]
        if unicodedata.category(behind)[0] == "M" or before in JOINERS or behind in JOINERS:
            continue
        if not (before.isalnum() and behind.isalnum()) or LETTER.match(before):
            return at
    return default


def _joined(pieces: Iterable[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """Return the pieces without empty ones, neighbours of a kind as one."""
    joined: list[tuple[str, bool]] = []
    for text, is_marked in pieces:
        if joined and joined[-1][1] == is_marked:
            text = joined.pop()[0] + text
        if text:
            joined.append((text, is_marked))
    return joined
