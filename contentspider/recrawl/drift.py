"""Drift: whether a site's pages still use the templates that its model was learned from."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.models.summary import MIN_CHARS, is_empty, main_slot
from contentspider.site.slots import SURE_SHARE, TEMPLATE_PAGES

if TYPE_CHECKING:
    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction

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
    """Watches the pages of a site that come after its *model* was learned.

    A sentence that is kept of most pages with its place is the template's (`template_prose` of the
    vote), and a new part of it: the notice of a comment service.
    """

    def __init__(self, model: SiteModel) -> None:
        self._model, self._slot_of = model, lru_cache(MAX_SLOTS)(model.slot_of)
        self._slots, self._places, self._at, self._empty = (Counter[str]() for _ in range(4))
        self._sentences = Counter[tuple[str, int]]()  # by their places and hashes
        self._last: tuple[str, bool] = ("", False)
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
        sizes = Counter[str]()
        for slot, size in self._model.unseen_slots(page):
            sizes[slot] += size
        if len(self._slots) < MAX_SLOTS:
            self._slots.update(slot for slot, size in sizes.items() if size >= SLOT_CHARS)
        return True

    def _is_odd(self, page: Page) -> bool:
        """Count a page with known places; tell whether it is empty, or less sure as most are, or
        has what may be a new part of the template.
        """
        found, baseline = self._model.extract(page), self._model.baseline
        may_recur = self._may_recur(found)
        if baseline is None:
            return may_recur
        slot, _ = main_slot(page, self._slot_of)
        self._at[slot] += 1
        if len(self._confidences) < MAX_CONFIDENCES:
            insort(self._confidences, found.confidence)
        if is_empty(page, found.probabilities.tolist()):
            self._empty[slot] += 1
            return may_recur or baseline.empty.get(slot, 0.0) < 1 - MOST
        return may_recur or (self.is_unsure and found.confidence < baseline.confidence - LESS_SURE)

    def _may_recur(self, extraction: Extraction) -> bool:
        """Count the sentences kept of a page; tell if one recurs, or is at a new, rare place."""
        kept = [block for block in extraction.blocks if len(block.text) >= SENTENCE_CHARS]
        found = {(self._slot_of(block.path), hash(block.text)) for block in kept}
        places = {slot for slot, _ in found}
        if len(self._sentences) >= MAX_SLOTS:
            found &= self._sentences.keys()
            places &= self._places.keys()
        self._sentences.update(found)
        self._places.update(places)
        return any(
            self._recurs(slot, text)
            or (slot not in self._model.slots and self._places[slot] <= TEMPLATE_PAGES)
            for slot, text in found
        )

    def _recurs(self, slot: str, text: int) -> bool:
        pages, places = self._sentences[slot, text], self._places[slot]
        return pages > TEMPLATE_PAGES and pages - 1 > SURE_SHARE * (places - 1)

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
        middle = self._confidences[len(self._confidences) // 2]
        return middle <= baseline.confidence - LESS_SURE

    @property
    def recurring(self) -> tuple[str, int]:
        """Return where most pages have a sentence in common that is kept, and how many pages; an
        empty text and 0 if none is on `MOST` of all pages: rare places have few texts.
        """
        counts = self._sentences.items()
        pages, slot = max(((n, at[0]) for at, n in counts if self._recurs(*at)), default=(0, ""))
        return (slot, pages) if pages > MOST * self.pages else ("", 0)

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
        return max(self.shared, self.emptied[1], self.recurring[1]) >= least or self.is_unsure

    def evidence(self) -> str:
        """Return the evidence for a new template, in words."""
        slot, count = self.emptied
        if count >= SHARED_BY:
            return f"{count} pages whose text stands at {slot} come out empty"
        if self.is_unsure:
            pages, middle = len(self._confidences), self._confidences[len(self._confidences) // 2]
            least = f"its model is sure of half of {pages} pages by {middle:.2f} or less"
            return f"{least}, and of those that it knows by more"
        slot, count = self.recurring
        if count >= SHARED_BY:
            return f"{count} pages have the same text at {slot}, which is kept as content"
        slot = max(self._slots, key=lambda key: self._slots[key], default="")
        return (
            f"{self.strange} of {self.pages} pages have most of their text at places that its model"
            f" has not seen, {self.shared} of them at {slot}"
        )
