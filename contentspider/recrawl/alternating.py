"""Finds the slots of a site whose texts alternate: a quote that the server draws for each visit, or
a list of related pages in another order. Another text there is no change of the page.

The evidence is the slot's lines of up to `CRAWLS` crawls: on most pages most of them are others at
each visit, and lines come back, to the same page or to another one. News do not come back.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, pairwise
from math import sqrt
from statistics import mean
from typing import TYPE_CHECKING, TypeAlias

from contentspider.page.about.ages import without_ages
from contentspider.page.about.written_dates import month_of
from contentspider.page.tree.text import SENTENCE_CHARS
from contentspider.recrawl.counters import MAX_CHARS, NUMBER, has_price, without_counter
from contentspider.recrawl.places import SlotOf, slot_key

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

CRAWLS = 5
MAX_PAGES = 200  # of a slot whose lines are kept
# A slot alternates if it differs in so many visits, and in this share of them.
MIN_CHANGES = 4
MIN_SHARE = 0.4
# One that is known to alternate may differ less often for once, and one of two texts that are drawn
# differs in half of its visits. A slot that differs on so many pages of a crawl is watched for
# `CRAWLS` crawls.
WATCHED_SHARE = 0.2
MAX_STILL = 0.5  # this share of its lines stays where it was, at most
MIN_LIST = 3  # lines of a list
MAX_MOVED = 100  # so many lines move from one page of a list to the next, at most, or all lines do
MIN_RETURNS = 0.05  # in this share of the visits that differ, lines come back
FACTS_SHARE = 0.5  # a slot with facts on this share of its pages is one of facts
# A text of few values, such as "Sold out", tells something of its page. A short text needs more
# values than a sentence: so many, and half as many as the slot has pages.
MIN_VALUES = 8
MIN_SENTENCES = 5
MIN_CRAWLS = 3
MIN_PAGES = 8  # of a text of the site's own
MIN_VISITS = 12  # of a text that is drawn
# The agreement of the same pages' texts in two crawls, beyond chance (Cohen's kappa): 1 if all
# texts stay, 0 if they are drawn, below 0 if a text hardly comes twice. The estimate has an error
# of `DOUBT` over the square root of the visits. The limit is stricter by this error for a slot that
# is not known to alternate, and looser for a slot that is.
MIN_AGREEMENT, MAX_AGREEMENT, DOUBT = -0.8, 0.4, 0.5
MIN_OPPOSITE = 0.25  # of the changes from one text to another, this share has an opposite one
SAME_SHARE = 0.9  # of the pages, if a text is the site's and not a page's
# A text goes with another one if this many pairs of pages with the same other text agree, and so
# many would hardly agree with any of the other texts by chance.
MIN_PAIRS = 3
MAX_CHANCE = 0.02
LINE_BYTES = 6
WORDS_BYTES = 4  # of a line's key, for its words in any order
# A time of the day, a date in digits, a year, or a month in Chinese, Japanese and Korean.
TIME = re.compile(r"\d:\d\d|\d[-/]\d|\b(?:19|20)\d\d\b|\d\s?[月월]")
WORD = re.compile(r"[^\W\d_]+")

# By page, by crawl: the keys of the lines in a slot, none if the page did not have the slot.
Lines: TypeAlias = tuple[bytes, ...]
History: TypeAlias = Mapping[str, Mapping[int, Lines]]
Visits: TypeAlias = Sequence[tuple[Lines, Lines]]  # the lines before, and at the visit
Visit: TypeAlias = tuple[str, int]  # a page, and a crawl


@dataclass(frozen=True, slots=True)
class SlotTexts:
    """The texts of a slot on one page: the *keys* of its lines, their mean length in *chars*, and
    whether they *are_facts*: lines with prices, dates or times, in a list dates and times only.
    They *are_prices*, if they have prices.
    """

    slot: str
    keys: tuple[bytes, ...]
    chars: float
    are_facts: bool
    are_prices: bool = False


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
            any(_is_fact(text, language, len(texts) >= MIN_LIST) for text in texts),
            any(map(has_price, texts)),
        )
        for slot, texts in lines.items()
    }


def _is_fact(line: str, language: str, is_of_list: bool) -> bool:
    """Tell whether a line has a price, a date or a time. Prices in a list are none: other customers
    bought other things, and the same thing for another price is told anyway (`has_prices`).
    """
    if has_price(line) and not is_of_list:
        return True
    if len(line) > MAX_CHARS or not NUMBER.search(line):
        return False
    return bool(TIME.search(line)) or any(month_of(word, language) for word in WORD.findall(line))


def _line_key(line: str) -> bytes:
    """Return a key of a line: a hash of its words, and a hash of their order."""
    text = without_counter(line)
    words = " ".join(sorted(WORD.findall(text)))
    return _digest(words, WORDS_BYTES) + _digest(text, LINE_BYTES - WORDS_BYTES)


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _words(keys: Iterable[bytes]) -> set[bytes]:
    """Return what the keys of lines have of their words."""
    return {key[:WORDS_BYTES] for key in keys}


class AlternatingSlots:
    """Decides which slots of a site alternate. *histories* has the lines of slots in the last
    crawls, by the key of the slot, *known* the keys of slots that alternated so far, and *on_front*
    the keys of the slots of the site's front page.
    """

    def __init__(
        self,
        histories: Mapping[str, History],
        known: Collection[str] = (),
        on_front: Collection[str] = (),
    ) -> None:
        self._histories = histories
        self._known = known
        self._on_front = on_front
        self._slots: set[str] = set()
        self._chars: dict[str, list[float]] = defaultdict(list)
        self._facts: Counter[str] = Counter()
        self._prices: Counter[str] = Counter()

    def add(self, texts: Mapping[str, SlotTexts]) -> None:
        """Add the texts of a page as it is now, by the key of the slot."""
        for key, found in texts.items():
            self._slots.add(found.slot)
            if key in self._histories:
                self._chars[found.slot].append(found.chars)
                self._facts[found.slot] += found.are_facts
                self._prices[found.slot] += found.are_prices

    def slots(self) -> set[str]:
        """Return the slots that alternate."""
        shares = {slot: self._differing_share(slot) for slot in self._chars}
        often = {slot for slot, share in shares.items() if share >= self._least_share(slot)}
        found = {slot for slot in often if self._has_values(slot)}
        boxes = {slot.rpartition("/")[0] for slot in found}
        found.update(*(inside for inside in self._inside(boxes) if inside <= often))
        pairs = [list(_same_visits(self._history(slot))) for slot in found & self._chars.keys()]
        found |= {slot for slot in often - found if self._goes_with(slot, pairs)}
        rest = {slot for slot, share in shares.items() if share >= WATCHED_SHARE} - found
        found |= {slot for slot in rest if self._is_drawn(slot)}
        return found | {slot for slot in self._chars if self._is_of_site(slot)}

    def _history(self, slot: str) -> History:
        return self._histories[slot_key(slot)]

    def _differing_share(self, slot: str) -> float:
        """Return the share of visits in which a slot differs; 0 if the slot does not alternate."""
        if self._facts[slot] >= FACTS_SHARE * len(self._chars[slot]):
            return 0.0
        history = _without_constants(self._history(slot))
        visits = list(_visits(history))
        still = [_still_share(before, now) for before, now in visits if before != now]
        if len(still) < MIN_CHANGES or mean(still) >= MAX_STILL or not self._returns(slot):
            return 0.0
        return len(still) / len(visits)

    def _least_share(self, slot: str) -> float:
        return WATCHED_SHARE if slot_key(slot) in self._known else MIN_SHARE

    def _has_values(self, slot: str) -> bool:
        """Tell whether a slot has many values, or the same lines in another order."""
        history = self._history(slot)
        values = {key for crawls in history.values() for keys in crawls.values() for key in keys}
        least = MIN_SENTENCES if self._is_long(slot) else max(MIN_VALUES, len(history) / 2)
        return len(values) >= least or _is_shuffled(history)

    def _is_long(self, slot: str) -> bool:
        return mean(self._chars[slot]) >= SENTENCE_CHARS

    def _returns(self, slot: str) -> bool:
        """Tell whether lines come back to a slot."""
        returns = list(_returning(self._history(slot)))
        return sum(returns) >= max(1, MIN_RETURNS * len(returns))

    def _is_of_site(self, slot: str) -> bool:
        """Tell whether a text is the site's own: the front page has it, and it is the same on the
        pages of each crawl.
        """
        history = self._history(slot)
        is_price = self._prices[slot] >= FACTS_SHARE * len(self._chars[slot])
        if is_price or slot_key(slot) not in self._on_front or len(history) < MIN_PAGES:
            return False
        by_crawl: dict[int, list[tuple[bytes, ...]]] = defaultdict(list)
        for crawls in history.values():
            for crawl, keys in crawls.items():
                by_crawl[crawl].append(keys)
        differing = sum(before != now for before, now in _visits(history))
        is_often = differing >= MIN_SHARE * len(list(_visits(history)))
        is_same = all(_top_share(texts) >= SAME_SHARE for texts in by_crawl.values())
        return len(by_crawl) >= MIN_CRAWLS and is_often and is_same

    def _is_drawn(self, slot: str) -> bool:
        """Tell whether a text of few values, or its absence, has nothing to do with the last text
        of its page: it is drawn at each visit. A short one tells something of its page, unless the
        front page has it, and more crawls show it.
        """
        crawls = _by_crawls(self._history(slot))
        is_on_front = slot_key(slot) in self._on_front and len(crawls) >= MIN_CRAWLS - 1
        is_known = slot_key(slot) in self._known
        return (is_on_front or self._is_long(slot)) and _are_drawn(crawls, is_known)

    def _goes_with(self, slot: str, others: Sequence[Sequence[tuple[Visit, Visit]]]) -> bool:
        """Tell whether a slot's text follows from the text of another slot, as the name of the
        person who is quoted follows from the quote. *others* are the pairs of visits with the same
        text (`_same_visits`) of each other slot.
        """
        history = self._history(slot)
        chance = _chance(keys for crawls in history.values() for keys in crawls.values() if keys)
        counts = (_agreeing(history, pairs) for pairs in others)
        least = MAX_CHANCE / max(len(others), 1)  # of many others, one agrees by chance more often
        return any(count >= MIN_PAIRS and chance**count <= least for count in counts)

    def _inside(self, boxes: Collection[str]) -> Iterable[set[str]]:
        """Return the slots in each of some *boxes*, which are beginnings of names of slots."""
        inside: dict[str, set[str]] = defaultdict(set)
        for slot in self._slots:
            for box in accumulate(slot.split("/"), "{}/{}".format):
                if box in boxes:
                    inside[box].add(slot)
        return inside.values()


def _without_constants(history: History) -> History:
    """Return a history without the lines that are at the same place at each visit, such as a
    heading.
    """
    visits = [keys for crawls in history.values() for keys in crawls.values()]
    constant = set.intersection(*(set(enumerate(keys)) for keys in visits)) if visits else set()
    return {
        page: {
            crawl: tuple(key for place, key in enumerate(keys) if (place, key) not in constant)
            for crawl, keys in crawls.items()
        }
        for page, crawls in history.items()
    }


def _is_shuffled(history: History) -> bool:
    """Tell whether a slot mostly has lines that it had before, at other places, or with their words
    in another order.
    """
    differing = [(before, now) for before, now in _visits(history) if before != now]
    moved = [
        any(key in before and before.index(key) != place for place, key in enumerate(now))
        or not _words(set(now) - set(before)).isdisjoint(_words(set(before) - set(now)))
        for before, now in differing
    ]
    return sum(moved) > len(moved) / 2


def _top_share(texts: Collection[object]) -> float:
    """Return the share of the most frequent of some texts."""
    return Counter(texts).most_common(1)[0][1] / len(texts)


def _chance(texts: Iterable[object]) -> float:
    """Return the chance that two of some texts, drawn at random, are the same."""
    counts = Counter(texts)
    return sum(count * count for count in counts.values()) / counts.total() ** 2


def _same_visits(history: History) -> Iterator[tuple[Visit, Visit]]:
    """Yield pairs of visits of different pages that have the same text."""
    visits: dict[tuple[bytes, ...], dict[str, int]] = defaultdict(dict)
    for page, crawls in history.items():
        for crawl, keys in crawls.items():
            if keys:
                visits[keys][page] = crawl
    for pages in visits.values():
        yield from pairwise(pages.items())


def _agreeing(history: History, pairs: Iterable[tuple[Visit, Visit]]) -> int:
    """Return how many of some pairs of visits have the same text, 0 if the texts of one differ."""
    count = 0
    for visits in pairs:
        first, second = (history.get(page, {}).get(crawl) for page, crawl in visits)
        if not first or not second:
            continue  # the slot is not on both pages
        if first != second:
            return 0
        count += 1
    return count


def _visits(history: History) -> Iterator[tuple[tuple[bytes, ...], tuple[bytes, ...]]]:
    """Yield the lines before each visit, and at the visit."""
    for crawls in history.values():
        yield from pairwise(keys for _, keys in sorted(crawls.items()))


def is_watched(history: History, since: int) -> bool:
    """Tell whether a slot differs on many pages in one of the crawls after *since*."""
    recent = {
        page: {crawl: keys for crawl, keys in crawls.items() if crawl > since}
        for page, crawls in history.items()
    }
    return any(
        sum(before != now for before, now in visits) >= WATCHED_SHARE * len(visits)
        for visits in _by_crawls(recent)
    )


def _by_crawls(history: History) -> Collection[Visits]:
    """Return the lines before each visit, and at the visit, for each pair of crawls."""
    visits: dict[tuple[int, int], list[tuple[Lines, Lines]]] = defaultdict(list)
    for crawls in history.values():
        for (earlier, before), (crawl, now) in pairwise(sorted(crawls.items())):
            visits[earlier, crawl].append((before, now))
    return visits.values()


def _are_drawn(crawls: Collection[Visits], is_known: bool) -> bool:
    """Tell whether texts are drawn at each visit. Then a page has its last text again hardly more
    often than by chance, and in one crawl texts follow each other in either order. If the things
    themselves change, as when ten products are sold out in one night, most pages change alike.
    """
    total = sum(map(len, crawls))
    if total < MIN_VISITS:
        return False
    changes = sum(before != now for visits in crawls for before, now in visits)
    chance = sum(map(_same_by_chance, crawls))
    opposite = sum(map(_opposite, crawls))
    agreement = 1 - changes / max(total - chance, 1)
    limit = MAX_AGREEMENT + (DOUBT if is_known else -DOUBT) / sqrt(total)
    return MIN_AGREEMENT <= agreement <= limit and opposite >= MIN_OPPOSITE * changes


def _same_by_chance(visits: Visits) -> float:
    """Return how many pages would have their last text again if the texts of this crawl were those
    of other pages.
    """
    before, now = (Counter(texts) for texts in zip(*visits, strict=True))
    return sum(count * now[text] for text, count in before.items()) / len(visits)


def _opposite(visits: Visits) -> int:
    """Return how many changes from one text to another have an opposite one on another page."""
    changes = Counter(visit for visit in visits if visit[0] != visit[1])
    return sum(min(count, changes[now, before]) for (before, now), count in changes.items())


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
            is_back |= not _words(new).isdisjoint(_words(set(before) - set(now)))
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
    possible = (*range(1, min(count, MAX_MOVED)), count)
    counts = [moved for moved in possible if now[moved:] == before[: count - moved]]
    return any(now[:moved] == source[-moved:] for source in sources for moved in counts)
