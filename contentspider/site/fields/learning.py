"""Learns where the pages of a site show a field, from the pages that state it as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from contentspider.site.fields.places import MAX_CHARS, path_ends
from contentspider.site.fields.shown import AUTHOR_RULES, DATE_RULES
from contentspider.site.fields.site_fields import (
    AUTHOR,
    PUBLISHED,
    READERS,
    FieldKnowledge,
    LearnedPlace,
    PlaceReader,
)
from contentspider.site.fields.values import name_key
from contentspider.site.title import page_title

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from contentspider.page.input.page import Page
    from contentspider.site.fields.places import Place
    from contentspider.site.fields.shown import ShownDates

# A place must be right on this many of the pages that it is learned from, and on this many of those
# that are held back.
MIN_RIGHT = 3
MIN_PRECISION = 0.95
MAX_CANDIDATES, MAX_PLACES = 30, 6
MAX_EXAMPLES = 80  # pages; more would take long, and say the same
# Pages must state this many different values. If all state nearly the same day, a place that shows
# the day of the crawl, for example, would seem to be right.
MIN_VALUES = {PUBLISHED: 3, AUTHOR: 1}
# A general rule is judged if it finds a value on at least this many pages that state the field.
MIN_JUDGED = 8
# Statements are ignored if at least MIN_CONTRADICTED pages state one and the same value, while most
# of them show at least MIN_CONTRADICTING different values.
MIN_CONTRADICTED, MIN_CONTRADICTING = 10, 3
ONE_DAY = timedelta(days=1)
JOINT = "; "


class Example(NamedTuple):
    """A page, and the value that it states for a field."""

    page: Page
    value: str


class Field(NamedTuple):
    """How values of a field are compared, and the general rules that find them on a page.

    *stated* returns the value that a page states, *sign* a part of it, in lower case, that a block
    with the value has. *key_of* returns what a value is identified by. *agrees* compares a value
    with a stated one.
    """

    stated: Callable[[Page], str]
    sign: Callable[[str], str]
    key_of: Callable[[str], object]
    agrees: Callable[[str, str], bool]
    rules: Mapping[str, Callable[[Page, str], str]]


def _same_day(value: str, stated: str) -> bool:
    """Tell whether two dates are one day, or neighbours, as one time is in two time zones."""
    return abs(date.fromisoformat(value[:10]) - date.fromisoformat(stated[:10])) <= ONE_DAY


def _same_names(value: str, stated: str) -> bool:
    return bool(value) and name_key(value) == name_key(stated)


def _date_rule(find: Callable[[Page, str], ShownDates]) -> Callable[[Page, str], str]:
    return lambda page, title: find(page, title).published


def _author_rule(find: Callable[[Page, str], tuple[str, ...]]) -> Callable[[Page, str], str]:
    return lambda page, title: JOINT.join(find(page, title))


def _stated_author(page: Page) -> str:
    return JOINT.join(page.metadata.author)


FIELDS = {
    PUBLISHED: Field(
        lambda page: page.metadata.published_at,
        lambda value: value[:4],
        lambda value: value[:10],
        _same_day,
        {name: _date_rule(find) for name, find in DATE_RULES.items()},
    ),
    AUTHOR: Field(
        _stated_author,
        lambda value: value.partition(JOINT)[0].lower(),
        name_key,
        _same_names,
        {name: _author_rule(find) for name, find in AUTHOR_RULES.items()},
    ),
}


def learn_fields(
    pages: Sequence[Page], slot_of: Callable[[str], str]
) -> Mapping[str, FieldKnowledge]:
    """Return what *pages* teach of each field that some of them state, by the field's name.

    The statements of every other page are held back, and tell how precise a place is. *pages*
    should be in a random order.
    """
    learned: dict[str, FieldKnowledge] = {}
    for name, field in FIELDS.items():
        stating = [page for page in pages if name in page.metadata.stated]
        if stating:
            examples = [Example(page, field.stated(page)) for page in stating[:MAX_EXAMPLES]]
            learned[name] = _learn(name, examples, slot_of)
    return learned


def _learn(name: str, examples: Sequence[Example], slot_of: Callable[[str], str]) -> FieldKnowledge:
    """Return what *examples* teach of a field."""
    field = FIELDS[name]
    titles = [page_title(example.page) for example in examples]
    shown = {
        rule: [find(example.page, title) for example, title in zip(examples, titles, strict=True)]
        for rule, find in field.rules.items()
    }
    if _is_contradicted(field, examples, list(shown.values())):
        return FieldKnowledge(stated=len(examples), trusts_stated=False)
    places: tuple[LearnedPlace, ...] = ()
    if len({field.key_of(example.value) for example in examples}) >= MIN_VALUES[name]:
        candidates = _candidates(name, examples[::2], slot_of)
        places = _precise_places(name, candidates, examples, slot_of)
    distrusted = [rule for rule, values in shown.items() if _is_wrong(field, examples, values)]
    return FieldKnowledge(places, len(examples), distrusted=tuple(distrusted))


def _is_wrong(field: Field, examples: Sequence[Example], values: Sequence[str]) -> bool:
    """Tell whether a general rule has found other *values* than pages state."""
    judged = [
        field.agrees(value, example.value)
        for value, example in zip(values, examples, strict=True)
        if value
    ]
    return len(judged) >= MIN_JUDGED and sum(judged) < MIN_PRECISION * len(judged)


def _is_contradicted(
    field: Field, examples: Sequence[Example], shown: Sequence[Sequence[str]]
) -> bool:
    """Tell whether all pages state one value, while by some rule most of them show values that
    differ: the theme gives the day of its build, or the publisher as author.
    """
    if len(examples) < MIN_CONTRADICTED:
        return False
    if len({field.key_of(example.value) for example in examples}) > 1:
        return False
    return any(
        2 * sum(map(bool, values)) > len(examples)
        and len(set(map(field.key_of, filter(None, values)))) >= MIN_CONTRADICTING
        for values in shown
    )


def _candidates(
    name: str, examples: Sequence[Example], slot_of: Callable[[str], str]
) -> list[Place]:
    """Return the places in which most *examples* show their values."""
    counts: Counter[Place] = Counter()
    for example in examples:
        found: set[Place] = set()
        sign = FIELDS[name].sign(example.value)
        for block in example.page.content.blocks:
            # Few blocks have the sign; the other steps take a hundred times as long.
            if len(block.text) > MAX_CHARS or sign not in block.text.lower():
                continue
            for way, value in READERS[name](block):
                if FIELDS[name].agrees(value, example.value):
                    ends = path_ends(slot_of(block.path))
                    found.update(replace(way, path=end) for end in ends)
        counts.update(found)
    return [place for place, count in counts.most_common(MAX_CANDIDATES) if count >= MIN_RIGHT]


def _precise_places(
    name: str,
    candidates: list[Place],
    examples: Sequence[Example],
    slot_of: Callable[[str], str],
) -> tuple[LearnedPlace, ...]:
    """Return the candidates that are precise on the pages they were found on, and on those held
    back. The most precise come first, then those that give most values.
    """
    reader = PlaceReader(candidates, READERS[name], slot_of)
    given: list[Counter[Place]] = [Counter(), Counter()]
    right: list[Counter[Place]] = [Counter(), Counter()]
    for number, example in enumerate(examples):
        for place, value in reader.values(example.page).items():
            given[number % 2][place] += 1
            right[number % 2][place] += FIELDS[name].agrees(value, example.value)
    precise = [
        LearnedPlace(place, right[1][place], given[1][place])
        for place in candidates
        if all(
            right[half][place] >= max(MIN_RIGHT, MIN_PRECISION * given[half][place])
            for half in (0, 1)
        )
    ]
    precise.sort(key=lambda learned: (-learned.right / learned.given, -learned.given))
    return tuple(precise[:MAX_PLACES])
