"""What a model's manifest says: the template's slots, and what later pages are compared with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.site.models.counts import kept_chars, sureness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from contentspider.page.input.page import Page

# Pages with less prose, in characters, are ignored.
MIN_CHARS = 100


@dataclass(frozen=True, slots=True)
class SlotSummary:
    """A slot of the site's template, with an example.

    *probability* is the mean of its blocks (above 0.5 is content), *score* the slot's share of the
    global score of Algorithm 1; *blocks* and *pages* count where it was seen.
    """

    slot: str
    probability: float
    score: float
    blocks: int
    pages: int
    example: str

    @property
    def is_content(self) -> bool:
        """Tell whether most of it is content."""
        return self.probability > 0.5

    @classmethod
    def parse(cls, record: dict[str, Any]) -> SlotSummary:
        """Return what `asdict` wrote; raises LookupError, TypeError, ValueError, OverflowError."""
        slot, example = str(record["slot"]), str(record["example"])
        probability, score = float(record["probability"]), float(record["score"])
        return cls(slot, probability, score, int(record["blocks"]), int(record["pages"]), example)


def compare(
    before: Sequence[SlotSummary], after: Sequence[SlotSummary]
) -> dict[str, list[SlotSummary]]:
    """Return the slots that differ between two models of a site, by what happened to them, those
    with the most text first.

    >>> title, menu = (SlotSummary(slot, 0.9, 0, 9, 9, "Tea") for slot in ("h1", "nav"))
    >>> changes = compare([title], [SlotSummary("h1", 0.2, 0, 9, 9, "Tea"), menu])
    >>> {kind: [slot.slot for slot in slots] for kind, slots in changes.items() if slots}
    {'became noise': ['h1'], 'new content': ['nav']}
    """
    old = {slot.slot: slot for slot in before}
    new = {slot.slot for slot in after}
    turned = [s for s in after if s.slot in old and s.is_content != old[s.slot].is_content]
    added = [slot for slot in after if slot.slot not in old]
    gone = [slot for slot in before if slot.slot not in new]
    return {
        f"{what} {kind}": [slot for slot in slots if slot.is_content is is_content]
        for what, slots in (("became", turned), ("new", added), ("gone", gone))
        for kind, is_content in (("content", True), ("noise", False))
    }


@dataclass(frozen=True, slots=True)
class Baseline:
    """The pages' median *confidence*, and shares of *empty* ones by slot (from `MIN_CHARS` on)."""

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
            slot, chars = main_slot(page, slot_of)
            if chars < MIN_CHARS:
                continue
            seen = dict.fromkeys((block.path for block in page.content.blocks), True)
            confidences.append(sureness(page.content, probabilities, seen))
            pages[slot] += 1
            empty[slot] += is_empty(page, probabilities)
        shares = {slot: round(empty[slot] / pages[slot], 4) for slot in empty if empty[slot]}
        return cls(round(median(confidences), 4) if confidences else 0.0, shares)

    @classmethod
    def parse(cls, record: Any) -> Baseline:
        """Return what `asdict` wrote; raises as `SlotSummary.parse` does, or AttributeError."""
        empty = {str(slot): float(share) for slot, share in record["empty"].items()}
        return cls(float(record["confidence"]), empty)


def main_slot(page: Page, slot_of: Callable[[str], str]) -> tuple[str, int]:
    """Return the slot with most of a page's prose, and the characters of all of its prose."""
    at: Counter[str] = Counter()
    for block in page.content.blocks:
        at[block.path] += len(block.text) - block.link_chars
    chars: Counter[str] = Counter()
    for path, count in at.items():  # many blocks have one path
        chars[slot_of(path)] += count
    return max(chars, key=lambda slot: chars[slot], default=""), chars.total()


def is_empty(page: Page, probabilities: list[float]) -> bool:
    """Tell whether less than a sentence is kept of a page."""
    return kept_chars(page.content, probabilities) < SENTENCE_CHARS
