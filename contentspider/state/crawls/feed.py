"""Change records for other programs: their ids, and a feed of the newest ones."""

from __future__ import annotations

from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from contentspider.recrawl.changes import CHANGES, REFILTERED, UNCHANGED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from contentspider.state.book.known import KnownPages

# What feeds and webhooks report, unless the user chooses other kinds: the changes of the site.
REPORTED_KINDS = tuple(kind for kind in CHANGES if kind not in (UNCHANGED, REFILTERED))
MAX_FEED_ITEMS = 100
ROW_HEAD = ("when", "change", "share", "title", "what", "page")
MAX_CELL_CHARS = 48


def change_id(crawl: str, record: Mapping[str, Any]) -> str:
    """Return the id of a change record of a *crawl*, which no other record has."""
    key = "\n".join([crawl, *(str(record[name]) for name in ("seq", "at", "id"))])
    return f"change_{sha256(key.encode('utf-8', 'replace')).hexdigest()[:32]}"


def json_feed(
    crawl: str, known: KnownPages, records: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a JSON Feed (version 1.1) of the newest `MAX_FEED_ITEMS` change records of a *crawl*,
    the newest first. Each item has the change record in ``_contentspider``.
    """
    newest = deque(records, MAX_FEED_ITEMS)
    items = []
    for record in reversed(newest):
        change, url = str(record["change"]), str(record["url"])
        title = known.item(record["id"]).get("title") or url
        items.append(
            {
                "id": change_id(crawl, record),
                "url": url,
                "title": f"{change.capitalize()}: {title}",
                "content_text": ", ".join(filter(None, [change, _details(record)])),
                "date_published": record["at"],
                "_contentspider": record,
            }
        )
    return {
        "version": "https://jsonfeed.org/version/1.1",
        "title": f"Changes of {crawl}",
        "items": items,
    }


def change_rows(known: KnownPages, records: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row of `ROW_HEAD` for each change record, for a table on a terminal."""
    return [
        [
            record["at"][:16].replace("T", " "),
            record["change"],
            f"{record['change_ratio'] or 0:.0%}",
            _short(str(known.item(record["id"]).get("title") or "")),
            _short(_details(record)),
            record["url"],
        ]
        for record in records
    ]


def _short(text: str) -> str:
    return text if len(text) <= MAX_CELL_CHARS else text[: MAX_CELL_CHARS - 1] + "…"


def _details(record: Mapping[str, Any]) -> str:
    """Return the details of a change record: the reason, and values of own fields."""
    details = [record["reason"]]
    if record["previous_url"]:
        details.append(f"before at {record['previous_url']}")
    for name, (before, now) in record["fields"].items():
        details.append(f"{name}: {_shown(before)} → {_shown(now)}")
    return ", ".join(filter(None, details))


def _shown(value: Any) -> str:
    """Return a value of an own field as text; "none" for no value."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value)
