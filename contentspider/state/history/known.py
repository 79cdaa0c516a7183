"""What a history knows of a page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownPage:
    """What the history knows of a page: *state* is "live", "gone" or "moved"; *missing* counts the
    last complete crawls in which no page linked to it.
    """

    id: str
    url: str
    state: str
    first_seen: str
    last_seen: str
    last_fetched: str
    changed_at: str
    content_hash: str
    text_hash: str
    model: str
    etag: str
    last_modified: str
    missing: int
    site: str = ""
