"""Learns where the pages of a site show a user's own fields, from two or three examples of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.sites import SiteKeys
from contentspider.page.input.own_values import typed
from contentspider.site.fields.own_fields import OwnKnowledge, OwnReader, agreed_value
from contentspider.site.fields.own_places import places_with, value_key
from contentspider.site.fields.places import AFTER, BESIDE, DATE, LINK, WHOLE, path_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from contentspider.page.input.fields_file import FieldExample, OwnField
    from contentspider.page.input.page import Page
    from contentspider.site.fields.own_fields import Values
    from contentspider.site.fields.places import Place

MIN_FITTING = 2  # examples that a place has to fit
MAX_CANDIDATES, MAX_PLACES = 200, 12
MAX_SAMPLE = 80  # pages
# A text before a value is its label if it is on this share of the pages that show the value.
LABEL_SHARE = 0.5
WAYS = (BESIDE, AFTER, LINK, WHOLE, DATE)


class _Shown(NamedTuple):
    """An example of a field, its page, and its value in the field's type."""

    example: FieldExample
    page: Page
    value: str | float


def learn_own_fields(
    fields: Iterable[OwnField],
    pages: Mapping[str, Page],
    sample: Sequence[Page],
    site: str,
    slot_of: Callable[[str], str],
) -> dict[str, OwnKnowledge]:
    """Return what the examples of *fields* teach of a site, by the field's name.

    *pages* has the pages of examples by the address that the example names, *sample* other pages of
    the site. Fields without an example on this site are left out.
    """
    ends_of = cache(lambda path: path_ends(slot_of(path)))
    learned = {}
    for field in fields:
        examples = [
            each for each in field.examples if each.url in pages or is_of_site(each.url, site)
        ]
        if examples:
            learned[field.name] = _Learner(field, examples, pages, ends_of).learn(sample)
    return learned


def is_of_site(url: str, site: str) -> bool:
    """Tell whether an address is on a site, by the site's key: of a domain or of a host. A path
    may be the file of any site.
    """
    return "://" not in url or any(SiteKeys(by).key(url) == site for by in ("domain", "host"))


class _Learner:
    """Learns the places of a *field* from its *examples* on a site."""

    def __init__(
        self,
        field: OwnField,
        examples: Sequence[FieldExample],
        pages: Mapping[str, Page],
        ends_of: Callable[[str], list[str]],
    ) -> None:
        self._field, self._ends_of = field, ends_of
        self._examples = len(examples)
        self._doubts: list[str] = []
        self._absent: dict[str, str] = {}  # by address, what to say of an example's value
        self._shown: list[_Shown] = []
        for example in examples:
            value = typed(example.value, field.kind)
            if example.url not in pages:
                self._doubts.append(f"the page of an example was not read: {example.url}")
            elif value is not None:
                self._shown.append(_Shown(example, pages[example.url], value))

    def learn(self, sample: Sequence[Page]) -> OwnKnowledge:
        """Return what the examples teach; *sample* has other pages of the site."""
        fitting = self._fitting_places()
        if not fitting:
            self._doubts += self._absent.values()
            return OwnKnowledge(self._field.kind, (), self._examples, doubts=tuple(self._doubts))
        count = max(fitting.values())
        candidates = sorted((place for place in fitting if fitting[place] == count), key=_order)
        candidates = candidates[:MAX_CANDIDATES]
        self._tell_misfits(candidates)
        urls = {shown.page.url for shown in self._shown}
        pages = [shown.page for shown in self._shown]
        pages += [page for page in sample[:MAX_SAMPLE] if page.url not in urls]
        found = [(page, self._found(page, candidates)) for page in pages]
        places = self._chosen(candidates, found)
        known = [agreed_value([v for p, v in values.items() if p in places]) for _, values in found]
        given = sum(value is not None for value in known)
        return OwnKnowledge(
            self._field.kind,
            tuple(places),
            self._examples,
            count,
            given,
            len(pages),
            tuple(self._doubts),
        )

    def _found(self, page: Page, places: Iterable[Place]) -> Values:
        """Return the values that a page has in *places*."""
        known = OwnKnowledge(self._field.kind, tuple(places))
        return OwnReader({"": known}, self._ends_of).found(page).get("", {})

    def _fitting_places(self) -> Counter[Place]:
        """Return the places that have the values of enough examples, with the number of these."""
        counts: Counter[Place] = Counter()
        for shown in self._shown:
            places = self._places_with(shown)
            if not places:
                self._absent[shown.example.url] = (
                    f"{shown.example.value!r} is not in a text of the page {shown.example.url}"
                )
            counts.update(places)
        if len({value_key(shown.value) for shown in self._shown}) < MIN_FITTING:
            self._doubts.append("there are less than two examples with different values: add one")
            return Counter()
        fitting = Counter({p: n for p, n in counts.items() if n >= MIN_FITTING})
        if not fitting:
            self._doubts.append("no place of the template has the values of two examples")
        return fitting

    def _places_with(self, shown: _Shown) -> set[Place]:
        """Return the places whose first value on the page of an example is the example's."""
        found: set[Place] = set()
        before = ""
        for block in shown.page.content.blocks:
            for place in places_with(block, before, shown.value, self._field.kind):
                found.update(replace(place, path=end) for end in self._ends_of(block.path))
            before = block.text
        values = self._found(shown.page, found)
        key = value_key(shown.value)
        return {place for place in found if value_key(values[place]) == key}

    def _tell_misfits(self, places: Sequence[Place]) -> None:
        """Note which examples the places contradict that fit most examples."""
        for shown in self._shown:
            values = self._found(shown.page, places)
            if any(value_key(value) == value_key(shown.value) for value in values.values()):
                continue
            other = next(iter(values.values()), None)
            where = "the places of the others"
            where += f" have {other!r} there" if values else " are not on that page"
            wrong = (
                f"the example {shown.example.value!r} on {shown.example.url} does not fit the"
                " others"
            )
            self._doubts.append(f"{self._absent.get(shown.example.url, wrong)}: {where}")

    def _chosen(
        self, candidates: Sequence[Place], found: Sequence[tuple[Page, Values]]
    ) -> list[Place]:
        """Return the first candidate, those that never contradict it, and one that contradicts it
        with the same right: then the pages on which they differ have no value.
        """
        first, *others = candidates
        chosen = [first]
        for place in others:
            both = [(page, v[first], v[place]) for page, v in found if first in v and place in v]
            differing = next((row for row in both if value_key(row[1]) != value_key(row[2])), None)
            if differing is None:
                if _is_variant(first, place) or not self._is_label(first, place, found):
                    chosen.append(place)
            elif _is_rival(first, place):
                page, value, other = differing
                self._doubts.append(
                    f"two places fit all examples: {first}, and {place}. They differ on {page.url}"
                    f" ({value!r}, {other!r}): add an example on this page"
                )
                return [first, place]
        return chosen[:MAX_PLACES]

    def _is_label(self, first: Place, place: Place, found: Sequence[tuple[Page, Values]]) -> bool:
        """Tell whether the mark of the first place is the label of the field: where a page does not
        have it, *place* has something else.
        """
        if not _is_labelled(first) or _is_labelled(place):
            return False
        given = [first in values for _, values in found if place in values]
        return sum(given) >= LABEL_SHARE * len(given)


def _is_labelled(place: Place) -> bool:
    """Tell whether a place is known by a text with letters before it."""
    return place.way in (BESIDE, AFTER) and any(map(str.isalpha, place.mark))


def _order(place: Place) -> tuple[bool, int, int, int, str]:
    """Return the rank of a place: those with labels first, then the longest path and label."""
    steps = place.path.count("/")
    rank = (not _is_labelled(place), WAYS.index(place.way), -steps, -len(place.mark))
    return (*rank, place.end)


def _is_rival(first: Place, place: Place) -> bool:
    """Tell whether a place that contradicts the first one is as likely. A place without a label is
    less likely than one with a label in the same block, and so is a shorter path or label.
    """
    if first.way == AFTER and _is_labelled(first) and not _is_labelled(place):
        return False
    return not _is_variant(first, place)


def _is_variant(first: Place, place: Place) -> bool:
    """Tell whether two places differ only in the length of their paths or of their marks."""
    paths, marks = (
        sorted((first.path, place.path), key=len),
        sorted((first.mark, place.mark), key=len),
    )
    return first.way == place.way and paths[1].endswith(paths[0]) and marks[1].endswith(marks[0])
