"""Drift: whether a site's pages still stand in the templates that its model was learned from."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.page.document import Page
    from contentspider.site.model import SiteModel

# A page is strange to a model if more than this share of its prose stands where the model has seen
# nothing. Of less than so many characters nothing is said.
STRANGE_SHARE = 0.5
MIN_CHARS = 100
# A slot counts with so much prose, in characters.
SLOT_CHARS = 20
# Many sites have strange pages, each in its own way (classes of posts, rare tags): up to 0.28 of
# half of an open site's pages are strange to the model of the other half, and no unseen slot is on
# more than 6 of them. So a template is new if one is on so many pages; or all templates are if more
# than half of the pages are strange, and these are a few (docs/results.md).
SHARED_BY = 8
MOST = 0.5
A_FEW = 5
MAX_SLOTS = 20_000


class Drift:
    """Watches the pages of a site that come after its *model* was learned."""

    def __init__(self, model: SiteModel) -> None:
        self._model = model
        self._slots: Counter[str] = Counter()
        self._last: tuple[str, bool] = ("", False)
        self.pages = 0
        self.strange = 0

    def add(self, page: Page) -> bool:
        """Count a page, and tell whether it is strange to the model."""
        if self._last[0] != page.url:
            self._last = (page.url, self._add(page))
        return self._last[1]

    def _add(self, page: Page) -> bool:
        chars, unseen = self._model.unseen_prose(page)
        if chars < MIN_CHARS:
            return False
        self.pages += 1
        if unseen <= STRANGE_SHARE * chars:
            return False
        self.strange += 1
        sizes: Counter[str] = Counter()
        for slot, size in self._model.unseen_slots(page):
            sizes[slot] += size
        if len(self._slots) < MAX_SLOTS:
            self._slots.update(slot for slot, size in sizes.items() if size >= SLOT_CHARS)
        return True

    @property
    def shared(self) -> int:
        """Return on how many strange pages the most frequent unseen slot is."""
        return max(self._slots.values(), default=0)

    @property
    def is_found(self) -> bool:
        """Tell whether there is a template that the model has not seen."""
        if self.shared >= SHARED_BY:
            return True
        return self.strange >= A_FEW and self.strange > MOST * self.pages

    def evidence(self) -> str:
        """Return what speaks for a new template, in words."""
        slot = max(self._slots, key=lambda key: self._slots[key], default="")
        return (
            f"{self.strange} of {self.pages} pages have most of their text at places that its model"
            f" has not seen, {self.shared} of them at {slot}"
        )
