"""The contents of a model's manifest: a summary of the template's slots, and the baseline."""

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

# A model that was learned from fewer pages also uses the prior. With more pages the classifier is
# right in unseen slots more often than the prior (research/NOTES.md).
ENOUGH_PAGES = 21
# Pages with less prose, in characters, are ignored.
MIN_CHARS = 100
# The share of pages that show a field is computed from at least this many pages.
MIN_SHOWN = 8


@dataclass(frozen=True, slots=True)
class SlotSummary:
    """A slot of the site's template, with the text of one block as an *example*.

    *probability* is the mean probability of its blocks; above 0.5 they are content. *score* is the
    slot's share of the global score of Algorithm 1. *blocks* and *pages* are the numbers of its
    blocks and of the pages with such blocks.
    """

    slot: str
    probability: float
    score: float
    blocks: int
    pages: int
    example: str

    @property
    def is_content(self) -> bool:
        """Tell whether the blocks of the slot are content on average."""
        return self.probability > 0.5

    @classmethod
    def parse(cls, record: dict[str, Any]) -> SlotSummary:
        """Return the summary in a record of `asdict`.

        For a damaged record it raises LookupError, TypeError, ValueError or OverflowError.
        """
        slot, example = str(record["slot"]), str(record["example"])
        probability, score = float(record["probability"]), float(record["score"])
        return cls(slot, probability, score, int(record["blocks"]), int(record["pages"]), example)


def compare(
    before: Sequence[SlotSummary], after: Sequence[SlotSummary]
) -> dict[str, list[SlotSummary]]:
    """Return the slots that differ between two models of a site, by the kind of difference.

    Slots with the most text come first.

    >>> title, menu = (SlotSummary(slot, 0.9, 0, 9, 9, "Tea") for slot in ("h1", "nav"))
    >>> changes = compare([title], [SlotSummary("h1", 0.2, 0, 9, 9, "Tea"), menu])
    >>> {kind: [slot.slot for slot in slots] for kind, slots in changes.items() if slots}
    {'became boilerplate': ['h1'], 'new content': ['nav']}
    """
    was_content = {slot.slot: slot.is_content for slot in before}
    new_slots = {slot.slot for slot in after}
    changed = [s for s in after if was_content.get(s.slot, s.is_content) != s.is_content]
    added = [slot for slot in after if slot.slot not in was_content]
    gone = [slot for slot in before if slot.slot not in new_slots]
    differences: dict[str, list[SlotSummary]] = {}
    for change, slots in (("became", changed), ("new", added), ("gone", gone)):
        differences[f"{change} content"] = [slot for slot in slots if slot.is_content]
        differences[f"{change} boilerplate"] = [slot for slot in slots if not slot.is_content]
    return differences


@dataclass(frozen=True, slots=True)
class Baseline:
    """The figures of a sample. Drift detection compares later pages with them.

    *confidence* is the median of the pages' confidence. *empty* has the share of empty pages
    (`is_empty`) by the pages' main slot, if it is not 0. Pages with less than `MIN_CHARS`
    characters of prose are ignored. *shown* has, by field and main slot, the share of pages that
    show the field in a learned place (`shown_shares`).
    """

    confidence: float
    empty: Mapping[str, float] = field(default_factory=dict)
    shown: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, decided: Iterable[tuple[Page, list[float]]], slot_of: Callable[[str], str]
    ) -> Baseline:
        """Return the baseline of pages, each given with the probabilities of its blocks."""
        pages: Counter[str] = Counter()
        empty: Counter[str] = Counter()
        confidences = []
        for page, probabilities in decided:
            slot, chars = main_slot(page, slot_of)
            if chars < MIN_CHARS:
                continue
            seen_paths = dict.fromkeys((block.path for block in page.content.blocks), True)
            confidences.append(sureness(page.content, probabilities, seen_paths))
            pages[slot] += 1
            empty[slot] += is_empty(page, probabilities)
        shares = {slot: round(empty[slot] / pages[slot], 4) for slot in empty if empty[slot]}
        return cls(round(median(confidences), 4) if confidences else 0.0, shares)

    @classmethod
    def parse(cls, record: Any) -> Baseline:
        """Return the baseline in a record of `asdict`.

        For a damaged record it raises the errors of `SlotSummary.parse`, or AttributeError.
        """
        shown = {str(name): _shares(shares) for name, shares in record.get("shown", {}).items()}
        return cls(float(record["confidence"]), _shares(record["empty"]), shown)


def _shares(record: Mapping[Any, Any]) -> dict[str, float]:
    return {str(slot): float(share) for slot, share in record.items()}


def shown_shares(
    pages: Iterable[Page],
    slot_of: Callable[[str], str],
    fields_of: Callable[[Page], Mapping[str, bool]],
) -> dict[str, dict[str, float]]:
    """Return the shares of pages that show a field, by field and by the pages' main slot.

    *fields_of* returns the fields that a page does not state as data, and whether it shows each of
    them. Main slots with fewer than `MIN_SHOWN` such pages are left out.
    """
    shown: dict[tuple[str, str], list[bool]] = {}
    for page in pages:
        slot, _ = main_slot(page, slot_of)
        for name, is_shown in fields_of(page).items():
            shown.setdefault((name, slot), []).append(is_shown)
    shares: dict[str, dict[str, float]] = {}
    for (name, slot), values in shown.items():
        if len(values) >= MIN_SHOWN and any(values):
            shares.setdefault(name, {})[slot] = round(sum(values) / len(values), 4)
    return shares


def main_slot(page: Page, slot_of: Callable[[str], str]) -> tuple[str, int]:
    """Return the slot with most of a page's prose, and the characters of all its prose."""
    path_chars: Counter[str] = Counter()
    for block in page.content.blocks:
        path_chars[block.path] += len(block.text) - block.link_chars
    slot_chars: Counter[str] = Counter()
    # Many blocks have the same path, so slots are only looked up once for each path.
    for path, chars in path_chars.items():
        slot_chars[slot_of(path)] += chars
    main = max(slot_chars, key=lambda slot: slot_chars[slot], default="")
    return main, slot_chars.total()


def is_empty(page: Page, probabilities: list[float]) -> bool:
    """Tell whether the kept text of a page is shorter than a sentence."""
    return kept_chars(page.content, probabilities) < SENTENCE_CHARS
