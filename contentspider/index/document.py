"""Documents: what an index holds of a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from contentspider.index.schema import BY_NAME, OWN, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Document:
    """A page as an index holds it: its *id*, the *crawl* whose history it comes from, its *version*
    (the number in that crawl's change log), the *hash* of its fields, and the *fields*.
    """

    id: str
    crawl: str
    version: int
    hash: str
    fields: Mapping[str, Any] = field(repr=False)

    def record(self) -> dict[str, Any]:
        """Return all fields of `contentspider.index.schema` that the document has, by name."""
        return {name: getattr(self, name) for name in OWN} | dict(self.fields)


def document_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a page's document from those of its item: those of the schema by their
    names, each in its type, empty ones left out; what else the item has is in ``more``.

    >>> document_fields({"url": "http://e.org/", "keywords": "a", "price": 3})
    {'url': 'http://e.org/', 'keywords': ['a'], 'more': {'price': 3}}
    >>> document_fields({"published_at": "2026-01-02T03:04+02:00", "modified_at": "2026"})
    {'published_at': '2026-01-02T01:04:00+00:00', 'more': {'modified_at': '2026'}}
    """
    fields: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, value in item.items():
        known = BY_NAME.get(name)
        if value in (None, "", [], {}) or name in OWN:
            continue
        if known is None or known.kind is Kind.STORED:
            more[name] = value
        elif known.is_list:
            fields[name] = list(map(_text, value if isinstance(value, list) else [value]))
        elif known.kind is not Kind.DATE:
            fields[name] = _text(value)
        elif date := _date(value):
            fields[name] = date
        else:
            more[name] = value
    if more:
        fields["more"] = more
    return fields


def joined(value: object) -> str:
    """Return the text of a field; the entries of a list are lines."""
    return "\n".join(value) if isinstance(value, list) else str(value or "")


def _text(value: object) -> str:
    # A half emoji (a lone surrogate) is no UTF-8: engines refuse it.
    return str(value).encode("utf-8", "replace").decode()


def _date(value: object) -> str:
    """Return a date as all engines have it: in UTC, to the second; "" if it is none."""
    try:
        date = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
        zoned = date if date.tzinfo else date.replace(tzinfo=timezone.utc)
        return zoned.astimezone(timezone.utc).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return ""
