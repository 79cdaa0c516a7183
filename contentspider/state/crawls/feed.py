"""Change records for other programs: their ids, and a feed of the newest ones."""

from __future__ import annotations

from collections import deque
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from contentspider.ground.times import clock
from contentspider.recrawl.changes import CHANGED, CHANGES, REFILTERED, UNCHANGED
from contentspider.recrawl.difference import changed_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from contentspider.state.book.book import Book
    from contentspider.state.book.known import KnownPages

# What feeds and webhooks report, unless the user chooses other kinds: the changes of the site.
REPORTED_KINDS = tuple(kind for kind in CHANGES if kind not in (UNCHANGED, REFILTERED))
MAX_FEED_ITEMS = 100
ROW_HEAD = ("when", "change", "share", "title", "what", "page")
MAX_CELL_CHARS, MAX_TITLE_CHARS = 60, 40
MAX_WORDS_CHARS = 28


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


def change_rows(book: Book, records: Iterable[Mapping[str, Any]]) -> list[list[str]]:
    """Return a row of `ROW_HEAD` for each change record of a book, for a table on a terminal. Only
    the last record with another text of a page has the words before and after: the book keeps no
    earlier texts.
    """
    last = book.changes.last_of_texts()
    return [_row(book.known, record, record["seq"] in last) for record in records]


def _row(known: KnownPages, record: Mapping[str, Any], has_texts: bool) -> list[str]:
    """Return the row of a change record. If the book *has* its *texts*, the row shows them."""
    details = [_details(record), *(_words(known, record) if has_texts else ())]
    return [
        clock(record["at"]),
        record["change"],
        f"{record['change_ratio'] or 0:.0%}",
        _short(str(known.item(record["id"]).get("title") or ""), MAX_TITLE_CHARS),
        _short(", ".join(filter(None, details))),
        record["url"],
    ]


def _short(text: str, chars: int = MAX_CELL_CHARS) -> str:
    return text if len(text) <= chars else text[: chars - 1] + "…"


def _words(known: KnownPages, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words before and after the last change of a page's text, if both are stored."""
    if record["change"] in (CHANGED, REFILTERED):
        before, now = (known.content(record["id"], before=old) for old in (True, False))
        if before is not None and now is not None:
            yield " → ".join(_short(words, MAX_WORDS_CHARS) for words in changed_words(before, now))


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
