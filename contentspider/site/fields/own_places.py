"""The places of a template in which its pages show the values of a user's own fields."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

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
from contentspider.site.fields.places import AFTER, BESIDE, LINK, MAX_CHARS, WHOLE, Place
from contentspider.site.fields.places import DIGITS as ANY_DIGITS
from contentspider.site.fields.values import DAY_FIRST, MONTH_FIRST, WRITTEN, dates_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from contentspider.page.tree.blocks import Block

MAX_LABEL_CHARS = 40
MAX_TEXT_CHARS = 80  # of a text that is a part of its block
MAX_WHOLE_CHARS = 2_000
MAX_LINKS = 10
# A number or a date is in the first characters behind the word before it.
NEAR_CHARS = 40
FORMS = {TEXT: ("",), NUMBER: ("",), DATE: (WRITTEN, DAY_FIRST, MONTH_FIRST)}
LAST_WORD, FIRST_WORD = re.compile(r"\S+\s*\Z"), re.compile(r"\s*\S+")
PUNCTUATION = re.compile(r"\s*[^\w\s]")
NOT_ENDS = re.compile(r"\w")


def value_key(value: str | float) -> str | float:
    """Return a value for comparison: texts in lower case with single spaces."""
    return " ".join(value.casefold().split()) if isinstance(value, str) else value


def label_of(text: str) -> str:
    """Return the text of a block as the label of the block after it; "" if it is too long."""
    return ANY_DIGITS.sub("0", " ".join(text.split())) if len(text) <= MAX_LABEL_CHARS else ""


def places_with(block: Block, before: str, value: str | float, kind: str) -> Iterator[Place]:
    """Yield the ways to read a *value* of a type in a block, as places without a path. *before* is
    the text of the block before it.
    """
    key = value_key(value)
    if isinstance(key, str) and kind == TEXT and key.partition(" ")[0] not in block.text.casefold():
        return  # most blocks, and the other steps take much longer
    for shape in _shapes(block, before, value, kind):
        for form in FORMS[kind]:
            place = replace(shape, form=form)
            found = value_at(place, block, before, kind)
            if found is not None and value_key(found) == key:
                yield place


def _shapes(block: Block, before: str, value: str | float, kind: str) -> Iterator[Place]:
    """Yield the places that may have a value in a block."""
    if len(block.text) <= MAX_WHOLE_CHARS:
        yield Place("", WHOLE)
        if label := label_of(before):
            yield Place("", BESIDE, label)
    if len(block.text) > MAX_CHARS:
        return
    for number in range(1, 1 + min(len(_links(block)), MAX_LINKS)):
        yield Place("", LINK, str(number))
    for start, end in _ranges(block.text, value, kind):
        for mark in _marks(block.text[:start]):
            if kind != TEXT:
                if mark:
                    yield Place("", AFTER, mark)
                continue
            for ending in _endings(block.text[end:]):
                if mark or ending:
                    yield Place("", AFTER, mark, ending)


def _links(block: Block) -> list[str]:
    return [block.text[start:end] for start, end, mark in block.spans if is_link(mark)]


def _ranges(text: str, value: str | float, kind: str) -> Iterator[tuple[int, int]]:
    """Yield where a text has a value."""
    if isinstance(value, float):
        for match in DIGITS.finditer(text):
            if number_of(match[0]) == value:
                yield match.span()
    elif kind == DATE:
        for found in dates_in(text, LAST_DAY):
            if found.date == value[:10]:
                yield found.start, found.start
    else:
        words = r"\s+".join(map(re.escape, value.split()))
        for match in re.finditer(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE):
            yield match.span()


def _marks(text: str) -> list[str]:
    """Return what may stand before a value, after *text*: its last word, and the whole text."""
    if not text.strip():
        return [""]
    last = LAST_WORD.search(text)
    marks = [last[0] if last else "", text if len(text) <= MAX_LABEL_CHARS else ""]
    return list(dict.fromkeys(_pattern_text(mark) for mark in marks if mark))


def _endings(text: str) -> list[str]:
    """Return what may stand behind a value, before *text*: a sign, and a word."""
    if not text.strip():
        return [""]
    matches = (PUNCTUATION.match(text), FIRST_WORD.match(text))
    return list(dict.fromkeys(_pattern_text(match[0]) for match in matches if match))


def _pattern_text(text: str) -> str:
    return ANY_DIGITS.sub("0", " ".join(text.split()))


@lru_cache(maxsize=1_000)
def _mark_pattern(mark: str) -> re.Pattern[str]:
    """Return the pattern of the text before a value, in which 0 stands for any number."""
    return re.compile(rf"(?:\A|(?<=\s)){_escaped(mark)}\s*" if mark else r"\A\s*")


@lru_cache(maxsize=1_000)
def _pattern(mark: str, end: str) -> re.Pattern[str]:
    """Return the pattern of the text between two texts."""
    # A word that ends a value has a space before it, a sign may be next to it.
    space = r"\s+" if NOT_ENDS.match(end) else r"\s*"
    text = rf"(\S.{{0,{MAX_TEXT_CHARS - 1}}}?)"
    return re.compile(f"{_mark_pattern(mark).pattern}{text}{space}{_escaped(end) or chr(92) + 'Z'}")


def _escaped(text: str) -> str:
    return re.sub("0+", r"\\d+", r"\s+".join(map(re.escape, text.split())))


def value_at(place: Place, block: Block, before: str, kind: str) -> str | float | None:
    """Return the value of a type that a block has in a place; None if it has none."""
    text = _text_at(place, block, before, kind)
    if not text:
        return None
    if kind == NUMBER:
        return number_in(text)
    if kind == DATE:
        days = (found.date for found in dates_in(text, LAST_DAY) if found.form == place.form)
        return next(days, None)
    return " ".join(text.split())


def _text_at(place: Place, block: Block, before: str, kind: str) -> str:
    """Return the text that a block has in a place, "" if there is none."""
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
