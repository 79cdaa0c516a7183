"""Finds the slots of a site whose texts alternate: a quote that the server draws for each visit, or
a list of related pages in another order. Another text there is no change of the page.

The evidence is the slot's lines of up to `CRAWLS` crawls: on most pages most of them are others at
each visit, and lines come back, to the same page or to another one. News do not come back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, pairwise
from statistics import mean
from typing import TYPE_CHECKING, TypeAlias

from contentspider.page.about.ages import without_ages
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.recrawl.counters import MAX_CHARS, NUMBER, PRICE, without_counter
from contentspider.recrawl.places import SlotOf, slot_key

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

CRAWLS = 5
MAX_PAGES = 200  # of a slot whose lines are kept
# A slot alternates if it differs in so many visits, and in this share of them.
MIN_CHANGES = 4
MIN_SHARE = 0.5
MAX_STILL = 0.5  # this share of its lines stays where it was, at most
MIN_RETURNS = 0.05  # in this share of the visits that differ, lines come back
# Short texts of few values, such as "Sold out", tell something of their page.
MIN_VALUES = 8
MIN_PAGES = 8  # of such a slot that differs on most pages from crawl to crawl
MIN_LIST = 3  # lines of a list
LINE_BYTES = 6

# By page, by crawl: the keys of the lines in a slot.
History: TypeAlias = Mapping[str, Mapping[int, tuple[bytes, ...]]]


@dataclass(frozen=True, slots=True)
class SlotTexts:
    """The texts of a slot on one page: the *keys* of its lines, their mean length in *chars*, and
    whether they *are_facts*: prices, or short lines with numbers.
    """

    slot: str
    keys: tuple[bytes, ...]
    chars: float
    are_facts: bool


def slot_texts(page: Page, slot_of: SlotOf, language: str) -> dict[str, SlotTexts]:
    """Return the texts of each slot of a page, by the key of the slot."""
    lines: dict[str, list[str]] = defaultdict(list)
    for block in page.content.blocks:
        lines[slot_of(block.path)].append(without_ages(block.text, language, page.hints.language))
    return {
        slot_key(slot): SlotTexts(
            slot,
            tuple(map(_line_key, texts)),
            mean(map(len, texts)),
            any(map(_is_fact, texts)),
        )
        for slot, texts in lines.items()
    }


def _is_fact(line: str) -> bool:
    return bool(PRICE.search(line) or (len(line) <= MAX_CHARS and NUMBER.search(line)))


def _line_key(line: str) -> bytes:
    data = without_counter(line).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=LINE_BYTES).digest()


class AlternatingSlots:
    """Decides which slots of a site alternate. *histories* has the lines of slots in the last
    crawls, by the key of the slot.
    """

    def __init__(self, histories: Mapping[str, History]) -> None:
        self._histories = histories
        self._slots: set[str] = set()
        self._chars: dict[str, list[float]] = defaultdict(list)
        self._facts: Counter[str] = Counter()

    def add(self, texts: Mapping[str, SlotTexts]) -> None:
        """Add the texts of a page as it is now, by the key of the slot."""
        for key, found in texts.items():
            self._slots.add(found.slot)
            if key in self._histories:
                self._chars[found.slot].append(found.chars)
                self._facts[found.slot] += found.are_facts

    def slots(self) -> set[str]:
        """Return the slots that alternate."""
        slots = {slot for slot in self._chars if self._may_alternate(slot)}
        found = {slot for slot in slots if self._has_values(slot)}
        boxes = {slot.rpartition("/")[0] for slot in found}
        whole = (inside for inside in self._inside(boxes) if inside <= slots)
        return found.union(*whole) | {slot for slot in slots - found if self._is_restless(slot)}

    def _history(self, slot: str) -> History:
        return self._histories[slot_key(slot)]

    def _may_alternate(self, slot: str) -> bool:
        if self._facts[slot] >= MIN_SHARE * len(self._chars[slot]):
            return False
        visits = list(_visits(self._history(slot)))
        still = [_still_share(before, now) for before, now in visits if before != now]
        is_often = len(still) >= max(MIN_CHANGES, MIN_SHARE * len(visits))
        return is_often and mean(still) < MAX_STILL and self._returns(slot)

    def _has_values(self, slot: str) -> bool:
        """Tell whether a slot has lists, sentences, or many values."""
        history = self._history(slot)
        visits = [keys for crawls in history.values() for keys in crawls.values()]
        is_list = mean(map(len, visits)) >= MIN_LIST
        is_long = mean(self._chars[slot]) >= SENTENCE_CHARS
        values = {key for keys in visits for key in keys}
        return is_list or is_long or len(values) >= max(MIN_VALUES, len(history) / 2)

    def _returns(self, slot: str) -> bool:
        """Tell whether lines come back to a slot."""
        returns = list(_returning(self._history(slot)))
        return sum(returns) >= max(1, MIN_RETURNS * len(returns))

    def _is_restless(self, slot: str) -> bool:
        """Tell whether a slot differs on most of many pages from crawl to crawl."""
        differing, visits = Counter[int](), Counter[int]()
        for crawls in self._history(slot).values():
            for (_, before), (crawl, now) in pairwise(sorted(crawls.items())):
                visits[crawl] += 1
                differing[crawl] += before != now
        most = (differing[crawl] >= max(MIN_PAGES, MIN_SHARE * visits[crawl]) for crawl in visits)
        return len(visits) > 1 and all(most)

    def _inside(self, boxes: Collection[str]) -> Iterable[set[str]]:
        """Return the slots in each of some *boxes*, which are beginnings of names of slots."""
        inside: dict[str, set[str]] = defaultdict(set)
        for slot in self._slots:
            for box in accumulate(slot.split("/"), "{}/{}".format):
                if box in boxes:
                    inside[box].add(slot)
        return inside.values()


def _visits(history: History) -> Iterator[tuple[tuple[bytes, ...], tuple[bytes, ...]]]:
    """Yield the lines before each visit, and at the visit."""
    for crawls in history.values():
        yield from pairwise(keys for _, keys in sorted(crawls.items()))


def _still_share(before: tuple[bytes, ...], now: tuple[bytes, ...]) -> float:
    """Return the share of lines that are at their place, or follow the same line as before."""
    same = sum(old == new for old, new in zip(before, now, strict=False))
    following = (Counter(pairwise(before)) & Counter(pairwise(now))).total()
    return max(same, following + 1 if following else 0) / max(len(before), len(now), 1)


def _returning(history: History) -> Iterator[bool]:
    """Yield for each visit that differs whether it has lines that come back."""
    seen: dict[bytes, set[tuple[str, int]]] = defaultdict(set)  # by line: pages and crawls
    for page, crawls in history.items():
        for crawl, keys in crawls.items():
            for key in keys:
                seen[key].add((page, crawl))
    for page, crawls in history.items():
        for (_, before), (crawl, now) in pairwise(sorted(crawls.items())):
            if before == now:
                continue
            new = set(now) - set(before)
            is_back = any(at < crawl for key in new for _, at in seen[key])
            # Lines that have moved here have all new lines among them: one line finds the sources.
            rarest = min((seen[key] for key in new), key=len, default=set())
            sources = (history[other][at] for other, at in rarest if at < crawl and other != page)
            yield (is_back or sorted(now) == sorted(before)) and not _are_moved(
                now, before, sources
            )


def _are_moved(
    now: tuple[bytes, ...], before: tuple[bytes, ...], sources: Iterable[tuple[bytes, ...]]
) -> bool:
    """Tell whether lines have moved here from the end of another page, whose lines are among the
    *sources*, as in a list over several pages that has grown.
    """
    count = len(now)
    if count < MIN_LIST:
        return False
    counts = [moved for moved in range(1, count + 1) if now[moved:] == before[: count - moved]]
    return any(now[:moved] == source[-moved:] for source in sources for moved in counts)
