"""What a sitemap's ``lastmod`` says of a page, and whether a site's sitemaps are right."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta, timezone

# W3C's form of a date, or of a date and a time.
FORM = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
MARGIN = timedelta(hours=1)  # clocks differ, and a page may be stored later than it is dated
# A time without a zone, or a day, is that of any place on Earth.
EARLIEST, LATEST = timedelta(hours=-14), timedelta(hours=12)
DAY = timedelta(days=1)
# A site's "unchanged" is believed after so many checks with this share right. With 20 of 20 right,
# 14 % may still be wrong (at 95 %), so changes are counted, too.
MIN_CHECKED, MIN_RIGHT = 20, 0.99
# Where little changes, any date is right. So this many changes must have been seen, and this share
# of them announced: a site that announces half of its changes gets 5 of 5 in 1 of 32 cases.
MIN_CHANGES, MIN_SAID = 5, 0.95
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
        """Tell whether pages that are said to be unchanged need no visit."""
        checked = self.true_unchanged + self.false_unchanged
        changes = self.true_changed + self.false_unchanged
        return (
            checked >= MIN_CHECKED
            and self.true_unchanged >= MIN_RIGHT * checked
            and changes >= MIN_CHANGES
            and self.true_changed >= MIN_SAID * changes
        )

    @property
    def is_worth_a_visit(self) -> bool:
        """Tell whether pages that are said to have changed should be visited at once."""
        called = self.true_changed + self.false_changed
        return self.is_trusted and self.true_changed >= MIN_WORTH * called

    def plus(self, says_changed: bool, has_changed: bool) -> LastmodCounts:
        """Return the counts with one page more."""
        counts = list(astuple(self))
        counts[2 * says_changed + (says_changed != has_changed)] += 1
        share = min(1.0, MAX_COUNTED / sum(counts))
        return LastmodCounts(*(count * share for count in counts))


def has_changed_since(lastmod: str, visited: str) -> bool | None:
    """Tell whether a page has changed since it was *visited* (ISO 8601); None if that is not said.

    >>> visited = "2026-03-10T12:00:00+00:00"
    >>> has_changed_since("2026-03-01", visited), has_changed_since("2026-03-10T13:00Z", visited)
    (False, True)
    >>> has_changed_since("2026-03-10", visited) is None
    True
    """
    found = FORM.fullmatch(lastmod.strip())
    if found is None:
        return None
    day, clock, zone = found.groups()
    if zone:
        zone = "+00:00" if zone == "Z" else f"{zone[:3]}:{zone[-2:]}"
    try:
        at = datetime.fromisoformat(f"{day}T{clock or '00:00'}{zone or '+00:00'}")
        first = at if zone else at + EARLIEST
        last = at if zone else at + LATEST + (timedelta(0) if clock else DAY)
        then = datetime.fromisoformat(visited).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None
    if first > then:
        return True
    return False if last <= then - MARGIN else None
