"""Detects drift: a site's pages no longer use the templates that its model was learned from."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.ground.counts import counted
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.recrawl.places import slot_key
from contentspider.site.judge.slots import SURE_SHARE, TEMPLATE_PAGES
from contentspider.site.models.summary import MIN_CHARS, is_empty, main_slot

if TYPE_CHECKING:
    from collections.abc import Collection

    from contentspider.page.input.page import Page
    from contentspider.site.models.model import SiteModel
    from contentspider.site.models.record import Extraction
    from contentspider.site.models.summary import Baseline

STRANGE_SHARE = 0.5  # a page is strange to a model if it has more of its prose in unseen slots
SLOT_CHARS = 20  # a slot of a page counts if it has this many characters of prose
# Many sites have strange pages, each in its own way (classes of posts, rare tags). If an open site
# is split in halves, up to 0.28 of the pages of one half are strange to the model of the other, and
# an unseen slot is on 6 of them at most. So a template is new if an unseen slot is on `SHARED_BY`
# pages, and is not too `RARE` for a sample. All templates are new if more than `MOST` of the pages,
# and at least `A_FEW`, are strange (research/NOTES.md).
SHARED_BY = 8
RARE = 0.02
MOST = 0.5
A_FEW = 5
MAX_SLOTS = 20_000
# New text in slots that the model knows is detected by the result. Either more pages with the same
# main slot come out empty than before, by `SHARED_BY` and by `MOST` of them (open sites have 3 at
# most). Or the model is less sure: the median confidence falls by `LESS_SURE` below the median of
# the pages it was learned from (open sites: by 0.024 at most).
LESS_SURE = 0.05
# A page that lacks a field is suspicious if this share of the sample's pages with its main slot
# show the field in a learned place.
USUAL = 0.9
ENOUGH = 20
MAX_CONFIDENCES = 20_000


class Drift:
    """Watches the pages of a site that come after its *model* was learned.

    A sentence that is kept on most pages with its slot belongs to the template (`template_prose` of
    the vote), and to a new part of it, such as the notice of a comment service. It does not in
    *restless* slots, given by their keys, whose texts changed on many pages in one of the last
    crawls: the next text of a banner is on many pages, too, and a new model would not know it.
    """

    def __init__(self, model: SiteModel, restless: Collection[str] = ()) -> None:
        self._model, self._slot_of = model, lru_cache(MAX_SLOTS)(model.slot_of)
        self._restless = restless
        self._slots, self._places, self._at, self._empty = (Counter[str]() for _ in range(4))
        self._sentences = Counter[tuple[str, int]]()  # by their places and hashes
        self._last: tuple[str, bool] = ("", False)
        self._confidences: list[float] = []
        # By field and main slot: the number of pages that do not state the field as data, and the
        # number of these pages that do not show it in a learned place.
        self._unstated, self._unshown = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        self.pages = 0
        self.strange = 0

    def note_known(self) -> None:
        """Count a page that was read by the model before, and has not changed since."""
        self.pages += 1
        if self._model.baseline is not None and len(self._confidences) < MAX_CONFIDENCES:
            insort(self._confidences, self._model.baseline.confidence)

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
            return self._shows_drift(page)
        self.strange += 1
        sizes = Counter[str]()
        for slot, size in self._model.unseen_slots(page):
            sizes[slot] += size
        if len(self._slots) < MAX_SLOTS:
            self._slots.update(slot for slot, size in sizes.items() if size >= SLOT_CHARS)
        return True

    def _shows_drift(self, page: Page) -> bool:
        """Count a page without unseen slots, and tell whether it may be a sign of drift: it is
        empty, or less sure while most pages are, or may have a new part of the template.
        """
        extraction, baseline = self._model.extract(page), self._model.baseline
        may_recur = self._may_recur(extraction)
        if baseline is None:
            return may_recur
        slot, _ = main_slot(page, self._slot_of)
        self._at[slot] += 1
        may_recur |= self._lacks_field(page, slot, baseline)
        if len(self._confidences) < MAX_CONFIDENCES:
            insort(self._confidences, extraction.confidence)
        if is_empty(page, extraction.probabilities.tolist()):
            self._empty[slot] += 1
            return may_recur or baseline.empty.get(slot, 0.0) < 1 - MOST
        is_less_sure = extraction.confidence < baseline.confidence - LESS_SURE
        return may_recur or (self.is_unsure and is_less_sure)

    def _lacks_field(self, page: Page, slot: str, baseline: Baseline) -> bool:
        """Count the fields of a page, and tell whether it lacks one that pages with its main *slot*
        usually show.
        """
        is_usual = False
        for name, is_shown in self._model.unstated_fields(page).items():
            if slot in baseline.shown.get(name, ()):
                self._unstated[name, slot] += 1
                self._unshown[name, slot] += not is_shown
                is_usual |= not is_shown and baseline.shown[name][slot] >= USUAL
        return is_usual

    def _may_recur(self, extraction: Extraction) -> bool:
        """Count the sentences kept of a page; tell if one recurs, or is in a new, rare slot."""
        blocks = [block for block in extraction.blocks if len(block.text) >= SENTENCE_CHARS]
        sentences = {(self._slot_of(block.path), hash(block.text)) for block in blocks}
        if self._restless:
            sentences = {at for at in sentences if slot_key(at[0]) not in self._restless}
        places = {slot for slot, _ in sentences}
        if len(self._sentences) >= MAX_SLOTS:
            sentences &= self._sentences.keys()
            places &= self._places.keys()
        self._sentences.update(sentences)
        self._places.update(places)
        return any(
            self._recurs(slot, text)
            or (slot not in self._model.slots and self._places[slot] <= TEMPLATE_PAGES)
            for slot, text in sentences
        )

    def _recurs(self, slot: str, text: int) -> bool:
        pages, places = self._sentences[slot, text], self._places[slot]
        return pages > TEMPLATE_PAGES and pages - 1 > SURE_SHARE * (places - 1)

    @property
    def emptied(self) -> tuple[str, int]:
        """Return the main slot whose pages come out empty more often than before, and by how many
        pages; ("", 0) if there is no such slot.
        """
        baseline = self._model.baseline
        worst = ("", 0)
        for slot, count in self._empty.items():
            share = baseline.empty.get(slot, 0.0) if baseline is not None else 0.0
            more = int(count - share * self._at[slot])
            if more > max(worst[1], MOST * self._at[slot]):
                worst = (slot, more)
        return worst

    @property
    def unshown(self) -> tuple[str, int]:
        """Return the field that more pages lack than before, and by how many pages; ("", 0) if
        there is no such field.
        """
        baseline = self._model.baseline
        worst = ("", 0)
        for (name, slot), count in self._unshown.items():
            share = baseline.shown[name][slot] if baseline is not None else 0.0
            pages = self._unstated[name, slot]
            more = int(count - (1 - share) * pages)
            if more > max(worst[1], MOST * pages):
                worst = (name, more)
        return worst

    @property
    def is_unsure(self) -> bool:
        """Tell whether the model is less sure of most pages than of the pages of its sample."""
        baseline = self._model.baseline
        if baseline is None or len(self._confidences) < ENOUGH:
            return False
        middle = self._confidences[len(self._confidences) // 2]
        return middle <= baseline.confidence - LESS_SURE

    @property
    def recurring(self) -> tuple[str, int]:
        """Return the slot of a kept sentence that most pages share, and the number of pages.

        The result is ("", 0) if no sentence is on more than `MOST` of all pages. The share of the
        slot's own pages is not used, because a rare slot has few different texts.
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
        """Tell whether the site has a new template, or shows a field in other places."""
        return self.is_of_content or self.unshown[1] >= max(SHARED_BY, RARE * self.pages)

    @property
    def is_of_content(self) -> bool:
        """Tell whether the site has a template whose content the model does not know."""
        if self.strange >= A_FEW and self.strange > MOST * self.pages:
            return True
        least = max(SHARED_BY, RARE * self.pages)
        return max(self.shared, self.emptied[1], self.recurring[1]) >= least or self.is_unsure

    def evidence(self) -> str:
        """Return a sentence with the evidence for a new template."""
        name, count = self.unshown
        if count and not self.is_of_content:
            return (
                f"{counted(count, 'pages')} do not show the field {name} where such pages did"
                " before"
            )
        slot, count = self.emptied
        if count >= SHARED_BY:
            return f"{counted(count, 'pages')} with their text at {slot} come out empty"
        if self.is_unsure:
            pages, middle = len(self._confidences), self._confidences[len(self._confidences) // 2]
            least = (
                f"its model is sure of half of {counted(pages, 'pages')} by {middle:.2f} or less"
            )
            return f"{least}, and was surer of the pages of its sample"
        slot, count = self.recurring
        if count >= SHARED_BY:
            return (
                f"{counted(count, 'pages')} with the same text at {slot}, which is kept as content"
            )
        slot = max(self._slots, key=lambda key: self._slots[key], default="")
        return (
            f"{self.strange} of {counted(self.pages, 'pages')} with most text at places that its"
            f" model has not seen, {self.shared} of them at {slot}"
        )
