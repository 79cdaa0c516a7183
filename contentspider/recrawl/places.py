"""Finds the slots in which two contents of a page differ."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timezone
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from contentspider.ground.times import days_between
from contentspider.page.about.ages import AGE, without_ages
from contentspider.page.about.written_dates import dates_in, find_dates, month_of, names_weekday
from contentspider.recrawl.counters import (
    LAST_WORD,
    MAX_CHARS,
    days_without_year,
    differ_in_numbers,
    differ_in_prices,
    place_of,
)
from contentspider.recrawl.difference import cells

if TYPE_CHECKING:
    import re

    from contentspider.page.input.page import Page

SlotOf: TypeAlias = Callable[[str], str]
FUTURE = datetime(2100, 1, 1, tzinfo=timezone.utc)  # dates to come before are dates, too
MAX_DAYS = 1.2  # from noon of a day to a visit on that day, in any time zone
MAX_SOON = 31  # days
MAX_DATED_CHARS = 2 * MAX_CHARS  # of a line with a number and with dates
UNKNOWN = ""  # the key of text whose slot is not known


@dataclass(frozen=True, slots=True)
class Differences:
    """Where two contents of a page differ.

    *has_ages*: in ages in words, and in numbers beside them. *numbered*: the places of short lines
    that differ in numbers alone. *slots*: the keys of the slots that differ in other text, or in
    its order; `UNKNOWN` for text of no known slot. *has_prices*: these slots have the same words
    with another price.
    """

    has_ages: bool = False
    numbered: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    has_prices: bool = False


def slot_key(slot: str) -> str:
    """Return a short key of a slot, which has a long name."""
    return blake2b(slot.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def differences(
    contents: tuple[str, str],
    pages: tuple[Page | None, Page],
    slot_of: SlotOf,
    language: str = "",
    visits: tuple[str, str] = ("", ""),
) -> Differences:
    """Return where the two *contents* of a page differ. *pages* are the page before, None if it is
    not known, and now. Ages are in its *language*, or in the one that it states. *visits* are the
    times of the two visits in ISO 8601, "" if they are not known: a date before a visit is a
    number, and a date to come is a text.
    """
    now = list(_placed(contents[1], pages[1], slot_of))
    before = list(_placed(contents[0], pages[0], slot_of))
    if pages[0] is None and len(before) == len(now):
        before = [(slot, line) for (slot, _), (_, line) in zip(now, before, strict=True)]
    has_ages, has_prices, numbered, slots = False, False, set(), set()
    for slot, old, new in _differing_slots(before, now):
        lines = _LinePairs(slot, old, new, (language, pages[1].hints.language), visits)
        has_ages |= lines.has_ages
        numbered |= lines.numbered
        if not lines.are_alike:
            slots.add(slot_key(slot) if slot else UNKNOWN)
            has_prices |= differ_in_prices(old, new)
    if not (has_ages or numbered or slots) and contents[0] != contents[1]:
        slots = {UNKNOWN}  # only the order of the slots differs
    return Differences(has_ages, tuple(sorted(numbered)), tuple(sorted(slots)), has_prices)


def _placed(content: str, page: Page | None, slot_of: SlotOf) -> Iterator[tuple[str, str]]:
    """Yield each line of a content with its slot, "" if it is not known. The lines are in the order
    of the blocks, and a text may be in several blocks.
    """
    places: dict[str, list[int]] = {}
    blocks = page.content.blocks if page is not None else []
    for number, block in enumerate(blocks):
        places.setdefault(block.text, []).append(number)
    last = -1
    for line in cells(content):
        found = places.get(line)
        if found is None:
            yield "", line
            continue
        last = found[min(bisect_left(found, last + 1), len(found) - 1)]
        yield slot_of(blocks[last].path), line


def _differing_slots(
    before: list[tuple[str, str]], now: list[tuple[str, str]]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each slot whose lines differ, with its lines before and now."""
    lines: dict[str, tuple[list[str], list[str]]] = {}
    for index, placed in enumerate((before, now)):
        for slot, line in placed:
            lines.setdefault(slot, ([], []))[index].append(line)
    yield from ((slot, old, new) for slot, (old, new) in lines.items() if old != new)


class _LinePairs:
    """The lines of a slot before and now. They *are_alike* if they differ in ages and numbers only:
    *has_ages*, *numbered* (as in `Differences`).
    """

    def __init__(
        self,
        slot: str,
        old: list[str],
        new: list[str],
        languages: tuple[str, str],
        visits: tuple[str, str],
    ) -> None:
        self._place, self._languages, self._visits = slot, languages, visits
        self.has_ages = False
        self.numbered: set[str] = set()
        self.are_alike = len(old) == len(new) and all(
            before == now or self._is_alike(before, now)
            for before, now in zip(old, new, strict=True)
        )
        if not self.are_alike:
            self.has_ages, self.numbered = False, set()

    def _is_alike(self, before: str, now: str) -> bool:
        """Tell whether two lines differ in ages and numbers only, and note these."""
        old, new = (without_ages(line, *self._languages) for line in (before, now))
        if AGE in old and AGE not in new:
            new = self._without_dates(new)  # many sites say the date once an age is large
        if AGE in old and (old == new or differ_in_numbers(old, new)):
            self.has_ages = True
            return True
        if not self._place or max(len(before), len(now)) > MAX_DATED_CHARS:
            return False
        old, new = map(self._without_past, (before, now), self._visits)
        to_come, still_to_come = map(self._to_come, (old, new), self._visits)
        (old, soon), (new, still_soon) = map(self._without_soon, (old, new), self._visits)
        if (
            differ_in_numbers(old, new)
            and to_come == still_to_come
            and _move_along((soon, still_soon), self._visits)
        ):
            self.numbered.add(place_of(self._place, now))
            return True
        return False

    def _without_past(self, line: str, visit: str) -> str:
        """Return a line with 0 in place of each written date up to the day of a visit, and of the
        weekday before it.
        """
        for found in reversed(list(find_dates(line, FUTURE, self._languages[0]))):
            if _is_past(found.date, visit):
                before = line[: found.start]
                word = LAST_WORD.search(before)
                if word and names_weekday(word[1], found.date):
                    before = before[: word.start()]
                line = f"{before}0{line[found.end :]}"
        return line

    def _without_soon(self, line: str, visit: str) -> tuple[str, list[date]]:
        """Return a line with 0 in place of each day without a year that comes soon after a visit,
        with its weekday, and these days.
        """
        days = []
        for found in reversed(days_without_year(line)) if visit else ():
            day = _coming(found, date.fromisoformat(visit[:10]), self._languages[0])
            if day is None:
                continue
            before = line[: found.start()]
            word = LAST_WORD.search(before)
            if word and names_weekday(word[1], day.isoformat()):
                before = before[: word.start()]
            line = f"{before}0{line[found.end() :]}"
            days.append(day)
        return line, days

    def _to_come(self, line: str, visit: str) -> set[str]:
        """Return the dates in a line after a visit, none if its time is not known."""
        found = list(dates_in(line, FUTURE, self._languages[0])) if visit else []
        past = {each.start for each in found if _is_past(each.date, visit)}
        return {each.date for each in found if each.start not in past}

    def _without_dates(self, line: str) -> str:
        for found in reversed(list(find_dates(line, None, self._languages[0]))):
            line = line[: found.start] + AGE + line[found.end :]
        return line


def _coming(found: re.Match[str], visit: date, language: str) -> date | None:
    """Return the day that is *found*, None if it does not come soon after *visit*."""
    month, number = month_of(found["month"], language), int(found["day"])
    for year in (visit.year, visit.year + 1) if month else ():
        try:
            day = date(year, month, number)
        except ValueError:
            continue
        if -1 <= (day - visit).days <= MAX_SOON:
            return day
    return None


def _move_along(days: tuple[list[date], list[date]], visits: tuple[str, str]) -> bool:
    """Tell whether days are the same at two visits, or as many days, or working days, after each:
    "Get it by Thursday, 3 December".
    """
    if days[0] == days[1]:
        return True
    if len(days[0]) != len(days[1]):
        return False
    first, second = (
        [(day - visit, np.busday_count(visit, day)) for day in found]
        for found, visit in zip(days, [date.fromisoformat(at[:10]) for at in visits], strict=True)
    )
    return all(old[0] == new[0] or old[1] == new[1] for old, new in zip(first, second, strict=True))


def _is_past(date: str, visit: str) -> bool:
    """Tell whether a date is not after the day of a visit, in any time zone."""
    return bool(visit) and days_between(f"{date}T12:00:00+00:00", visit) > -MAX_DAYS
