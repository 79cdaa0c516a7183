"""Lines of the main content that a template brings to many pages between two crawls, or takes away:
a notice, a date of the last update.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING

from contentspider.recrawl.counters import NUMBER, PRICE
from contentspider.recrawl.difference import cells

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

# A page in which more lines differ has changed.
MAX_LINES = 12
# What a page fills in is short: "Last updated on 3 May by Ada".
MAX_CHARS = 80
# A line, or one at its place, came to so many pages, and this share of all: what fewer have may be
# said of each ("Sold out").
MIN_PAGES = 5
MIN_SHARE = 0.5
BETWEEN = "@"


def differing_lines(
    old: Page, old_content: str, new: Page, new_content: str, slot_of: Callable[[str], str]
) -> tuple[str, ...]:
    """Return a key ("+...": it came) of each line that only one of two contents of a page has, and
    of its place if only this version has it; empty if they are many, or prices, or differ in
    numbers alone: these are counters, or changes.
    """
    before, now = Counter(cells(old_content)), Counter(cells(new_content))
    gone, come = [*(before - now).elements()], [*(now - before).elements()]
    if len(gone) + len(come) > MAX_LINES or any(map(PRICE.search, (*gone, *come))):
        return ()
    if not {NUMBER.sub("0", line) for line in gone}.isdisjoint(NUMBER.sub("0", x) for x in come):
        return ()
    was, is_now = ({block.text: block.path for block in page.content.blocks} for page in (old, new))
    slots = [{slot_of(path) for path in paths.values()} for paths in (was, is_now)]
    keys = [_key("-", line, slot_of(was.get(line, "")), slots[1]) for line in gone]
    return (*keys, *(_key("+", line, slot_of(is_now.get(line, "")), slots[0]) for line in come))


def _key(sign: str, line: str, slot: str, others: Collection[str]) -> str:
    place = slot if slot and slot not in others and len(line) <= MAX_CHARS else ""
    return f"{sign}{_digest(NUMBER.sub('0', line))}{BETWEEN}{place and _digest(place)}"


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


class TemplateLines:
    """The lines of one site's template among the `differing_lines` of its *changed* pages, of so
    many *pages* in all.
    """

    def __init__(self, changed: Iterable[Collection[str]], pages: int) -> None:
        found: Counter[str] = Counter()
        for lines in changed:
            found.update({part for line in lines for part in _parts(line)})
        least = max(MIN_PAGES, MIN_SHARE * pages)
        self._common = {part for part, count in found.items() if count >= least}

    def are_all(self, lines: Collection[str]) -> bool:
        """Tell whether there are such lines, and no other."""
        return bool(lines) and all(not self._common.isdisjoint(_parts(line)) for line in lines)


def _parts(line: str) -> list[str]:
    """Return what a line is counted by: what it says, and its place with its sign."""
    said, _, place = line.partition(BETWEEN)
    return [said, f"{said[:1]}{BETWEEN}{place}"] if place else [said]
