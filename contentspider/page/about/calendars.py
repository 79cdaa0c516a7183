"""Converts years and days of calendars that pages write dates in, besides the Gregorian one."""

from __future__ import annotations

from datetime import date, timedelta

BUDDHIST_YEARS = 543  # Thailand's official years begin on 1 January since 1941
MINGUO_YEARS = 1911  # years of the Republic of China, in Taiwan
# The first years of Japan's eras; an era begins within a year.
JAPANESE_ERAS = {"令和": date(2019, 5, 1), "平成": date(1989, 1, 8)}
# Nowruz in the Persian year 1; the years of a cycle of 33 that have 366 days. The arithmetic agrees
# with the official calendar, which is astronomical, from 1178 to 1633.
PERSIAN_EPOCH = date(622, 3, 21)
PERSIAN_LEAP_YEARS = (1, 5, 9, 13, 17, 22, 26, 30)
PERSIAN_NAMES = (
    # of Iran, and of Afghanistan
    "فروردین اردیبهشت خرداد تیر مرداد شهریور مهر آبان آذر دی بهمن اسفند",
    "حمل ثور جوزا سرطان اسد سنبله میزان عقرب قوس جدی دلو حوت",
)


def from_persian(year: int, month: int, day: int) -> date:
    """Return a day of the Persian (Jalali) calendar. Raises ValueError if there is no such day.

    >>> from_persian(1404, 9, 8).isoformat(), from_persian(1403, 12, 30).isoformat()
    ('2025-11-29', '2025-03-20')
    """
    is_leap = year % 33 in PERSIAN_LEAP_YEARS
    lengths = [31] * 6 + [30] * 5 + [30 if is_leap else 29]
    if not (year > 0 and 1 <= month <= len(lengths) and 1 <= day <= lengths[month - 1]):
        raise ValueError("there is no such day in the Persian calendar")
    cycles, rest = divmod(year, 33)
    leaps = 8 * cycles + sum(leap < rest for leap in PERSIAN_LEAP_YEARS)
    days = 365 * (year - 1) + leaps + sum(lengths[: month - 1]) + day - 1
    return PERSIAN_EPOCH + timedelta(days)


def from_japanese(era: str, year: int, month: int, day: int) -> date:
    """Return a day in a year of a Japanese era. Raises ValueError if the era has no such day."""
    begin = JAPANESE_ERAS[era]
    found = date(begin.year + year - 1, month, day)
    later = [start for start in JAPANESE_ERAS.values() if start > begin]
    if found < begin or any(found >= start for start in later):
        raise ValueError(f"{era} has no such day")
    return found
