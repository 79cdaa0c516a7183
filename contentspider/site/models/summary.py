"""A site's template as a model sees it, for people; and how two models differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class SlotSummary:
    """A slot of the site's template, for people, with an example.

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
        """Return what `asdict` wrote; raises KeyError, TypeError, ValueError or OverflowError if it
        is damaged.
        """
        return cls(
            slot=str(record["slot"]),
            probability=float(record["probability"]),
            score=float(record["score"]),
            blocks=int(record["blocks"]),
            pages=int(record["pages"]),
            example=str(record["example"]),
        )


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
    new = {slot.slot: slot for slot in after}
    both = [slot for slot in after if slot.slot in old]
    turned = [slot for slot in both if slot.is_content != old[slot.slot].is_content]
    added = [slot for slot in after if slot.slot not in old]
    gone = [slot for slot in before if slot.slot not in new]
    return {
        f"{what} {kind}": [slot for slot in slots if slot.is_content is is_content]
        for what, slots in (("became", turned), ("new", added), ("gone", gone))
        for kind, is_content in (("content", True), ("noise", False))
    }
