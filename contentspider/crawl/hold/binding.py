"""Which page an item is about: bound to the item when it is made, and used from wherever the item
is yielded later.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import ref

from contentspider.state.ledger.items import PageInHand

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from contentspider.page.input.page import Page

# The row of a request's address in the crawl's ledger.
ROW_META_KEY = "contentspider_row"
PAGE_META_KEY = "contentspider_page"
BINDINGS_META_KEY = "contentspider_bindings"
# Plain dicts, and other items that cannot be watched for their end, that are bound at one time.
MAX_KEPT_ALIVE = 5_000
# Items on their way to the pipeline at one time: far fewer are, or Scrapy would stop to fetch.
MAX_YIELDED = 5_000

Item = TypeVar("Item")


class Unbound:
    """What is in the place of the page of an item that is bound to none."""


UNBOUND: Final = Unbound()


class Bindable:
    """An item that keeps its page in itself: copies of it keep it too, and nobody else sees it."""

    __slots__ = ("_contentspider_bound",)
    _contentspider_bound: PageInHand | None


class Bindings:
    """The pages of a crawl's items, from when an item is bound, or its callback yields it, to our
    pipeline. ``None`` is the page of an answer that was not HTML.

    `Bindable` items keep theirs; of others it is known by the item's identity, for as long as the
    item lives. What cannot be watched for its end (a dict) is kept alive, up to `MAX_KEPT_ALIVE`.
    """

    def __init__(self) -> None:
        # What is done with an item when it is bound: `scrapy parse` shows it without a pipeline.
        self.on_bind: Callable[[object], None] | None = None
        self._pages: dict[int, tuple[object, PageInHand | None]] = {}
        self._kept_alive: OrderedDict[int, object] = OrderedDict()
        # Items that their callbacks have yielded, on their way to our pipeline.
        self._yielded: dict[int, tuple[object, PageInHand]] = {}

    def bind(self, item: object, page: Page | None, row: int | None = None) -> None:
        """Bind an item to a page, instead of the one that it was bound to; *row* is that of the
        page's address.
        """
        hand = PageInHand(page, row) if page is not None else None
        if isinstance(item, Bindable):
            item._contentspider_bound = hand
        else:
            self._remember(item, hand)
        if self.on_bind:
            self.on_bind(item)

    def _remember(self, item: object, hand: PageInHand | None) -> None:
        number, pages = id(item), self._pages
        try:
            watch: object = ref(item, lambda _: pages.pop(number, None))
        except TypeError:
            watch = self._kept_alive[number] = item
            if len(self._kept_alive) > MAX_KEPT_ALIVE:
                pages.pop(self._kept_alive.popitem(last=False)[0], None)
        pages[number] = (watch, hand)

    def get(self, item: object) -> PageInHand | Unbound | None:
        """Return the page that an item is bound to, `UNBOUND` if it is to none."""
        if isinstance(item, Bindable):
            return getattr(item, "_contentspider_bound", UNBOUND)
        return self._pages[id(item)][1] if id(item) in self._pages else UNBOUND

    def put(self, item: object, hand: PageInHand) -> None:
        """Remember what an item is about that goes to our pipeline now."""
        self._yielded[id(item)] = (item, hand)
        if len(self._yielded) > MAX_YIELDED:  # they were replaced on the way: nobody will ask
            del self._yielded[next(iter(self._yielded))]

    def take(self, item: object) -> PageInHand | None:
        """Return what an item is about that has come to our pipeline, and forget it."""
        found = self._yielded.pop(id(item), None)
        return found[1] if found else None


def bind(item: Item, response: Response) -> Item:
    """Bind an item of yours to the page of a response, and return it.

    Its content will be that page's, whichever callback yields it. Without, it is that of the page
    whose callback makes and yields it; an item that came to its callback in ``cb_kwargs`` or
    ``meta`` has no page unless it is bound. `ContentItem.from_response` binds by itself.
    """
    meta: dict[str, Any] = response.meta if response.request is not None else {}
    page: Page | None = meta.get(PAGE_META_KEY)
    bindings: Bindings = meta.get(BINDINGS_META_KEY) or Bindings()
    bindings.bind(item, page, meta.get(ROW_META_KEY))
    return item


def came_along(item: object, response: Response) -> bool:
    """Tell whether an item was made before its callback's page was there: it came in the
    request.
    """
    request = response.request
    return request is not None and any(
        found is item for given in (request.cb_kwargs, request.meta) for found in given.values()
    )
