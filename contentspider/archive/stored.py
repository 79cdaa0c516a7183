"""The stored page, which all readers of shards yield."""

from __future__ import annotations

from typing import NamedTuple

HTML_TYPES = ("text/html", "application/xhtml+xml")
# Why a record is not read. The first two kinds lose no page: a file that a server calls HTML by
# mistake, and the text that another tool made of a page.
NOT_HTML, CONVERSION = NO_LOSS = ("not HTML", "conversion records")
BROKEN = "broken"
REVISIT = "revisit records whose page is not in the archive"
CONTINUATION = "continuation records"
UNKNOWN_TYPE = "records of unknown types"
NO_ADDRESS = "without a web address"


class StoredPage(NamedTuple):
    """A stored page.

    *content_type* is the header, *date* the time of the fetch in ISO 8601 ("": unknown). *problem*
    is the reason why a record cannot be read, and empty for a readable page; *kind* is the kind of
    the problem. A WARC record can refer to the page by one of the *keys*. A page with the kind
    `REVISIT` and without a problem lacks HTML: it is the page that has one of its *keys*.
    """

    url: str
    html: bytes | str
    content_type: str | None = None
    date: str = ""
    problem: str = ""
    kind: str = BROKEN
    keys: tuple[str, ...] = ()


def is_html(content_type: str | None) -> bool:
    """Tell whether a ``Content-Type`` says HTML."""
    return media_type(content_type) in HTML_TYPES


def media_type(content_type: str | None) -> str:
    """Return a ``Content-Type`` in small letters, without its parameters."""
    return (content_type or "").partition(";")[0].strip().lower()
