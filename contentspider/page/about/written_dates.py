"""Finds dates that pages write for readers, in the web's most frequent languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.about.dates import parse_date
from contentspider.page.words.phrases import read_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

MIN_ABBREVIATION = 3


def _months() -> dict[str, int]:
    """Return the numbers of months by name and by abbreviation, in lower case.

    An abbreviation that could be two months is left out: "jui" may be June or July.
    """
    numbers_of: dict[str, set[int]] = {}
    full_names: dict[str, int] = {}
    for names in read_data("months.json").values():
        for number, name in enumerate(names.split(), 1):
            full_names[name] = number
            for end in range(MIN_ABBREVIATION, len(name)):
                numbers_of.setdefault(name[:end], set()).add(number)
    abbreviations = {cut: min(numbers) for cut, numbers in numbers_of.items() if len(numbers) == 1}
    return abbreviations | full_names


MONTHS = _months()
YEAR = r"(?P<year>(?:19|20)\d\d)(?![\d-])"
DAY = r"(?<![\d.,:/-])(?P<day>[0-3]?\d)"
WORD = r"(?P<month>[^\W\d_]{3,12})"
# "31. Oktober 2013", "31 de octubre de 2013", "1er mars 2013", "31-Oct-2013"; "October 31st, 2013";
# "2013年10月31日"; "2013-10-31"; "31.10.2013", where the day always comes first.
FORMS = re.compile(
    rf"{DAY}(?:st|nd|rd|th|er|º|\.)?(?:\s+|-)(?:de\s+|of\s+)?{WORD}\.?,?(?:\s+|-)(?:de\s+)?{YEAR}"
    rf"|(?<!\w){WORD.replace('month', 'month2')}\.?\s+(?P<day2>[0-3]?\d)(?:st|nd|rd|th)?,?\s+"
    rf"{YEAR.replace('year', 'year2')}"
    r"|(?<!\d)(?P<year3>(?:19|20)\d\d)\s*[年년]\s*(?P<month3>[01]?\d)\s*[月월]\s*(?P<day3>[0-3]?\d)"
    r"|(?<![\d/.-])(?P<year4>(?:19|20)\d\d)(?P<mark>[-/.])(?P<month4>[01]?\d)(?P=mark)"
    r"(?P<day4>[0-3]?\d)(?![\d/-])"
    r"|(?<![\w/.-])(?P<day5>[0-3]?\d)\.(?P<month5>[01]?\d)\.(?P<year5>(?:19|20)\d\d)(?!\.?\d)",
    re.IGNORECASE,
)
# "3/4/2013", "13.2.2013": whether the day or the month comes first depends on the site.
NUMERIC = re.compile(
    r"(?<![\d/.-])(?P<first>[0-3]?\d)[/.-](?P<second>[0-3]?\d)[/.-](?P<year>(?:19|20)\d\d)(?![\d/-])"
)
# The forms of the dates of `dates_in`.
WRITTEN, DAY_FIRST, MONTH_FIRST = "written", "day first", "month first"
FIELDS = [[name + number for name in ("year", "month", "day")] for number in ("", *"2345")]


class WrittenDate(NamedTuple):
    """A date in ISO 8601, and its character range in the text."""

    date: str
    start: int
    end: int


def find_dates(text: str, now: datetime | None = None) -> Iterator[WrittenDate]:
    """Yield the days that *text* names, within the bounds that `parse_date` sets by *now*.

    Ambiguous dates (``3/4/2013`` may be in March or April) are left out.

    >>> [day.date for day in find_dates("Von Ada am 3. März 2013, geändert 31.10.2013")]
    ['2013-03-03', '2013-10-31']
    """
    for match in FORMS.finditer(text):
        parts = match.groupdict()
        for names in FIELDS:
            year, month, day = (parts[name] for name in names)
            if year:
                number = int(month) if month.isdecimal() else MONTHS.get(month.casefold(), 0)
                if date := parse_date(f"{year}-{number:02}-{int(day):02}", now):
                    yield WrittenDate(date, match.start(), match.end())
                break


class FormedDate(NamedTuple):
    """A date in ISO 8601, its *form*, and where it begins in the text."""

    date: str
    form: str
    start: int


def dates_in(text: str, now: datetime | None = None) -> Iterator[FormedDate]:
    """Yield the days that *text* names, as `find_dates` does, and then the numeric dates. A numeric
    date is yielded in each form that is possible.

    >>> [(day.date, day.form) for day in dates_in("On 3/4/2013")]
    [('2013-04-03', 'day first'), ('2013-03-04', 'month first')]
    """
    if "19" not in text and "20" not in text:
        return
    for written in find_dates(text, now):
        yield FormedDate(written.date, WRITTEN, written.start)
    for match in NUMERIC.finditer(text):
        first, second = int(match["first"]), int(match["second"])
        for form, day, month in ((DAY_FIRST, first, second), (MONTH_FIRST, second, first)):
            if date := parse_date(f"{match['year']}-{month:02}-{day:02}", now):
                yield FormedDate(date, form, match.start())
