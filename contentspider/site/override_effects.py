"""The effects of a person's overrides on pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page


@dataclass(frozen=True, slots=True)
class OverrideEffect:
    """The effect of one selector of a rule, for the addresses that match *pattern* ("": all).

    *kind* is keep, drop, title or date. *blocks* and *pages* count the blocks and pages that the
    selector decided. For a title or a date, *pages* counts the pages that got theirs from the
    rule's overrides, and *blocks* is 0.
    """

    pattern: str
    kind: str
    selector: str
    blocks: int
    pages: int


def override_effects(overrides: Overrides, pages: Iterable[Page]) -> list[OverrideEffect]:
    """Return what each selector decided on *pages*, as recorded when the pages were read."""
    corrected = [(page.url, page.corrections) for page in pages if page.corrections]
    effects = []
    for rule in overrides.tables:
        corrections = [correction for url, correction in corrected if rule.holds_for(url)]
        for kind, selectors in (("keep", rule.keep), ("drop", rule.drop)):
            for selector in selectors:
                block_counts = [
                    len(getattr(correction, kind).get(selector.text, ()))
                    for correction in corrections
                ]
                page_count = sum(1 for count in block_counts if count)
                effect = OverrideEffect(
                    rule.pattern, kind, selector.text, sum(block_counts), page_count
                )
                effects.append(effect)
        fields = (
            ("title", rule.title, "title"),
            ("date", rule.date, "published_at"),
            ("author", rule.author, "author"),
        )
        for kind, field_selector, field in fields:
            if field_selector:
                page_count = sum(1 for correction in corrections if getattr(correction, field))
                effects.append(
                    OverrideEffect(rule.pattern, kind, field_selector.text, 0, page_count)
                )
    return effects
