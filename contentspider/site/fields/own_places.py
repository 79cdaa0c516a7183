"""The places of a template where its pages show own fields, and the ways to read them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from contentspider.page.about.written_dates import DAY_FIRST, MONTH_FIRST, WRITTEN, dates_in
from contentspider.page.input.own_values import (
    DATE,
    DIGITS,
    LAST_DAY,
    NUMBER,
    TEXT,
    number_in,
    number_of,
)
from contentspider.page.tree.tags import is_link
from contentspider.page.tree.text import is_word_char
from contentspider.site.fields.places import AFTER, BESIDE, LAST, LINK, MAX_CHARS, WHOLE, Place
from contentspider.site.fields.places import DIGITS as ANY_DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block

MAX_LABEL_CHARS = 40
MAX_TEXT_CHARS = 80  # of a text that is a part of its block
MAX_WHOLE_CHARS = 2_000
MAX_LINKS = 10
# A number or a date begins in the first NEAR_CHARS characters after its mark.
NEAR_CHARS = 40
DATE_FORMS = (WRITTEN, DAY_FIRST, MONTH_FIRST)
LAST_WORD, FIRST_WORD = re.compile(r"\S+\s*\Z"), re.compile(r"\s*\S+")
PUNCTUATION = re.compile(r"\s*[^\w\s]")
NOT_ENDS = re.compile(r"\w")


def value_key(value: str | float) -> str | float:
    """Return a value for comparison: texts in lower case with single spaces."""
    return " ".join(value.casefold().split()) if isinstance(value, str) else value


def label_of(text: str) -> str:
    """Return the text of a block as the label of the block after it; "" if it is too long."""
    return ANY_DIGITS.sub("0", " ".join(text.split())) if len(text) <= MAX_LABEL_CHARS else ""


def places_of_value(
    page: Page, value: str | float, kind: str, ends_of: Callable[[str], list[str]]
) -> list[Place]:
    """Return the places where a page shows a *value* of a type, in document order. *ends_of*
    returns the paths of places for a block's path.
    """
    places: dict[Place, None] = {}
    before = ""
    for block in page.content.blocks:
        for way in _ways_to(block, before, value, kind):
            places.update(dict.fromkeys(replace(way, path=end) for end in ends_of(block.path)))
        before = block.text
    return list(places)


def _ways_to(block: Block, before: str, value: str | float, kind: str) -> Iterator[Place]:
    """Yield the ways to read a *value* of a type in a block, as places without a path. *before* is
    the text of the block before it.
    """
    key = value_key(value)
    if isinstance(key, str) and kind == TEXT and key.partition(" ")[0] not in block.text.casefold():
        return  # most blocks, and the other steps take much longer
    for place in _possible_ways(block, before, value, kind):
        read = value_at(place, block, before, kind)
        if read is not None and value_key(read) == key:
            yield place


def _possible_ways(block: Block, before: str, value: str | float, kind: str) -> Iterator[Place]:
    """Yield the ways that may read the value in a block; `value_at` tells whether they do."""
    for way in _ways_by_text(block, before, value, kind):
        if kind == DATE:
            yield from (replace(way, form=form) for form in DATE_FORMS)
        else:
            yield way
    if kind == NUMBER and len(block.text) <= MAX_CHARS and len(DIGITS.findall(block.text)) > 1:
        yield Place("", WHOLE, form=LAST)


def _ways_by_text(block: Block, before: str, value: str | float, kind: str) -> Iterator[Place]:
    """Yield the ways by the text of a block and the texts around the value, without forms."""
    if len(block.text) <= MAX_WHOLE_CHARS:
        yield Place("", WHOLE)
        if label := label_of(before):
            yield Place("", BESIDE, label)
    if len(block.text) > MAX_CHARS:
        return
    for number in range(1, 1 + min(len(_links(block)), MAX_LINKS)):
        yield Place("", LINK, str(number))
    for start, end in _ranges(block.text, value, kind):
        yield from _ways_between(block.text[:start], block.text[end:], kind)


def _ways_between(before: str, after: str, kind: str) -> Iterator[Place]:
    """Yield the ways to read a part of a block by the texts *before* and *after* it. The end of a
    number or a date needs no text.
    """
    endings = _endings(after) if kind == TEXT else [""]
    for mark in _marks(before):
        for ending in endings:
            if mark or ending:
                yield Place("", AFTER, mark, ending)


def _links(block: Block) -> list[str]:
    return [block.text[start:end] for start, end, mark in block.spans if is_link(mark)]


def _ranges(text: str, value: str | float, kind: str) -> Iterator[tuple[int, int]]:
    """Yield the character ranges of a value in a text."""
    if isinstance(value, float):
        for match in DIGITS.finditer(text):
            if number_of(match[0]) == value:
                yield match.span()
    elif kind == DATE:
        for day in dates_in(text, LAST_DAY):
            if day.date == value[:10]:
                yield day.start, day.start
    else:
        words = r"\s+".join(map(re.escape, value.split()))
        for match in re.finditer(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
            if not is_word_char(text[match.end() : match.end() + 1] or " "):
                yield match.span()


def _marks(text: str) -> list[str]:
    """Return the marks of a value after *text*: its last word, and all of it if it is short."""
    if not text.strip():
        return [""]
    last = LAST_WORD.search(text)
    marks = [last[0] if last else "", text if len(text) <= MAX_LABEL_CHARS else ""]
    return list(dict.fromkeys(_pattern_text(mark) for mark in marks if mark))


def _endings(text: str) -> list[str]:
    """Return the texts that may end a value before *text*: its first sign, and its first word."""
    if not text.strip():
        return [""]
    matches = (PUNCTUATION.match(text), FIRST_WORD.match(text))
    return list(dict.fromkeys(_pattern_text(match[0]) for match in matches if match))


def _pattern_text(text: str) -> str:
    return ANY_DIGITS.sub("0", " ".join(text.split()))


@lru_cache(maxsize=1_000)
def _mark_pattern(mark: str) -> re.Pattern[str]:
    """Return the pattern of a mark, the text before a value. A 0 in it matches any number."""
    return re.compile(rf"(?:\A|(?<=\s)){_escaped(mark)}\s*" if mark else r"\A\s*")


@lru_cache(maxsize=1_000)
def _pattern(mark: str, end: str) -> re.Pattern[str]:
    """Return the pattern of the text between a mark and an end."""
    # A word that ends a value has a space before it, a sign may be next to it.
    space = r"\s+" if NOT_ENDS.match(end) else r"\s*"
    text = rf"(\S.{{0,{MAX_TEXT_CHARS - 1}}}?)"
    return re.compile(f"{_mark_pattern(mark).pattern}{text}{space}{_escaped(end) or chr(92) + 'Z'}")


def _escaped(text: str) -> str:
    return re.sub("0+", r"\\d+", r"\s+".join(map(re.escape, text.split())))


def value_at(place: Place, block: Block, before: str, kind: str) -> str | float | None:
    """Return the value of a type that a block has in a place; None without such a value."""
    text = _text_at(place, block, before, kind)
    if not text:
        return None
    if kind == NUMBER:
        return _last_number(text) if place.form == LAST else number_in(text)
    if kind == DATE:
        days = (day.date for day in dates_in(text, LAST_DAY) if day.form == place.form)
        return next(days, None)
    return " ".join(text.split())


def _last_number(text: str) -> float | None:
    """Return the last number in a text, None without any."""
    numbers = DIGITS.findall(text)
    return number_of(numbers[-1]) if numbers else None


def _text_at(place: Place, block: Block, before: str, kind: str) -> str:
    """Return the text that a block has in a place, "" if the block is not such a place."""
    text = block.text
    if place.way == BESIDE:
        return text if label_of(before) == place.mark and len(text) <= MAX_WHOLE_CHARS else ""
    if place.way == WHOLE:
        return text if len(text) <= MAX_WHOLE_CHARS else ""
    if len(text) > MAX_CHARS:
        return ""
    if place.way == LINK:
        return "".join(_links(block)[int(place.mark) - 1 : int(place.mark)])
    if kind == TEXT:
        match = _pattern(place.mark, place.end).search(text)
        return match[1] if match else ""
    match = _mark_pattern(place.mark).search(text)
    return text[match.end() : match.end() + NEAR_CHARS] if match else ""
