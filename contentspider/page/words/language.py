"""The language of a page: as a tag of BCP 47, stated or detected."""

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
# Names of languages and codes of countries that pages write in place of tags.
NAMES: dict[str, str] = {
    name: tag for tag, names in read_data("languages.json").items() for name in names
}
NO_LANGUAGE = frozenset(["und", "mul", "zxx", "mis", "root"])

# A language is told from this much text: more costs time (a millisecond a thousand characters) and
# tells no more of the corpora's pages; below the least a name or a menu entry is guessed from.
SAMPLE_CHARS = 600
MIN_CHARS = 20
# Scripts that name their language. Cyrillic, Arabic, Devanagari and Latin letters are shared.
SCRIPTS = {tag: re.compile(letters) for tag, letters in read_data("scripts.json").items()}
# What is neither Latin nor common to all scripts, such as punctuation.
OTHER_SCRIPT = re.compile("[\u0370-\u1fff\u2c00-\U0010ffff]")
# A page of one of them quotes names in Latin letters; a Latin one quotes a word of theirs.
SCRIPT_SHARE = 0.2
# Japanese texts are a third to two thirds kana; what is Chinese may quote a product's name.
KANA_SHARE = 0.05


def language_tag(text: str) -> str:
    """Return a page's stated language as a tag of BCP 47, empty if it is invalid.

    >>> [language_tag(text) for text in ("en_US.UTF-8", "English", "pt-br", "de, en", "{lang}")]
    ['en-US', 'en', 'pt-BR', 'de', '']
    """
    return _standard_tag(text[:MAX_TAG_CHARS])


@lru_cache(maxsize=1_000)  # few are in use, and pages of all sites name the same
def _standard_tag(text: str) -> str:
    name = re.split(r"[,;.@\s]", text.strip().lower(), maxsplit=1)[0]
    try:
        tag = langcodes.standardize_tag(NAMES.get(name, name))
        known = langcodes.tag_is_valid(tag)
    except ValueError:
        return ""
    return tag if known and tag not in NO_LANGUAGE else ""


def detect_language(text: str) -> str:
    """Return the tag of the language that *text* is written in, empty if nothing tells it.

    Scripts that name their language are told apart here; the others need the ``language`` extra
    (py3langid), without which they stay empty. Only the first `SAMPLE_CHARS` characters are read.
    """
    sample = text[:SAMPLE_CHARS]
    if found := script_language(sample):
        return found
    classify = _classifier() if sum(map(str.isalpha, sample)) >= MIN_CHARS else None
    # It tells Wu and Egyptian Arabic apart, which pages call Chinese and Arabic.
    return langcodes.standardize_tag(classify(sample)[0], macro=True) if classify else ""


def script_language(text: str) -> str:
    """Return the tag of the language whose script *text* is written in, empty if several use it.

    >>> [script_language(text) for text in ("여객선은 돌아온다", "フェリーは戻ります", "Паром")]
    ['ko', 'ja', '']
    """
    sample = text[:SAMPLE_CHARS]
    if not OTHER_SCRIPT.search(sample):
        return ""
    letters = sum(map(str.isalpha, sample))
    # Few characters of Chinese say as much as a line of English.
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
    try:
        from py3langid import classify
    except ImportError:
        return None
    return classify  # type: ignore[no-any-return]
