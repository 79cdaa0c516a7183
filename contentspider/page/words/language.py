"""Finds the language of a page, declared or detected, as a BCP 47 tag."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

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
# The smallest share of kana in Japanese, which usually has 33 to 67 %. Chinese texts may quote the
# Japanese name of a product.
KANA_SHARE = 0.05


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
