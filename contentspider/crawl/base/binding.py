"""Which page an item is about, whichever callback yields it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from contentspider.crawl.base.meta import BINDINGS_META_KEY, PAGE_META_KEY, ROW_META_KEY
from contentspider.state.ledger.items import PageInHand

if TYPE_CHECKING:
    from scrapy.http import Response

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

MAX_KEPT_ALIVE = 5_000  # plain dicts and the like that are bound at one time

Item = TypeVar("Item")


class Bindable:
    """An item that keeps its page in itself: copies of it keep it too, and nobody else sees it."""

    __slots__ = ("_contentspider_bound",)
    _contentspider_bound: PageInHand | None


class Bindings:
    """The pages of items by their identity; None for an answer that was not HTML."""

    def __init__(self) -> None:
        # What is done with an item when it is bound: `scrapy parse` shows it without a pipeline.
        self.on_bind: Callable[[object], None] | None = None
        # The model of an address' site, None until it is learned.
        self.model_of: Callable[[str], SiteModel | None] = lambda url: None
        self._pages: dict[int, tuple[object, PageInHand | None, bool]] = {}
        self._kept_alive: OrderedDict[int, object] = OrderedDict()

    def bind(self, item: object, page: Page | None, row: int | None = None) -> None:
        """Bind an item to a page, the address of which has that *row*, and to no other."""
        self.put(item, PageInHand(page, row) if page is not None else None, is_bound=True)
        if self.on_bind:
            self.on_bind(item)

    def put(self, item: object, hand: PageInHand | None, is_bound: bool = False) -> None:
        """Note what an item is about: until `take`, or, if it *is_bound*, as long as it lives."""
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
        """Tell whether it is known what an item is about, be it no page."""
        if isinstance(item, Bindable):
            return hasattr(item, "_contentspider_bound")
        return id(item) in self._pages

    def get(self, item: object) -> PageInHand | None:
        """Return what an item is about; None if it has no page, or that is not known."""
        if isinstance(item, Bindable):
            return getattr(item, "_contentspider_bound", None)
        return self._pages.get(id(item), (None, None))[1]

    def take(self, item: object) -> PageInHand | None:
        """Return what an item is about that came to our pipeline; forget what is not bound."""
        hand, number = self.get(item), id(item)
        if number in self._pages and not self._pages[number][2]:
            del self._pages[number]
            self._kept_alive.pop(number, None)
        return hand


def bind(item: Item, response: Response) -> Item:
    """Bind an item of yours to the page of a response, whose content it will have, and return it.
    Without, that is the page whose callback yields it; an item that came in ``cb_kwargs`` or
    ``meta`` has none. `ContentItem.from_response` binds by itself.
    """
    meta: dict[str, Any] = response.meta if response.request is not None else {}
    bindings: Bindings = meta.get(BINDINGS_META_KEY) or Bindings()
    bindings.bind(item, meta.get(PAGE_META_KEY), meta.get(ROW_META_KEY))
    return item
