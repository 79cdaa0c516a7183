"""Finds ages in words, such as "3 days ago" and "yesterday", in the languages of Unicode CLDR.

An unchanged page says another age at each visit. The file ``words/data/ages.json`` has the words;
``benchmarks/ages.py`` writes it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.page.words.phrases import read_data

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

AGE = "\N{HOURGLASS}"
# In a longer line a word such as "today" is part of a sentence.
MAX_CHARS = 80
DEFAULT = "en"  # its ages are on pages in all languages
# A greeting tells the time of the visit.
GREETING = re.compile(
    r"(?:good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend)|bonjour|bonsoir"
    r"|buen(?:os días|as tardes|as noches)|buongiorno|buonasera|bom dia|boa (?:tarde|noite)"
    r"|goede(?:morgen|middag|navond)|god(?: morgon| middag| kväll|morgen| aften)"
    r"|dzień dobry|dobry wieczór|доброе утро|добрый (?:день|вечер))(?!\w)",
    re.IGNORECASE,
)
# Scripts without spaces between words.
UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")


def without_ages(line: str, *languages: str) -> str:
    """Return a line with the mark `AGE` in place of each age in words, and of a greeting that
    begins a short line. The *languages* are those
    that the page may be in (tags of BCP 47); English ages are found in all languages.

    >>> without_ages("Von Ada, vor 3 Tagen", "de"), without_ages("Von Ada, gestern", "de")
    ('Von Ada, ⌛', 'Von Ada, ⌛')
    """
    names = dict.fromkeys(filter(None, map(_known, (*languages, DEFAULT))))
    is_short = len(line) <= MAX_CHARS
    if is_short and (greeting := GREETING.match(line)):
        line = AGE + line[greeting.end() :]
    return _pattern(tuple(names), is_short).sub(AGE, line)


@lru_cache(1)
def _table() -> dict[str, dict[str, list[str]]]:
    languages: dict[str, dict[str, list[str]]] = read_data("ages.json")["languages"]
    return languages


@lru_cache(256)
def _known(language: str) -> str:
    """Return the language in the table that a tag names, "" if the table does not have it."""
    parts = language.replace("_", "-").split("-")
    if parts[0].lower() == "zh" and parts[-1].upper() in ("TW", "HK", "MO"):
        return "zh-Hant"
    tags = ("-".join(parts[:length]) for length in range(len(parts), 0, -1))
    lower = {name.lower(): name for name in _table()}
    return next((lower[tag.lower()] for tag in tags if tag.lower() in lower), "")


@lru_cache(64)
def _pattern(languages: Iterable[str], has_words: bool) -> re.Pattern[str]:
    patterns = []
    for name in languages:
        entry = _table()[name]
        number = _number(entry["amounts"])
        forms = [*entry["counted"], *(entry["words"] if has_words else ())]
        # Most places in a text are neither a number nor the begin of a word, and need not be
        # compared with each form.
        numbered = {_form(form[1:], number) for form in forms if form[0] == "#"}
        others = {_form(form, number) for form in forms if form[0] != "#"}
        unspaced = {form for form in others if UNSPACED.match(form)}
        patterns.append(number + _any(numbered))
        patterns.append(r"(?<!\w)" + _any(others - unspaced))
        patterns.append(_any(unspaced))
    return re.compile("|".join(patterns), re.IGNORECASE)


def _number(amounts: Collection[str]) -> str:
    """Return a pattern of a number. The *amounts* are words such as "about" or "a", which may stand
    before the digits or in their place.
    """
    spaced = [amount for amount in amounts if not UNSPACED.match(amount)]
    unspaced = [amount for amount in amounts if UNSPACED.match(amount)]
    amount = rf"(?:(?<!\w){_any(map(_literal, spaced))}|{_any(map(_literal, unspaced))})"
    return rf"(?:(?:{amount}\s?)?(?<!\d)\d+\+?|{amount})"


def _form(form: str, number: str) -> str:
    """Return a pattern of a form such as "# days ago", with the pattern *number* for its #."""
    end = "" if UNSPACED.match(form[-1]) or form[-1] == "." else r"(?!\w)"
    return number.join(map(_literal, form.split("#"))) + end


def _any(patterns: Iterable[str]) -> str:
    """Return a pattern of the first of the *patterns* that matches, the longest first."""
    return f"(?:{'|'.join(sorted(patterns, key=len, reverse=True)) or '(?!)'})"


def _literal(text: str) -> str:
    """Return a pattern of a text: any space is like any other, as are apostrophes, and dots may be
    left out.
    """
    pattern = re.escape(text).replace(r"\.", r"\.?")
    pattern = re.sub("['’]", "['’]", pattern)
    return re.sub(r"(?:\\?[\s\u00a0\u202f])+", r"\\s*", pattern)
