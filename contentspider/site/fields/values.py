"""Finds values of fields in the text of a block: dates and names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.about.authors import author_names
from contentspider.page.about.dates import parse_date
from contentspider.page.about.written_dates import find_dates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

# The forms of dates. Which order of "3/4/2013" a site uses follows from the dates that it states.
WRITTEN, DAY_FIRST, MONTH_FIRST = "written", "day first", "month first"
SLASHED = re.compile(
    r"(?<![\d/.-])(?P<first>[0-3]?\d)[/.-](?P<second>[0-3]?\d)[/.-](?P<year>(?:19|20)\d\d)(?![\d/-])"
)


class FoundDate(NamedTuple):
    """A date in ISO 8601, its *form*, and where it begins in the text."""

    date: str
    form: str
    start: int


def dates_in(text: str, now: datetime | None = None) -> Iterator[FoundDate]:
    """Yield the days that a text names. An ambiguous day is yielded in both forms. Days after *now*
    (default: the current time) are left out.

    >>> [(found.date, found.form) for found in dates_in("On 3/4/2013")]
    [('2013-04-03', 'day first'), ('2013-03-04', 'month first')]
    """
    if "19" not in text and "20" not in text:
        return
    for found in find_dates(text, now):
        yield FoundDate(found.date, WRITTEN, found.start)
    for match in SLASHED.finditer(text):
        first, second = int(match["first"]), int(match["second"])
        for form, day, month in ((DAY_FIRST, first, second), (MONTH_FIRST, second, first)):
            if date := parse_date(f"{match['year']}-{month:02}-{day:02}", now):
                yield FoundDate(date, form, match.start())


@lru_cache(maxsize=4_096)  # the pages of a site have the same names
def name_key(text: str) -> tuple[str, ...]:
    """Return the names in a text for comparison: in lower case and sorted; () without a name.

    >>> name_key("Von Ada Byron und Bob Frank") == name_key("By Bob Frank and Ada Byron")
    True
    """
    return names_key(author_names([text]))


def names_key(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names for comparison: in lower case and sorted."""
    return tuple(sorted(name.casefold() for name in names))
