"""Dates that pages write for machines, as ISO 8601."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from contentspider.ground.addresses import MAX_ADDRESS_CHARS

MAX_DATE_CHARS = 60
# Earlier dates are errors (the epoch, a database's null) or not the page's (the year of a novel).
FIRST_YEAR = 1990
# Clocks and time zones differ; later dates are wrong.
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
# Drupal's "Thu, 07/13/2023 - 17:57": the month is first, and a weekday says whether it can be.
DRUPAL = re.compile(
    r"(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+(?P<month>\d{1,2})/(?P<day>\d{1,2})/"
    r"(?P<year>\d{4})\s+-\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?!\d)",
    re.IGNORECASE,
)
WEEKDAYS = "mon tue wed thu fri sat sun".split()
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
STAMP = re.compile(r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)T?(?P<hour>\d\d)(?P<minute>\d\d)")
# A date before the page's own step: "/2013/10/31/the-ferry", but not an archive's.
IN_ADDRESS = re.compile(
    r"/((?:19|20)\d\d)([/-])([01]\d)\2([0-3]\d)[/-](?!page/|index\.\w+$|feed/?$)[^/?#]",
    re.IGNORECASE,
)
EPOCH = re.compile(r"(1\d{9})(?:\d{3})?")


def parse_date(text: str, now: datetime | None = None) -> str:
    """Return the date in *text* in ISO 8601, with time and offset if it has them; empty if there is
    none, or it is out of bounds.

    Dates after *now* (default: the clock's time) are out of bounds. Ambiguous dates (``3/4/2013``)
    are ignored.

    >>> parse_date("2013-10-31T12:42:46Z"), parse_date("Oct 31, 2013"), parse_date("2099-01-01")
    ('2013-10-31T12:42:46+00:00', '2013-10-31', '')
    """
    text = text[:MAX_DATE_CHARS].strip()
    now = now or datetime.now(timezone.utc)
    if epoch := EPOCH.fullmatch(text):
        found = datetime.fromtimestamp(int(epoch[1]), timezone.utc)
        return found.isoformat() if found <= now + AHEAD else ""
    match = STAMP.match(text) or ISO.match(text)
    for words in () if match else (*WORDS, DRUPAL):
        match = match or words.match(text)
    if match is None:
        return ""
    part = match.groupdict()
    month = part["month"].lower()
    hour = int(part["hour"] or 0)
    if half := part.get("half"):
        hour = hour % 12 + 12 * (half.lower() == "pm")
    try:
        found = datetime(
            int(part["year"]),
            MONTHS.index(month[:3]) + 1 if month.isalpha() else int(month),
            int(part["day"]),
            hour,
            int(part["minute"] or 0),
            int(part.get("second") or 0),
            tzinfo=_zone(part.get("zone") or ""),
        )
        late = (found if found.tzinfo else found.replace(tzinfo=timezone.utc)) > now + AHEAD
    except (ValueError, OverflowError):
        return ""
    weekday = part.get("weekday")
    if weekday and WEEKDAYS.index(weekday.lower()) != found.weekday():
        return ""
    if found.year < FIRST_YEAR or late:
        return ""
    return found.isoformat() if part["hour"] else found.date().isoformat()


def date_in_address(url: str, now: datetime | None = None) -> str:
    """Return the day in a permalink, in ISO 8601; empty if it has none.

    >>> date_in_address("https://harbour.example/2013/10/31/ferry.html")
    '2013-10-31'
    >>> date_in_address("https://harbour.example/2013/10/31/")
    ''
    """
    match = IN_ADDRESS.search(url[:MAX_ADDRESS_CHARS].partition("?")[0])
    return parse_date(f"{match[1]}-{match[3]}-{match[4]}", now) if match else ""


def _zone(text: str) -> timezone | None:
    if not text:
        return None
    if text.upper() in ("Z", "UTC", "GMT"):
        return timezone.utc
    digits = text[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-offset if text[0] == "-" else offset)
