"""Finds the language of a page, declared or detected, as a BCP 47 tag."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import name as character_name

import langcodes

from contentspider.page.words.phrases import read_data

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_TAG_CHARS = 35
# Tags by names of languages and codes of countries, which some pages write instead of tags.
NAMES: dict[str, str] = {
    name: tag for tag, names in read_data("languages.json").items() for name in names
}
NO_LANGUAGE = frozenset(["und", "mul", "zxx", "mis", "root"])

# The number of characters that detection reads. More characters take more time (a millisecond per
# thousand) and give the same results on the corpora.
SAMPLE_CHARS = 600
# A shorter text may be a name or a menu entry, which is too short to detect a language.
MIN_CHARS = 20
# Scripts that only one language uses. Cyrillic, Arabic, Devanagari and Latin are left out.
SCRIPTS = {tag: re.compile(letters) for tag, letters in read_data("scripts.json").items()}
# Characters that are neither Latin nor used in all scripts, as punctuation is.
OTHER_SCRIPT = re.compile("[\u0370-\u1fff\u2c00-\U0010ffff]")
# The smallest share of a text's letters that is in its language's script. Pages in these scripts
# quote Latin names, and Latin pages quote single words in these scripts.
SCRIPT_SHARE = 0.2
# English prose has some 25 % of these words, and lists of products have few.
FREQUENT_ENGLISH = frozenset("the of and to is for that with you are by it as be from".split())
FREQUENT_SHARE = 0.03
# A text is English if both its halves have this share of them, even if the page states otherwise.
SURE_SHARE, SURE_WORDS = 0.12, 25
# The smallest share of kana in Japanese, which usually has 33 to 67 %. Chinese texts may quote the
# Japanese name of a product.
KANA_SHARE = 0.05
# A text on a page that states Chinese is Japanese if it has this share of kana. On a page that
# states Japanese, a text with so many Chinese characters and no kana is Chinese.
SURE_KANA_SHARE, SURE_CHINESE_CHARS = 0.2, 40
CHINESE_SCRIPTS = frozenset(["Hans", "Hant", "Hani"])
# Scripts of several languages, by the first word of the names of their letters.
SHARED_SCRIPTS = {
    "LATIN": "Latn",
    "CYRILLIC": "Cyrl",
    "ARABIC": "Arab",
    "DEVANAGARI": "Deva",
    "BENGALI": "Beng",
    "ETHIOPIC": "Ethi",
}
# A text is in one of them if it has at least this share of its letters.
SHARED_SCRIPT_SHARE = 0.9
# Languages that are written in several scripts (CLDR, likely subtags): any may be right.
SEVERAL_SCRIPTS = frozenset(
    "az bs cnr ha kk kok ks ku ky mn ms pa ro sd sh sr tg tk tt ug uz yue".split()
)
# Languages at this distance (CLDR's language matching) are detected in place of each other: Danish
# and Norwegian have 12, Czech and Slovak 24, Croatian and Serbian 59, most others 84.
CLOSE = 60


def language_tag(text: str) -> str:
    """Return the language that a page declares as a BCP 47 tag; an empty string if it is invalid.

    >>> [language_tag(text) for text in ("en_US.UTF-8", "English", "pt-br", "de, en", "{lang}")]
    ['en-US', 'en', 'pt-BR', 'de', '']
    """
    return _standard_tag(text[:MAX_TAG_CHARS])


@lru_cache(maxsize=1_000)  # most pages of all sites declare one of few languages
def _standard_tag(text: str) -> str:
    """Return the standard form of a declared language; an empty string if it is invalid."""
    name = re.split(r"[,;.@\s]", text.strip().lower(), maxsplit=1)[0]
    try:
        tag = langcodes.standardize_tag(NAMES.get(name, name))
        is_valid = langcodes.tag_is_valid(tag)
    except ValueError:
        return ""
    return tag if is_valid and tag not in NO_LANGUAGE else ""


def detect_language(text: str) -> str:
    """Return the BCP 47 tag of the language of *text*; an empty string if it is unknown.

    A script that only one language uses decides without a library. Other languages need the
    ``language`` extra (py3langid); without the extra they are unknown. Only the first
    `SAMPLE_CHARS` characters are read.
    """
    sample = text[:SAMPLE_CHARS]
    if tag := script_language(sample):
        return tag
    if sum(map(str.isalpha, sample)) < MIN_CHARS:
        return ""
    classify = _classifier()
    if classify is None:
        return ""
    # py3langid distinguishes Wu and Egyptian Arabic, which pages declare as Chinese and Arabic.
    return langcodes.standardize_tag(classify(sample)[0], macro=True)


def looks_english(text: str) -> bool:
    """Tell whether a text has as many of English's most frequent words as English texts have.

    >>> looks_english("The ferry to the island is late."), looks_english("Die Fähre ist da.")
    (True, False)
    """
    words = text[:SAMPLE_CHARS].lower().split()
    frequent = sum(word in FREQUENT_ENGLISH for word in words)
    return frequent >= FREQUENT_SHARE * len(words)


def is_surely_english(text: str) -> bool:
    """Tell whether a text can be in no other language than English.

    >>> is_surely_english("The ferry leaves the quay at ten and is back by the evening. " * 3)
    True
    """
    words = text[:SAMPLE_CHARS].lower().split()
    middle = len(words) // 2
    return len(words) >= SURE_WORDS and all(
        "the" in half and sum(word in FREQUENT_ENGLISH for word in half) >= SURE_SHARE * len(half)
        for half in (words[:middle], words[middle:])
    )


def language_of(stated: str, text: str) -> str:
    """Return the *stated* language (a BCP 47 tag) of a text, or the language of a *text* in
    another script than the stated language.

    >>> language_of("en-GB", "여객선은 내일 돌아온다"), language_of("el", "The ferry is late.")
    ('ko', 'en')
    >>> language_of("sr", "Trajekt kasni"), language_of("ru-Latn", "Parom opozdal k prichalu")
    ('sr', 'ru-Latn')
    """
    sample = text[:SAMPLE_CHARS]
    if found := script_language(sample):
        return found if _is_overruled(stated, found, sample) else stated
    script = shared_script(sample)
    if not script:
        return stated
    if _may_have_script(stated, script):
        is_english = stated.startswith("en") or not is_surely_english(sample)
        return stated if is_english else "en"
    if script == "Latn" and sample.isascii():
        # It may be a transcription. A detector takes it for any language.
        return "en" if looks_english(sample) else stated
    found = detect_language(sample)
    return found if found and script_of(found) == script else stated


def _is_overruled(stated: str, found: str, sample: str) -> bool:
    """Tell whether a text in the script of the language *found* cannot be in the *stated* one."""
    script, of_found = script_of(stated), script_of(found)
    if of_found in CHINESE_SCRIPTS and script == "Jpan":
        return not SCRIPTS["ja"].search(sample) and (
            len(SCRIPTS["zh"].findall(sample)) >= SURE_CHINESE_CHARS
        )
    if of_found == "Jpan" and script in CHINESE_SCRIPTS:
        kana, chinese = (len(SCRIPTS[tag].findall(sample)) for tag in ("ja", "zh"))
        return kana >= SURE_KANA_SHARE * (kana + chinese)
    if of_found in CHINESE_SCRIPTS and script in CHINESE_SCRIPTS:
        return False
    return of_found != script


def _may_have_script(language: str, script: str) -> bool:
    is_named = len(language.split("-")) > 1 and language.split("-")[1].istitle()
    may_have_others = not is_named and language.partition("-")[0] in SEVERAL_SCRIPTS
    return may_have_others or script_of(language) == script


@lru_cache(maxsize=1_000)
def script_of(language: str) -> str:
    """Return the script of a language (BCP 47 tags), as ISO 15924 names it.

    >>> script_of("cs"), script_of("sr-Latn"), script_of("zh-TW")
    ('Latn', 'Latn', 'Hant')
    """
    return langcodes.Language.get(language).maximize().script or ""


def shared_script(text: str) -> str:
    """Return the script of nearly all letters of a text, if several languages use it; else "".

    >>> shared_script("Паром идёт"), shared_script("フェリー"), shared_script("Паром 'Ferry'")
    ('Cyrl', '', '')
    """
    letters = list(filter(str.isalpha, text[:SAMPLE_CHARS]))
    if len(letters) < MIN_CHARS // 4:
        return ""
    names = Counter(character_name(letter, "").partition(" ")[0] for letter in letters)
    first, count = names.most_common(1)[0]
    return SHARED_SCRIPTS.get(first, "") if count >= SHARED_SCRIPT_SHARE * len(letters) else ""


def are_close(one: str, other: str) -> bool:
    """Tell whether a detector may take one language (BCP 47 tags) for the other.

    >>> are_close("da", "nb"), are_close("cs", "de")
    (True, False)
    """
    return langcodes.tag_distance(one, other) < CLOSE


def script_language(text: str) -> str:
    """Return the BCP 47 tag of the only language that uses the script of *text*; an empty string if
    several languages use it.

    >>> [script_language(text) for text in ("여객선은 돌아온다", "フェリーは戻ります", "Паром")]
    ['ko', 'ja', '']
    """
    sample = text[:SAMPLE_CHARS]
    if not OTHER_SCRIPT.search(sample):
        return ""
    letters = sum(map(str.isalpha, sample))
    # A few Chinese characters are as informative as a line of English.
    if letters * 4 < MIN_CHARS:
        return ""
    counts = Counter({tag: len(script.findall(sample)) for tag, script in SCRIPTS.items()})
    asian = counts["zh"] + counts["ja"]
    if asian >= SCRIPT_SHARE * letters:
        return "ja" if counts["ja"] >= KANA_SHARE * asian else "zh"
    tag, count = counts.most_common(1)[0]
    return tag if count >= SCRIPT_SHARE * letters and tag not in ("ja", "zh") else ""


@lru_cache(maxsize=1)
def _classifier() -> Callable[[str], tuple[str, float]] | None:
    """Return py3langid's function; None if it is not installed."""
    try:
        from py3langid import classify
    except ImportError:
        return None
    return classify  # type: ignore[no-any-return]
