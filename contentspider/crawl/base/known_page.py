"""A known page that the server did not send again, and that need not be read again."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from contentspider.page.input.page import Page
    from contentspider.state.book.reading import Reading


class KnownPage:
    """The page at *url* as the book has it. An earlier crawl has read it as this one would, with
    the result *reading* and the *item*.

    It takes the place of a `Page`. *read* returns the page itself, once something needs more of it
    than its result.
    """

    is_document = False

    def __init__(
        self, url: str, reading: Reading, item: dict[str, Any], read: Callable[[], Page]
    ) -> None:
        self.url, self.reading, self.item = url, reading, item
        self._read = read

    @cached_property
    def _page(self) -> Page:
        return self._read()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of Python's, for copies of the object
            raise AttributeError(name)
        return getattr(self._page, name)

    def as_page(self) -> Page:
        """Return this object, for code that reads pages."""
        return cast("Page", self)


def as_known(page: Page) -> KnownPage | None:
    """Return a page if it is a `KnownPage`, otherwise None."""
    known = cast("object", page)
    return known if isinstance(known, KnownPage) else None
