"""Times as state files and items have them: ISO 8601, in UTC, to the second."""

from __future__ import annotations

from datetime import datetime, timezone


def now() -> str:
    """Return the time, in UTC, as ISO 8601 to the second."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def days_between(earlier: str, later: str) -> float:
    """Return how many days are between two times, as `now` gives them; -1 if one is no time."""
    try:
        between = datetime.fromisoformat(later) - datetime.fromisoformat(earlier)
    except (ValueError, TypeError):
        return -1.0
    return between.total_seconds() / 86_400
