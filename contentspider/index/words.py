"""Words and stems for engines that have no analyser of their own for a language.

Runs of Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese, without spaces, become overlapping
pairs of characters: single ones would find 京東 for 東京, and a dictionary would miss words. Other
words are there as they are and, behind the text, by their stems (Snowball), so that a text is
found even if its language was told wrong.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    # The forms of a word, each a word or several that stand in a row.
    Term = tuple[tuple[str, ...], ...]

HAN_KANA_HANGUL = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U000323af"
)
# Thai, Lao, Khmer, and Burmese with its extensions: letters, and the marks above and below them.
SOUTH_EAST = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf\u0f00"
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"
    "\u1780-\u17b3\u17d7\u17dc\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e\uaa7f"
)
MARKS = (
    "\u3099\u309a\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u102b-\u103e"
    "\u1056-\u1059\u105e-\u1060\u1062-\u1064\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d"
    "\u17b4-\u17d3\u17dd\ua9e5\uaa7b-\uaa7d"
)
LETTERS = HAN_KANA_HANGUL + SOUTH_EAST
# A character with its vowels, tones and what stands below it (Khmer, Burmese) is one to a reader.
JOINERS = "\u17d2\u1039\u200d"
UNIT = re.compile(f"[{LETTERS}](?:[{MARKS}]|(?<=[{JOINERS}])[{LETTERS}])*")
LETTER = re.compile(f"[{LETTERS}]")
SOUTH_EAST_LETTER = re.compile(f"[{SOUTH_EAST}]")
WORD = re.compile(rf"[{LETTERS}][{LETTERS}{MARKS}]*|[^\W_{LETTERS}]+")
# Where a line may break, and which form of a character is meant: not part of a word.
UNSEEN = re.compile("[\u00ad\u200b\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")
ACCENT = re.compile("[\u0300-\u036f]")
# Nobody writes longer words.
MAX_CHARS = 100
# What is searched of a query: beyond this each word costs time, and tells nothing more.
MAX_TERMS = 64
# Words of two characters are words mostly; in Thai, where vowels are characters, those of four.
ROW, SOUTH_EAST_ROW = 2, 4
MIN_ROOT_CHARS = 3
# What Snowball's stemmers, and PostgreSQL's configurations, are called, by the language's tag.
STEMMERS = dict(
    entry.split(":")
    for entry in (
        "ar:arabic ca:catalan cs:czech da:danish de:german el:greek en:english es:spanish"
        " et:estonian eu:basque fi:finnish fr:french ga:irish hi:hindi hu:hungarian hy:armenian"
        " id:indonesian it:italian lt:lithuanian nb:norwegian ne:nepali nl:dutch nn:norwegian"
        " no:norwegian pl:polish pt:portuguese ro:romanian ru:russian sr:serbian sv:swedish"
        " ta:tamil tr:turkish"
    ).split()
)


def words(text: str, language: str = "") -> list[str]:
    """Return what is searched of a *text* in a *language* (a tag of BCP 47): its words (or pairs
    of characters) in their order, in small letters and without accents; then the stems that are
    other words; then the single characters.

    >>> words("Les étés à 東京都", "fr")
    ['les', 'etes', 'a', '東京', '京都', 'le', 'ete', '京', '東', '都']
    """
    found: list[str] = []
    stems: list[str] = []
    single: set[str] = set()
    name = stemmer_of(language)
    for word in split(text):
        if not word.isascii() and LETTER.match(word):
            units = UNIT.findall(word)
            found += map("".join, pairwise(units))
            single.update(units)
        else:
            forms = forms_of(word, name)
            found.append(forms[0])
            stems += forms[1:]
    return found + stems + sorted(single)


def terms(query: str, languages: Sequence[str] = ()) -> list[Term]:
    """Return what is searched in texts of these *languages*: of each term the forms of which one
    does, each a word, or several that stand in a row.

    >>> terms("Walking 東京都", ["en-GB"])
    [(('walking',), ('walk',)), (('東京',),), (('京都',),)]
    """
    found: dict[Term, None] = {}
    for word in split(query):
        if LETTER.match(word):
            found |= dict.fromkeys((row,) for row in rows(word))
        else:
            found[tuple((form,) for form in _forms_in(languages, word))] = None
    return list(found)[:MAX_TERMS]


def roots(query: str, languages: Sequence[str] = ()) -> list[str]:
    """Return what the words of a query and their other forms in these *languages* begin with; runs
    of scripts without spaces as they are.

    >>> roots("Zahrady 東京都", ["cs"])
    ['zahrad', '東京都']
    """
    return [
        word if LETTER.match(word) else root(_forms_in(languages, word)) for word in split(query)
    ]


def root(forms: Sequence[str]) -> str:
    """Return what the forms of a word begin with.

    >>> root(["walking", "walk"]), root(["ferries", "ferri"]), root(["goes", "went"])
    ('walk', 'ferr', 'goes')
    """
    found = min(forms, key=len)
    while not all(form.startswith(found) for form in forms):
        found = found[:-1]
    if len(found) < MIN_ROOT_CHARS:
        return forms[0]
    # A stem's last "i" may be a "y" in the text: ferry, ferries.
    is_open = found != forms[0] and len(found) > MIN_ROOT_CHARS and found[-1] in "iy"
    return found[:-1] if is_open else found


def stemmer_of(language: str) -> str:
    """Return what the stemmer of a language is called, "" if there is none.

    >>> stemmer_of("cs-CZ"), stemmer_of("ja")
    ('czech', '')
    """
    return STEMMERS.get(language.partition("-")[0].lower(), "")


def split(text: str) -> list[str]:
    """Return the words, and runs without spaces, of a text in small letters, with accents."""
    if not text.isascii():
        # The compatibility form takes Thai's and Lao's AM apart, which nobody types so.
        text = normalize("NFKC", UNSEEN.sub("", text))
        text = text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")
    return WORD.findall(text.casefold())


def rows(run: str) -> Iterator[tuple[str, ...]]:
    """Yield the pairs of a run that have to stand in a row: nobody says where its words end."""
    units = UNIT.findall(run)
    pairs = tuple(map("".join, pairwise(units))) or tuple(units)
    length = (SOUTH_EAST_ROW if is_south_east(run) else ROW) - 1
    for start in range(max(len(pairs) - length, 0) + 1):
        yield pairs[start : start + length]


def _forms_in(languages: Sequence[str], word: str) -> list[str]:
    """Return the different forms of a word in these languages, as it is first."""
    names = dict.fromkeys(map(stemmer_of, ("", *languages)))
    return list(dict.fromkeys(form for name in names for form in forms_of(word, name)))


@lru_cache(maxsize=50_000)
def forms_of(word: str, name: str) -> tuple[str, ...]:
    """Return a word without accents, and its stem by the stemmer with this *name* if it differs."""
    forms = [bare(word)[:MAX_CHARS]]
    if name and len(word) <= MAX_CHARS:
        forms.append(bare(_stemmer(name).stemWord(word)) or forms[0])
    return tuple(dict.fromkeys(forms))


def is_south_east(run: str) -> bool:
    """Tell whether a run is Thai, Lao, Khmer or Burmese."""
    return bool(SOUTH_EAST_LETTER.match(run))


def bare(text: str) -> str:
    """Return *text* without accents."""
    return text if text.isascii() else normalize("NFC", ACCENT.sub("", normalize("NFD", text)))


@cache
def _stemmer(name: str) -> Any:
    from snowballstemmer import stemmer  # all of them: some 20 ms

    return stemmer(name)
