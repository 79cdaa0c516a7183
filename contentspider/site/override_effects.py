"""The effects of a person's overrides on pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.input.corrections import Corrections

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from contentspider.page.input.corrections import Rule
    from contentspider.page.input.overrides import Overrides
    from contentspider.page.input.page import Page

# The kinds of corrections of fields, and the fields of `Corrections`.
FIELDS = {"title": "title", "date": "published_at", "author": "author"}


@dataclass(frozen=True, slots=True)
class OverrideEffect:
    """The effect of one selector of a rule, for the addresses that match *pattern* ("": all).

    *kind* is keep, drop, title, date or author. *blocks* and *pages* count the blocks and pages
    that the selector decided. For a field, *pages* counts the pages that got theirs from the rule's
    overrides, and *blocks* is 0. *fitting* counts the pages that match the pattern.
    """

    pattern: str
    kind: str
    selector: str
    blocks: int
    pages: int
    fitting: int

    def __str__(self) -> str:
        return f"{self.kind} {self.selector!r}{f' on {self.pattern}' * bool(self.pattern)}"


class _Selected(NamedTuple):
    rule: int
    kind: str
    selector: str


class OverrideEffects:
    """Counts what each selector of *overrides* decides on pages, as recorded when the pages were
    read.
    """

    def __init__(self, overrides: Overrides) -> None:
        self._rules = overrides.tables
        self._fitting: Counter[int] = Counter()
        self._pages: Counter[_Selected] = Counter()
        self._blocks: Counter[_Selected] = Counter()

    def add(self, page: Page) -> None:
        """Count a page."""
        found = page.corrections or Corrections()
        for number, rule in enumerate(self._rules):
            if rule.holds_for(page.url):
                self._fitting[number] += 1
                for selected in _selected(number, rule):
                    if selected.kind in FIELDS:
                        self._pages[selected] += bool(getattr(found, FIELDS[selected.kind]))
                        continue
                    blocks = getattr(found, selected.kind).get(selected.selector, ())
                    self._pages[selected] += bool(blocks)
                    self._blocks[selected] += len(blocks)

    def all(self) -> list[OverrideEffect]:
        """Return the effect of each selector."""
        return [
            OverrideEffect(
                rule.pattern,
                selected.kind,
                selected.selector,
                self._blocks[selected],
                self._pages[selected],
                self._fitting[number],
            )
            for number, rule in enumerate(self._rules)
            for selected in _selected(number, rule)
        ]

    def idle(self) -> list[OverrideEffect]:
        """Return the selectors that decided nothing, though their pattern has pages."""
        return [effect for effect in self.all() if effect.fitting and not effect.pages]


def override_effects(overrides: Overrides, pages: Iterable[Page]) -> list[OverrideEffect]:
    """Return what each selector decided on *pages*."""
    effects = OverrideEffects(overrides)
    for page in pages:
        effects.add(page)
    return effects.all()


def _selected(number: int, rule: Rule) -> Iterator[_Selected]:
    """Yield the selectors of a rule."""
    for kind, selectors in (("keep", rule.keep), ("drop", rule.drop)):
        yield from (_Selected(number, kind, selector.text) for selector in selectors)
    for kind, selector in (("title", rule.title), ("date", rule.date), ("author", rule.author)):
        if selector:
            yield _Selected(number, kind, selector.text)
