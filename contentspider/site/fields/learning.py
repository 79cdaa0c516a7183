"""Learns where a site shows titles, dates, authors and names, from pages that state them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from contentspider.page.about.authors import name_key, with_all
from contentspider.page.about.jsonld import title_key
from contentspider.site.design import design_of, named_steps
from contentspider.site.fields.list_learning import learn_lists
from contentspider.site.fields.places import MAX_CHARS, path_ends
from contentspider.site.fields.precision import (
    MAX_EXAMPLES,
    MAX_PLACES,
    MIN_PRECISION,
    frequent_places,
    precise_places,
)
from contentspider.site.fields.shown import AUTHOR_RULES, BESIDE, DATE_RULES
from contentspider.site.fields.site_fields import (
    AUTHOR,
    NO_KNOWLEDGE,
    PUBLISHED,
    READERS,
    TITLE,
    FieldKnowledge,
    PlaceReader,
)
from contentspider.site.title import common_titles, page_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from contentspider.page.input.page import Page
    from contentspider.page.tree.blocks import Block
    from contentspider.site.fields.places import Place
    from contentspider.site.fields.precision import LearnedPlace
    from contentspider.site.fields.shown import ShownDates

# Pages must state this many different values. If all of them state the same day, a place that shows
# the day of the crawl would seem to be right.
MIN_VALUES = {TITLE: 3, PUBLISHED: 3, AUTHOR: 1}
# A general rule is judged if it finds a value on at least this many pages that state the field.
MIN_JUDGED = 8
# Statements are ignored if at least MIN_CONTRADICTED pages state one and the same value, while most
# of them show at least MIN_CONTRADICTING different values.
MIN_CONTRADICTED, MIN_CONTRADICTING = 10, 3
ONE_DAY = timedelta(days=1)
JOINT = "; "
WORD = re.compile(r"\w+")


class Example(NamedTuple):
    """A page, and the value that it states for a field."""

    page: Page
    value: str


class Field(NamedTuple):
    """A field, such as the day of publication.

    *stated* returns the value that a page states, "" if it states none. *sign* returns a part of a
    value; each block that shows the value has this part, in lower case. Values with one *key_of*
    are one value. *agrees* compares the value of a place with the value that the page states.
    *rules* are the general rules that find the field on a page.
    """

    stated: Callable[[Page], str]
    sign: Callable[[str], str]
    key_of: Callable[[str], object]
    agrees: Callable[[str, str], bool]
    rules: Mapping[str, Callable[[Page, str], str]]


def _same_day(value: str, stated: str) -> bool:
    """Tell whether two dates are at most one day apart: time zones may have different days."""
    return abs(date.fromisoformat(value[:10]) - date.fromisoformat(stated[:10])) <= ONE_DAY


def _same_names(value: str, stated: str) -> bool:
    return bool(value) and name_key(value) == name_key(stated)


def _date_rule(find: Callable[[Page, str], ShownDates]) -> Callable[[Page, str], str]:
    return lambda page, title: find(page, title).published


def _author_rule(find: Callable[[Page, str], tuple[str, ...]]) -> Callable[[Page, str], str]:
    return lambda page, title: JOINT.join(find(page, title))


def _stated_title(page: Page) -> str:
    """Return the title of a page whose metadata have one. It may be a heading that says the same
    without the name of the site.
    """
    return page_title(page) if page.metadata.title else ""


def _stated_date(page: Page) -> str:
    return page.metadata.published_at if PUBLISHED in page.metadata.stated else ""


def _stated_author(page: Page) -> str:
    if AUTHOR not in page.metadata.stated:
        return ""
    shown = AUTHOR_RULES[BESIDE](page, page_title(page))
    return JOINT.join(with_all(page.metadata.author, shown))


def _first_word(text: str) -> str:
    match = WORD.search(text.lower())
    return match[0] if match else ""


FIELDS = {
    TITLE: Field(
        _stated_title,
        _first_word,
        title_key,
        lambda value, stated: title_key(value) == title_key(stated),
        {},
    ),
    PUBLISHED: Field(
        _stated_date,
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
    """Return the learned knowledge of each field that some *pages* state, by the field's name, and
    of the titles that nearly all pages have.

    *pages* should be in a random order, because every other page is held back as a test.
    """
    learned: dict[str, FieldKnowledge] = {}
    for name, field in FIELDS.items():
        stating = (Example(page, value) for page in pages if (value := field.stated(page)))
        if examples := list(islice(stating, MAX_EXAMPLES)):
            learned[name] = _learn(name, examples, slot_of)
    if common := common_titles(pages[:MAX_EXAMPLES]):
        learned[TITLE] = replace(learned.get(TITLE, NO_KNOWLEDGE), common=common)
    return learned | learn_lists(pages, slot_of)


def _learn(name: str, examples: Sequence[Example], slot_of: Callable[[str], str]) -> FieldKnowledge:
    """Return the knowledge of a field that follows from *examples*."""
    field = FIELDS[name]
    titles = [page_title(example.page) if field.rules else "" for example in examples]
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
    wrong = {
        rule: pages
        for rule, values in shown.items()
        if (pages := _contradicted(field, examples, values))
    }
    contradicted = {id(page): page for pages in wrong.values() for page in pages}
    design = design_of(map(named_steps, contradicted.values()))
    return FieldKnowledge(places, len(examples), distrusted=tuple(wrong), design=design)


def _contradicted(field: Field, examples: Sequence[Example], values: Sequence[str]) -> list[Page]:
    """Return the pages whose statements contradict the *values* of a general rule, if they are too
    many to trust it; else an empty list.
    """
    judged = [
        (example.page, field.agrees(value, example.value))
        for value, example in zip(values, examples, strict=True)
        if value
    ]
    wrong = [page for page, agrees in judged if not agrees]
    is_wrong = len(judged) >= MIN_JUDGED and len(wrong) > (1 - MIN_PRECISION) * len(judged)
    return wrong if is_wrong else []


def _is_contradicted(
    field: Field, examples: Sequence[Example], shown: Sequence[Sequence[str]]
) -> bool:
    """Tell whether all pages state one value, but show different values by a general rule. Then the
    template states the day of its build as date, or the publisher as author.
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
    """Return the places where most *examples* show their values."""
    return frequent_places(
        _places_with_value(FIELDS[name], READERS[name], each, slot_of) for each in examples
    )


def _places_with_value(
    field: Field,
    read: Callable[[Block, str], Iterator[tuple[Place, str]]],
    example: Example,
    slot_of: Callable[[str], str],
) -> list[Place]:
    """Return the places where the page of an example shows the value, in document order."""
    places: dict[Place, None] = {}
    sign = field.sign(example.value)
    for block in example.page.content.blocks:
        # Few blocks have the sign; the other steps take a hundred times as long.
        if len(block.text) > MAX_CHARS or sign not in block.text.lower():
            continue
        for way, value in read(block, example.page.hints.language):
            if field.agrees(value, example.value):
                ends = path_ends(slot_of(block.path))
                places.update(dict.fromkeys(replace(way, path=end) for end in ends))
    return list(places)


def _precise_places(
    name: str,
    candidates: list[Place],
    examples: Sequence[Example],
    slot_of: Callable[[str], str],
) -> tuple[LearnedPlace, ...]:
    """Return the precise candidates. The most precise come first, and of equally precise places
    the one with more values.
    """
    reader = PlaceReader(candidates, READERS[name], slot_of)
    agrees = FIELDS[name].agrees
    results = [
        {place: agrees(value, each.value) for place, value in reader.values(each.page).items()}
        for each in examples
    ]
    precise = precise_places(candidates, results)
    precise.sort(key=lambda learned: (-learned.right / learned.given, -learned.given))
    return tuple(precise[:MAX_PLACES])
