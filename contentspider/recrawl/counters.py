"""Counters in the main content, such as views or an author's posts: they change at each visit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING

from contentspider.page.about.written_dates import WEEKDAYS, month_key, month_of
from contentspider.page.tree.text import SENTENCE_CHARS

if TYPE_CHECKING:
    from contentspider.page.input.page import Page

MAX_CHARS = 80  # the longest line with a counter, whose number is not a price
# With groups of digits and decimals, in thousands (1.2k) or of a time (9:05 pm).
NUMBER = re.compile(
    r"\d+(?:[.,]\d+|['’\u00a0\u202f ]\d{3}(?!\d))*(?:(?-i:[kKM])\b|\s?[ap]\.?m\b\.?)?",
    re.IGNORECASE,
)
# The sign of a number counts as little as its digits.
SIGNED = re.compile(r"(?<!\w)[-+−▲▼]\s?[-+−]?(?=\d)")
# A decimal number outside of a date.
DECIMAL = r"(?<!\d)\d+[.,]\d\d?(?!\d|\.\s?\d)"
# What is measured anew at each visit: the change of a share's price in percent, with the price;
# a temperature; a time; a number in thousands or millions; a rate of exchange, with four decimals.
MEASURED = re.compile(
    r"(?-i:\b1\s?[A-Z]{3}\s?=\s?\d+[.,]\d+(?:\s?[A-Z]{3}\b)?)|(?-i:\b[A-Z]{3}\s)?(?<![\d.,])\d[.,]\d{4,}|"
    rf"(?:{DECIMAL}\s?\(?)?[-+−▲▼]\s?[-+−]?\d+[.,]\d+\s?%|{DECIMAL}\s?(?:°|(?:m?s|h|sec|uhr|(?-i:[kKM]))\b)",
    re.IGNORECASE,
)
# A rating, with the number of those who gave one: "4.5 (1,204 ratings)", "4.5 out of 5".
RATED = re.compile(
    r"(?<![\d.,])\d[.,]\d(?=\s?(?:\(\d[\d.,]*\b[^()$€£]*\)|/\s?(?:5|10)\b|\W?[★⭐]"
    r"|(?:out of|von|sur|de|su|av|van) (?:5|10)\b))",
    re.IGNORECASE,
)
CURRENCY = r"(?:[$€£¥₽₹₩₪]|\b(?:usd|eur|gbp|chf|kr|zł|руб|р)\b\.?)"
PRICE = re.compile(rf"{CURRENCY}|{DECIMAL}", re.IGNORECASE)
# The numbers that are prices.
PRICED = re.compile(
    rf"{CURRENCY}\s?{NUMBER.pattern}|{NUMBER.pattern}\s?{CURRENCY}|{DECIMAL}", re.IGNORECASE
)
# A day and a month without a year, in either order.
WITHOUT_YEAR = r"(?![\d/:-])(?!,? \d{4})"
DAY_FIRST = re.compile(
    r"(?<![\d/.,:-])(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|ª|\.)?(?: of| de)?"
    rf" (?P<month>[^\W\d_]{{3,15}})\b\.?{WITHOUT_YEAR}"
)
MONTH_FIRST = re.compile(
    rf"\b(?P<month>[^\W\d_]{{3,15}})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?{WITHOUT_YEAR}"
)
LAST_WORD = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)?)\.?,?\s*\Z")
# A place holds a counter if its numbers changed on this many pages, and this share of its pages.
MIN_PAGES = 8
MIN_SHARE = 0.5
BETWEEN = "\t"


def without_numbers(line: str) -> str:
    """Return a line with its numbers, and their signs, replaced by 0."""
    return NUMBER.sub("0", SIGNED.sub("", line))


def has_price(line: str) -> bool:
    """Tell whether a line may have a price: a currency, or a decimal number that is not one of
    what is measured anew at each visit.
    """
    return bool(PRICE.search(_without_measured(line)))


def _without_measured(line: str) -> str:
    return MEASURED.sub("", RATED.sub("", line))


def _prices(line: str) -> list[str]:
    """Return the prices in a line, or the line if it has a currency without a number."""
    text = _without_measured(line)
    return [line] if PRICE.search(PRICED.sub("", text)) else PRICED.findall(text)


def place_of(slot: str, line: str) -> str:
    """Return the place of a counter: the slot, and the line with its numbers replaced by 0, as are
    days without a year, with their weekdays and months.
    """
    for found in reversed(days_without_year(line)):
        if month_of(found["month"]):
            before = line[: found.start()]
            word = LAST_WORD.search(before)
            if word and month_key(word[1]) in WEEKDAYS:
                before = before[: word.start()]
            line = f"{before}0{line[found.end() :]}"
    return f"{slot}{BETWEEN}{without_numbers(line)}"


def days_without_year(line: str) -> list[re.Match[str]]:
    """Return where a line has a number beside a word, which may be a day and its month."""
    return list(DAY_FIRST.finditer(line)) or list(MONTH_FIRST.finditer(line))


def without_counter(line: str) -> str:
    """Return a line with its numbers replaced by 0, if the line may hold a counter."""
    is_counter = len(line) <= MAX_CHARS and not has_price(line)
    return without_numbers(line) if is_counter else line


def differ_in_numbers(old_line: str, new_line: str) -> bool:
    """Tell whether two versions of a short line differ only in numbers that are not prices."""
    if len(new_line) > MAX_CHARS or _prices(old_line) != _prices(new_line):
        return False
    return without_numbers(old_line) == without_numbers(new_line)


def differ_in_prices(old_lines: Iterable[str], new_lines: Iterable[str]) -> bool:
    """Tell whether new lines have the words of old ones with other prices, in any order."""
    old, new = ({line for line in lines if has_price(line)} for lines in (old_lines, new_lines))
    gone, come = ({NUMBER.sub("0", line) for line in lines} for lines in (old - new, new - old))
    return not gone.isdisjoint(come)


def is_captioned_picture(page: Page, content: str) -> bool:
    """Tell whether the main *content* of a page is pictures with less than a sentence. A number in
    such a caption is a counter (views, votes) even if no other page has it.
    """
    if len(content) >= SENTENCE_CHARS:
        return False
    lines = set(content.splitlines())
    return any(block.images and block.text in lines for block in page.content.blocks)


def are_counters(places: Iterable[str], counters: Collection[str]) -> bool:
    """Tell whether all *places*, or their slots, are among the places of *counters*."""
    return all(place in counters or place.partition(BETWEEN)[0] in counters for place in places)


class Counters:
    """Finds the counters of one site.

    *changed* has the places of each page that changed in numbers only. *same* has the places of
    each page that the server called unmodified: such a place only needs to be on enough pages.
    """

    def __init__(
        self, changed: Iterable[Iterable[str]], same: Iterable[Iterable[str]] = ()
    ) -> None:
        self._same = {place for places in same for place in places}
        places = {place for page_places in changed for place in page_places} | self._same
        self._candidates = places | {place.partition(BETWEEN)[0] for place in places}
        self._having: Counter[str] = Counter()
        self._changed: Counter[str] = Counter()
        self._shared: Counter[str] = Counter()
        self._long: set[str] = set()

    @property
    def needs_more(self) -> bool:
        """Tell whether `share` should count more pages."""
        return any(self._shared[place] < MIN_PAGES for place in self._same)

    def share(self, page: Page, slot_of: Callable[[str], str]) -> None:
        """Count the places of a page, whether the server sent the page or not."""
        self._shared.update(self._lines(page, slot_of).keys() & self._same)

    def add(self, page: Page, before: Page, slot_of: Callable[[str], str]) -> None:
        """Count the places that a page had *before* and has now, and where numbers changed."""
        now, old = self._lines(page, slot_of), self._lines(before, slot_of)
        for place in now.keys() & old.keys():
            self._having[place] += 1
            self._changed[place] += now[place] != old[place]

    def _lines(self, page: Page, slot_of: Callable[[str], str]) -> dict[str, list[str]]:
        lines: dict[str, list[str]] = {}
        for block in page.content.blocks:
            slot = slot_of(block.path)
            if slot in self._candidates:
                for place in {slot, place_of(slot, block.text)} & self._candidates:
                    lines.setdefault(place, []).append(block.text)
                if len(block.text) > MAX_CHARS:
                    self._long.add(slot)
        return lines

    def places(self) -> set[str]:
        """Return the places of counters."""
        return {
            place
            for place in self._candidates - self._long
            if self._changed[place] >= max(MIN_PAGES, MIN_SHARE * self._having[place])
            or self._shared[place] >= MIN_PAGES
        }
