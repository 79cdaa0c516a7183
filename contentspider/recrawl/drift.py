"""Drift: whether a site's pages still use the templates that its model was learned from."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from typing import TYPE_CHECKING

from contentspider.site.models.summary import MIN_CHARS, is_empty, main_slot

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel

STRANGE_SHARE = 0.5  # with more of its prose at unseen places a page is strange to a model
SLOT_CHARS = 20  # a slot counts with so much prose, in characters
# Many sites have strange pages, each in its own way (classes of posts, rare tags): up to 0.28 of
# half of an open site's pages are strange to the model of the other half, and no unseen slot is on
# more than 6 of them. So a template is new if one is on so many pages, and not too rare for a
# sample; or all templates are if more than half of the pages are strange, and these are a few
# (research/NOTES.md).
SHARED_BY = 8
RARE = 0.02
MOST = 0.5
A_FEW = 5
MAX_SLOTS = 20_000
# Text that stands where the model has seen other text is found by what the model makes of it: of
# pages with the same main slot more come out empty than is usual, by so many and by `MOST` (at most
# 3 on open sites); or half of the pages are less sure by so much than half of those that were
# learned from (at most 0.024 there).
LESS_SURE = 0.05
ENOUGH = 20
MAX_CONFIDENCES = 20_000


class Drift:
    """Watches the pages of a site that come after its *model* was learned."""

    def __init__(self, model: SiteModel) -> None:
        self._model = model
        self._slots: Counter[str] = Counter()
        self._last: tuple[str, bool] = ("", False)
        self._at: Counter[str] = Counter()
        self._empty: Counter[str] = Counter()
        self._confidences: list[float] = []
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
            return self._is_odd(page)
        self.strange += 1
        sizes: Counter[str] = Counter()
        for slot, size in self._model.unseen_slots(page):
            sizes[slot] += size
        if len(self._slots) < MAX_SLOTS:
            self._slots.update(slot for slot, size in sizes.items() if size >= SLOT_CHARS)
        return True

    def _is_odd(self, page: Page) -> bool:
        """Count a page with known places; tell whether it is empty, or less sure as most are."""
        baseline = self._model.baseline
        if baseline is None:
            return False
        found = self._model.extract(page)
        slot, _ = main_slot(page, self._model.slot_of)
        self._at[slot] += 1
        if len(self._confidences) < MAX_CONFIDENCES:
            insort(self._confidences, found.confidence)
        if is_empty(page, found.probabilities.tolist()):
            self._empty[slot] += 1
            return baseline.empty.get(slot, 0.0) < 1 - MOST
        return self.is_unsure and found.confidence < baseline.confidence - LESS_SURE

    @property
    def emptied(self) -> tuple[str, int]:
        """Return the main slot where more pages than before come out empty, and how many more."""
        baseline = self._model.baseline
        found = ("", 0)
        for slot, count in self._empty.items():
            share = baseline.empty.get(slot, 0.0) if baseline is not None else 0.0
            more = int(count - share * self._at[slot])
            if more > max(found[1], MOST * self._at[slot]):
                found = (slot, more)
        return found

    @property
    def is_unsure(self) -> bool:
        """Tell whether the model is less sure of most pages than of those that it learned from."""
        baseline = self._model.baseline
        if baseline is None or len(self._confidences) < ENOUGH:
            return False
        return self._median <= baseline.confidence - LESS_SURE

    @property
    def _median(self) -> float:
        return self._confidences[len(self._confidences) // 2]

    @property
    def shared(self) -> int:
        """Return on how many strange pages the most frequent unseen slot is."""
        return max(self._slots.values(), default=0)

    @property
    def is_found(self) -> bool:
        """Tell whether there is a new template."""
        if self.strange >= A_FEW and self.strange > MOST * self.pages:
            return True
        least = max(SHARED_BY, RARE * self.pages)
        return max(self.shared, self.emptied[1]) >= least or self.is_unsure

    def evidence(self) -> str:
        """Return the evidence for a new template, in words."""
        slot, count = self.emptied
        if count >= SHARED_BY:
            return f"{count} pages whose text stands at {slot} come out empty"
        if self.is_unsure:
            return (
                f"its model is sure of half of {len(self._confidences)} pages by"
                f" {self._median:.2f} or less, and of those that it knows by more"
            )
        slot = max(self._slots, key=lambda key: self._slots[key], default="")
        return (
            f"{self.strange} of {self.pages} pages have most of their text at places that its model"
            f" has not seen, {self.shared} of them at {slot}"
        )
