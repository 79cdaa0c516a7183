"""What a sitemap's ``lastmod`` says of a page, and whether a site's sitemaps tell the truth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

# W3C's form of a date, or of a date and a time.
FORM = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)
# The clocks of a server and of a crawl differ, and a page may be stored later than it is dated.
MARGIN = timedelta(hours=1)
# A time without a zone, or a day, is that of any place on Earth.
EARLIEST, LATEST = timedelta(hours=-14), timedelta(hours=12)
DAY = timedelta(days=1)
# That a page has not changed is believed of a site of which it was checked so often, and right so
# often: with 20 of 20 right, 14 % may be wrong (at 95 %), so that is not all that is asked.
MIN_CHECKED, MIN_RIGHT = 20, 0.99
# On a site where little changes that is right of any date. So as many changes must have been seen,
# and so many of them said: a site that says half of its changes says 5 of 5 in 1 of 32 cases.
MIN_CHANGES, MIN_SAID = 5, 0.95
# Visiting what is said to have changed at once is worth it if so many of these did.
MIN_WORTH = 0.5
# What is counted of more than this fades: software changes.
MAX_COUNTED = 1_000


@dataclass(frozen=True, slots=True)
class Truth:
    """How often a site's sitemaps were right: of the pages that they said not to have changed since
    the last visit *still* had not and *missed* had; of those that they said to have changed *said*
    had and *needless* had not.
    """

    still: float = 0.0
    missed: float = 0.0
    said: float = 0.0
    needless: float = 0.0

    @property
    def is_trusted(self) -> bool:
        """Tell whether a page that is said not to have changed may be left alone."""
        checked, changes = self.still + self.missed, self.said + self.missed
        return (
            checked >= MIN_CHECKED
            and self.still >= MIN_RIGHT * checked
            and changes >= MIN_CHANGES
            and self.said >= MIN_SAID * changes
        )

    @property
    def is_worth_a_visit(self) -> bool:
        """Tell whether a page that is said to have changed is to be visited at once."""
        return self.is_trusted and self.said >= MIN_WORTH * (self.said + self.needless)

    def plus(self, was_said: bool, has_changed: bool) -> Truth:
        """Return the truth with one page more, of which one thing was said, and one is so."""
        still, missed, said, needless = self.still, self.missed, self.said, self.needless
        if was_said:
            said, needless = said + has_changed, needless + (not has_changed)
        else:
            still, missed = still + (not has_changed), missed + has_changed
        share = min(1.0, MAX_COUNTED / max(still + missed + said + needless, 1.0))
        return Truth(still * share, missed * share, said * share, needless * share)


def has_changed_since(lastmod: str, visited: str) -> bool | None:
    """Tell whether a page has changed since it was *visited* (ISO 8601), by its *lastmod*; None if
    that is no date, or says neither: a day is a long time.

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
    except (ValueError, OverflowError):
        return None
    then = datetime.fromisoformat(visited).astimezone(timezone.utc)
    if first > then:
        return True
    return False if last <= then - MARGIN else None
