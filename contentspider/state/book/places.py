"""The places of the pages in the stored sample of one site."""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING

from contentspider.site.learn.templates import TemplatePages
from contentspider.site.sample import ORDER_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

PAGES_WITH_TEXT = 40  # preferred pages: the learner uses no more pages with an own text
FRONT = bytes(ORDER_BYTES)


class SamplePlaces:
    """Decides which pages of a site stay in its sample. *stored* has the places of stored pages.

    *size* pages stay for their order: preferred pages first. At most as many again stay for their
    template (`TemplatePages`). The *key* of a page is its order and the number of its template. The
    place of a page is its key, after `FRONT` if the page is preferred.
    """

    def __init__(self, stored: Iterable[bytes], size: int) -> None:
        self.size = size
        self._preferred: list[bytes] = []
        self._first: list[bytes] = []
        self._of_templates: TemplatePages[bytes] = TemplatePages(size)
        for place in stored:
            key = place.removeprefix(FRONT)
            self.add(key, is_preferred=len(key) < len(place))

    def add(self, key: bytes, is_preferred: bool) -> bool:
        """Add a page. False if that does not change the places of any page."""
        if is_preferred and self._has_room(key):
            self._prefer(key)
        elif key not in self._preferred and key not in self._first:
            insort(self._first, key)
        dropped = self._of_templates.add(key, key[ORDER_BYTES:], key)
        self.limit(self.size)
        return key not in dropped or key in self._first or key in self._preferred

    def _has_room(self, key: bytes) -> bool:
        return len(self._preferred) < PAGES_WITH_TEXT or key < self._preferred[-1]

    def _prefer(self, key: bytes) -> None:
        """Prefer a page, which may have come before its own text."""
        if key in self._preferred:
            return
        if key in self._first:
            self._first.remove(key)
        insort(self._preferred, key)
        if len(self._preferred) > PAGES_WITH_TEXT:
            insort(self._first, self._preferred.pop())

    def limit(self, size: int) -> None:
        """Drop pages so that *size* pages stay for their order."""
        self.size = size
        del self._preferred[size:]
        del self._first[size - len(self._preferred) :]
        self._of_templates.limit(size)

    def all(self) -> dict[bytes, bytes]:
        """Return the places of all pages that stay, by their keys."""
        keys = [*self._of_templates.ranked(), *self._first]
        return {key: key for key in keys} | {key: FRONT + key for key in self._preferred}
