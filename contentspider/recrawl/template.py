"""Finds lines of the main content that belong to the template: they appear on many pages, or vanish
from them, between two crawls. A notice on all pages and the date of the last update are examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING

from contentspider.recrawl.counters import NUMBER, has_price
from contentspider.recrawl.difference import cells

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

# If more lines than this differ, the page itself has changed.
MAX_LINES = 12
# Template lines that a page fills in are short: "Last updated on 3 May by Ada".
MAX_CHARS = 80
# A line, or lines in one slot, must appear on this many pages, and on this share of all. A line on
# fewer pages may be about each page ("Sold out").
MIN_PAGES = 5
MIN_SHARE = 0.5
BETWEEN = "@"


def differing_lines(
    old: Page, old_content: str, new: Page, new_content: str, slot_of: Callable[[str], str]
) -> tuple[str, ...]:
    """Return a key for each line that only one of two contents of a page has.

    A key begins with "+" for an added line, and has the line's slot if only that version of the
    page has the slot. The result is empty if too many lines differ, if one holds a price, or if
    lines differ in numbers alone: the latter are counters, or changes.
    """
    before, now = Counter(cells(old_content)), Counter(cells(new_content))
    removed, added = list((before - now).elements()), list((now - before).elements())
    if len(removed) + len(added) > MAX_LINES or any(map(has_price, (*removed, *added))):
        return ()
    if not _without_numbers(removed).isdisjoint(_without_numbers(added)):
        return ()
    old_slots, new_slots = _slots(old, slot_of), _slots(new, slot_of)
    removed_keys = _keys("-", removed, old_slots, new_slots)
    return (*removed_keys, *_keys("+", added, new_slots, old_slots))


def _without_numbers(lines: Iterable[str]) -> set[str]:
    return {NUMBER.sub("0", line) for line in lines}


def _slots(page: Page, slot_of: Callable[[str], str]) -> dict[str, str]:
    """Return the slot of each text of a page."""
    return {block.text: slot_of(block.path) for block in page.content.blocks}


def _keys(
    sign: str, lines: Iterable[str], slots: Mapping[str, str], other_slots: Mapping[str, str]
) -> list[str]:
    slots_of_other = set(other_slots.values())
    return [_key(sign, line, slots.get(line, ""), slots_of_other) for line in lines]


def _key(sign: str, line: str, slot: str, slots_of_other: Collection[str]) -> str:
    place = slot if slot and slot not in slots_of_other and len(line) <= MAX_CHARS else ""
    return f"{sign}{_digest(NUMBER.sub('0', line))}{BETWEEN}{place and _digest(place)}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class TemplateLines:
    """The lines of a site's template, among the `differing_lines` of its pages. Pages whose
    previous version another model has filtered are counted by themselves as well: a redesign may
    concern some templates of a site.
    """

    def __init__(self) -> None:
        # With the index 1: of the pages whose previous version another model has filtered.
        self._pages = [0, 0]
        self._counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())

    def add(self, lines: Iterable[str], is_remodelled: bool) -> None:
        """Add a page with its differing *lines*, which may be none."""
        parts = {part for line in lines for part in _parts(line)}
        for index in (0, 1) if is_remodelled else (0,):
            self._pages[index] += 1
            self._counts[index].update(parts)

    def add_plain(self, count: int) -> None:
        """Add so many pages without differing lines."""
        self._pages[0] += count

    def are_all(self, lines: Collection[str], is_remodelled: bool = False) -> bool:
        """Tell whether *lines* is not empty, and has only lines of the template."""
        indexes = (0, 1) if is_remodelled else (0,)
        return bool(lines) and any(
            all(any(self._is_common(part, index) for part in _parts(line)) for line in lines)
            for index in indexes
        )

    def _is_common(self, part: str, index: int) -> bool:
        least = max(MIN_PAGES, MIN_SHARE * self._pages[index])
        return self._counts[index][part] >= least


def _parts(line: str) -> list[str]:
    """Return the parts of a key that are counted: its text, and its slot with the sign."""
    text, _, place = line.partition(BETWEEN)
    return [text, f"{text[:1]}{BETWEEN}{place}"] if place else [text]
