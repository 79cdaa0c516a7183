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

ZONE = (
    r"(?P<zone>(?:UTC|GMT|UT|Z)?[+−-]\d{2}:?(?:\d{2})?\b|(?:UTC|GMT) ?[+−-] ?\d(?::\d{2})?\b"
    r"|[A-Z]{1,5}\b)?"
)
CLOCK = (
    r"(?:T|\s+|,\s*)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?(?:[.,]\d+)?"
    rf"\s*(?P<half>[ap]m\b)?\s*{ZONE}"
)
TIME = f"(?:{CLOCK})?"
ISO = re.compile(
    rf"(?P<year>\d{{4}})([-/.])(?P<month>\d{{1,2}})\2(?P<day>\d{{1,2}})(?!\d){TIME}", re.IGNORECASE
)
# "20131031", "20131031T124246Z"
STAMP = re.compile(
    r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)(?!\d{1,3}(?:\D|$))"
    r"(?:[T\s]?(?P<hour>\d\d):?(?P<minute>\d\d)(?::?(?P<second>\d\d))?(?:[.,]\d+)?\s*"
    + ZONE
    + r")?",
    re.IGNORECASE,
)
# "Thu, 31 Oct 2013 12:00:00 GMT", "October 31st, 2013"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
WORDS = tuple(
    re.compile(rf"(?:[a-z]+\.?,?\s+)?{order},?\s+(?P<year>\d{{4}})(?!\d){TIME}", re.IGNORECASE)
    for order in (rf"{DAY}\s+{MONTH}", rf"{MONTH}\s+{DAY}")
)
# RFC 822 and RFC 850 have years of two digits: "Thu, 31 Oct 13 12:00:00 EST", "31-Oct-13 12:00".
SHORT_YEAR = re.compile(
    rf"(?:[a-z]+,\s+)?{DAY}[\s-]+{MONTH}[\s-]+(?P<year>\d\d){CLOCK}", re.IGNORECASE
)
# The form of C and of Unix: "Thu Oct 31 12:00:00 EST 2013"
UNIX = re.compile(
    rf"[a-z]+\s+{MONTH}\s+{DAY}\s+(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)\s+"
    rf"{ZONE}\s*(?P<year>\d{{4}})(?!\d)",
    re.IGNORECASE,
)
# The zones that RFC 822 and RFC 2822 define by name, in hours. Others, such as IST, have several
# meanings; a time in them is written without a zone.
ZONE_HOURS = {
    **dict.fromkeys(("Z", "UT", "UTC", "GMT"), 0),
    **{name: -hours for name, hours in (("EST", 5), ("CST", 6), ("MST", 7), ("PST", 8))},
    **{name: -hours for name, hours in (("EDT", 4), ("CDT", 5), ("MDT", 6), ("PDT", 7))},
}
FIRST_SHORT_YEAR = 50  # RFC 2822, section 4.3: years of two digits are from 1950 to 2049
# Drupal's "Thu, 07/13/2023 - 17:57": the month comes first, and the weekday confirms that.
DRUPAL = re.compile(
    r"(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+(?P<month>\d{1,2})/(?P<day>\d{1,2})/"
    r"(?P<year>\d{4})\s+-\s+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?!\d)",
    re.IGNORECASE,
)
WEEKDAYS = "mon tue wed thu fri sat sun".split()
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
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
    for pattern in (ISO, STAMP, *WORDS, DRUPAL, SHORT_YEAR, UNIX):
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
    year = int(parts["year"])
    if len(parts["year"]) == 2:
        year += 1900 if year >= FIRST_SHORT_YEAR else 2000
    return datetime(
        year,
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
    """Return the time zone that *text* names, such as ``Z``, ``EST`` or ``GMT+02:00``; None if it
    is empty or its name is not in `ZONE_HOURS`.
    """
    text = text.replace("−", "-")  # ISO 8601 prefers the sign of subtraction to the hyphen
    text = text.replace(" ", "")
    name = text.rstrip("+-:0123456789").upper()
    if offset := text[len(name) :]:
        hours, colon, minutes = offset[1:].partition(":")
        minutes = minutes if colon else hours[2:]
        shift = timedelta(hours=int(hours[:2]), minutes=int(minutes or 0))
        return timezone(-shift if offset[0] == "-" else shift)
    return timezone(timedelta(hours=ZONE_HOURS[name])) if name in ZONE_HOURS else None
