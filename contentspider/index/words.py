"""Words and stems for engines that lack an analyser for a language.

A word consists of letters, digits, and the marks that belong to them. Marks that writing may leave
out (accents, the points of Arabic and Hebrew) fall for the stored form, and the vowels of Indic
scripts stay. Chinese, Japanese, Korean, Thai, Lao, Khmer and Burmese write words without spaces. A
run of such characters becomes overlapping pairs of characters: with single characters a search for
東京 would match 京東, and a dictionary would miss words. Words of other languages are indexed
unchanged, and their Snowball stems follow after the text. A search for an unchanged word therefore
works even if the page states a wrong language.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from contentspider.page.tree.text import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    # The alternative forms of a searched word. Each form is a phrase of one or more words.
    Term = tuple[tuple[str, ...], ...]

HAN_KANA_HANGUL = (
    "\u1100-\u11ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u312f\u3131-\u318e"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U000323af"
)
# Thai, Lao, Khmer, and Burmese with its extensions: letters, and the marks above and below them.
SOUTH_EAST = (
    "\u0e01-\u0e30\u0e32\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0eb2\u0eb3\u0ebd-\u0ec6\u0edc-\u0edf"
    "\u1000-\u102a\u103f\u1050-\u1055\u105a-\u105d\u1061\u1065\u1066\u106e-\u1070\u1075-\u1081\u108e"
    "\u1780-\u17b3\u17d7\u17dc\ua9e0-\ua9e4\ua9e6-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a\uaa7e\uaa7f"
)
LETTERS = HAN_KANA_HANGUL + SOUTH_EAST
# Readers see a letter with its vowels, tones and subscript letters (Khmer, Burmese) as one unit. Of
# the characters that `split_words` leaves, only marks are neither letters nor digits.
JOINERS = "\u17d2\u1039"
UNIT = re.compile(f"[{LETTERS}](?:[^\\w\\s]|(?<=[{JOINERS}])[{LETTERS}])*")
LETTER = re.compile(f"[{LETTERS}]")
SOUTH_EAST_LETTER = re.compile(f"[{SOUTH_EAST}]")
WORD = re.compile(rf"[{LETTERS}](?:[{LETTERS}]|[^\w\s])*|[^\W{LETTERS}][^\s{LETTERS}]*")
# A raised or lowered digit or a fraction after a digit is not part of its number: 10³, 10₂, 1½.
END_OF_NUMBER = re.compile("(?<=\\d)(?=[²³¹¼-¾⁰⁴-⁹₀-₉⅐-⅞↉])")
# Older texts write the chillu letters of Malayalam as a letter, a virama and a zero-width joiner
# (Unicode Standard, section 12.9). Without the joiner these are other words.
CHILLU = re.compile("([കണനരലള])്\u200d")
CHILLU_LETTERS = dict(zip("കണനരലള", "ൿൺൻർൽൾ", strict=True))
# What writing may leave out: accents, the points of Hebrew, Arabic and Syriac, and the sign that
# stretches Arabic words. The hamza and the madda (U+0653 to 0655) belong to their letters.
OPTIONAL_MARKS = (
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
    "\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670"
    "\u06d6-\u06ed\u0730-\u074a\u08d3-\u08ff"
)
OPTIONAL = re.compile(f"[{OPTIONAL_MARKS}]")
# Signs within a word, each of which readers write in several ways, or leave out: the apostrophe of
# Ukrainian, Belarusian and others in Cyrillic, the geresh and the gershayim of Hebrew (a quote
# before the last letters, "ארה"ב", but not after a prefix, "ב"הארץ""), the middle dot between two l
# of Catalan, and the signs of Armenian above a vowel for questions and emphasis.
QUOTES = "['’‘ʼʻ`´]"
DOUBLE_QUOTES = '["”“״]'
HEBREW = "[\u05d0-\u05ea]"
INNER_SIGN = re.compile(
    f"(?<=[\u0400-\u052f]){QUOTES}(?=[\u0400-\u052f])"
    f"|(?<=[\u0591-\u05ea])(?:{QUOTES}|׳|״)(?={HEBREW})"
    f"|(?<=[\u0591-\u05ea]){DOUBLE_QUOTES}"
    f"(?={HEBREW}(?!{HEBREW})|{HEBREW}{{2,9}}(?!{HEBREW}|{DOUBLE_QUOTES}))"
    "|(?<=[lL])[·•∙](?=[lL])|[\u055b\u055c\u055e]"
)
# Letters for the apostrophe and for the glottal stop (Hawaiian, Uzbek, transcriptions of Arabic).
# Many keyboards lack them, so an apostrophe or nothing stands for them, too.
LETTER_APOSTROPHE = re.compile("[ʹʻʼʽʾʿˈˊˋ]")
# Letters that are written with others where a keyboard lacks them, and have no decomposition in
# Unicode: letters with a stroke or a hook, ligatures, and the forms of Arabic letters in Persian,
# Urdu, Sorani and others (as in Lucene's ArabicNormalizer and PersianNormalizer).
OTHER_LETTERS = str.maketrans(
    {
        **dict(zip("ıłøđðħŧŋɓɗƙƴ", "iloddhtnbdky", strict=True)),
        **dict(zip("æœþ", ("ae", "oe", "th"), strict=True)),
        **dict(zip("ٱیىکہەۂ", "اييكههه", strict=True)),
    }
)
IZAFE = re.compile("(?<=[هەہ])\u0654")
# Languages whose capitals of ı and i are I and İ (Unicode's SpecialCasing.txt).
TURKIC = frozenset(["tr", "az"])
TURKIC_CAPITALS = str.maketrans("Iİ", "ıi")
# Longer words are cut: they are addresses or data.
MAX_CHARS = 100
# Begins the word that stands for a whole text, and joins its parts. No text has it in a word.
JOINT = "\N{SYMBOL FOR UNIT SEPARATOR}"
# A query is cut after this many terms: more terms take time, and hardly change the results.
MAX_TERMS = 64
# The number of characters of a phrase that is usually a whole word. Thai and its relatives need
# more, since they write vowels as characters of their own.
PHRASE_CHARS, SOUTH_EAST_PHRASE_CHARS = 2, 4
MIN_PREFIX_CHARS = 3
# The names of Snowball's stemmers by language tag.
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


def searchable_words(text: str, language: str = "") -> list[str]:
    """Return the words of a *text* in a *language* (a BCP 47 tag) that an index stores.

    First come the words, or pairs of characters, in the order of the text, in lower case and
    without accents. Then come the stems that differ from their words, then single characters.

    >>> searchable_words("Les étés à 東京都", "fr")
    ['les', 'etes', 'a', '東京', '京都', 'le', 'ete', '京', '東', '都']
    """
    text_words: list[str] = []
    stems: list[str] = []
    characters: set[str] = set()
    name = stemmer_name(language)
    if language.partition("-")[0].lower() in TURKIC:
        text = text.translate(TURKIC_CAPITALS)
    if not text.isascii() and LETTER_APOSTROPHE.search(text):
        stems += _joined_words(text)
    for word in split_words(text):
        if not word.isascii() and LETTER.match(word):
            units = UNIT.findall(word)
            text_words += map("".join, pairwise(units))
            characters.update(units)
        else:
            forms = word_forms(word, name)
            text_words.append(forms[0])
            stems += forms[1:]
    return text_words + stems + sorted(characters)


def _joined_words(text: str) -> list[str]:
    """Return the words of a text that have letters for the apostrophe, without these letters.

    >>> _joined_words("Hawaiʻi oʻzbek")
    ['hawaii', 'ozbek']
    """
    words = (word for word in text.split() if LETTER_APOSTROPHE.search(word))
    return [
        word_forms(part, "")[0]
        for word in words
        for part in split_words(LETTER_APOSTROPHE.sub("", word))
    ]


def query_terms(query: str, languages: Sequence[str] = ()) -> list[Term]:
    """Return the terms of a query, for texts in these *languages*.

    A text matches a term if it contains any of the term's forms. Each form is a phrase: its words
    have to follow each other.

    >>> query_terms("Walking 東京都", ["en-GB"])
    [(('walking',), ('walk',)), (('東京',),), (('京都',),)]
    """
    terms: dict[Term, None] = {}
    for word in split_words(query):
        if LETTER.match(word):
            terms |= dict.fromkeys((phrase,) for phrase in pair_phrases(word))
        else:
            terms[tuple((form,) for form in _forms_in_languages(languages, word))] = None
    return list(terms)[:MAX_TERMS]


def phrase_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, or pairs of characters, as one phrase.

    >>> phrase_of("Single sign-on"), phrase_of("東京都")
    (('single', 'sign', 'on'), ('東京', '京都'))
    """
    phrase: list[str] = []
    for word in split_words(text):
        if LETTER.match(word):
            units = UNIT.findall(word)
            phrase += map("".join, pairwise(units)) if len(units) > 1 else units
        else:
            phrase.append(word_forms(word, "")[0])
    return tuple(phrase)


def whole_text(phrase: Sequence[str]) -> str:
    """Return the one word that stands for a whole text with the words *phrase* (`phrase_of`).

    An index has it beside the words of the text, so that searches find texts that are the query.

    >>> whole_text(("single", "sign", "on"))
    '␟single␟sign␟on'
    """
    return f"{JOINT}{JOINT.join(phrase)}"[:MAX_CHARS] if phrase else ""


def query_prefixes(query: str, languages: Sequence[str] = ()) -> list[str]:
    """Return for each word of a query the common prefix of its forms in these *languages*.

    Runs of scripts without spaces stay whole.

    >>> query_prefixes("Zahrady 東京都", ["cs"])
    ['zahrad', '東京都']
    """
    return [
        word if LETTER.match(word) else common_prefix(_forms_in_languages(languages, word))
        for word in split_words(query)
    ]


def common_prefix(forms: Sequence[str]) -> str:
    """Return the common prefix of the forms of a word; the first form if the prefix is too short.

    >>> common_prefix(["walking", "walk"]), common_prefix(["ferries", "ferri"])
    ('walk', 'ferr')
    >>> common_prefix(["goes", "went"])
    'goes'
    """
    prefix = min(forms, key=len)
    while not all(form.startswith(prefix) for form in forms):
        prefix = prefix[:-1]
    if len(prefix) < MIN_PREFIX_CHARS:
        return forms[0]
    # The last "i" of a stem may be a "y" in the text: ferry, ferries.
    is_shortened = prefix != forms[0] and len(prefix) > MIN_PREFIX_CHARS
    if is_shortened and prefix[-1] in "iy":
        return prefix[:-1]
    return prefix


def stemmer_name(language: str) -> str:
    """Return the name of Snowball's stemmer for a language tag, or "" if it is missing.

    >>> stemmer_name("cs-CZ"), stemmer_name("ja")
    ('czech', '')
    """
    return STEMMERS.get(language.partition("-")[0].lower(), "")


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, with accents. A run without spaces is one word.

    >>> split_words("10³ Schöne IDEEN"), split_words("हिन्दी में")
    (['10', '3', 'schöne', 'ideen'], ['हिन्दी', 'में'])
    """
    if text.isascii():
        return text.casefold().translate(WORDS).split()
    text = CHILLU.sub(lambda match: CHILLU_LETTERS[match[1]], END_OF_NUMBER.sub(" ", text))
    # NFKC splits the vowel AM of Thai and Lao in two. Keyboards type it as one character.
    text = INNER_SIGN.sub("", LETTER_APOSTROPHE.sub("'", normalize("NFKC", text)))
    text = text.replace("\u0e4d\u0e32", "\u0e33").replace("\u0ecd\u0eb2", "\u0eb3")
    return WORD.findall(text.casefold().translate(WORDS))


def pair_phrases(run: str) -> Iterator[tuple[str, ...]]:
    """Yield phrases of overlapping pairs from a run of characters without spaces.

    A text that contains the run contains all of these phrases. Each phrase is about as long as a
    word, since the ends of the words are unknown.
    """
    units = UNIT.findall(run)
    pairs = tuple(map("".join, pairwise(units))) or tuple(units)
    length = (SOUTH_EAST_PHRASE_CHARS if is_south_east_asian(run) else PHRASE_CHARS) - 1
    for start in range(max(len(pairs) - length, 0) + 1):
        yield pairs[start : start + length]


def _forms_in_languages(languages: Sequence[str], word: str) -> list[str]:
    """Return the distinct forms of a word in these languages. The unchanged word comes first."""
    names = dict.fromkeys(map(stemmer_name, ("", *languages)))
    return list(dict.fromkeys(form for name in names for form in word_forms(word, name)))


@lru_cache(maxsize=50_000)
def word_forms(word: str, name: str) -> tuple[str, ...]:
    """Return a word without accents, and its stem from the stemmer *name* if the stem differs."""
    forms = [strip_accents(word)[:MAX_CHARS] or word]
    if name and len(word) <= MAX_CHARS:
        forms.append(strip_accents(_stemmer(name).stemWord(word)) or forms[0])
    return tuple(dict.fromkeys(forms))


def is_south_east_asian(run: str) -> bool:
    """Tell whether a run is Thai, Lao, Khmer or Burmese."""
    return bool(SOUTH_EAST_LETTER.match(run))


def strip_accents(text: str) -> str:
    """Return *text*, which is in lower case, as an index stores it: without accents, points and
    other marks that writing may leave out, in the letters and digits that most keyboards have.

    >>> strip_accents("cœur"), strip_accents("søen"), strip_accents("۱۲"), strip_accents("کتابی")
    ('coeur', 'soen', '12', 'كتابي')
    """
    if text.isascii():
        return text
    text = normalize("NFC", OPTIONAL.sub("", normalize("NFD", text)))
    return IZAFE.sub("", text).translate(OTHER_LETTERS).translate(DIGITS)


class _Digits(dict[int, str]):
    """A table for `str.translate`: the decimal digits of all scripts."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        return str(int(char)) if char.isdecimal() else char


DIGITS = _Digits()


@cache
def _stemmer(name: str) -> Any:
    # `snowballstemmer.stemmer` takes PyStemmer's stemmers if that is installed, in any version. An
    # index would depend on the machine, since versions differ.
    module = import_module(f"snowballstemmer.{name}_stemmer")
    return getattr(module, f"{name.title()}Stemmer")()
