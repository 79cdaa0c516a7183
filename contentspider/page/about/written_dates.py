"""Finds dates that pages write for readers, in the languages of Unicode CLDR.

A date is the day, the name of a month and the year, in any order that CLDR has, or three numbers
whose order is certain. The names of months are in the page's language, or else in the
frequent languages if these agree: ``listopada`` is October in Croatian and November in Polish, so
on a page in neither language it is not a date. The file ``words/data/months.json`` has the names;
``benchmarks/dates.py`` writes it.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.about.calendars import (
    BUDDHIST_YEARS,
    MINGUO_YEARS,
    PERSIAN_NAMES,
    from_japanese,
    from_persian,
)
from contentspider.page.about.dates import MAX_DATE_CHARS, parse_date
from contentspider.page.words.phrases import read_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_DATA = read_data("months.json")
FREQUENT_MONTHS: dict[str, int] = _DATA["frequent"]
MONTHS_OF: dict[str, dict[str, int]] = _DATA["languages"]
WEEKDAYS: dict[str, str] = _DATA["weekdays"]

# A year, or a year of an era: Buddhist (25xx), Persian (13xx and 14xx), Japanese, and of the
# Republic of China.
YEAR = re.compile(
    r"(?<!\d)(?:(?P<year>(?:19|20)\d\d)|(?P<other>(?:13|14|25)\d\d))(?!\d)"
    r"|(?P<era>令和|平成|民國|民国)\s*(?P<count>\d{1,3}|元)(?=\s*年)"
)
MAY_HAVE_YEAR = re.compile(r"\d{4}|令和|平成|民[國国]")  # most texts do not match
OTHER_DIGITS = re.compile(r"[^\D0-9]")
REACH = 48  # the number of characters between a year and the rest of its date, at most
MAX_MONTH_WORDS = 3  # "Deireadh Fómhair" is October in Irish
# "31. Oktober ", "31 de octubre de ", "October 31st, " before a year: a number, and its rest.
NUMBER_BEFORE = re.compile(r"(?<!\d)(?P<day>\d{1,2})(?P<rest>\D{1,40})$")
# "31.10." and "31. 10. " before a year, where the day always comes first; "31 tháng 10 năm ".
NUMBERS_BEFORE = (
    re.compile(r"(?<![\w/.-])(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?$"),
    re.compile(
        r"(?<![\d.,:/-])(?P<day>\d{1,2})\s+(?:tháng|thg)\s+(?P<month>\d{1,2})(?:,\s*|\s+năm\s+|\s+)$",
        re.IGNORECASE,
    ),
)
# "年10月31日", "-10-31", ". 10. 31." after a year, where the month always comes first.
NUMBERS_AFTER = (
    re.compile(r"\s*[年년]\s*(?P<month>[01]?\d)\s*[月월]\s*(?P<day>[0-3]?\d)"),
    re.compile(r"(?P<mark>[-/.])(?P<month>[01]?\d)(?P=mark)(?P<day>[0-3]?\d)(?![\d/-])"),
    re.compile(r"\. (?P<month>[01]?\d)\. (?P<day>[0-3]?\d)(?=\.|\s|$)"),
)
# ". október 31.", " m. spalio 31 d.", ". gada 31. oktobris" after a year.
NUMBER_AFTER = re.compile(
    r"(?P<rest>\D{1,40}?)(?P<day>\d{1,2})(?![\d:/])(?P<tail>\D{0,30})(?P<next>\d{0,4})"
)
# "31 May 2012-2013", version "1.2.2013.4"; a letter may follow: "29 noyabr 2025-ci il".
NO_DATE_AFTER = re.compile(r"-(?![^\W\d])|\.\d")
SPACES = re.compile(r"[\s,،]+")
MARKS = "\u200e\u200f.,،/-"
# Words between a day, its month and its year, which are not part of the month's name.
LINKS = frozenset(
    "de del do da di o of du den dal su m г р gada година год ж жылғы оны թ i na ne ko eko yil"
    " yilgi йил พ.ศ ค.ศ".split()
)
# Endings of ordinal numbers: "1er", "5ú", "5ed", "1:a", "5-a".
AFTER_DAY = frozenset(
    "st nd rd th er ᵉʳ re e º ª ° mh ú af il ail ain ydd ed eg fed a an :a :e ste de го".split()
)
# Words that say that the number before them is a year, so that a day may follow.
YEAR_WORDS = frozenset("gada ж mettas жылы жылғы yil yilgi йил".split())
LINK_LETTERS = re.compile(r"\bd['’](?=\w)|\bta['’]\s*|\(e\)ko\b", re.IGNORECASE)
# Marks over letters, which some writers leave out, and signs of the direction of writing.
LEFT_OUT = re.compile("[\u0300-\u036f\u200c-\u200f\u061c]+")
SAME_LETTERS = str.maketrans("ıيك", "iیک")
THAI = re.compile("[\u0e00-\u0e7f]")
# "3/4/2013", "13.2.2013": whether the day or the month comes first depends on the site.
NUMERIC = re.compile(
    r"(?<![\d/.-])(?P<first>[0-3]?\d)[/.-](?P<second>[0-3]?\d)[/.-](?P<year>(?:19|20)\d\d)(?![\d/-])"
)
# The forms of the dates of `dates_in`.
WRITTEN, DAY_FIRST, MONTH_FIRST = "written", "day first", "month first"


class WrittenDate(NamedTuple):
    """A date in ISO 8601, and its character range in the text."""

    date: str
    start: int
    end: int


class _Parts(NamedTuple):
    """A month and a day, and their character range in the text. *is_persian* tells that the month
    is one of the Persian calendar.
    """

    month: int
    day: int
    start: int
    end: int
    is_persian: bool = False


def month_key(name: str) -> str:
    """Return a month's name without marks over its letters, in lower case, for comparisons.

    >>> month_key("Août"), month_key("ΝΟΕΜΒΡΊΟΥ"), month_key("Şub.")
    ('aout', 'νοεμβριου', 'sub')
    """
    letters = LEFT_OUT.sub("", unicodedata.normalize("NFKD", name)).casefold()
    return " ".join(LEFT_OUT.sub("", letters).translate(SAME_LETTERS).split()).rstrip(".")


PERSIAN_MONTHS = {
    month_key(name): number
    for names in PERSIAN_NAMES
    for number, name in enumerate(names.split(), 1)
}


@lru_cache(maxsize=4_096)
def month_of(name: str, language: str = "") -> int:
    """Return the number of a month by its name or abbreviation on a page in a *language* (a tag of
    BCP 47, "" if unknown); 0 if it is none, or if frequent languages read it differently.

    >>> [month_of("listopada", language) for language in ("hr", "pl-PL", "en", "")]
    [10, 11, 0, 0]
    """
    key = month_key(name)
    tag = language.split("-")
    for own in ("-".join(tag[:2]), tag[0]):
        if own in MONTHS_OF and key in MONTHS_OF[own]:
            return MONTHS_OF[own][key]
    return FREQUENT_MONTHS.get(key, 0)


def names_weekday(word: str, day: str) -> bool:
    """Tell whether a word names the weekday of a *day* (ISO 8601), in any language.

    >>> [names_weekday(word, "2026-11-29") for word in ("Sunday", "dim.", "Montag", "Closed")]
    [True, True, False, False]
    """
    return str(date.fromisoformat(day).weekday()) in WEEKDAYS.get(month_key(word), "")


def find_dates(text: str, now: datetime | None = None, language: str = "") -> Iterator[WrittenDate]:
    """Yield the days that *text* names, within the bounds that `parse_date` sets by *now*.

    *language* is the page's (a tag of BCP 47, "" if unknown). Ambiguous dates (``3/4/2013`` may be
    in March or April) are left out.

    >>> [day.date for day in find_dates("Von Ada am 3. März 2013, geändert 31.10.2013")]
    ['2013-03-03', '2013-10-31']
    """
    if not MAY_HAVE_YEAR.search(text):
        return
    if not text.isascii():
        text = OTHER_DIGITS.sub(lambda match: str(int(match[0])), text)
    end = 0
    for year in YEAR.finditer(text):
        parts = None if year["era"] else _before(text, year, language)
        parts = parts or _after(text, year, language)
        if parts is None or parts.start < end:
            continue
        start, stop = min(parts.start, year.start()), max(parts.end, year.end())
        day = _gregorian(year, parts, language, is_thai=bool(THAI.search(text, start, stop)))
        if day and (found := parse_date(day, now)):
            yield WrittenDate(found, start, stop)
            end = stop


def _before(text: str, year: re.Match[str], language: str) -> _Parts | None:
    """Return the month and the day that stand before a *year*."""
    end = year.start()
    if NO_DATE_AFTER.match(text, year.end()):
        return None
    start = max(0, end - REACH)
    window = text[start:end]
    for pattern in NUMBERS_BEFORE:
        if match := pattern.search(window):
            return _Parts(int(match["month"]), int(match["day"]), start + match.start(), end)
    match = NUMBER_BEFORE.search(window)
    if match is None:
        return None
    before, day = window[: match.start()], int(match["day"])
    words = _words(match["rest"])
    if words:
        if before[-1:] in tuple(".,:/-") and not before.endswith("ה-"):  # "on the" in Hebrew
            return None
        return _named(" ".join(words), language, day, start + match.start(), end)
    if not before[-1:].isspace():
        return None
    # The day follows its month: "October 31st, ".
    words = before.rsplit(maxsplit=MAX_MONTH_WORDS)[-MAX_MONTH_WORDS:]
    for first in range(len(words) - 1, -1, -1):
        name = " ".join(words[first:])
        place = before.rfind(words[first])
        if parts := _named(name, language, day, start + place, end):
            return parts
    return None


def _after(text: str, year: re.Match[str], language: str) -> _Parts | None:
    """Return the month and the day that stand after a *year*."""
    end = year.end()
    window = text[end : end + REACH]
    for pattern in NUMBERS_AFTER:
        match = pattern.match(window)
        if match and not (window[0] in "-/." and text[: year.start()].endswith(("/", ".", "-"))):
            return _Parts(int(match["month"]), int(match["day"]), end, end + match.end())
    match = None if year["era"] else NUMBER_AFTER.match(window)
    if match is None:
        return None
    day, rest = int(match["day"]), match["rest"]
    if words := _words(rest):
        # In "2013 June 14 2014" the day may be of the other year, but not after "2013. June 14".
        if rest[0] not in ".-" and len(match["next"]) == 4 and not match["tail"].strip(" ,"):
            return None
        return _named(" ".join(words), language, day, end, end + match.end("day"))
    if YEAR_WORDS.isdisjoint(word.strip(MARKS) for word in rest.split()):
        return None
    words = _words(match["tail"])[:1]
    return _named("".join(words), language, day, end, end + match.end("tail"))


def _words(text: str) -> list[str]:
    """Return the words between two numbers of a date, except for linking words."""
    begins_word = not text[0].isspace()
    words = [word.strip(MARKS) for word in SPACES.split(LINK_LETTERS.sub("", text))]
    if begins_word and words and words[0].casefold() in AFTER_DAY:
        words.pop(0)
    return [word for word in words if word and word.casefold() not in LINKS]


def _named(name: str, language: str, day: int, start: int, end: int) -> _Parts | None:
    """Return a day of the month with a *name*; None if no month has it. Arabic texts may give two
    names of a month: "تشرين الثاني/نوفمبر".
    """
    months = {month_of(part, language) for part in name.split("/")}
    if len(months) == 1 and (month := months.pop()):
        return _Parts(month, day, start, end)
    month = PERSIAN_MONTHS.get(month_key(name), 0)
    return _Parts(month, day, start, end, is_persian=True) if month else None


def _gregorian(year: re.Match[str], parts: _Parts, language: str, is_thai: bool) -> str:
    """Return the day of a month in a *year*, which may be of another era, in ISO 8601; "" if the
    year is of no era that the page's *language* or the month's name tells.
    """
    month, day = parts.month, parts.day
    try:
        if year["era"]:
            return _from_era(year["era"], year["count"], month, day)
        if not year["other"]:
            return "" if parts.is_persian else f"{year['year']}-{month:02}-{day:02}"
        number = int(year["other"])
        if number >= 2500:
            is_thai = is_thai or language.startswith("th")
            return f"{number - BUDDHIST_YEARS}-{month:02}-{day:02}" if is_thai else ""
        is_persian = parts.is_persian or language.startswith("fa")
        return from_persian(number, month, day).isoformat() if is_persian else ""
    except ValueError:
        return ""


def _from_era(era: str, count: str, month: int, day: int) -> str:
    """Return a day of a year of Taiwan's or a Japanese era in ISO 8601. Raises ValueError."""
    number = 1 if count == "元" else int(count)
    if era.startswith("民"):
        return f"{number + MINGUO_YEARS}-{month:02}-{day:02}"
    return from_japanese(era, number, month, day).isoformat()


def read_date(text: str, now: datetime | None = None, language: str = "") -> str:
    """Return the date in a *text* for machines (`parse_date`), or else the first day that it names
    for readers; "" without any.
    """
    text = text[:MAX_DATE_CHARS]
    written = (found.date for found in find_dates(text, now, language))
    return parse_date(text, now) or next(written, "")


def has_year(text: str) -> bool:
    """Tell whether *text* may have a date, faster than `find_dates` does."""
    return "20" in text or "19" in text or not text.isascii()


class FormedDate(NamedTuple):
    """A date in ISO 8601, its *form*, and where it begins in the text."""

    date: str
    form: str
    start: int


def dates_in(text: str, now: datetime | None = None, language: str = "") -> Iterator[FormedDate]:
    """Yield the days that *text* names, as `find_dates` does, and then the numeric dates. A numeric
    date is yielded in each form that is possible.

    >>> [(day.date, day.form) for day in dates_in("On 3/4/2013")]
    [('2013-04-03', 'day first'), ('2013-03-04', 'month first')]
    """
    if not has_year(text):
        return
    for written in find_dates(text, now, language):
        yield FormedDate(written.date, WRITTEN, written.start)
    for match in NUMERIC.finditer(text):
        first, second = int(match["first"]), int(match["second"])
        for form, day, month in ((DAY_FIRST, first, second), (MONTH_FIRST, second, first)):
            if date := parse_date(f"{match['year']}-{month:02}-{day:02}", now):
                yield FormedDate(date, form, match.start())
