"""`ContentItem`, the mapping of its fields to other item classes, and the page of each item."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pydoc import ErrorDuringImport, locate
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from itemadapter import ItemAdapter

from contentspider.crawl.base.alone import fields_alone, page_alone
from contentspider.crawl.base.meta import BINDINGS_META_KEY, PAGE_META_KEY, ROW_META_KEY
from contentspider.crawl.base.option import SettingError
from contentspider.site.models.item import ItemFields
from contentspider.state.book.items import ItemBinding

if TYPE_CHECKING:
    from scrapy.http import Response

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

# Items without weak references (plain dicts) that stay bound at one time; the oldest is forgotten.
MAX_KEPT_ALIVE = 5_000

Item = TypeVar("Item")


class Bindable:
    """An item that stores its page in a private slot, which copies of the item share."""

    __slots__ = ("_contentspider_bound",)
    _contentspider_bound: ItemBinding | None


class Bindings:
    """Maps items, by their identity, to their pages; to None if the response was not HTML."""

    def __init__(self) -> None:
        # Called with each item that is bound. It fills the items of `scrapy parse`, which runs no
        # pipeline.
        self.on_bind: Callable[[object], None] | None = None
        # Returns the model of the site of an address, None until the site is learned.
        self.model_of: Callable[[str], SiteModel | None] = lambda url: None
        self._pages: dict[int, tuple[object, ItemBinding | None, bool]] = {}
        self._kept_alive: OrderedDict[int, object] = OrderedDict()

    def bind(self, item: object, page: Page | None, row: int | None = None) -> None:
        """Bind an item to a page, and to the *row* of the page's address in the book."""
        self.put(item, ItemBinding(page, row) if page is not None else None, is_bound=True)
        if self.on_bind:
            self.on_bind(item)

    def put(self, item: object, hand: ItemBinding | None, is_bound: bool = False) -> None:
        """Store the page of an item until `take`; if the item *is_bound*, as long as it lives."""
        if isinstance(item, Bindable):
            item._contentspider_bound = hand
            return
        number, pages = id(item), self._pages
        try:
            watch: object = ref(item, lambda _: pages.pop(number, None))
        except TypeError:
            watch = self._kept_alive[number] = item
            if len(self._kept_alive) > MAX_KEPT_ALIVE:
                pages.pop(self._kept_alive.popitem(last=False)[0], None)
        was_bound = number in pages and pages[number][2]
        pages[number] = (watch, hand, is_bound or was_bound)

    def has(self, item: object) -> bool:
        """Tell whether a page, or the absence of a page, is stored for an item."""
        if isinstance(item, Bindable):
            return hasattr(item, "_contentspider_bound")
        return id(item) in self._pages

    def get(self, item: object) -> ItemBinding | None:
        """Return the page of an item; None if the item was never bound, or bound to None."""
        if isinstance(item, Bindable):
            return getattr(item, "_contentspider_bound", None)
        return self._pages.get(id(item), (None, None))[1]

    def take(self, item: object) -> ItemBinding | None:
        """Return the page of an item that reached our pipeline. Forget the page, unless the item
        was bound with `bind`.
        """
        hand, number = self.get(item), id(item)
        if number in self._pages and not self._pages[number][2]:
            del self._pages[number]
            self._kept_alive.pop(number, None)
        return hand


def bind(item: Item, response: Response) -> Item:
    """Bind an item of yours to the page of a response, and return the item. The pipeline fills the
    item with the content of that page.

    An item that is not bound gets the page whose callback yields it. An unbound item that arrives
    in ``cb_kwargs`` or ``meta`` gets no page. `ContentItem.from_response` binds its item.

    The response of a unit test has passed no middleware. Its page is then read and judged alone,
    and a `ContentItem` is filled at once; an item of another class stays as it is.
    """
    meta: dict[str, Any] = response.meta if response.request is not None else {}
    bindings: Bindings = meta.get(BINDINGS_META_KEY) or Bindings()
    page = meta.get(PAGE_META_KEY)
    if page is None and (page := page_alone(response)) and isinstance(item, ContentItem):
        FieldMap({}).fill(item, fields_alone(page))
    bindings.bind(item, page, meta.get(ROW_META_KEY))
    return item


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


def class_path(kind: type) -> str:
    """Return the name of an item class in `CONTENTSPIDER_ITEM_FIELDS`."""
    return "dict" if kind is dict else f"{kind.__module__}.{kind.__qualname__}"


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

    def check_classes(self) -> None:
        """Raise `SettingError` for a class that no item can be of, or that lacks a field."""
        for path, fields in self._mapping.items():
            if path == "dict" or "<locals>" in path:
                continue
            where = f"CONTENTSPIDER_ITEM_FIELDS[{path!r}]"
            try:
                kind = locate(path)
            except ErrorDuringImport as error:
                raise SettingError(f"{where} cannot be imported: {error}") from error
            if not isinstance(kind, type):
                raise SettingError(f"{where}: there is no such class")
            if (name := class_path(kind)) != path:
                raise SettingError(f"{where} is another name of {name}: write that")
            try:
                has = ItemAdapter.get_field_names_from_class(kind)
            except TypeError as error:
                raise SettingError(
                    f"{where}: {error}: use a dict, dataclass, attrs, pydantic or Scrapy class"
                ) from error
            if has is not None and (missing := sorted(set(fields.values()) - set(has))):
                raise SettingError(
                    f"{where}: the class has no fields {missing}; it has {', '.join(sorted(has))}"
                )

    def fields(self, item: object) -> dict[str, str] | None:
        """Return ``{our field: their field}`` for an item, None if its class is not mapped, or to
        no field.
        """
        if isinstance(item, ContentItem):
            return self._own
        return self._mapping.get(class_path(type(item))) or None

    def has_class(self, item: object) -> bool:
        """Tell whether the class of an item is mapped, or is said to need no content."""
        return isinstance(item, ContentItem) or class_path(type(item)) in self._mapping

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
