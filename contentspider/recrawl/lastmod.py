"""Reads the ``lastmod`` dates of sitemaps, and counts how often a site's sitemaps are right."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta, timezone

# A date, or a date and a time, in the form of the W3C.
FORM = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
MARGIN = timedelta(hours=1)  # clocks differ, and a page may be stored later than it is dated
# A time without a zone, or a day, may be meant in any time zone of the Earth.
EARLIEST, LATEST = timedelta(hours=-14), timedelta(hours=12)
DAY = timedelta(days=1)
# A site's "unchanged" is trusted after this many checks, if this share was right. With 20 of 20
# right, 14 % may still be wrong (at 95 % confidence), so changes are counted as well.
MIN_CHECKED, MIN_RIGHT = 20, 0.99
# On a site that hardly changes any date is right. So this many changes must have been observed, and
# this share of them announced: a site that announces half of its changes gets 5 of 5 in 1 of 32
# cases.
MIN_CHANGES, MIN_ANNOUNCED = 5, 0.95
MIN_WORTH = 0.5  # pages that "have changed" are visited at once if this share of them did
MAX_COUNTED = 1_000  # older counts fade beyond this number: software changes


@dataclass(frozen=True, slots=True)
class LastmodCounts:
    """How often a site's sitemaps were right when they called pages *unchanged* or *changed*."""

    true_unchanged: float = 0.0
    false_unchanged: float = 0.0
    true_changed: float = 0.0
    false_changed: float = 0.0

    @property
    def is_trusted(self) -> bool:
        """Tell whether pages need no visit if the sitemap calls them unchanged."""
        checked = self.true_unchanged + self.false_unchanged
        changes = self.true_changed + self.false_unchanged
        return (
            checked >= MIN_CHECKED
            and self.true_unchanged >= MIN_RIGHT * checked
            and changes >= MIN_CHANGES
            and self.true_changed >= MIN_ANNOUNCED * changes
        )

    @property
    def is_worth_a_visit(self) -> bool:
        """Tell whether pages should be visited at once if the sitemap calls them changed."""
        called = self.true_changed + self.false_changed
        return self.is_trusted and self.true_changed >= MIN_WORTH * called

    def plus(self, says_changed: bool, has_changed: bool) -> LastmodCounts:
        """Return the counts after one more checked page."""
        counts = list(astuple(self))
        counts[2 * says_changed + (says_changed != has_changed)] += 1
        share = min(1.0, MAX_COUNTED / sum(counts))
        return LastmodCounts(*(count * share for count in counts))


def has_changed_since(lastmod: str, visited: str) -> bool | None:
    """Tell whether a page has changed since it was *visited* (ISO 8601); None if it is uncertain.

    >>> visited = "2026-03-10T12:00:00+00:00"
    >>> has_changed_since("2026-03-01", visited), has_changed_since("2026-03-10T13:00Z", visited)
    (False, True)
    >>> has_changed_since("2026-03-10", visited) is None
    True
    """
    match = FORM.fullmatch(lastmod.strip())
    if match is None:
        return None
    try:
        first, last = _time_range(*match.groups())
        then = datetime.fromisoformat(visited).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None
    if first > then:
        return True
    return False if last <= then - MARGIN else None


def _time_range(day: str, clock: str | None, zone: str | None) -> tuple[datetime, datetime]:
    """Return the earliest and the latest time that a date, or date and time, may mean."""
    if zone:
        offset = "+00:00" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"
        at = datetime.fromisoformat(f"{day}T{clock or '00:00'}{offset}")
        return at, at
    at = datetime.fromisoformat(f"{day}T{clock or '00:00'}+00:00")
    length = timedelta(0) if clock else DAY
    return at + EARLIEST, at + LATEST + length
