"""`ContentItem`, and the mapping of its fields to the fields of other item classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

from contentspider.crawl.base.binding import Bindable, bind
from contentspider.site.models.item import ItemFields

if TYPE_CHECKING:
    from scrapy.http import Response


@dataclass
class ContentItem(ItemFields, Bindable):
    """The clean content of a page, with the fields of `ItemFields` (docs/items.md).

    All fields except *url* are empty until the pipeline fills them.
    """

    @classmethod
    def from_response(cls, response: Response) -> ContentItem:
        """Return an item to yield, bound to the page of a response (`bind`)."""
        return bind(cls(url=response.url), response)


# Fields that the pipeline leaves as they are if a `ContentItem` has them.
IDENTITY = ("id", "url", "page_type")
FIELD_NAMES = tuple(ContentItem.__dataclass_fields__)


def item_values(item: object) -> dict[str, Any]:
    """Return the values of an item of any class by field name, as ``ItemAdapter.asdict`` does."""
    if type(item) is not ContentItem:
        return ItemAdapter(item).asdict()
    values = vars(item)  # an `ItemAdapter` takes 50 times as long
    return {name: values[name] for name in FIELD_NAMES if name in values}


class FieldMap:
    """Maps our fields to the field names of other item classes (``"dict"`` for plain dicts)."""

    def __init__(self, mapping: Mapping[str, Mapping[str, str]]) -> None:
        ours = FIELD_NAMES
        for item_class, fields in mapping.items():
            if not isinstance(fields, Mapping):
                raise TypeError(
                    f"CONTENTSPIDER_ITEM_FIELDS[{item_class!r}]={fields!r} cannot be used: map our"
                    " field names to yours, such as {'content': 'body'}"
                )
            if unknown := sorted(set(fields) - set(ours)):
                raise ValueError(
                    f"CONTENTSPIDER_ITEM_FIELDS[{item_class!r}] maps {unknown}, which contentspider"
                    f" does not have; its fields are {', '.join(ours)}"
                )
        self._mapping = {name: dict(fields) for name, fields in mapping.items()}
        self._own = {name: name for name in ours}

    def fields(self, item: object) -> dict[str, str] | None:
        """Return ``{our field: their field}`` for an item, None if its class is not mapped."""
        if isinstance(item, ContentItem):
            return self._own
        kind = type(item)
        name = "dict" if kind is dict else f"{kind.__module__}.{kind.__qualname__}"
        return self._mapping.get(name)

    def identity(self, item: object) -> dict[str, object]:
        """Return the fields among `IDENTITY` that a `ContentItem` already has."""
        if not isinstance(item, ContentItem):
            return {}
        return {name: value for name in IDENTITY if (value := getattr(item, name))}

    def fill(self, item: object, values: dict[str, object]) -> None:
        """Set the fields of an item. The fields of `identity` keep their values."""
        if isinstance(item, ContentItem):  # an `ItemAdapter` takes 50 times as long
            for name, value in (values | self.identity(item)).items():
                setattr(item, name, value)
            return
        adapter = ItemAdapter(item)
        for ours, theirs in (self.fields(item) or {}).items():
            if ours not in ("id", "url") or not adapter.get(theirs):
                adapter[theirs] = values[ours]
