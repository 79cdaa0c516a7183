"""Items: our own, and how its fields are filled into items of any class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from itemadapter import ItemAdapter

from contentspider.crawl.base.binding import Bindable, bind

if TYPE_CHECKING:
    from scrapy.http import Response


@dataclass
class ContentItem(Bindable):
    """A page's clean content. docs/items.md tells each field; empty until the pipeline fills it."""

    url: str
    id: str = ""
    site: str = ""
    title: str = ""
    description: str = ""
    summary: str = ""
    language: str = ""
    content: str = ""
    content_markdown: str = ""
    content_html: str = ""
    passages: list[dict[str, str | list[str]]] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    canonical: str = ""
    published_at: str = ""
    modified_at: str = ""
    author: list[str] = field(default_factory=list)
    image: str = ""
    images: list[dict[str, object]] = field(default_factory=list)
    section: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    page_type: str = ""
    content_hash: str = ""
    confidence: float = 0.0
    model_version: str = ""
    crawled_at: str = ""
    change: str = ""
    change_ratio: float = 0.0
    first_seen: str = ""
    changed_at: str = ""

    @classmethod
    def from_response(cls, response: Response) -> ContentItem:
        """Return the item to yield for a response, bound to its page (`bind`)."""
        return bind(cls(url=response.url), response)


class FieldMap:
    """Which of our fields an item class (or ``"dict"``) asks for, and its names of them."""

    def __init__(self, mapping: Mapping[str, Mapping[str, str]]) -> None:
        ours = list(ContentItem.__dataclass_fields__)
        for item_class, fields in mapping.items():
            if not isinstance(fields, Mapping):
                raise TypeError(
                    f"CONTENTSPIDER_ITEM_FIELDS[{item_class!r}]={fields!r} cannot be used: give our"
                    " fields and yours, such as {'content': 'body'}"
                )
            if unknown := sorted(set(fields) - set(ours)):
                raise ValueError(
                    f"CONTENTSPIDER_ITEM_FIELDS[{item_class!r}] maps {unknown}, which contentspider"
                    f" does not have; its fields are {', '.join(ours)}"
                )
        self._mapping = {name: dict(fields) for name, fields in mapping.items()}
        self._own = {name: name for name in ours}

    def fields(self, item: object) -> dict[str, str] | None:
        """Return ``{our field: their field}`` for an item, None if it asks for nothing."""
        if isinstance(item, ContentItem):
            return self._own
        kind = type(item)
        name = "dict" if kind is dict else f"{kind.__module__}.{kind.__qualname__}"
        return self._mapping.get(name)

    def identity(self, item: object) -> dict[str, object]:
        """Return the ``id`` and ``url`` that an item of ours has already."""
        if not isinstance(item, ContentItem):
            return {}
        return {name: value for name in ("id", "url") if (value := getattr(item, name))}

    def fill(self, item: object, values: dict[str, object]) -> None:
        """Set the item's fields; a ``url`` and an ``id`` that it has already stay."""
        if isinstance(item, ContentItem):  # an adapter takes 50 times as long
            for name, value in (values | self.identity(item)).items():
                setattr(item, name, value)
            return
        adapter = ItemAdapter(item)
        for ours, theirs in (self.fields(item) or {}).items():
            if ours not in ("id", "url") or not adapter.get(theirs):
                adapter[theirs] = values[ours]
