"""Times in state files and items: ISO 8601, in UTC, to the second."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """Return the present time in UTC as ISO 8601, to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def days_between(earlier: str, later: str) -> float:
    """Return the days between two times in the form of `now`; -1 if one of them is invalid."""
    try:
        between = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    except (ValueError, TypeError):
        return -1.0
    return between.total_seconds() / 86_400


def clock(time: str) -> str:
    """Return a time as clocks here show it, to the minute, for people.

    >>> len(clock("2026-11-29T21:18:03+00:00"))
    16
    """
    return f"{datetime.fromisoformat(time).astimezone():%Y-%m-%d %H:%M}"
