"""The baseline of a model: how its own pages come out, with which later ones are compared."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from contentspider.page.text import SENTENCE_CHARS
from contentspider.site.models.counts import kept_chars, sureness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from contentspider.page.input.page import Page

# Pages with less prose, in characters, are ignored.
MIN_CHARS = 100


@dataclass(frozen=True, slots=True)
class Baseline:
    """The median *confidence* of a classifier on the pages that it learned from, and the share of
    *empty* results by the pages' main slot, where most of their prose stands (0 if missing).
    """

    confidence: float
    empty: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, decided: Iterable[tuple[Page, list[float]]], slot_of: Callable[[str], str]
    ) -> Baseline:
        """Return the baseline of pages, each with the probabilities of its blocks."""
        pages: Counter[str] = Counter()
        empty: Counter[str] = Counter()
        confidences = []
        for page, probabilities in decided:
            seen = dict.fromkeys((block.path for block in page.content.blocks), True)
            confidences.append(sureness(page.content, probabilities, seen, seen.__getitem__))
            slot, chars = main_slot(page, slot_of)
            pages[slot] += 1
            empty[slot] += is_empty(page, probabilities, chars)
        shares = {slot: round(empty[slot] / pages[slot], 4) for slot in empty if empty[slot]}
        return cls(round(median(confidences), 4), shares)

    @classmethod
    def parse(cls, record: Any) -> Baseline:
        """Return what `dataclasses.asdict` made a record of; raises ValueError and its like."""
        empty = {str(slot): float(share) for slot, share in record["empty"].items()}
        return cls(float(record["confidence"]), empty)


def main_slot(page: Page, slot_of: Callable[[str], str]) -> tuple[str, int]:
    """Return the slot where most of a page's prose stands, and how many characters the page has
    outside of links.
    """
    chars: Counter[str] = Counter()
    for block in page.content.blocks:
        chars[slot_of(block.path)] += len(block.text) - block.link_chars
    return max(chars, key=lambda slot: chars[slot], default=""), chars.total()


def is_empty(page: Page, probabilities: list[float], chars: int) -> bool:
    """Tell whether less than a sentence is kept of a page with *chars* characters of prose."""
    return chars >= MIN_CHARS and kept_chars(page.content, probabilities) < SENTENCE_CHARS
