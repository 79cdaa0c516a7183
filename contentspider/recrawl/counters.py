"""Counters in the main content (posts of an author, views): numbers that change at each visit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

MAX_CHARS = 80  # of a counter's line; its numbers are whole and no prices
NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f ]\d{3}(?!\d))*")
PRICE = re.compile(
    r"[$€£¥₽₹₩₪]|\d[.,]\d\d?(?!\d)|\b(?:usd|eur|gbp|chf|kr|zł|руб|р)\b\.?", re.IGNORECASE
)
# A place holds a counter if its numbers changed on so many pages, a share of those with it.
MIN_PAGES = 8
MIN_SHARE = 0.5
BETWEEN = "\t"


def place_of(slot: str, line: str) -> str:
    """Return the place of a counter: its slot, and its line with another number."""
    return f"{slot}{BETWEEN}{NUMBER.sub('0', line)}"


def without_counter(line: str) -> str:
    """Return a line without its numbers, if it may be that of a counter."""
    is_counter = len(line) <= MAX_CHARS and not PRICE.search(line)
    return NUMBER.sub("0", line) if is_counter else line


def numbered_places(
    old_content: str, new: Page, new_content: str, slot_of: Callable[[str], str]
) -> tuple[str, ...]:
    """Return a page's places where numbers in short lines differ, if nothing else does."""
    before, now = old_content.splitlines(), new_content.splitlines()
    if len(before) != len(now):
        return ()
    changed = [pair for pair in zip(before, now, strict=True) if pair[0] != pair[1]]
    paths = {block.text: block.path for block in new.content.blocks}
    if not all(
        second in paths
        and len(second) <= MAX_CHARS
        and not PRICE.search(f"{first} {second}")
        and NUMBER.sub("0", first) == NUMBER.sub("0", second)
        for first, second in changed
    ):
        return ()
    return tuple(sorted({place_of(slot_of(paths[line]), line) for _, line in changed}))


def are_counters(places: Iterable[str], known: Collection[str]) -> bool:
    """Tell whether all places are *known* ones of counters: slots of these, or slots and lines."""
    return all(place in known or place.partition(BETWEEN)[0] in known for place in places)


class Counters:
    """Finds the counters of one site among places at which pages *changed* in numbers only; of
    *same* ones, of pages that the server called the same, pages with it suffice.
    """

    def __init__(
        self, changed: Iterable[Iterable[str]], same: Iterable[Iterable[str]] = ()
    ) -> None:
        self._same = {place for found in same for place in found}
        places = {place for found in changed for place in found} | self._same
        self._candidates = places | {place.partition(BETWEEN)[0] for place in places}
        self._having: Counter[str] = Counter()
        self._changed: Counter[str] = Counter()
        self._shared: Counter[str] = Counter()
        self._long: set[str] = set()

    @property
    def needs_more(self) -> bool:
        """Tell whether more pages should be counted with `share`."""
        return any(self._shared[place] < MIN_PAGES for place in self._same)

    def share(self, page: Page, slot_of: Callable[[str], str]) -> None:
        """Count the places of a page, whether the server sent it or not."""
        self._shared.update(self._lines(page, slot_of).keys() & self._same)

    def add(self, page: Page, before: Page, slot_of: Callable[[str], str]) -> None:
        """Count the places that a visited page had *before*, too, and which numbers changed."""
        now, old = self._lines(page, slot_of), self._lines(before, slot_of)
        for place in now.keys() & old.keys():
            self._having[place] += 1
            self._changed[place] += now[place] != old[place]

    def _lines(self, page: Page, slot_of: Callable[[str], str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for block in page.content.blocks:
            slot = slot_of(block.path)
            if slot in self._candidates:
                for place in {slot, place_of(slot, block.text)} & self._candidates:
                    found.setdefault(place, []).append(block.text)
                if len(block.text) > MAX_CHARS:
                    self._long.add(slot)
        return found

    def found(self) -> set[str]:
        """Return the places of counters."""
        return {
            place
            for place in self._candidates - self._long
            if self._changed[place] >= max(MIN_PAGES, MIN_SHARE * self._having[place])
            or self._shared[place] >= MIN_PAGES
        }
