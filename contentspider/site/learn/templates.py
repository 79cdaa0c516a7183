"""The templates of a site's pages, and the first pages of each template.

A sample of a site's pages needs them: a template of few pages is in no sample that is drawn from
all pages alike.
"""

from __future__ import annotations

from bisect import bisect_left
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from contentspider.site.judge.slots import tag_path
from contentspider.site.models.summary import main_slot

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

# More pages of a rare template do not improve the labels (research/docs/experiments.md, samples by
# template).
PAGES_PER_TEMPLATE = 4
TEMPLATE_BYTES = 4

T = TypeVar("T")


def page_template(page: Page) -> bytes:
    """Return a number for the template of a page: the hash of the tag path of most of its prose."""
    path, _ = main_slot(page, tag_path)
    return blake2b(path.encode("utf-8", "replace"), digest_size=TEMPLATE_BYTES).digest()


class TemplatePages(Generic[T]):
    """The first `PAGES_PER_TEMPLATE` pages of each template of a site, at most *most* in all.

    The *rank* of a page is its number among the pages of its template. Pages are sorted by rank,
    then by their order, and the last ones are dropped if they are too many. Pages may be added in
    any order, with the same result.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        # The pages of each template, in their order.
        self._pages: dict[bytes, list[tuple[Any, T]]] = {}
        # The rank and order of the last page of a full collection: later pages are dropped.
        self._end: tuple[int, Any] | None = None

    def add(self, order: Any, template: bytes, page: T) -> list[T]:
        """Add a page, and return the pages that are dropped for it; *page* itself if it does not
        stay, or if it was added before. Values for *order* must be comparable.
        """
        pages = self._pages.get(template, [])
        rank = bisect_left(pages, order, key=lambda entry: entry[0])
        is_known = rank < len(pages) and pages[rank][0] == order
        is_late = self._most == 0 or (self._end is not None and (rank, order) >= self._end)
        if is_known or is_late or rank == PAGES_PER_TEMPLATE:
            return [page]
        pages.insert(rank, (order, page))
        self._pages[template] = pages
        dropped = [page for _, page in pages[PAGES_PER_TEMPLATE:]]
        del pages[PAGES_PER_TEMPLATE:]
        self._count += 1 - len(dropped)
        return dropped + self.limit(self._most)

    def limit(self, most: int) -> list[T]:
        """Drop pages until there are at most *most*, now and later. Return the dropped pages."""
        self._most = most
        dropped = []
        while self._count > most:
            _, _, template = self._last()
            dropped.append(self._pages[template].pop()[1])
            self._count -= 1
            if not self._pages[template]:
                del self._pages[template]
        self._end = self._last()[:2] if 0 < self._count == most else None
        return dropped

    def _last(self) -> tuple[int, Any, bytes]:
        """Return the rank and order of the last page, and its template."""
        return max((len(pages) - 1, pages[-1][0], name) for name, pages in self._pages.items())

    def ranked(self) -> list[T]:
        """Return the pages by rank: the first pages of all templates, then the second, and so on.

        Pages of one rank are in their order.
        """
        entries = [
            (rank, order, page)
            for pages in self._pages.values()
            for rank, (order, page) in enumerate(pages)
        ]
        return [page for _, _, page in sorted(entries, key=lambda entry: entry[:2])]
