"""The words of the change log: how a page has changed since the last crawl, and why."""

from __future__ import annotations

LIVE, GONE, MOVED = "live", "gone", "moved"
NEW, CHANGED, UNCHANGED = "new", "changed", "unchanged"
CHANGES = (NEW, CHANGED, UNCHANGED, GONE, MOVED)
BY_PAGE, BY_MODEL = "page", "model"
