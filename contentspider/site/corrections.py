"""The effects of people's corrections on pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page


@dataclass(frozen=True, slots=True)
class CorrectionEffect:
    """One selector of a rule for the addresses of *pattern* ("": all): what it does (*kind*: keep,
    drop, title, date), to how many *blocks* and *pages*.

    Of a title or a date *pages* are those of the rule that have one by correction.
    """

    pattern: str
    kind: str
    selector: str
    blocks: int
    pages: int


def effects(overrides: Overrides, pages: Iterable[Page]) -> list[CorrectionEffect]:
    """Return what each selector decides on *pages*, as noted when they were read."""
    corrected = [(page.url, page.corrections) for page in pages if page.corrections]
    found = []
    for rule in overrides.tables:
        notes = [note for url, note in corrected if rule.holds_for(url)]
        for kind, selectors in (("keep", rule.keep), ("drop", rule.drop)):
            for selector in selectors:
                decided = [len(getattr(note, kind).get(selector.text, ())) for note in notes]
                counts = sum(decided), sum(map(bool, decided))
                found.append(CorrectionEffect(rule.pattern, kind, selector.text, *counts))
        places = ("title", rule.title, "title"), ("date", rule.date, "published_at")
        for kind, place, field in places:
            if place:
                count = sum(bool(getattr(note, field)) for note in notes)
                found.append(CorrectionEffect(rule.pattern, kind, place.text, 0, count))
    return found
