"""Learns where the pages of a site show a user's own fields, from two or three examples of each."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from contentspider.ground.sites import SiteKeys
from contentspider.page.input.own_values import typed
from contentspider.site.fields.own_fields import OneFieldReader, OwnKnowledge, agreed_value
from contentspider.site.fields.own_places import places_of_value, value_key
from contentspider.site.fields.places import AFTER, BESIDE, DATE, LAST, LINK, WHOLE, path_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from contentspider.page.input.fields_file import FieldExample, OwnField
    from contentspider.page.input.page import Page
    from contentspider.site.fields.own_fields import PlaceValues
    from contentspider.site.fields.places import Place

MIN_FITTING = 2  # examples that a place has to fit
MAX_CANDIDATES, MAX_PLACES = 200, 12
MAX_SAMPLE = 80  # pages
# A text before a value is its label if this share of the pages with the value has the text.
LABEL_SHARE = 0.5
WAYS = (BESIDE, AFTER, LINK, WHOLE, DATE)


class _Shown(NamedTuple):
    """An example whose page has been read, and its value in the field's type."""

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
    """Return the learned knowledge of *fields* by name, from their examples on a site.

    *pages* has the pages of examples by the address that the example names. The other pages of the
    site in *sample* show whether places contradict each other. Fields without an example on this
    site are left out.
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
    """Tell whether an address is on the site with the key *site*, which is a domain or a host. The
    path of a file may belong to any site.
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
        # By address, the doubts about examples whose value is not on their page.
        self._absent: dict[str, str] = {}
        self._shown: list[_Shown] = []
        for example in examples:
            value = typed(example.value, field.kind)
            if example.url not in pages:
                self._doubts.append(
                    f"the page of an example was not read: {example.url}. Let the crawl reach it,"
                    " or give an example on another page"
                )
            elif value is not None:
                self._shown.append(_Shown(example, pages[example.url], value))

    def learn(self, sample: Sequence[Page]) -> OwnKnowledge:
        """Return the learned knowledge of the field; *sample* has other pages of the site."""
        fitting = self._fitting_places()
        if not fitting:
            self._doubts += [
                f"{doubt}: write the value as the page shows it, or use a selector"
                for doubt in self._absent.values()
            ]
            return OwnKnowledge(self._field.kind, (), self._examples, doubts=tuple(self._doubts))
        most = max(fitting.values())
        candidates = sorted((place for place in fitting if fitting[place] == most), key=_order)
        candidates = candidates[:MAX_CANDIDATES]
        self._add_misfits(candidates)
        pages = self._pages(sample)
        reader = OneFieldReader(self._field.kind, candidates, self._ends_of)
        readings = [(page, reader.values(page)) for page in pages]
        places = self._chosen(candidates, readings)
        values = [_value_in(places, place_values) for _, place_values in readings]
        return OwnKnowledge(
            self._field.kind,
            tuple(places),
            self._examples,
            fitting=most,
            given=sum(value is not None for value in values),
            pages=len(pages),
            doubts=tuple(self._doubts),
        )

    def _pages(self, sample: Sequence[Page]) -> list[Page]:
        """Return the pages of examples, and the other pages of the sample."""
        pages = [shown.page for shown in self._shown]
        urls = {page.url for page in pages}
        return pages + [page for page in sample[:MAX_SAMPLE] if page.url not in urls]

    def _values(self, page: Page, places: Iterable[Place]) -> PlaceValues:
        """Return the values that a page has in *places*."""
        return OneFieldReader(self._field.kind, places, self._ends_of).values(page)

    def _fitting_places(self) -> Counter[Place]:
        """Return for each place that fits `MIN_FITTING` examples how many examples it fits."""
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
            self._doubts.append(
                "no place of the template has the values of two examples: give examples on pages"
                " with the same template, or use a selector"
            )
        return fitting

    def _places_with(self, shown: _Shown) -> list[Place]:
        """Return the places whose first value on the page of an example is the example's."""
        places = places_of_value(shown.page, shown.value, self._field.kind, self._ends_of)
        values = self._values(shown.page, places)
        key = value_key(shown.value)
        return [place for place in places if value_key(values[place]) == key]

    def _add_misfits(self, places: Sequence[Place]) -> None:
        """Add a doubt for each example that none of *places* fits; they fit most examples."""
        for shown in self._shown:
            values = self._values(shown.page, places)
            if any(value_key(value) == value_key(shown.value) for value in values.values()):
                continue
            other = next(iter(values.values()), None)
            where = "the places of the others"
            where += f" have {other!r} there" if values else " are not on that page"
            wrong = (
                f"the example {shown.example.value!r} on {shown.example.url} does not fit the"
                " others"
            )
            self._doubts.append(
                f"{self._absent.get(shown.example.url, wrong)}: {where}. Correct the example, or"
                " give a second one of this template"
            )

    def _chosen(
        self, candidates: Sequence[Place], readings: Sequence[tuple[Page, PlaceValues]]
    ) -> list[Place]:
        """Return the first candidate, and the candidates with the same value on each page.

        If another candidate is as likely as the first one and has other values, only these two are
        returned, and a doubt is added. Then the field is left out on pages where they differ.
        """
        first, *candidates_after = candidates
        chosen = [first]
        for place in candidates_after:
            both = [
                (page, values[first], values[place])
                for page, values in readings
                if first in values and place in values
            ]
            differing = next((row for row in both if value_key(row[1]) != value_key(row[2])), None)
            if differing is None:
                if _is_variant(first, place) or not _may_be_other(first, place, readings):
                    chosen.append(place)
            elif _is_rival(first, place):
                page, value, other = differing
                self._doubts.append(
                    f"two places fit all examples: {first}, and {place}. They differ on {page.url}"
                    f" ({value!r}, {other!r}): add an example on this page"
                )
                return [first, place]
        return chosen[:MAX_PLACES]


def _value_in(places: Sequence[Place], values: PlaceValues) -> str | float | None:
    """Return the value of a page in *places*, None if they differ. *values* has more places."""
    return agreed_value(value for place, value in values.items() if place in places)


def _may_be_other(first: Place, place: Place, readings: Sequence[tuple[Page, PlaceValues]]) -> bool:
    """Tell whether *place* may show another field on pages where the first place is missing.

    This is so if the first place has a label that most of the pages show, and *place* has none.
    """
    if not _is_labelled(first) or _is_labelled(place):
        return False
    has_first = [first in values for _, values in readings if place in values]
    return sum(has_first) >= LABEL_SHARE * len(has_first)


def _is_labelled(place: Place) -> bool:
    """Tell whether a place is recognised by a label, a text with letters before the value."""
    return place.way in (BESIDE, AFTER) and any(map(str.isalpha, place.mark))


def _order(place: Place) -> tuple[bool, int, int, int, str]:
    """Return a key for sorting: places with a label first, then by way, then long paths and labels
    first.
    """
    steps = place.path.count("/")
    rank = (not _is_labelled(place), WAYS.index(place.way), -steps, -len(place.mark))
    return (*rank, place.end)


def _is_rival(first: Place, place: Place) -> bool:
    """Tell whether a place that contradicts the first one is as likely. A place without a label is
    less likely than one with a label in the same block, and so is a shorter path or label, or the
    last number of a block.
    """
    if place.form == LAST:
        return False
    if first.way == AFTER and _is_labelled(first) and not _is_labelled(place):
        return False
    return not _is_variant(first, place)


def _is_variant(first: Place, place: Place) -> bool:
    """Tell whether two places differ only in the length of their paths or of their marks."""
    paths = sorted((first.path, place.path), key=len)
    marks = sorted((first.mark, place.mark), key=len)
    return first.way == place.way and paths[1].endswith(paths[0]) and marks[1].endswith(marks[0])
