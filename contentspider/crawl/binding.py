"""Which page an item is about: bound to the item when it is made, and used from wherever the item
is yielded later.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, TypeVar
from weakref import ref

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.http import Response

    from contentspider.page.document import Page

PAGE_META_KEY = "contentspider_page"
BINDINGS_META_KEY = "contentspider_bindings"
# Plain dicts, and other items that cannot be watched for their end, that are bound at one time.
MAX_KEPT_ALIVE = 5_000

Item = TypeVar("Item")


class Unbound:
    """What is in the place of the page of an item that is bound to none."""


UNBOUND: Final = Unbound()


class Bindable:
    """An item that keeps its page in itself: copies of it keep it too, and nobody else sees it."""

    __slots__ = ("_contentspider_page",)
    _contentspider_page: Page | None


class Bindings:
    """The pages of a crawl's bound items. ``None`` is the page of an answer that was not HTML.

    `Bindable` items keep theirs; of others it is known by the item's identity, for as long as the
    item lives. What cannot be watched for its end (a dict) is kept alive, up to `MAX_KEPT_ALIVE`.
    """

    def __init__(self) -> None:
        # What is done with an item when it is bound: `scrapy parse` shows it without a pipeline.
        self.on_bind: Callable[[object], None] | None = None
        self._pages: dict[int, tuple[object, Page | None]] = {}
        self._kept_alive: OrderedDict[int, object] = OrderedDict()

    def put(self, item: object, page: Page | None) -> None:
        """Bind an item to a page, instead of the one that it was bound to."""
        if isinstance(item, Bindable):
            item._contentspider_page = page
        else:
            self._remember(item, page)
        if self.on_bind:
            self.on_bind(item)

    def _remember(self, item: object, page: Page | None) -> None:
        number, pages = id(item), self._pages
        try:
            watch: object = ref(item, lambda _: pages.pop(number, None))
        except TypeError:
            watch = self._kept_alive[number] = item
            if len(self._kept_alive) > MAX_KEPT_ALIVE:
                pages.pop(self._kept_alive.popitem(last=False)[0], None)
        pages[number] = (watch, page)

    def get(self, item: object) -> Page | Unbound | None:
        """Return the page that an item is bound to, `UNBOUND` if it is to none."""
        if isinstance(item, Bindable):
            return getattr(item, "_contentspider_page", UNBOUND)
        return self._pages[id(item)][1] if id(item) in self._pages else UNBOUND


def bind(item: Item, response: Response) -> Item:
    """Bind an item of yours to the page of a response, and return it.

    Its content will be that page's, whichever callback yields it. Without, it is that of the page
    whose callback makes and yields it; an item that came to its callback in ``cb_kwargs`` or
    ``meta`` has no page unless it is bound. `ContentItem.from_response` binds by itself.
    """
    meta: dict[str, Any] = response.meta if response.request is not None else {}
    page: Page | None = meta.get(PAGE_META_KEY)
    bindings: Bindings = meta.get(BINDINGS_META_KEY) or Bindings()
    bindings.put(item, page)
    return item


def came_along(item: object, response: Response) -> bool:
    """Tell whether an item was made before its callback's page was there: it came in the
    request.
    """
    request = response.request
    return request is not None and any(
        found is item for given in (request.cb_kwargs, request.meta) for found in given.values()
    )
