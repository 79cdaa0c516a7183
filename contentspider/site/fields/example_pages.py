"""Collects the pages that own fields are learned from while the pages of a site are read: a user's
example pages, and pages where a selector finds a value, which teach the other pages.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from contentspider.site.fields.own_fields import OneFieldReader, OwnKnowledge, agreed_value
from contentspider.site.fields.own_learning import learn_own_fields
from contentspider.site.fields.own_places import places_of_value, value_key
from contentspider.site.fields.places import path_ends
from contentspider.site.fields.precision import (
    MAX_EXAMPLES,
    MAX_PLACES,
    frequent_places,
    precise_places,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from contentspider.page.input.fields_file import FieldsFile, OwnField
    from contentspider.page.input.page import Page
    from contentspider.site.fields.places import Place

    # Pages, each with the value that a selector finds on it.
    Stating = Sequence[tuple[Page, str | float]]
    EndsOf = Callable[[str], list[str]]

MIN_VALUES = 3  # if all pages have one value, any part of the template may show it


class ExamplePages:
    """Collects the pages of the examples in *file* while the pages of a site are read. Own fields
    are learned from them.
    """

    def __init__(self, file: FieldsFile) -> None:
        self._file = file
        self._pages: dict[str, Page] = {}

    @property
    def digest(self) -> str:
        """The digest of the examples."""
        return self._file.examples_digest

    def watch(self, pages: Iterable[Page]) -> Iterable[Page]:
        """Return *pages*; the pages of examples are collected while these are read."""
        return self._watched(pages) if self._file.with_examples else pages

    def _watched(self, pages: Iterable[Page]) -> Iterator[Page]:
        for page in pages:
            if url := self._file.example_url(page.url):
                self._pages[url] = page
            yield page

    def learn(
        self, sample: Sequence[Page], site: str, slot_of: Callable[[str], str]
    ) -> dict[str, OwnKnowledge]:
        """Return the learned knowledge of own fields by name: from examples (`learn_own_fields`),
        and from the pages of the *sample* where selectors find them (`learn_stated_fields`).
        """
        file = self._file
        learned = learn_stated_fields(file.learning, sample, slot_of)
        return learned | learn_own_fields(file.with_examples, self._pages, sample, site, slot_of)


def learn_stated_fields(
    fields: Iterable[OwnField], sample: Iterable[Page], slot_of: Callable[[str], str]
) -> dict[str, OwnKnowledge]:
    """Return the learned knowledge of *fields* by name. A field is learned from the pages of a
    *sample* where its selectors find a value. Half of these pages are held back as a test
    (`contentspider.site.fields.precision`).
    """
    ends_of = cache(lambda path: path_ends(slot_of(path)))
    pages = [page for page in sample if page.own is not None]
    learned = {}
    for field in fields:
        stating = [
            (page, value)
            for page in pages
            if page.own is not None
            and isinstance(value := page.own.values.get(field.name), (str, float))
        ]
        if stating:
            learned[field.name] = _learn(field.kind, stating[:MAX_EXAMPLES], ends_of)
    return learned


def _learn(kind: str, stating: Stating, ends_of: EndsOf) -> OwnKnowledge:
    """Return the knowledge of a field that follows from pages with its values."""
    places: list[Place] = []
    if len({value_key(value) for _, value in stating}) >= MIN_VALUES:
        candidates = frequent_places(
            places_of_value(page, value, kind, ends_of) for page, value in stating[::2]
        )
        places = _precise_places(kind, candidates, stating, ends_of)
    reader = OneFieldReader(kind, places, ends_of, len(stating))
    held_back = stating[1::2]
    results = []
    for page, stated in held_back:
        value = agreed_value(reader.values(page).values())
        if value is not None:
            results.append(value_key(value) == value_key(stated))
    return OwnKnowledge(
        kind,
        tuple(places),
        fitting=sum(results),
        given=len(results),
        pages=len(held_back),
        stated=len(stating),
    )


def _precise_places(
    kind: str, candidates: Sequence[Place], stating: Stating, ends_of: EndsOf
) -> list[Place]:
    """Return the precise candidates, ordered by the number of their values, the largest first."""
    reader = OneFieldReader(kind, candidates, ends_of, len(stating))
    results = [
        {
            place: value_key(value) == value_key(stated)
            for place, value in reader.values(page).items()
        }
        for page, stated in stating
    ]
    precise = sorted(precise_places(candidates, results), key=lambda learned: -learned.given)
    return [learned.place for learned in precise[:MAX_PLACES]]
