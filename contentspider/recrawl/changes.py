"""The values of the change log: how a page changed since the last crawl, and the cause."""

from __future__ import annotations

LIVE, GONE, MOVED = "live", "gone", "moved"
NEW, CHANGED, UNCHANGED = "new", "changed", "unchanged"
REFILTERED = "refiltered"  # the page is the same, but another part of it is its main content
CHANGES = (NEW, CHANGED, REFILTERED, UNCHANGED, GONE, MOVED)
BY_PAGE, BY_MODEL, BY_FIELDS = "page", "model", "fields"
# The differences of an unchanged page that do not count.
AGES, COUNTERS, ALTERNATING = "ages", "counters", "alternating texts"
