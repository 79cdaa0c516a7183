"""Documents: what an index holds of a page."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contentspider.index.schema import BY_NAME, Kind

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
        own = {"id": self.id, "crawl": self.crawl, "version": self.version, "hash": self.hash}
        return own | dict(self.fields)

    @property
    def size(self) -> int:
        """Return how many bytes the document is as JSON."""
        return len(json.dumps(self.record(), ensure_ascii=False).encode("utf-8", "replace"))


def document_fields(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a page's document from those of its item: those of the schema by their
    names, each in its type, empty ones left out; what else the item has is in ``more``.

    >>> document_fields({"url": "http://e.org/", "title": "T", "keywords": "a", "price": 3})
    {'url': 'http://e.org/', 'title': 'T', 'keywords': ['a'], 'more': {'price': 3}}
    """
    fields: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, value in item.items():
        known = BY_NAME.get(name)
        if value in (None, "", [], {}):
            continue
        if known is None or known.kind is Kind.STORED:
            more[name] = value
        elif known.is_list:
            values = value if isinstance(value, list) else [value]
            fields[name] = [_text(entry) for entry in values]
        elif known.kind is Kind.NUMBER:
            fields[name] = value
        else:
            fields[name] = _text(value)
    if more:
        fields["more"] = more
    return fields


def _text(value: object) -> str:
    # A half emoji (a lone surrogate) is no UTF-8: engines refuse it.
    return str(value).encode("utf-8", "replace").decode()
