"""Finds the slots in which two contents of a page differ."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

from contentspider.page.about.ages import AGE, without_ages
from contentspider.page.about.written_dates import find_dates
from contentspider.recrawl.counters import differ_in_numbers, differ_in_prices, place_of
from contentspider.recrawl.difference import cells

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

SlotOf: TypeAlias = Callable[[str], str]
UNKNOWN = ""  # the key of text whose slot is not known


@dataclass(frozen=True, slots=True)
class Differences:
    """Where two contents of a page differ.

    *has_ages*: in ages in words, and in numbers beside them. *numbered*: the places of short lines
    that differ in numbers alone. *slots*: the keys of the slots that differ in other text, or in
    its order; `UNKNOWN` for text of no known slot. *has_prices*: these slots have the same words
    with another price.
    """

    has_ages: bool = False
    numbered: tuple[str, ...] = ()
    slots: tuple[str, ...] = ()
    has_prices: bool = False


def slot_key(slot: str) -> str:
    """Return a short key of a slot, which has a long name."""
    return blake2b(slot.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def differences(
    contents: tuple[str, str], pages: tuple[Page | None, Page], slot_of: SlotOf, language: str = ""
) -> Differences:
    """Return where the two *contents* of a page differ. *pages* are the page before, None if it is
    not known, and now. Ages are in its *language*, or in the one that it states.
    """
    now = list(_placed(contents[1], pages[1], slot_of))
    before = list(_placed(contents[0], pages[0], slot_of))
    if pages[0] is None and len(before) == len(now):
        before = [(slot, line) for (slot, _), (_, line) in zip(now, before, strict=True)]
    has_ages, has_prices, numbered, slots = False, False, set(), set()
    for slot, old, new in _differing_slots(before, now):
        lines = _LinePairs(slot, old, new, (language, pages[1].hints.language))
        has_ages |= lines.has_ages
        numbered |= lines.numbered
        if not lines.are_alike:
            slots.add(slot_key(slot) if slot else UNKNOWN)
            has_prices |= differ_in_prices(old, new)
    if not (has_ages or numbered or slots) and contents[0] != contents[1]:
        slots = {UNKNOWN}  # only the order of the slots differs
    return Differences(has_ages, tuple(sorted(numbered)), tuple(sorted(slots)), has_prices)


def _placed(content: str, page: Page | None, slot_of: SlotOf) -> Iterator[tuple[str, str]]:
    """Yield each line of a content with its slot, "" if it is not known. The lines are in the order
    of the blocks, and a text may be in several blocks.
    """
    places: dict[str, list[int]] = {}
    blocks = page.content.blocks if page is not None else []
    for number, block in enumerate(blocks):
        places.setdefault(block.text, []).append(number)
    last = -1
    for line in cells(content):
        found = places.get(line)
        if found is None:
            yield "", line
            continue
        last = found[min(bisect_left(found, last + 1), len(found) - 1)]
        yield slot_of(blocks[last].path), line


def _differing_slots(
    before: list[tuple[str, str]], now: list[tuple[str, str]]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each slot whose lines differ, with its lines before and now."""
    lines: dict[str, tuple[list[str], list[str]]] = {}
    for index, placed in enumerate((before, now)):
        for slot, line in placed:
            lines.setdefault(slot, ([], []))[index].append(line)
    yield from ((slot, old, new) for slot, (old, new) in lines.items() if old != new)


class _LinePairs:
    """The lines of a slot before and now. They *are_alike* if they differ in ages and numbers only:
    *has_ages*, *numbered* (as in `Differences`).
    """

    def __init__(
        self, slot: str, old: list[str], new: list[str], languages: tuple[str, str]
    ) -> None:
        self._place, self._languages = slot, languages
        self.has_ages = False
        self.numbered: set[str] = set()
        self.are_alike = len(old) == len(new) and all(
            before == now or self._is_alike(before, now)
            for before, now in zip(old, new, strict=True)
        )
        if not self.are_alike:
            self.has_ages, self.numbered = False, set()

    def _is_alike(self, before: str, now: str) -> bool:
        """Tell whether two lines differ in ages and numbers only, and note these."""
        old, new = (without_ages(line, *self._languages) for line in (before, now))
        if AGE in old and AGE not in new:
            new = self._without_dates(new)  # many sites say the date once an age is large
        if AGE in old and (old == new or differ_in_numbers(old, new)):
            self.has_ages = True
            return True
        if self._place and differ_in_numbers(before, now):
            self.numbered.add(place_of(self._place, now))
            return True
        return False

    def _without_dates(self, line: str) -> str:
        for found in reversed(list(find_dates(line, None, self._languages[0]))):
            line = line[: found.start] + AGE + line[found.end :]
        return line
