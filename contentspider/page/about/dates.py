"""Reads dates that pages write for machines, such as ``datetime`` attributes, as ISO 8601."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from contentspider.ground.addresses import MAX_ADDRESS_CHARS

MAX_DATE_CHARS = 60
# An earlier date is an error (the epoch, a database's null), or it is not the date of the page
# (the year of a novel).
FIRST_YEAR = 1990
# A date may be this far in the future, because clocks and time zones differ. Later dates are wrong.
AHEAD = timedelta(days=1)

TIME = (
    r"(?:(?:T|\s+|,\s*)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:[.,]\d+)?"
    r"\s*(?P<half>[ap]m\b)?\s*(?P<zone>Z\b|UTC|GMT|[+-]\d{2}:?\d{2}\b|[+-]\d{2}\b)?)?"
)
ISO = re.compile(
    r"(?P<year>\d{4})([-/.]?)(?P<month>\d{1,2})\2(?P<day>\d{1,2})(?!\d)" + TIME, re.IGNORECASE
)
# "Thu, 31 Oct 2013 12:00:00 GMT", "October 31st, 2013"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
WORDS = tuple(
    re.compile(rf"(?:[a-z]+\.?,?\s+)?{order},?\s+(?P<year>\d{{4}})(?!\d){TIME}", re.IGNORECASE)
    for order in (rf"{DAY}\s+{MONTH}", rf"{MONTH}\s+{DAY}")
)
# Drupal's "Thu, 07/13/2023 - 17:57": the month comes first, and the weekday confirms that.
DRUPAL = re.compile(
    r"(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+(?P<month>\d{1,2})/(?P<day>\d{1,2})/"
    r"(?P<year>\d{4})\s+-\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?!\d)",
    re.IGNORECASE,
)
WEEKDAYS = "mon tue wed thu fri sat sun".split()
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
STAMP = re.compile(r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)T?(?P<hour>\d\d)(?P<minute>\d\d)")
# A date before the last step of a path, "/2013/10/31/the-ferry". The address of an archive or a
# feed ("/2013/10/31/page/2") does not match.
IN_ADDRESS = re.compile(
    r"/((?:19|20)\d\d)([/-])([01]\d)\2([0-3]\d)[/-](?!page/|index\.\w+$|feed/?$)[^/?#]",
    re.IGNORECASE,
)
EPOCH = re.compile(r"(1\d{9})(?:\d{3})?")


def parse_date(text: str, now: datetime | None = None) -> str:
    """Return the date in *text* in ISO 8601, with time and offset if *text* has them.

    Return an empty string without a date in *text*, or if the date is before `FIRST_YEAR` or more
    than a day after *now* (default: the current time). Ambiguous dates (``3/4/2013``) are ignored.

    >>> parse_date("2013-10-31T12:42:46Z"), parse_date("Oct 31, 2013"), parse_date("2099-01-01")
    ('2013-10-31T12:42:46+00:00', '2013-10-31', '')
    """
    text = text[:MAX_DATE_CHARS].strip()
    now = now or datetime.now(timezone.utc)
    if epoch := EPOCH.fullmatch(text):
        moment = datetime.fromtimestamp(int(epoch[1]), timezone.utc)
        return moment.isoformat() if moment <= now + AHEAD else ""
    for pattern in (STAMP, ISO, *WORDS, DRUPAL):
        if match := pattern.match(text):
            break
    else:
        return ""
    parts = match.groupdict()
    try:
        moment = _build_datetime(parts)
        is_late = _with_zone(moment) > now + AHEAD
    except (ValueError, OverflowError):
        return ""
    weekday = parts.get("weekday")
    if weekday and WEEKDAYS.index(weekday.lower()) != moment.weekday():
        return ""
    if moment.year < FIRST_YEAR or is_late:
        return ""
    return moment.isoformat() if parts["hour"] else moment.date().isoformat()


def _build_datetime(parts: dict[str, str]) -> datetime:
    """Return the time in a pattern's named groups; raises ValueError if they give no valid date."""
    month = parts["month"].lower()
    hour = int(parts["hour"] or 0)
    half = (parts.get("half") or "").lower()
    if half:
        hour %= 12
    if half == "pm":
        hour += 12
    return datetime(
        int(parts["year"]),
        MONTHS.index(month[:3]) + 1 if month.isalpha() else int(month),
        int(parts["day"]),
        hour,
        int(parts["minute"] or 0),
        int(parts.get("second") or 0),
        tzinfo=_zone(parts.get("zone") or ""),
    )


def _with_zone(moment: datetime) -> datetime:
    """Return *moment* with its time zone, which is UTC if it lacks one."""
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def date_in_address(url: str, now: datetime | None = None) -> str:
    """Return the day in a permalink in ISO 8601; an empty string for other addresses.

    >>> date_in_address("https://harbour.example/2013/10/31/ferry.html")
    '2013-10-31'
    >>> date_in_address("https://harbour.example/2013/10/31/")
    ''
    """
    match = IN_ADDRESS.search(url[:MAX_ADDRESS_CHARS].partition("?")[0])
    return parse_date(f"{match[1]}-{match[3]}-{match[4]}", now) if match else ""


def _zone(text: str) -> timezone | None:
    """Return the time zone that *text* names, such as ``Z`` or ``+02:00``; None if it is empty."""
    if not text:
        return None
    if text.upper() in ("Z", "UTC", "GMT"):
        return timezone.utc
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
