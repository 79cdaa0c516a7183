"""Learns where the pages of a site show a user's own fields, from the pages that state them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from contentspider.site.fields.learning import (
    MAX_CANDIDATES,
    MAX_EXAMPLES,
    MAX_PLACES,
    MIN_PRECISION,
    MIN_RIGHT,
)
from contentspider.site.fields.own_fields import OwnKnowledge, OwnReader, agreed_value
from contentspider.site.fields.own_places import places_with, value_key
from contentspider.site.fields.places import path_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from contentspider.page.input.fields_file import OwnField
    from contentspider.page.input.page import Page
    from contentspider.site.fields.places import Place

    Stating = Sequence[tuple[Page, str | float]]
    EndsOf = Callable[[str], list[str]]

MIN_VALUES = 3  # one value of all pages may stand in any part of the template


def learn_stated_fields(
    fields: Iterable[OwnField], sample: Iterable[Page], slot_of: Callable[[str], str]
) -> dict[str, OwnKnowledge]:
    """Return what the pages of a *sample* teach on which selectors of *fields* find values.

    The values of every other page are held back, and tell how precise a place is, as for dates
    (`contentspider.site.fields.learning`).
    """
    ends_of = cache(lambda path: path_ends(slot_of(path)))
    pages = [page for page in sample if page.own is not None]
    learned = {}
    for field in fields:
        stating = [
            (page, page.own.values[field.name])
            for page in pages
            if page.own is not None and field.name in page.own.values
        ]
        if stating:
            learned[field.name] = _learn(field.kind, stating[:MAX_EXAMPLES], ends_of)
    return learned


def _learn(kind: str, stating: Stating, ends_of: EndsOf) -> OwnKnowledge:
    """Return what pages with their values teach."""
    held_back = stating[1::2]
    places: list[Place] = []
    if len({value_key(value) for _, value in stating}) >= MIN_VALUES:
        candidates = _candidates(kind, stating[::2], ends_of)
        places = _precise_places(kind, candidates, stating, ends_of)
    known = OwnKnowledge(kind, tuple(places))
    reader = OwnReader({"": known}, ends_of)
    found = [agreed_value(reader.found(page).get("", {}).values()) for page, _ in held_back]
    pairs = [(one, value) for one, (_, value) in zip(found, held_back, strict=True) if one]
    right = sum(value_key(one) == value_key(value) for one, value in pairs)
    return replace(
        known, fitting=right, given=len(pairs), pages=len(held_back), stated=len(stating)
    )


def _candidates(kind: str, stating: Stating, ends_of: EndsOf) -> list[Place]:
    """Return the places in which most pages show the values that they state."""
    counts: Counter[Place] = Counter()
    for page, value in stating:
        found: set[Place] = set()
        before = ""
        for block in page.content.blocks:
            for way in places_with(block, before, value, kind):
                found.update(replace(way, path=end) for end in ends_of(block.path))
            before = block.text
        counts.update(found)
    return [place for place, count in counts.most_common(MAX_CANDIDATES) if count >= MIN_RIGHT]


def _precise_places(
    kind: str, candidates: Sequence[Place], stating: Stating, ends_of: EndsOf
) -> list[Place]:
    """Return the candidates that are precise on the pages that they were found on, and on those
    held back: first those that give most values.
    """
    reader = OwnReader({"": OwnKnowledge(kind, tuple(candidates))}, ends_of)
    given: list[Counter[Place]] = [Counter(), Counter()]
    right: list[Counter[Place]] = [Counter(), Counter()]
    for number, (page, value) in enumerate(stating):
        for place, found in reader.found(page).get("", {}).items():
            given[number % 2][place] += 1
            right[number % 2][place] += value_key(found) == value_key(value)
    precise = [
        place
        for place in candidates
        if all(
            right[half][place] >= max(MIN_RIGHT, MIN_PRECISION * given[half][place])
            for half in (0, 1)
        )
    ]
    return sorted(precise, key=lambda place: -given[1][place])[:MAX_PLACES]
