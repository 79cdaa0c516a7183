"""The opening hours of a place, in the format of schema.org: ``Mo-Fr 09:00-17:00``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from contentspider.page.about.jsonld import MAX_VALUES, strings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DAYS = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
WEEK = "monday tuesday wednesday thursday friday saturday sunday".split()
CLOCK = re.compile(r"T?(\d{1,2}):(\d{2})(?::\d{2})?(?:\s*([ap])\.?m)?", re.IGNORECASE)


def opening_hours(entry: dict[str, object], follow: Callable[[object], object]) -> list[str]:
    """Return the opening hours of a place, from ``openingHoursSpecification`` or else from the
    texts of ``openingHours``.

    Hours with a first or last day, such as holidays, are left out, and so are closed days.
    If a specification has the unknown name of a day, all specifications are ignored.
    """
    value = entry.get("openingHoursSpecification")
    specifications = value if isinstance(value, list) else [value]
    days_of: dict[str, list[str]] = {}
    # References may lead to one specification many times.
    targets = {id(target): target for target in map(follow, specifications[:MAX_VALUES])}
    for specification in targets.values():
        if not isinstance(specification, dict) or _is_passing(specification):
            continue
        if hours := _hours(specification):
            days_of.setdefault(hours, []).extend(_days(specification))
    if days_of and all(day in DAYS for days in days_of.values() for day in days):
        return [f"{_ranges(days)} {hours}".strip() for hours, days in days_of.items()]
    return [_tidy(text) for text in strings_of(entry.get("openingHours"))]


def _tidy(text: str) -> str:
    """Return a text of opening hours with the English names of days in two letters.

    >>> _tidy("Monday,Tuesday,Wednesday 09:00-17:00"), _tidy("Mo-Fr 9-5")
    ('Mo-We 09:00-17:00', 'Mo-Fr 9-5')
    """
    names, space, hours = text.strip().partition(" ")
    days = names.split(",")
    if all(map(_is_english, days)):
        return f"{_ranges(day[:2].capitalize() for day in days)}{space}{hours}"
    return text.strip()


def _is_passing(specification: dict[str, object]) -> bool:
    """Tell whether hours are valid for a time only."""
    return bool(specification.get("validFrom") or specification.get("validThrough"))


def _hours(specification: dict[str, object]) -> str:
    """Return the hours of a specification, "" if it is closed or has none."""
    times = []
    for name in ("opens", "closes"):
        text = "".join(strings_of(specification.get(name))[:1]).strip()
        if match := CLOCK.match(text):
            times.append(f"{_hour(match):02}:{match[2]}")
    return "-".join(times) if len(set(times)) == 2 else ""


def _hour(match: re.Match[str]) -> int:
    """Return the hour of a match of `CLOCK`, from 0 to 24."""
    hour, half = int(match[1]), (match[3] or "").lower()
    if half:
        hour %= 12
    return hour + 12 if half == "p" else hour


def _days(specification: dict[str, object]) -> list[str]:
    """Return the days of a specification in two letters; an unknown day as it is written."""
    value = specification.get("dayOfWeek")
    texts: list[str] = []
    for day in value if isinstance(value, list) else [value]:
        texts += strings_of(day.get("@id", day) if isinstance(day, dict) else day)
    names = [re.split(r"[/#]", text)[-1] for text in texts]
    days = [name.strip() for text in names for name in text.split(",")]
    return [day[:2].capitalize() if _is_english(day) else day for day in days]


def _is_english(day: str) -> bool:
    """Tell whether a text is the English name of a day, which may be cut: "Th", "Thu"."""
    return len(day) > 1 and any(name.startswith(day.lower()) for name in WEEK)


def _ranges(days: Iterable[str]) -> str:
    """Return days in the order of the week; three or more in a row become a range.

    >>> _ranges(["Mo", "We", "Tu", "Sa"])
    'Mo-We,Sa'
    """
    runs: list[list[str]] = []
    for number in sorted({DAYS.index(day) for day in days}):
        if runs and runs[-1][-1] == DAYS[number - 1] and number:
            runs[-1].append(DAYS[number])
        else:
            runs.append([DAYS[number]])
    texts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(run) for run in runs]
    return ",".join(texts)
